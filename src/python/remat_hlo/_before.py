"""The route for a JAX whose compilations let nobody in, and for programs that XLA's optimizations leave nothing to
rewrite in: the program is rematerialized before XLA optimizes it. What that gives is not predicted but
measured: the program is compiled as it is, and then as it was rewritten, with budgets for the unoptimized module
that are corrected by what the optimized one took. The best of all these is kept."""

import dataclasses
import io
import re

from . import _decide
from . import _library as lib
from ._decide import CHANGED, NO_BETTER, SMALL, LiveReport, Phases
from ._figures import Memory
from ._files import print_hlo
from ._module import parse
from ._refusals import is_out_of_memory, needed_bytes
from ._sizes import Budget

STAGE = "BEFORE_OPTIMIZATIONS"
MOST_ATTEMPTS = 4
COPY = re.compile(r"^(\s*(?:ROOT )?%?[\w.\-]+ = [^\s(]\S* )copy\(", re.M)


def _number(module, name):
    """An integer among the attributes of an MLIR module."""
    attributes = module.operation.attributes
    return int(attributes[name].value) if name in attributes else 1


def hlo_text(module):
    """The HLO text of a StableHLO module."""
    from jaxlib import _jax
    code = io.BytesIO()
    module.operation.write_bytecode(code)
    computation = _jax.mlir.mlir_module_to_xla_computation(code.getvalue(), use_tuple_args=False)
    return print_hlo(computation.get_hlo_module())


def stablehlo(text, original):
    """The StableHLO module of an HLO text, with what `original` says of its parameters and results:
    donations and layouts."""
    from jaxlib import _hlo, _jax
    from jaxlib.mlir import ir
    # A copy has no counterpart in StableHLO that TPU and GPU take; a reshape to the same shape is another value, too.
    text = COPY.sub(r"\1reshape(", text)
    proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    code = _jax.mlir.xla_computation_to_mlir_module(_hlo.XlaComputation(proto))
    with original.context:
        module = ir.Module.parse(code)
        attributes = module.operation.attributes
        for name in _names(attributes):
            if name.startswith("mhlo."):
                del attributes[name]
        for name in _names(original.operation.attributes):
            attributes[name] = original.operation.attributes[name]
        for name in ("arg_attrs", "res_attrs"):
            was = _main(original).attributes
            if name in was:
                _main(module).attributes[name] = was[name]
        # Meshes, which shardings in those attributes refer to, are no part of HLO.
        known = {_symbol(operation) for operation in module.body.operations}
        for operation in original.body.operations:
            if operation.operation.name == "sdy.mesh" and _symbol(operation) not in known:
                operation.operation.clone(ir.InsertionPoint.at_block_begin(module.body))
    return module


def _names(attributes):
    """Of MLIR attributes; versions differ in what iterating gives."""
    return [one if isinstance(one, str) else one.name for one in attributes]


def _symbol(operation):
    attributes = operation.operation.attributes
    return attributes["sym_name"].value if "sym_name" in attributes else None


def _main(module):
    for operation in module.body.operations:
        if _symbol(operation) == "main":
            return operation
    raise ValueError("the module has no function main")


# ---- what XLA says ----

def _memory_of(total, temp, parameters, outputs, aliased, estimate):
    """What XLA has assigned, for one device. The lower bound is the part of it that it is of the estimate, which is of
    the module for all devices and not fused."""
    bound = int(total * min(1.0, estimate.lower_bound_bytes / max(1, estimate.peak_bytes)))
    return Memory(peak_bytes=total, temp_bytes=temp, parameter_bytes=parameters, output_bytes=outputs,
                  aliased_bytes=aliased, constant_bytes=0, total_bytes=total, lower_bound_bytes=bound,
                  peak_instruction="")


@dataclasses.dataclass(frozen=True)
class Measured:
    """A program that XLA has compiled, and what it has assigned; or one that it has refused for want of memory, and what
    that needs. `executable` is None then."""
    executable: object
    memory: Memory

    @classmethod
    def of(cls, executable, estimate):
        stats = executable.get_compiled_memory_stats()
        total = (stats.temp_size_in_bytes + stats.argument_size_in_bytes
                 + stats.output_size_in_bytes - stats.alias_size_in_bytes)
        return cls(executable, _memory_of(total, stats.temp_size_in_bytes, stats.argument_size_in_bytes,
                                          stats.output_size_in_bytes, stats.alias_size_in_bytes, estimate))

    @classmethod
    def of_refusal(cls, error, estimate, num_devices):
        """By the words of the error; where it has no figure, what is estimated before optimization."""
        said = needed_bytes(error)
        total = estimate.total_bytes // num_devices if said is None else said
        parameters = min(total, estimate.parameter_bytes // num_devices)
        aliased = estimate.aliased_bytes // num_devices
        outputs = min(total - parameters + aliased, estimate.output_bytes // num_devices)
        temp = total - parameters - outputs + aliased
        return cls(None, _memory_of(total, temp, parameters, outputs, aliased, estimate))


# ---- candidates ----

@dataclasses.dataclass
class _Candidates:
    """What is compiled: the program as it is, and as it was rewritten under several budgets. The best is the one with
    the least memory as XLA has assigned it, which may be the program as it is."""
    compile_module: object
    module: object
    options: object
    report: LiveReport
    phases: Phases
    warnings: list
    best: Measured = None
    texts: set = dataclasses.field(default_factory=set)

    @property
    def num_left(self):
        return MOST_ATTEMPTS - len(self.texts)

    def counted(self, made):
        return made.memory.counted_bytes(self.options.limit_counts)

    def is_met(self):
        limit = self.report.limit_bytes
        return limit and self.best.executable is not None and self.counted(self.best) <= limit

    def try_it(self, result, estimate):
        """Compiles a result. Returns what it takes as Measured, without an executable if XLA has no memory for it; None
        if XLA does not compile it, or if it was compiled before."""
        text = result.split_fusions().text()
        if text in self.texts:
            return None
        self.texts.add(text)
        try:
            made = Measured.of(self.compile_module(stablehlo(text, self.module)), estimate)
        except Exception as error:
            if not is_out_of_memory(error):
                self.warnings.append(("refused", f"XLA does not compile {self.report.name} as it was rewritten: "
                                      f"{str(error)[:300]}"))
                return None
            made = Measured.of_refusal(error, estimate, num_devices(self.module))
        self.phases.end("compile")
        if made.executable is not None and (self.best.executable is None
                                            or self.counted(made) < self.counted(self.best)):
            self.best = made
            self.report.num_rematerialized = result.num_rematerialized
            self.report.algorithm = result.algorithm or self.options.algorithm
            self.report.modelled_seconds = (result.cost_before.seconds, result.cost_after.seconds)
        return made


def num_devices(module):
    return _number(module, "mhlo.num_partitions") * _number(module, "mhlo.num_replicas")


def compile_within(compile_module, module, options, limit, device, platform):
    """(executable, report, warnings). Raises only what compiling the module as it is raises. A program that XLA refuses
    for want of memory is compiled if it can be rewritten so that it fits."""
    report = LiveReport("", SMALL, STAGE, str(options.mem_limit),
                        limit_counts=options.limit_counts)
    phases, warnings, refusal = Phases(report.seconds), [], None
    try:
        plain = compile_module(module)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        plain, refusal = None, error
    phases.end("compile")
    report.name = module.operation.attributes["sym_name"].value
    candidates = _Candidates(compile_module, module, options, report, phases, warnings)
    try:
        executable = _search(candidates, plain, refusal, limit, device, platform)
    except Exception as error:
        report.outcome, report.reason = _decide.FAILED, f"{type(error).__name__}: {error}"
        warnings.append((("failed", type(error).__name__), f"{report.name} is left as it is: "
                         f"{type(error).__name__}: {str(error)[:300]}"))
        executable = plain
    if executable is None:
        raise refusal
    return executable, report, warnings


def _search(candidates, plain, refusal, limit, device, platform):
    report, options, module = candidates.report, candidates.options, candidates.module
    if not options.is_for(report.name):
        report.outcome = _decide.OTHER_NAME
        return plain
    if plain is not None:
        stats = plain.get_compiled_memory_stats()
        if stats.temp_size_in_bytes + stats.argument_size_in_bytes < options.min_peak:
            return plain
    base = parse(hlo_text(module).encode(), copies="pending", scheduler="default",
                 device=device if options.device == "auto" else options.device)
    # What XLA will fuse is decided about as fused: first on that form of the module, then on the module as it is.
    forms = [base.schedule("default", fuse=True), base.schedule("default")]
    if platform == "cpu":
        forms.reverse()
    estimate = forms[0].memory()
    before = Measured.of(plain, estimate) if plain is not None else \
        Measured.of_refusal(refusal, estimate, num_devices(module))
    report.before, report.num_instructions = before.memory, forms[-1].num_instructions
    has_goal = report.goal(limit, options, has_bound=False) is not None  # XLA has still to fuse
    candidates.phases.end("measure")
    if not has_goal:
        return plain
    candidates.best = before
    for form in forms:
        if not candidates.is_met():
            _attempts(candidates, form, platform)
    best = candidates.best
    report.set_after(best.memory)
    if best is not before:
        report.outcome = CHANGED
    elif report.outcome != _decide.HARDLY:
        report.outcome = NO_BETTER
    return best.executable


def _protection(options, platform):
    """What keeps XLA from merging clones again, as jax.checkpoint does: XLA:CPU drops opt-barriers before it merges, the
    others keep them, and a conditional would cost them time."""
    if options.protect != "auto":
        return lib.PROTECTS[options.protect]
    return lib.PROTECTS["conditional" if platform == "cpu" else "opt-barrier"]


def _attempts(candidates, base, platform):
    """Budgets for the module before optimization, each corrected by what XLA has assigned under the last one, until a
    result is within the budget."""
    report, options, phases = candidates.report, candidates.options, candidates.phases
    estimate = base.memory()
    limit, whole = report.limit_bytes, candidates.counted(candidates.best)
    goal = int(estimate.counted_bytes(options.limit_counts) * limit / whole)
    for _ in range(MOST_ATTEMPTS):
        if not candidates.num_left:
            break
        remat, keeps = _decide.remat_options_for(options, report)
        remat.protect = _protection(options, platform)
        remat.emit = lib.EMITS["unscheduled"]
        result = base._rematerialize(Budget("bytes", goal), remat, keeps,
                                     trip_count=options.trip_count)
        phases.end("remat")
        if not result.is_met:
            report.may_help = tuple(one for one in _decide.live_arguments(result)
                                    if not one.startswith("stage="))
        if result.hardly_helps:
            report.outcome, report.reason = _decide.HARDLY, _decide.hardly_reason(result)
            break
        if not result.num_rematerialized:  # another order was enough, which XLA does not take over
            goal = goal * 3 // 4
            continue
        made = candidates.try_it(result, estimate)
        if made is None or candidates.is_met() or not limit or not result.is_met:
            break
        goal = int(goal * min(0.95, limit / candidates.counted(made)))
