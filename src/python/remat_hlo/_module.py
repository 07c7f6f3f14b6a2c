"""Modules, and what becomes of them."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import functools
import json
import os
import typing
import warnings

from . import _interrupts
from . import _library as lib
from . import _show
from ._figures import Change, Comparison, Cost, Memory, Report, place, read_memory
from ._files import Path, load_device, load_times, parse_plan, read_source, write_file
from ._request import COLLECTION, remat_options
from ._sizes import format_bytes, parse_budget

Budget = int | str  # 12GiB, 80%, r80%, min, or bytes


# ---- reading ----

def load(source: typing.Any, *, target: str = "auto", copies: str = "auto", device: str = "a100-80g",
         scheduler: str = "auto", times: Path | None = None) -> Module:
    """Reads a module: HLO text, the path of a dump (gzip and zstd are read, too), or what
    `jax.jit(f).lower(…)` or its `.compile()` returns.

    `target` is cpu, gpu, tpu, or auto, which looks at the text; `copies` says whether XLA's
    copy-insertion has run: inserted, pending, or auto, which goes by the name of a dump, or else by
    the text; `device` is the profile for modelled seconds;
    `scheduler` gives an order to modules that have none; `times` is the path of a profile of jax.profiler
    (xplane.pb, or the trace.json.gz beside it), whose times replace modelled ones.

    Raises InputError with the place if XLA would not read the text either."""
    text, path = read_source(source)
    # What jit(f).lower(…) returns has been through none of XLA's passes.
    is_lowered = hasattr(source, "compiler_ir") and not hasattr(source, "runtime_executable")
    copies = "pending" if copies == "auto" and is_lowered else copies
    return parse(text, path=path, target=target, copies=copies, device=device, scheduler=scheduler,
                 times=times)


def parse(text: bytes, *, path: str | None = None, target: str = "auto", copies: str = "auto",
          device: str = "a100-80g", scheduler: str = "auto", times: Path | None = None) -> Module:
    """As load, of bytes."""
    out = ctypes.c_void_p()
    known = lib.load().rh_guess_copies(os.fsencode(path)) if path else 0
    _, found = lib.call("rh_parse", text, len(text), ctypes.byref(lib.ParseOptions(copies=known)),
                        ctypes.byref(out), text=text)
    handle = lib.Handle(out.value, "rh_module_free", text)
    if target == "auto":
        target = lib.load().rh_guess_target(handle.pointer).decode()
    settings = lib.Settings(target=lib.encode(target),
                            copies=lib.choice("copies", copies, lib.COPIES), device=lib.encode(device))
    if times:
        settings.times_handle = load_times(times)  # which lives as long as what refers to it
        settings.times = settings.times_handle.pointer
    lib.call("rh_check_settings", ctypes.byref(settings))
    return Module(handle, settings, device, scheduler, text, path, found)


def advise(source: typing.Any, mem_limit: Budget | None = None, *, limit_counts: str = "total",
           trip_count: int = 1, max_steps: int = 4, **options: typing.Any) -> dict[str, typing.Any]:
    """What to change in the program that a module was made from, so that it takes less memory; see
    Module.advise. `source` and the other options are those of `load`."""
    return load(source, **options).advise(mem_limit, limit_counts=limit_counts,
                                          trip_count=trip_count, max_steps=max_steps)


# ---- modules ----

class Module:
    """An HLO module. It does not change; `remat` returns another one. `copies` is inserted or pending,
    and `copies_certain` is False if nothing excludes the other."""

    def __init__(self, handle, settings, device, scheduler, text, path=None, diagnostics=()):
        self._handle, self._settings, self._text = handle, settings, text
        self.device, self.scheduler, self.path = device, scheduler, path
        self.diagnostics = list(diagnostics)
        self._memories = {}  # by memory model: a module does not change
        info = lib.load().rh_get_info(handle.pointer).contents
        self.name = str(info.name)
        self.is_scheduled = info.is_scheduled
        self.num_instructions = info.num_instructions
        self.num_partitions = info.num_partitions
        self.num_elided_constants = info.num_elided_literals
        self.num_rematerialized = info.num_rematerialized
        self.target = settings.target.decode()
        self.copies = next(name for name, value in lib.COPIES.items()
                           if value == (settings.copies or info.copies))
        self.copies_certain = bool(settings.copies) or info.copies_are_sure

    def _keep(self, out):
        """The handle of a new module that refers to the text of this one."""
        return lib.Handle(out.value, "rh_module_free", self._handle)

    @functools.cached_property
    def _scheduled(self):
        return self.schedule(self.scheduler)._handle

    def schedule(self, scheduler: str = "auto", *, ignore_schedule: bool = False,
                 inline_calls: str = "auto", unfuse: str | typing.Iterable[str] = (), fuse: bool = False) -> Module:
        """The module in an order: that of its text if it is scheduled, or that of a scheduler. `unfuse`, one or several
        of loop, input, output, all and shared: fusions of these kinds are replaced by their instructions; with shared,
        what several loop fusions compute gets a fusion of its own. With `fuse`, chains of elementwise instructions of a
        module that XLA has yet to optimize become fusions, as they will on GPU and TPU; `split_fusions()` takes these
        apart again."""
        options = lib.ScheduleOptions(
            scheduler=lib.encode(scheduler), ignore_schedule=ignore_schedule,
            inline_calls=lib.choice("inline_calls", inline_calls, lib.INLINES),
            unfuse=lib.flags("unfuse", unfuse, lib.UNFUSE), fuse=fuse)
        return self._schedule(options, scheduler)

    def split_fusions(self) -> Module:
        """An unscheduled module without the fusions that schedule(fuse=True) made, also of a result of remat()."""
        out = ctypes.c_void_p()
        lib.call("rh_split_fusions", self._handle.pointer, ctypes.byref(self._settings), ctypes.byref(out),
                 text=self._text)
        return Module(self._keep(out), self._settings, self.device, self.scheduler, self._text, self.path, [])

    def _schedule(self, options, scheduler):
        out = ctypes.c_void_p()
        _, found = lib.call("rh_schedule", self._handle.pointer, ctypes.byref(self._settings),
                            ctypes.byref(options), ctypes.byref(out), text=self._text)
        result = Module(self._keep(out), self._settings, self.device, scheduler, self._text,
                        self.path, found)
        result.__dict__["_scheduled"] = result._handle
        return result

    # -- what is measured --

    def memory(self, memory_model: str = "heap") -> Memory:
        """The bytes that the module takes, in its order."""
        if memory_model not in self._memories:
            struct = lib.Memory()
            lib.call("rh_measure_memory", self._scheduled.pointer, ctypes.byref(self._settings),
                     lib.encode(memory_model), ctypes.byref(struct), text=self._text)
            self._memories[memory_model] = read_memory(struct)
        return self._memories[memory_model]

    def cost(self, trip_count: int = 1, profile: lib.Handle | None = None) -> Cost:
        """The modelled work on the device, or of the handle of another profile. Loops whose trip count
        the module does not show run `trip_count` times."""
        struct = lib.Cost()
        profile = profile or self._profile(trip_count)
        lib.call("rh_measure_cost", self._scheduled.pointer, ctypes.byref(self._settings),
                 profile.pointer, trip_count, ctypes.byref(struct), text=self._text)
        source = ctypes.create_string_buffer(lib.TIME_SOURCE_CHARS)
        lib.load().rh_time_source(ctypes.byref(struct), profile.pointer, source)
        return Cost(struct.flops_weighted, struct.transcendentals_weighted,
                    struct.bytes_accessed_weighted, struct.seconds, source.value.decode())

    def _profile(self, trip_count=1):
        """The handle of the device's profile, scaled by what was measured of this module."""
        profile = load_device(self.device)
        if not self._settings.times:
            return profile
        out = ctypes.c_void_p()
        lib.call("rh_profile_scaled", profile.pointer, self._scheduled.pointer,
                 ctypes.byref(self._settings), trip_count, ctypes.byref(out), text=self._text)
        return lib.Handle(out.value, "rh_profile_free")

    def report(self, memory_model: str = "heap") -> Report:
        """Where the memory goes at the peak."""
        with self._report(memory_model) as struct:
            return Report(self, struct)

    @contextlib.contextmanager
    def _report(self, memory_model):
        """The library's report, which ends with the context."""
        out = ctypes.POINTER(lib.Report)()
        lib.call("rh_report_make", self._scheduled.pointer, ctypes.byref(self._settings),
                 lib.encode(memory_model), ctypes.byref(out), text=self._text)
        try:
            yield out.contents
        finally:
            lib.load().rh_report_free(out)

    def advise(self, mem_limit: Budget | None = None, *, limit_counts: str = "total", trip_count: int = 1,
               max_steps: int = 4) -> dict[str, typing.Any]:
        """What to change in the program so that it takes less memory: a dictionary with the keys that
        `remat-hlo advise --json` has, of which `summary` is a text for people, `plan` the least list of
        changes that meets the limit, and `remedies` all of them, each alone. `mem_limit` is as in
        `remat`, or None for as low as possible."""
        budget, limit = None if mem_limit is None else parse_budget(mem_limit), lib.NO_LIMIT
        if budget and budget.kind != "min":
            memory = self.memory()
            limit = budget.bytes(memory.counted_bytes(limit_counts),
                                 memory.bound_bytes(limit_counts))
        profile = self._profile(trip_count)
        options = lib.AdviceOptions(limit_bytes=limit, default_trip_count=trip_count,
                                    limit_counts=lib.choice("limit_counts", limit_counts, lib.COUNTS),
                                    max_steps=max_steps, profile=profile.pointer)
        out = ctypes.c_void_p()
        lib.call("rh_advice_make", self._scheduled.pointer, ctypes.byref(self._settings),
                 ctypes.byref(options), ctypes.byref(out), text=self._text,
                 accept=(lib.OK, lib.OVER_LIMIT))
        advice = lib.Handle(out.value, "rh_advice_free", self._scheduled)
        return json.loads(lib.collect("rh_advice_print", advice.pointer))

    # -- what is written --

    def text(self) -> str:
        """The HLO text: that which was read, except for what has changed."""
        return lib.collect("rh_print", self._handle.pointer).decode()

    def canonical_text(self) -> str:
        """The text without metadata in XLA's layout: the same for the same computation."""
        options = lib.FormatOptions(omit_metadata=True)
        return lib.collect("rh_format", self._handle.pointer, ctypes.byref(options)).decode()

    def save(self, path: Path) -> None:
        """Writes the HLO text to a file."""
        write_file(path, self.text())

    def _picture(self, kind, before=None, limit_bytes=-1, counts="total"):
        maps = []
        for module in filter(None, (before, self)):
            out = ctypes.c_void_p()
            lib.call("rh_memory_map_make", module._scheduled.pointer,
                     ctypes.byref(module._settings), ctypes.byref(out), text=module._text)
            maps.append(lib.Handle(out.value, "rh_memory_map_free", module))
        titles = [b"before", b"after"] if before else [self.name.encode(), None]
        picture = lib.Picture(before=maps[0].pointer, after=maps[1].pointer if before else None,
                              before_title=titles[0], after_title=titles[1],
                              limit_bytes=limit_bytes, limit_counts=lib.COUNTS[counts])
        return lib.collect("rh_emit_picture", ctypes.byref(picture),
                           lib.PICTURES[kind]).decode()

    def html(self, path: Path | None = None) -> str:
        """The page that shows the memory over time; it is also written to `path`."""
        return write_file(path, self._picture("html"))

    def svg(self, path: Path | None = None) -> str:
        """The same as a still picture."""
        return write_file(path, self._picture("svg"))

    # -- what becomes of it --

    def remat(self, mem_limit: Budget, *, algorithm: str = "auto", memory_model: str = "heap",
              limit_counts: str = "total", scheduler: str | None = None, emit: str = "scheduled",
              protect: str = "auto", small_node_limit: int | None = None,
              modes: typing.Iterable[str] = ("recompute",), remat_collectives: bool = False,
              block_size_limit: int = 1, pin: typing.Iterable[str] | None = None,
              never: typing.Iterable[str] | None = None, parameters: typing.Mapping[str, int] | None = None,
              effort: int = 5, time_limit: float = 0, num_threads: int = 1,
              trip_count: int = 1) -> Rematerialized:
        """Rematerializes the module under a budget: bytes, `12GiB`, `80%` of the peak, `r80%` of its
        reducible part, or `min`. Returns a Rematerialized, whose `is_met` says whether the budget is
        met; it is the best result otherwise. The result is proven to compute the same.

        Other arguments are those of the command-line tool. `algorithm` is one of `algorithms()` or
        checkpoint=collection:REGEX; `pin` and `never` are lists of expressions; `parameters` is a
        dictionary of what --set takes; `effort`, 0 to 9, is how long an algorithm may search, in steps."""
        base = self if scheduler is None else self.schedule(scheduler)
        options, keeps = remat_options(
            algorithm=algorithm, memory_model=memory_model, limit_counts=limit_counts, emit=emit,
            protect=protect, small_node_limit=small_node_limit, modes=modes,
            remat_collectives=remat_collectives, block_size_limit=block_size_limit, pin=pin,
            never=never, parameters=parameters, effort=effort, time_limit=time_limit, num_threads=num_threads)
        return base._rematerialize(parse_budget(mem_limit), options, keeps, trip_count=trip_count)

    def apply(self, plan: str | os.PathLike[str], mem_limit: Budget | None = None, *,
              limit_counts: str = "total", emit: str = "scheduled", protect: str = "auto",
              trip_count: int = 1) -> Rematerialized:
        """Applies a plan, JSON or a path, that `Rematerialized.plan` or --save-plan wrote."""
        options, keeps = remat_options(limit_counts=limit_counts, emit=emit, protect=protect)
        budget = None if mem_limit is None else parse_budget(mem_limit)
        return self._rematerialize(budget, options, keeps, plan=parse_plan(plan),
                                   trip_count=trip_count)

    def _rematerialize(self, budget, options, keeps, plan=None, trip_count=1):
        base = self
        if plan:
            preparation = lib.ScheduleOptions()
            lib.call("rh_plan_preparation", plan.pointer, ctypes.byref(preparation))
            base = self._schedule(preparation, "auto")
        model = options.memory_model.decode()
        before = base.memory(model)
        counts = lib.name_of(options.limit_counts, lib.COUNTS)
        limit = lib.NO_LIMIT if budget is None else budget.bytes(before.counted_bytes(counts), before.bound_bytes(counts))
        options.limit_bytes, options.keep_plan = limit, True
        profile = base._profile(trip_count)
        options.profile, options.profile_handle = profile.pointer, profile
        out, result = ctypes.c_void_p(), lib.RematResult()
        arguments = [base._scheduled.pointer, ctypes.byref(base._settings)]
        arguments += [plan.pointer] if plan else []
        with _interrupts.noted() as noted:
            cancel = lib.CANCEL_FN(lambda _: noted.is_pressed)
            options.cancel = ctypes.cast(cancel, ctypes.c_void_p)
            try:
                status, found = lib.call(
                    "rh_apply_plan" if plan else "rh_remat", *arguments, ctypes.byref(options),
                    ctypes.byref(out), ctypes.byref(result), text=self._text,
                    accept=(lib.OK, lib.OVER_LIMIT))
            finally:
                options.cancel = None
            made = self._keep(out)
        if base.copies == "pending" and not base.copies_certain:
            found = [*found, *self._doubts(made)]
        return Rematerialized(base, before, made, limit, (options, keeps), result, found, trip_count)

    def _doubts(self, made):
        """Warnings of what is right only if XLA has still to insert its copies."""
        status, found = lib.call("rh_verify", self._handle.pointer, made.pointer,
                                 ctypes.byref(self._settings), None,
                                 accept=(lib.OK, lib.NOT_EQUIVALENT))
        return found if status == lib.OK else []

    def compare(self, mem_limits: typing.Iterable[Budget] = ("80%", "60%", "40%"),
                algorithms: typing.Iterable[str] | None = None, **options: typing.Any) -> Comparison:
        """Runs algorithms under budgets, and compares what they save and what that costs.
        Algorithms that cannot run here are listed with the reason."""
        if algorithms is None:
            algorithms = [name for name, _ in lib.entries("algorithms")
                          if name not in ("none", "auto", "optimal", "path-compat", COLLECTION)]
        rows = []
        for algorithm in algorithms:
            for limit in mem_limits:
                try:
                    result = self.remat(limit, algorithm=algorithm, **options)
                    rows.append(Comparison.Row(
                        algorithm, limit, result.is_met, result.memory_before.peak_bytes,
                        result.memory_after.peak_bytes, result.added_time,
                        result.num_rematerialized, result.remat_seconds, None))
                except lib.Error as error:
                    rows.append(Comparison.Row(algorithm, limit, False, None, None, None, 0, 0,
                                               str(error)))
        return Comparison(self.name, rows)

    def difference(self, after: Module, by: str = "source",
                   memory_model: str = "heap") -> list[Change]:
        """Which sums at the peak differ from another module, largest change first. `by` is category,
        opcode, source, op_name or computation."""
        number, changes = lib.choice("by", by, lib.SUMS), []

        def visit(_, change):
            change = change.contents
            changes.append(Change(place(change), change.before_bytes, change.after_bytes))

        with self._report(memory_model) as old, after._report(memory_model) as new, \
                lib.called_back(lib.CHANGE_FN, visit) as callback:
            lib.call("rh_compare_sums", old.sums[number], new.sums[number], callback, None)
        return changes

    def verify(self, after: Module, *, ignore_schedule: bool = False,
               any_rounding: bool = False) -> None:
        """Proves that another module computes the same bits. Raises NotEquivalentError with the
        differences if that cannot be shown. Warns if the modules are equivalent only under
        what is assumed of the first one's copies."""
        options = lib.VerifyOptions(ignore_schedule=ignore_schedule, any_rounding=any_rounding)
        _, found = lib.call("rh_verify", self._handle.pointer, after._handle.pointer,
                            ctypes.byref(self._settings), ctypes.byref(options))
        for diagnostic in found:
            warnings.warn(diagnostic.message, stacklevel=2)

    def __repr__(self):
        order = "scheduled" if self.is_scheduled else "not scheduled"
        return f"<Module {self.name}: {self.num_instructions:,} instructions, {order}>"

    def _repr_html_(self):
        return _show.module_html(self)


def print_proto(proto: bytes) -> str:
    """The text of a serialized HloModuleProto, which is what print_hlo() makes of the module. Raises Error
    where the library cannot say what XLA would print."""
    return lib.collect("rh_print_proto", proto, len(proto)).decode()


def patch_proto(before, after, proto, attribute=None, value=None):
    """The serialized HloModuleProto of `after`, which was made of `before`, whose text was printed from
    `proto`. The entry's first parameter gets the frontend attribute, if there is one. Raises Error where
    the library cannot do that: XLA then reads the text."""
    options = lib.PatchOptions(attribute=lib.encode(attribute), value=lib.encode(value))
    return lib.collect("rh_patch_proto", before._handle.pointer, after._handle.pointer, proto,
                       len(proto), ctypes.byref(options))


# ---- results ----

@dataclasses.dataclass(frozen=True)
class Way:
    """What may lead to less memory. `option` is its name on the command line; `stage` stands for an
    earlier dump, and `calibrate` for the command. `bytes` at the peak stay for this reason."""
    option: str
    value: typing.Optional[str]
    bytes: int
    explanation: str

    ARGUMENTS = {"remat-collectives": "remat_collectives=True", "small-node-limit": "small_node_limit={}",
                 "algorithm": "algorithm='{}'", "effort": "effort={}", "remat-mode": "modes='{}'",
                 "stage": "stage='{}'", "calibrate": "remat-hlo calibrate", "xla-flags": "XLA_FLAGS={}"}

    @property
    def argument(self) -> str | None:
        """How programs that are compiled as they run ask for it; None where they cannot."""
        form = self.ARGUMENTS.get(self.option)
        return form and form.format(self.value)


class Rematerialized(Module):
    """A module under a budget. `before` is the module that it was made from."""

    def __init__(self, before, memory_before, handle, limit_bytes, asked, result, diagnostics,
                 trip_count):
        options, _ = self._asked = asked
        super().__init__(handle, before._settings, before.device, "auto", before._text,
                         before.path, diagnostics)
        self.before, self.memory_before = before, memory_before
        self.is_min = limit_bytes == 0
        self.limit_bytes = None if limit_bytes == lib.NO_LIMIT else limit_bytes
        self.limit_counts = lib.name_of(options.limit_counts, lib.COUNTS)
        self.is_met = result.is_met or self.is_min
        self.hardly_helps, self._result = result.hardly_helps, result
        self.algorithm = result.algorithm.decode() if result.algorithm else None
        self.remat_seconds, self.verify_seconds = result.remat_seconds, result.verify_seconds
        self.is_timed_out = result.is_timed_out
        self.num_moved, self.num_moves_lost = result.num_moved, result.num_moves_lost
        self.protect = lib.name_of(result.protect, lib.PROTECTS)
        self._model, self._trip_count = options.memory_model.decode(), trip_count

    @property
    def memory_after(self) -> Memory:
        return self.memory(self._model)

    @functools.cached_property
    def cost_before(self) -> Cost:
        return self.before.cost(self._trip_count)

    @functools.cached_property
    def cost_after(self) -> Cost:
        return self.cost(self._trip_count, self.before._profile(self._trip_count))

    @property
    def added_time(self) -> float:
        """What the modelled time grows by, as a fraction."""
        before = self.cost_before.seconds
        return (self.cost_after.seconds - before) / before if before else 0.0

    @functools.cached_property
    def may_help(self) -> list[Way]:
        """What may lead to less memory where the budget is not met or is `min`: a list of Way."""
        ways = []

        def visit(_, way):
            way = way.contents
            ways.append(Way(way.option.decode(), way.value.decode() if way.value else None, way.bytes,
                            way.explanation.decode()))

        options, _ = self._asked
        with lib.called_back(lib.WAY_FN, visit) as callback:
            lib.call("rh_visit_ways", self.before._scheduled.pointer, self._handle.pointer,
                     ctypes.byref(self._settings), ctypes.byref(options), ctypes.byref(self._result),
                     callback, None)
        return ways

    @functools.cached_property
    def plan(self) -> str:
        """The steps as JSON text, which `Module.apply` repeats without a search."""
        return lib.collect("rh_emit_plan", self._handle.pointer, ctypes.byref(self._settings),
                           self.before._profile(self._trip_count).pointer, self._trip_count).decode()

    def save_plan(self, path: Path) -> None:
        """Writes the plan to a file."""
        write_file(path, self.plan)

    def html(self, path: Path | None = None) -> str:
        """The page that shows the memory before and after, side by side."""
        return write_file(path, self._both("html"))

    def svg(self, path: Path | None = None) -> str:
        return write_file(path, self._both("svg"))

    def _both(self, kind):
        limit = -1 if self.limit_bytes is None or self.is_min else self.limit_bytes
        return self._picture(kind, self.before, limit, self.limit_counts)

    def __repr__(self):
        met = "met" if self.is_met else "not met"
        limit = "min" if self.is_min else "no limit" if self.limit_bytes is None else \
            f"limit {format_bytes(self.limit_bytes)}, {met}"
        return (f"<Rematerialized {self.name}: {format_bytes(self.memory_before.peak_bytes)} -> "
                f"{format_bytes(self.memory_after.peak_bytes)}, {limit}, "
                f"{self.num_rematerialized:,} rematerialized, {self.num_moved:,} moved>")

    def _repr_html_(self):
        return _show.remat_html(self)
