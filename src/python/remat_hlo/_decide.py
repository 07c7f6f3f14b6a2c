"""What becomes of a module within a compilation: a function of its text and of the options alone.
Knows nothing of JAX."""

import dataclasses
import hashlib
import json
import pathlib
import re
import time
import typing

from . import _library as lib
from ._module import Memory, parse, parse_plan, write_file
from ._sizes import format_bytes, parse_budget

# What a report says became of a module.
CHANGED, SMALL, WITHIN, NO_BETTER, OTHER_NAME, FAILED, REFUSED = (
    "rematerialized", "small", "within the budget", "left as it is: no result is better", "name does not match", "failed",
    "refused by XLA")
# Results below this part of the peak are not recomputed, unless a limit is given.
SMALL_SHARE = 256
# Modules of more instructions are decided with these efforts, unless one is asked for.
LARGE_EFFORTS = {20000: 0, 10000: 1}


@dataclasses.dataclass
class LiveReport:
    """What was done about one module. Bytes are predictions; `remat_hlo.jax.check` compares them with
    what XLA assigned. `seconds` are wall-clock times of our own phases."""
    name: str
    outcome: str
    stage: str
    mem_limit: str
    limit_bytes: typing.Optional[int] = None
    limit_counts: str = "total"
    is_met: typing.Optional[bool] = None
    before: typing.Optional[Memory] = None
    after: typing.Optional[Memory] = None
    modelled_seconds: typing.Optional[tuple] = None  # before, after
    num_instructions: int = 0
    num_rematerialized: int = 0
    algorithm: typing.Optional[str] = None
    digest: str = ""
    from_cache: bool = False
    from_plan: typing.Optional[str] = None
    reason: str = ""
    seconds: dict = dataclasses.field(default_factory=dict)
    html_path: typing.Optional[str] = None
    plan_path: typing.Optional[str] = None

    @property
    def added_time(self):
        """What the modelled time grows by, as a fraction."""
        before, after = self.modelled_seconds or (0, 0)
        return (after - before) / before if before else 0.0

    @property
    def total_seconds(self):
        return sum(self.seconds.values())

    def fits(self, limit):
        """Sets the limit in bytes, of which `before` says what a part is. True if the module fits it as
        it is, which is then its outcome."""
        counted = self.before.counted_bytes(self.limit_counts)
        self.limit_bytes = parse_budget(limit).bytes(counted, self.before.lower_bound_bytes)
        if counted <= self.limit_bytes:
            self.outcome, self.is_met = WITHIN, True
        return self.outcome == WITHIN

    def set_after(self, memory):
        """What a result takes, and whether it meets the limit."""
        self.after = memory
        self.is_met = memory.counted_bytes(self.limit_counts) <= self.limit_bytes

    def to_dict(self):
        return {**dataclasses.asdict(self), "added_time": self.added_time}

    def __str__(self):
        if self.outcome != CHANGED:
            above = "" if self.is_met is not False else (
                f", temporaries {format_bytes(self.before.temp_bytes)}, limit "
                f"{format_bytes(self.limit_bytes)} ({self.limit_counts}) not met")
            return f"{self.name}: {self.outcome}{': ' * bool(self.reason)}{self.reason}{above}"
        met = "met" if self.is_met else "not met"
        how = "plan" if self.from_plan else self.algorithm
        how = "as before" if self.from_cache else how
        return (f"{self.name}: temporaries {format_bytes(self.before.temp_bytes)} -> "
                f"{format_bytes(self.after.temp_bytes)}, limit {format_bytes(self.limit_bytes)} "
                f"({self.limit_counts}) {met}, modelled time {100 * self.added_time:+.1f} %, "
                f"{self.total_seconds:.2f} s ({how})")

    def _repr_html_(self):
        import html
        return f"<p>{html.escape(str(self))}</p>"


class Phases:
    """Adds up wall-clock seconds by phase, which are shown and never decide."""

    def __init__(self, seconds):
        self.seconds, self.last = seconds, time.perf_counter()

    def end(self, name):
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0) + now - self.last
        self.last = now


def add_counts(text, num_replicas, num_partitions):
    """The text with what its first line does not say about devices."""
    end = len(text) if "\n" not in text else text.index("\n")
    head = text[:end]
    for name, count in (("replica_count", num_replicas), ("num_partitions", num_partitions)):
        if count > 1 and f" {name}=" not in head:
            head += f", {name}={count}"
    return text if len(head) == end else head + text[end:]


def add_mark(text, name, mark):
    """The text with a frontend attribute at the entry's first parameter: those of the module itself
    do not outlive the hook. A program without parameters gets none."""
    entry = text.find("\nENTRY ")
    parameter = re.compile(r" parameter\(0\)[^\n]*").search(text, max(entry, 0))
    if entry < 0 or not parameter:
        return text
    line, attribute = parameter[0], f'{name}="{mark}"'
    if "frontend_attributes={" in line:
        line = line.replace("frontend_attributes={", f"frontend_attributes={{{attribute},", 1)
    else:
        line = line.replace("parameter(0)", f"parameter(0), frontend_attributes={{{attribute}}}", 1)
    return text[:parameter.start()] + line + text[parameter.end():]


class Decision(typing.NamedTuple):
    report: LiveReport
    text: typing.Optional[str]  # None: the module stays as it is
    warnings: tuple = ()
    modules: tuple = ()  # as it was read and as it became, if there is a text


def decide(text, options, *, mem_limit=None, device="cpu", scheduler="default", target="auto"):
    """Decides about a module, given as text. `mem_limit` replaces that of the options, where that is
    auto; `device` and `scheduler` replace those that are auto. Raises what the library raises."""
    limit = mem_limit if mem_limit is not None else options.mem_limit
    report = LiveReport("", SMALL, options.stage, str(options.mem_limit),
                        limit_counts=options.limit_counts)
    phases = Phases(report.seconds)
    device = device if options.device == "auto" else options.device
    is_scheduled = options.stage == "POST_SCHEDULER"
    scheduler = scheduler if options.scheduler == "auto" else options.scheduler
    # Both stages come after copy-insertion: nobody makes copies any more.
    module = parse(text.encode(), target=target, copies="inserted", device=device,
                   scheduler="auto" if is_scheduled else scheduler)
    report.name, report.num_instructions = module.name, module.num_instructions
    phases.end("parse")
    if not options.is_for(module.name):
        report.outcome = OTHER_NAME
        return Decision(report, None)
    base = module.schedule(module.scheduler)
    report.before = base.memory()
    phases.end("measure")
    if report.before.peak_bytes < options.min_peak:
        return Decision(report, None)
    if report.fits(limit):
        return Decision(report, None)
    result, warnings = _rematerialize(module, base, options, limit, report, phases)
    after_text = result.text()
    report.set_after(result.memory_after if is_scheduled else _as_scheduled(after_text, target, device, scheduler))
    report.num_rematerialized = result.num_rematerialized
    report.modelled_seconds = (result.cost_before.seconds, result.cost_after.seconds)
    phases.end("print")
    if report.after.temp_bytes >= report.before.temp_bytes:
        report.outcome = NO_BETTER
        return Decision(report, None, warnings)
    report.outcome = CHANGED
    try:
        _write_reports(result, options, report)
    except OSError as error:
        warnings += (("report_dir", f"no report is written: {error}"),)
    phases.end("write")
    return Decision(report, after_text, warnings, (module, result))


def _as_scheduled(text, target, device, scheduler):
    """The memory of a result that has no order yet, in the order that XLA is expected to choose."""
    return parse(text.encode(), target=target, copies="inserted", device=device,
                 scheduler=scheduler).memory()


# ---- plans ----

def module_digest(module):
    """A name for what a module computes, in which source positions and comments have no part."""
    _, head, rest = module.canonical_text().partition("HloModule ")
    return hashlib.sha256((head + rest).encode()).hexdigest()[:16]


def file_stem(name):
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:80]


def _stem(options, report):
    """What the files are called that are about a module under these options."""
    return f"{file_stem(report.name)}.{report.digest}.{options.digest(report.limit_bytes)[:12]}"


def _hand_made(folder):
    """The files that were put into the folder, rather than saved by us."""
    return [path for path in sorted(pathlib.Path(folder).glob("*.json"))
            if not path.name.endswith(".saved.json")]


def _hand_made_for(folder, module):
    """Those of them that are plans for modules of this name."""
    for path in _hand_made(folder):
        try:
            if json.loads(path.read_text()).get("module") == module.name:
                yield path
        except (OSError, ValueError, AttributeError):
            continue


def plan_key(options):
    """A digest of the plans that were put into the folder."""
    if options.plan_dir is None:
        return ""
    digest = hashlib.sha256()
    for path in _hand_made(options.plan_dir):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def remat_options_for(options, report):
    """Beside what is asked for, results are small here if they are small for the module: a program
    that fits 100 MiB has no results of 1 MiB to spare. Large modules are decided in a small part of
    the time that XLA takes to compile them, unless an effort is asked for."""
    remat, keeps = options.remat_options()
    effort = next((e for n, e in LARGE_EFFORTS.items() if report.num_instructions > n), None)
    if options.effort is None and effort is not None:
        remat.effort = effort
        if options.algorithm == "auto":
            remat.algorithm = b"search"
    takes_all = lib.load().rh_find(lib.REGISTRIES["algorithms"],
                                   remat.algorithm).contents.traits & lib.TRAIT_ALL_SIZES
    if options.small_node_limit is None and not takes_all:
        remat.small_node_bytes = min(lib.SMALL_NODE_BYTES, report.before.peak_bytes // SMALL_SHARE)
    return remat, keeps


def _apply(module, path, options, budget):
    plan = parse_plan(path)
    remat, keeps = options.remat_options()
    return module._rematerialize(budget, remat, keeps, plan=plan, trip_count=options.trip_count)


def _rematerialize(module, base, options, limit, report, phases):
    """By a plan, or else by a search. A saved plan is for this very module but for its source
    positions; another one fits if it can be applied, since the result is proven in any case."""
    warnings, saved, budget = [], None, parse_budget(limit)
    if options.plan_dir is not None:
        report.digest = module_digest(base)
        saved = pathlib.Path(options.plan_dir) / f"{_stem(options, report)}.saved.json"
        for path in [*([saved] if saved.exists() else []), *_hand_made_for(options.plan_dir, module)]:
            try:
                result = _apply(module, path, options, budget)
            except (lib.Error, OSError, ValueError) as error:
                warnings.append(("plan", f"the plan {path} cannot be applied: {error}"))
                continue
            report.from_plan = str(path)
            report.algorithm = result.algorithm
            phases.end("plan")
            return result, tuple(warnings)
    remat, keeps = remat_options_for(options, report)
    result = base._rematerialize(budget, remat, keeps, trip_count=options.trip_count)
    report.algorithm = result.algorithm or options.algorithm
    phases.end("remat")
    report.seconds["remat"] -= result.verify_seconds
    report.seconds["verify"] = result.verify_seconds
    if saved is not None:
        try:
            saved.parent.mkdir(parents=True, exist_ok=True)
            write_file(saved, result.plan)
            report.plan_path = str(saved)
        except OSError as error:
            warnings.append(("plan_dir", f"the plan is not saved: {error}"))
    return result, tuple(warnings)


def _write_reports(result, options, report):
    if options.report_dir is None:
        return
    folder = pathlib.Path(options.report_dir)
    folder.mkdir(parents=True, exist_ok=True)
    report.digest = report.digest or module_digest(result.before)
    stem = _stem(options, report)
    report.html_path = str(folder / f"{stem}.html")
    result.html(report.html_path)
    report.plan_path = report.plan_path or str(folder / f"{stem}.plan.json")
    result.save_plan(folder / f"{stem}.plan.json")
    write_file(folder / f"{stem}.json", json.dumps(report.to_dict(), indent=1))
