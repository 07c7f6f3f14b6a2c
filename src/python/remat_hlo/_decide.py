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
from ._figures import Memory
from ._files import parse_plan, write_file
from ._module import parse
from ._sizes import Budget, format_bytes, format_change, format_percent, parse_budget, parse_part

# What a report says became of a module.
CHANGED, SMALL, WITHIN, LITTLE, NO_BETTER, OTHER_NAME, FAILED, REFUSED, HARDLY, SLOWER, EXCEEDED, EAGER = (
    "rematerialized", "small", "within the budget", "left as it is: little is reducible",
    "left as it is: no result is better", "name does not match", "failed", "refused by XLA",
    "left as it is: the result hardly helps", "taken back: slower than allowed",
    "dropped: XLA assigns more than was predicted", "left as it is: an operation outside of any jit")
# Results below this part of the peak are not recomputed, unless a limit is given.
SMALL_SHARE = 256
# XLA:CPU marks calls of loops like this that it compiles as functions of their own, which stay as they are;
# compiled with this flag, it makes no such functions.
LOOP_ALONE = "xla_cpu_small_call"
NO_LOOPS_ALONE = "XLA_FLAGS=--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=0"
# How the figure that a budget counts is called in a line.
COUNTED = {"total": "total", "temp+outputs": "temporaries and outputs", "temp": "temporaries"}


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
    sought_bytes: typing.Optional[int] = None  # a lower limit to search under, as XLA exceeded a prediction
    is_met: typing.Optional[bool] = None
    is_below_bound: bool = False  # no result can meet the limit, so the least is looked for
    is_eager: bool = False  # an operation outside of any jit of the program
    before: typing.Optional[Memory] = None
    after: typing.Optional[Memory] = None
    modelled_seconds: typing.Optional[tuple] = None  # before, after
    # Of max_slowdown: the shortest measured step, as a multiple of that of the program as it was.
    measured_slowdown: typing.Optional[float] = None
    times: typing.Optional[str] = None  # whose seconds: "roofline", "measured, 12 steps", …
    num_instructions: int = 0
    num_rematerialized: int = 0
    algorithm: typing.Optional[str] = None
    digest: str = ""
    from_cache: bool = False
    from_plan: typing.Optional[str] = None
    reason: str = ""
    may_help: tuple = ()  # arguments that may lead to less memory, where the limit is not met
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

    def goal(self, limit, options, has_bound=True):
        """The budget to search under, or None if there is nothing to search for, which is then the
        outcome. Sets the limit in bytes, of which `before` says what a part is. A budget that asks the
        same of each module is no reason to search one that has little to give; one that names bytes is
        not met by such a module, which is said. The bounds are those of recomputation."""
        budget, counts = parse_budget(limit), self.limit_counts
        counted = self.before.counted_bytes(counts)
        self.limit_bytes = budget.bytes(counted, self.before.bound_bytes(counts))
        least = parse_part(options.min_reducible, counted) if budget.is_relative else 0
        prospect = self.before.weigh(counts, self.limit_bytes, least)
        if prospect == "within":
            self.outcome, self.is_met = WITHIN, True
            return None
        if self.sought_bytes is not None:
            budget = Budget("bytes", self.sought_bytes)
        if not has_bound or options.modes != "recompute":
            return budget
        if prospect == "little":
            self.outcome, self.is_met = LITTLE, None if budget.is_relative else False
            return None
        self.is_below_bound = prospect == "below" and budget.kind != "min"
        return Budget("min") if self.is_below_bound else budget

    @property
    def is_worth_a_line(self):
        """Whether the program's author may want to know: what was changed, and what cannot meet its
        budget; but no operation outside of a jit."""
        is_to_try = self.outcome == LITTLE and bool(self.may_help)
        return not self.is_eager and (self.outcome == CHANGED or self.is_met is False or is_to_try)

    def set_after(self, memory):
        """What a result takes, and whether it meets the limit."""
        self.after = memory
        self.is_met = self.is_min or memory.counted_bytes(self.limit_counts) <= self.limit_bytes

    @property
    def is_min(self):
        """Whether as little as is possible was asked for: there is no limit to miss then."""
        return self.limit_bytes == 0

    def _help(self):
        """What ends the line where the limit is not met."""
        return f"; may help: {', '.join(self.may_help)}" if self.may_help else ""

    def to_dict(self):
        return {**dataclasses.asdict(self), "added_time": self.added_time}

    def _counted(self):
        """What the limit is about, before and after, and the temporaries, if that is something else."""
        def change(count):
            return " -> ".join(format_bytes(count(memory)) for memory in (self.before, self.after) if memory)
        line = f"{COUNTED[self.limit_counts]} {change(lambda m: m.counted_bytes(self.limit_counts))}"
        memory = self.after or self.before
        least = f"at least {format_bytes(memory.least_temp_bytes)}" if memory.has_temp_range else ""
        if self.limit_counts == "temp":
            return f"{line} ({least})" if least else line
        temporaries = f"temporaries {change(lambda m: m.most_temp_bytes)}"
        return f"{line} ({temporaries}{', ' * bool(least)}{least})"

    def _limit(self):
        """The limit, and whether it is met."""
        if self.is_min:
            return "as low as was found"
        line = f"limit {format_bytes(self.limit_bytes)} {'met' if self.is_met else 'not met'}"
        if not self.is_below_bound:
            return line
        bound = format_bytes(self.before.bound_bytes(self.limit_counts))
        return f"{line}: it is below the bound of {bound}, as low as was found"

    def __str__(self):
        if self.outcome != CHANGED:
            above = f", {self._counted()}, {self._limit()}" if self.is_met is False else ""
            above += self._help() if self.is_met is False or self.outcome == LITTLE else ""
            return f"{self.name}: {self.outcome}{': ' * bool(self.reason)}{self.reason}{above}"
        how = "plan" if self.from_plan else self.algorithm
        how = "as before" if self.from_cache else how
        return (f"{self.name}: {self._counted()}, {self._limit()}, modelled time "
                f"{format_percent(self.added_time)}, {self.total_seconds:.2f} s ({how})"
                f"{'' if self.is_met else self._help()}")

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


def decide(text, options, *, mem_limit=None, sought_bytes=None, device="cpu", scheduler="default", target="auto"):
    """Decides about a module, given as text. `mem_limit` replaces that of the options, where that is
    auto; `device` and `scheduler` replace those that are auto. Where XLA has exceeded a limit that was to be met,
    `sought_bytes` is the lower one to search under. Raises what the library raises."""
    limit = mem_limit if mem_limit is not None else options.mem_limit
    report = LiveReport("", SMALL, options.stage, str(options.mem_limit),
                        limit_counts=options.limit_counts, sought_bytes=sought_bytes)
    phases = Phases(report.seconds)
    device = device if options.device == "auto" else options.device
    is_scheduled = options.stage == "POST_SCHEDULER"
    scheduler = scheduler if options.scheduler == "auto" else options.scheduler
    # Both stages come after copy-insertion: nobody makes copies any more.
    module = parse(text.encode(), target=target, copies="inserted", device=device,
                   scheduler="auto" if is_scheduled else scheduler, times=options.times)
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
    goal = report.goal(limit, options)
    if goal is None:
        if report.outcome == LITTLE and LOOP_ALONE in text:
            report.may_help = open_loops(base)
        return Decision(report, None)
    result, warnings = _rematerialize(module, base, options, goal, report, phases)
    after_text = result.text()
    report.set_after(result.memory_after if is_scheduled else _as_scheduled(after_text, target, device, scheduler))
    report.num_rematerialized = result.num_rematerialized
    report.modelled_seconds = (result.cost_before.seconds, result.cost_after.seconds)
    report.times = result.cost_before.source
    phases.end("print")
    if not report.is_met:
        report.may_help = live_arguments(result)
    if report.after.most_temp_bytes >= report.before.most_temp_bytes:
        report.outcome = NO_BETTER
        return Decision(report, None, warnings)
    # Where XLA has still to order the module, what it takes before depends on that order, too.
    if result.hardly_helps and is_scheduled:
        report.outcome = HARDLY
        report.reason = hardly_reason(result)
        return Decision(report, None, warnings)
    report.outcome = CHANGED
    try:
        _write_reports(result, options, report)
    except OSError as error:
        warnings += (("report_dir", f"no report is written: {error}"),)
    phases.end("write")
    return Decision(report, after_text, warnings, (module, result))


def hardly_reason(result):
    """What a result that hardly helps would have done."""
    counts = result.limit_counts
    change = format_change(result.memory_before.counted_bytes(counts),
                           result.memory_after.counted_bytes(counts))
    return f"{change} of memory ({counts}) for {format_percent(result.added_time)} of modelled time"


def open_loops(module):
    """What lets loops be rewritten that XLA:CPU compiles alone, if they stack what a checkpoint would free."""
    is_stacking = any(remedy["kind"] in ("checkpoint-scan", "nested-scan") for remedy in module.advise()["remedies"])
    return (NO_LOOPS_ALONE,) if is_stacking else ()


def live_arguments(result):
    """The arguments that may lead to less memory."""
    return tuple(way.argument for way in result.may_help if way.argument)


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
    limits = [limit for limit in (report.limit_bytes, report.sought_bytes) if limit is not None]
    return f"{file_stem(report.name)}.{report.digest}.{options.digest(*limits)[:12]}"


def _hand_made(folder):
    """The files that were put into the folder, rather than saved by us."""
    return [path for path in sorted(pathlib.Path(folder).glob("*.json"))
            if not path.name.endswith(".saved.json")]


def _hand_made_for(folder, module):
    """Those of them that are plans for modules of this name, and what cannot be read, which is said when it is applied."""
    for path in _hand_made(folder):
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            yield path
        else:
            if isinstance(found, dict) and found.get("module") == module.name:
                yield path


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
    that fits 100 MiB has no results of 1 MiB to spare. Modules are decided in a small part of the
    time that XLA takes to compile them, unless an effort is asked for: `search` is what makes the most
    of few steps."""
    remat, keeps = options.remat_options()
    if options.effort is None and options.algorithm == "auto":
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


def _rematerialize(module, base, options, budget, report, phases):
    """By a plan, or else by a search. A saved plan is for this very module but for its source
    positions; another one fits if it can be applied, since the result is proven in any case."""
    warnings, saved = [], None
    if options.plan_dir is not None:
        report.digest = module_digest(base)
        saved = pathlib.Path(options.plan_dir) / f"{_stem(options, report)}.saved.json"
        for path in [*([saved] if saved.exists() else []), *_hand_made_for(options.plan_dir, module)]:
            try:
                result = _apply(module, path, options, budget)
            except (lib.Error, OSError, ValueError) as error:
                warnings.append((("plan", str(path)), f"the plan {path} cannot be applied: {error}"))
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
