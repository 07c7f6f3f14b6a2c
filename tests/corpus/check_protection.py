"""Compiles a training step that was rematerialized, with each form of --protect, and looks for the
recomputations in what XLA made of it. Run by scripts/check-protection.sh.

Two ways lead to XLA: the text of before_optimizations, which goes through StableHLO and the whole
pipeline; and a transformation at PRE_SCHEDULER, where everything is fused, and only dead code
elimination and the scheduler are still to come. Prints a table; ends with 1 when a form that should
keep recomputations loses them, or when a bit of the results differs."""

import os
import re
import subprocess
import sys
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import xla_bridge
from jaxlib import xla_client

try:
    from jaxlib import _hlo
except ImportError:
    _hlo = xla_client._xla

FORMS = ("none", "control-deps", "opt-barrier", "conditional")
# control-predecessors have no counterpart in StableHLO, and nothing at PRE_SCHEDULER merges clones.
KEEPS = {"before_optimizations": {"opt-barrier", "conditional"}, "PRE_SCHEDULER": set(FORMS)}
OPTIONS = ["--limit-counts=temp", "--mem-limit=min", "--algorithm=path", "--emit=unscheduled",
           "--small-node-limit=0.1"]
NUM_LAYERS, BATCH, NARROW, WIDE = 6, 256, 128, 1024
TIMEOUT_SECONDS = 300


def residual(h, up, down):
    return h + jnp.tanh(h @ up) @ down


def step(weights, x, block=residual):
    """Residual blocks: each is wide inside, and its backward pass reads that again."""
    def loss(weights):
        h = x
        for up, down in weights:
            h = block(h, up, down)
        return jnp.sum(h * h)
    gradients = jax.grad(loss)(weights)
    return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradients)


def arguments():
    random = np.random.default_rng(1)

    def normal(*shape):
        return jnp.asarray(random.standard_normal(shape) * 0.05, jnp.float32)
    weights = [(normal(NARROW, WIDE), normal(WIDE, NARROW)) for _ in range(NUM_LAYERS)]
    return weights, normal(BATCH, NARROW)


def count(text, opcode):
    return len(re.findall(rf"[\]}})] {opcode}\(", text))


class Failure(Exception):
    pass


def protect(tool, text, form):
    """The rematerialized text."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = os.path.join(folder, "before.hlo"), os.path.join(folder, "after.hlo")
        with open(before, "w") as file:
            file.write(text)
        run = subprocess.run([tool, before, "-q", "-o", after, f"--protect={form}", *OPTIONS],
                             capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
        if run.returncode not in (0, 1):
            raise Failure(f"remat-hlo: exit code {run.returncode}: {run.stderr.strip()}")
        with open(after) as file:
            return file.read()


# ---- before_optimizations ----

def compile_text(text):
    proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    computation = getattr(_hlo, "XlaComputation", getattr(xla_client, "XlaComputation", None))
    module = xla_client._xla.mlir.xla_computation_to_mlir_module(computation(proto))
    client = xla_bridge.get_backend("cpu")
    devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))
    return client.compile_and_load(module, devices, xla_client.CompileOptions())


def measure_text(text):
    """The final text, its temporaries, the outputs' bytes."""
    compiled = compile_text(text)
    outputs = compiled.execute(jax.tree.leaves(arguments()))
    return (compiled.hlo_modules()[0].to_string(),
            compiled.get_compiled_memory_stats().temp_size_in_bytes,
            [np.asarray(output).tobytes() for output in outputs])


def by_text(tool):
    original = jax.jit(step).lower(*arguments()).compiler_ir("hlo").as_hlo_text()
    yield "original", original, measure_text(original)
    for form in FORMS:
        text = protect(tool, original, form)
        yield form, text, measure_text(text)


# ---- the predicate ----

SPECIAL = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, -1.0, 3e38, 2.0**31, 1e-40)
PREDICATE = """HloModule predicate
ENTRY e {
  x = f32[COUNT] parameter(0)
  i = s32[COUNT] convert(x)
  one = s32[] constant(1)
  ones = s32[COUNT] broadcast(one), dimensions={}
  odd = s32[COUNT] or(i, ones)
  zero = s32[] constant(0)
  zeros = s32[COUNT] broadcast(zero), dimensions={}
  ROOT r = pred[COUNT] compare(odd, zeros), direction=NE
}
"""


def predicate_holds():
    compiled = compile_text(PREDICATE.replace("COUNT", str(len(SPECIAL))))
    outputs = compiled.execute([jnp.asarray(SPECIAL, jnp.float32)])
    is_folded = " or(" not in compiled.hlo_modules()[0].to_string()
    return bool(np.asarray(outputs[0]).all()) and not is_folded


# ---- barriers ----

def respects_barriers():
    """Whether jax.checkpoint, which goes by barriers, has an effect: XLA:CPU of jaxlib 0.10 takes
    them away before it merges what is the same."""
    def checkpointed(weights, x):
        return step(weights, x, jax.checkpoint(residual))
    compiled = jax.jit(checkpointed).lower(*arguments()).compile()
    return count(compiled.as_text(), "tanh") > NUM_LAYERS


# ---- PRE_SCHEDULER ----

def measure_transformed(change):
    """The text that `change` gave at PRE_SCHEDULER, and what came of it."""
    from jax.extend import xla

    failures, texts = [], []

    def transform(serialized):
        try:
            module = _hlo.HloModule.from_serialized_hlo_module_proto(serialized)
            if not module.name.startswith("jit_step"):
                return None
            options = _hlo.HloPrintOptions()
            options.print_large_constants = True
            texts.append(change(module.to_string(options)))
            return _hlo.hlo_module_from_text(texts[-1]).as_serialized_hlo_module_proto()
        except Exception as error:  # it must not reach XLA
            failures.append(error)
            return None

    stage = xla.PipelineStage.PRE_SCHEDULER
    xla.register_hlo_module_transformation(transform, name="protect", stage=stage, platforms=None)
    jax.clear_caches()
    compiled = jax.jit(step).lower(*arguments()).compile()
    xla.clear_hlo_module_transformation("protect", stage=stage, platforms=None)
    if failures or not texts:
        raise Failure(f"PRE_SCHEDULER: {failures or 'not called'}")
    outputs = jax.tree.leaves(compiled(*arguments()))
    return texts[-1], (compiled.as_text(), compiled.memory_analysis().temp_size_in_bytes,
                       [np.asarray(output).tobytes() for output in outputs])


def by_transformation(tool):
    try:
        from jax.extend.xla import register_hlo_module_transformation  # noqa: F401
    except ImportError:
        print("left out: PRE_SCHEDULER, this jax has no module transformations")
        return
    yield "original", *measure_transformed(lambda text: text)
    for form in FORMS:
        yield form, *measure_transformed(lambda text: protect(tool, text, form))


# ---- both ----

def judge(keeps, form, text, measured, original):
    """What is wrong, None when nothing is; `keeps` are the forms that should hold."""
    final, _, outputs = measured
    if outputs != original[2]:
        return "the results differ"
    num_tanh, num_original = count(final, "tanh"), count(original[0], "tanh")
    if form == "original":
        return None
    if count(text, "tanh") <= num_original:
        return "nothing was recomputed: there is nothing to test"
    if form in keeps:
        return None if num_tanh > num_original else "XLA has undone the recomputation"
    return None if num_tanh == num_original else "XLA leaves alone what it was thought to merge"


def main():
    tool = os.path.abspath(sys.argv[1])
    num_wrong = 0
    if not predicate_holds():
        num_wrong += 1
        print("the predicate does not hold for all numbers, or XLA folds it")
    print(f"jax {jax.__version__}, XLA:CPU; tanh and dots in the text given to XLA and in what it "
          "made of it")
    print(f"{'route':<21} {'protect':<13} {'given':>9} {'made':>9} {'conditionals':>12} "
          f"{'temp bytes':>12}")
    keeps = KEEPS
    if not respects_barriers():
        print("this XLA:CPU undoes jax.checkpoint: opt-barrier is not expected to hold there")
        keeps = {**KEEPS, "before_optimizations": {"conditional"}}
    for route, measure in (("before_optimizations", by_text), ("PRE_SCHEDULER", by_transformation)):
        original = None
        for form, text, measured in measure(tool):
            original = original or measured
            final, temp_bytes, _ = measured
            given = f"{count(text, 'tanh')}+{count(text, 'dot')}"
            made = f"{count(final, 'tanh')}+{count(final, 'dot')}"
            print(f"{route:<21} {form:<13} {given:>9} {made:>9} "
                  f"{count(final, 'conditional'):>12} {temp_bytes:>12,}")
            why = judge(keeps[route], form, text, measured, original)
            if why:
                num_wrong += 1
                print(f"  {why}")
    return 1 if num_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
