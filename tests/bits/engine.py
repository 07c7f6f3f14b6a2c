"""Compiles a program, rewrites its module with the tool where XLA lets a transformation do so, and
runs both on the same inputs.

The two places are PRE_SCHEDULER (copies are inserted, no order yet) and POST_SCHEDULER (an order,
too). XLA inserts no more copies behind them: a rewriting that reads what was overwritten is compiled
without a word, and only its numbers tell."""

import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import subprocess
import typing

# One thread, so that sums are made in one order. LLVM's effort is the one that users have: without it,
# whether a multiplication and an addition of its result are contracted depends on what else is in a
# fusion, and a fusion that no longer takes its slice itself has other last bits.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = " ".join((
    "--xla_cpu_multi_thread_eigen=false", os.environ.get("XLA_FLAGS", "")))

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.extend import xla  # noqa: E402
from jax.extend.backend import get_backend  # noqa: E402
from jaxlib import _hlo, _jax, xla_client  # noqa: E402

STAGES = {"POST": xla.PipelineStage.POST_SCHEDULER, "PRE": xla.PipelineStage.PRE_SCHEDULER}
TOOL_TIMEOUT_SECONDS = 120  # a search begins again where loops are written out


@dataclasses.dataclass
class Program:
    """`arguments(step)` gives all arguments of that step. The first outputs replace those numbered
    in `feed` in the next step, as a training loop does with its state. Instead of a function it may
    be HLO text, whose parameters are fed likewise."""
    name: str
    function: typing.Optional[typing.Callable]
    arguments: typing.Callable
    donate: tuple = ()
    feed: tuple = ()
    num_steps: int = 3
    text: typing.Optional[str] = None


class Failure(Exception):
    """What is wrong with a rewriting; the message says it."""


# ---- XLA ----

class Compiler:
    """XLA:CPU with one transformation at either stage, which is told anew for each compilation."""

    def __init__(self):
        self.client = get_backend("cpu")
        self.devices = _jax.DeviceList(tuple(self.client.local_devices()[:1]))
        self.transform = None  # (stage, serialized module) -> serialized module or None
        for stage, place in STAGES.items():
            xla.register_hlo_module_transformation(
                lambda serialized, stage=stage: self._called(stage, serialized), name="bits",
                stage=place, platforms=None)

    def _called(self, stage, serialized):
        return self.transform(stage, serialized) if self.transform else None

    def _compile(self, stablehlo):
        return self.client.compile_and_load(stablehlo, self.devices, xla_client.CompileOptions())

    def capture(self, stablehlo):
        """The untouched executable, and the module's text at each stage."""
        modules = {}

        def look(stage, serialized):
            modules.setdefault(stage, []).append(text_of(serialized))

        self.transform = look
        try:
            executable = self._compile(stablehlo)
        finally:
            self.transform = None
        if any(len(modules.get(stage, ())) != 1 for stage in STAGES):
            raise Failure("the stages are not gone through once each: "
                          f"{ {stage: len(texts) for stage, texts in modules.items()} }")
        return executable, {stage: texts[0] for stage, texts in modules.items()}

    def replace(self, stablehlo, stage, text):
        """The executable of what becomes of `text` at that stage."""
        try:
            parsed = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
        except Exception as error:
            raise Failure(f"XLA does not read it: {first_line(error)}") from error
        calls = []

        def give(at, _):
            calls.append(at)
            return parsed if at == stage else None

        self.transform = give
        try:
            executable = self._compile(stablehlo)
        except Exception as error:
            raise Failure(f"XLA does not compile it: {first_line(error)}") from error
        finally:
            self.transform = None
        if calls.count(stage) != 1:  # what runs would not be what was rewritten
            raise Failure(f"XLA asked {calls.count(stage)} times for the module")
        return executable


def text_of(serialized):
    return print_module(_hlo.HloModule.from_serialized_hlo_module_proto(serialized))


def print_module(module):
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True  # without it they are elided, and XLA makes values up
    return module.to_string(options)


def first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:400]


def stablehlo_of_text(text):
    proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    maker = getattr(_hlo, "XlaComputation", None) or xla_client.XlaComputation
    return _jax.mlir.xla_computation_to_mlir_module(maker(proto))


# ---- a program ----

class Runner:
    """A program, compiled as it is, with the outputs of its steps, once somebody wants them."""

    def __init__(self, compiler, program):
        self.compiler, self.program = compiler, program
        first = program.arguments(0)
        self.leaves_of_argument = [len(jax.tree.leaves(a)) for a in first]
        if program.text:
            self.stablehlo = stablehlo_of_text(program.text)
            leaves_of_output = None
        else:
            jitted = jax.jit(program.function, donate_argnums=program.donate, keep_unused=True)
            lowered = jitted.lower(*first)
            self.stablehlo = lowered.compiler_ir()
            leaves_of_output = jax.tree.leaves(lowered.out_info)
        self.check_feed(first, leaves_of_output)
        self.executable, self.texts = compiler.capture(self.stablehlo)

    @functools.cached_property
    def expected(self):
        return self.run(self.executable)

    @functools.cached_property
    def is_deterministic(self):
        return self.same(self.run(self.executable))

    def fed_leaves(self):
        """The numbers of the arguments' leaves that the first outputs replace, in order."""
        begin = np.cumsum([0, *self.leaves_of_argument])
        return [leaf for number in self.program.feed
                for leaf in range(begin[number], begin[number + 1])]

    def check_feed(self, first, outputs):
        if outputs is None:
            return
        leaves = jax.tree.leaves(first)
        for leaf, output in zip(self.fed_leaves(), outputs, strict=False):
            given = np.asarray(leaves[leaf])
            if (given.shape, given.dtype) != (output.shape, output.dtype):
                raise ValueError(f"{self.program.name}: argument leaf {leaf} is {given.dtype}"
                                 f"{given.shape}, its successor {output.dtype}{output.shape}")

    def run(self, executable):
        """The outputs of each step, as arrays of NumPy."""
        fed, results = None, []
        for step in range(self.program.num_steps):
            # may_alias=False: XLA copies a donated buffer that is NumPy's, and nothing is in place.
            leaves = [jax.device_put(np.asarray(a), may_alias=False)
                      for a in jax.tree.leaves(self.program.arguments(step))]
            for leaf, value in zip(self.fed_leaves(), fed or ()):
                leaves[leaf] = value
            fed = executable.execute(leaves)
            # Copies: the next step may write over what it is given.
            results.append([np.array(value, copy=True) for value in fed])
        return results

    def same(self, results):
        return all(a.tobytes() == b.tobytes() for was, now in zip(self.expected, results)
                   for a, b in zip(was, now))

    def largest_difference(self, results):
        """As a part of the largest number of the output that it is in."""
        return max((relative_difference(a, b) for was, now in zip(self.expected, results)
                    for a, b in zip(was, now) if a.tobytes() != b.tobytes()), default=0.0)

    def difference(self, results):
        """Words about where and how much results differ."""
        num_leaves = len(self.expected[0])
        places, first_step = set(), None
        for step, (was, now) in enumerate(zip(self.expected, results)):
            for number, (a, b) in enumerate(zip(was, now)):
                if a.tobytes() == b.tobytes():
                    continue
                places.add(number)
                first_step = step if first_step is None else first_step
        shown = ", ".join(map(str, sorted(places)[:8])) + (", ..." if len(places) > 8 else "")
        return (f"other bits from step {first_step} on, in {len(places)} of {num_leaves} outputs "
                f"({shown}), by up to {self.largest_difference(results):.3g} of the largest number")


def relative_difference(a, b):
    if a.dtype.kind == "V" or a.size == 0:  # an extension type that NumPy does not compute with
        return float("inf")
    a, b = (np.nan_to_num(x.astype(np.complex128)) for x in (a, b))
    return float(np.abs(a - b).max() / max(np.abs(a).max(), 1e-30))


# ---- the tool ----

def run_tool(tool, arguments):
    try:
        run = subprocess.run([tool, *arguments], capture_output=True, text=True,
                             timeout=TOOL_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"remat-hlo: no end within {TOOL_TIMEOUT_SECONDS} s") from error
    return run.returncode, " ".join(run.stderr.split())[:600]


def rewrite(tool, before, folder, flags):
    """The rewritten text, and the summary of the run."""
    after, summary = pathlib.Path(folder, "after.hlo"), pathlib.Path(folder, "summary.json")
    after.unlink(missing_ok=True)
    code, said = run_tool(tool, [str(before), "-q", "-o", str(after), f"--json={summary}",
                                 *flags])
    if code not in (0, 1):
        raise Failure(f"remat-hlo: exit code {code}: {said}")
    return after.read_text(), json.loads(summary.read_text())


def verify(tool, before, after, extra=()):
    """None, or what the tool has against it."""
    code, said = run_tool(tool, ["verify", str(before), str(after), "-q", *extra])
    return None if code == 0 else f"verify: exit code {code}: {said}"


def known_reads(tool, path, extra=()):
    """None, or which reads of overwritten memory the tool sees in a module."""
    code, said = run_tool(tool, ["report", str(path), "--json=/dev/null", *extra])
    if code != 0:
        return f"report: exit code {code}: {said}"
    return said if "overwritten" in said else None


def memory(tool, path):
    """The report on a module's memory."""
    run = subprocess.run([tool, "report", str(path), "--json=-"], capture_output=True, text=True,
                         timeout=TOOL_TIMEOUT_SECONDS)
    if run.returncode != 0:
        raise Failure(f"report: exit code {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:12]

