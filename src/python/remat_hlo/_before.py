"""The route for a JAX whose compilations let nobody in: the program is rematerialized before XLA
optimizes it. What that gives is not predicted but measured: the program is compiled as it is, and
then as it was rewritten, with a budget for the unoptimized module that is corrected by what the
optimized one took."""

import dataclasses
import io
import re

from . import _decide
from . import _library as lib
from ._decide import CHANGED, NO_BETTER, SMALL, LiveReport, Phases
from ._module import Memory, parse, print_hlo
from ._sizes import Budget

STAGE = "BEFORE_OPTIMIZATIONS"
MOST_ATTEMPTS = 4
COPY = re.compile(r"^(\s*(?:ROOT )?%?[\w.\-]+ = [^\s(]\S* )copy\(", re.M)
SEVERAL_DEVICES = "for several devices"


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
        for operation in original.body.operations:
            if operation.operation.name == "sdy.mesh":
                operation.operation.clone(ir.InsertionPoint.at_block_begin(module.body))
    return module


def _names(attributes):
    """Of MLIR attributes; versions differ in what iterating gives."""
    return [one if isinstance(one, str) else one.name for one in attributes]


def _main(module):
    for operation in module.body.operations:
        if "sym_name" in operation.attributes and operation.attributes["sym_name"].value == "main":
            return operation
    raise ValueError("the module has no function main")


@dataclasses.dataclass(frozen=True)
class Measured:
    """What XLA has assigned."""
    executable: object
    memory: Memory

    @classmethod
    def of(cls, executable, estimate):
        stats = executable.get_compiled_memory_stats()
        total = (stats.temp_size_in_bytes + stats.argument_size_in_bytes
                 + stats.output_size_in_bytes - stats.alias_size_in_bytes)
        return cls(executable, Memory(
            peak_bytes=total, temp_bytes=stats.temp_size_in_bytes,
            parameter_bytes=stats.argument_size_in_bytes, output_bytes=stats.output_size_in_bytes,
            aliased_bytes=stats.alias_size_in_bytes, constant_bytes=0, total_bytes=total,
            lower_bound_bytes=min(total, estimate.lower_bound_bytes), peak_instruction=""))


def compile_within(compile_module, module, options, limit, device):
    """(executable, report, warnings). Raises only what compiling the module as it is raises."""
    report = LiveReport("", SMALL, STAGE, str(options.mem_limit),
                        limit_counts=options.limit_counts)
    phases, warnings = Phases(report.seconds), []
    plain = compile_module(module)
    phases.end("compile")
    report.name = module.operation.attributes["sym_name"].value
    try:
        executable = _search(compile_module, module, plain, options, limit, device, report, phases,
                             warnings)
    except Exception as error:
        report.outcome, report.reason = _decide.FAILED, f"{type(error).__name__}: {error}"
        warnings.append((("failed", type(error).__name__), f"{report.name} is left as it is: "
                         f"{type(error).__name__}: {str(error)[:300]}"))
        executable = plain
    return executable, report, warnings


def _search(compile_module, module, plain, options, limit, device, report, phases, warnings):
    if not options.is_for(report.name):
        report.outcome = _decide.OTHER_NAME
        return plain
    stats = plain.get_compiled_memory_stats()
    if stats.temp_size_in_bytes + stats.argument_size_in_bytes < options.min_peak:
        return plain
    if _number(module, "mhlo.num_partitions") * _number(module, "mhlo.num_replicas") > 1:
        report.outcome, report.reason = NO_BETTER, SEVERAL_DEVICES
        return plain
    base = parse(hlo_text(module).encode(), copies="pending", scheduler="default",
                 device=device if options.device == "auto" else options.device)
    base = base.schedule("default")
    estimate = base.memory()
    before = Measured.of(plain, estimate)
    report.before, report.num_instructions = before.memory, base.num_instructions
    has_goal = report.goal(limit, options, has_bound=False) is not None  # XLA has still to fuse
    phases.end("measure")
    if not has_goal:
        return plain
    best = _attempts(compile_module, module, base, before, options, report, phases, warnings)
    report.set_after(best.memory)
    if best is not before:
        report.outcome = CHANGED
    elif report.outcome != _decide.HARDLY:
        report.outcome = NO_BETTER
    return best.executable


def _attempts(compile_module, module, base, before, options, report, phases, warnings):
    """The first result within the budget, or else the one with the least memory."""
    best, counts = before, options.limit_counts
    wanted = report.limit_bytes / before.memory.counted_bytes(counts)
    goal = int(base.memory().counted_bytes(counts) * wanted)
    for _ in range(MOST_ATTEMPTS):
        remat, keeps = _decide.remat_options_for(options, report)
        if options.protect == "auto":  # XLA's optimizations undo the others
            remat.protect = lib.PROTECTS["conditional"]
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
        try:
            made = Measured.of(compile_module(stablehlo(result.text(), module)), base.memory())
        except Exception as error:
            warnings.append(("refused", f"XLA does not compile {report.name} as it was rewritten: "
                             f"{str(error)[:300]}"))
            break
        phases.end("compile")
        if made.memory.temp_bytes < best.memory.temp_bytes:
            best = made
            report.num_rematerialized = result.num_rematerialized
            report.algorithm = result.algorithm or options.algorithm
            report.modelled_seconds = (result.cost_before.seconds, result.cost_after.seconds)
        reached = made.memory.counted_bytes(counts)
        if reached <= report.limit_bytes or not report.limit_bytes or not result.is_met:
            break
        goal = int(goal * report.limit_bytes / reached)
    return best
