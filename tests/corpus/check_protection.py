"""Compiles a training step that was rematerialized, with each form of --protect, and looks for the
recomputations in what XLA made of it. Run by scripts/check/protection.sh.

Then three programs whose peak only depends on their order: what XLA makes of moves at PRE_SCHEDULER,
without control dependencies and with them.

Two ways lead to XLA: the text of before_optimizations, which goes through StableHLO and the whole
pipeline; and a transformation at PRE_SCHEDULER, where everything is fused, and only dead code
elimination and the scheduler are still to come. Prints two tables; ends with 1 when a form that
should keep recomputations or moves loses them, or when a bit of the results differs."""

import json
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
# Nothing is recomputed, so that a lower peak comes from the order alone, and it begins with XLA:CPU's.
MOVES = ["--limit-counts=temp", "--mem-limit=min", "--algorithm=search", "--emit=unscheduled",
         "--never=.", "--scheduler=bfs"]
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


def rewrite(tool, text, options):
    """The rematerialized text, and the summary."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = os.path.join(folder, "before.hlo"), os.path.join(folder, "after.hlo")
        with open(before, "w") as file:
            file.write(text)
        summary = os.path.join(folder, "summary.json")
        run = subprocess.run([tool, before, "-q", "-o", after, f"--json={summary}", *options],
                             capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
        if run.returncode not in (0, 1):
            raise Failure(f"remat-hlo: exit code {run.returncode}: {run.stderr.strip()}")
        with open(after) as file, open(summary) as json_file:
            return file.read(), json.load(json_file)


def protect(tool, text, form):
    return rewrite(tool, text, [f"--protect={form}", *OPTIONS])


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
    yield "original", original, measure_text(original), None
    for form in FORMS:
        text, summary = protect(tool, original, form)
        yield form, text, measure_text(text), summary


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

def measure_transformed(change, program=step, values=arguments):
    """The text that `change` gave at PRE_SCHEDULER, and what came of it."""
    from jax.extend import xla

    failures, texts = [], []

    def transform(serialized):
        try:
            module = _hlo.HloModule.from_serialized_hlo_module_proto(serialized)
            if not module.name.startswith("jit_" + program.__name__):
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
    compiled = jax.jit(program).lower(*values()).compile()
    xla.clear_hlo_module_transformation("protect", stage=stage, platforms=None)
    if failures or not texts:
        raise Failure(f"PRE_SCHEDULER: {failures or 'not called'}")
    outputs = jax.tree.leaves(compiled(*values()))
    return texts[-1], (compiled.as_text(), compiled.memory_analysis().temp_size_in_bytes,
                       [np.asarray(output).tobytes() for output in outputs])


def has_transformations():
    try:
        from jax.extend.xla import register_hlo_module_transformation  # noqa: F401
    except ImportError:
        print("left out: PRE_SCHEDULER, this jax has no module transformations")
        return False
    return True


def by_transformation(tool):
    if not has_transformations():
        return
    yield "original", *measure_transformed(lambda text: text), None
    for form in FORMS:
        summaries = []

        def change(text):
            after, summary = protect(tool, text, form)
            summaries.append(summary)
            return after
        yield form, *measure_transformed(change), summaries[-1]


# ---- moves ----

def branches(x):
    """Wide values, each of which only a sum is taken of: one after the other they need little."""
    return sum(jnp.tanh(x @ (x.T * scale)) @ x for scale in range(1, 9))


def momentum(weights, x):
    """The gradients of all layers live until the end if the updates come last."""
    gradients = jax.grad(lambda w: jnp.sum(jnp.square(layers(w, x))))([w for w, _ in weights])
    return [(w - 0.01 * (0.9 * m + g), jnp.sum(m * g)) for (w, m), g in zip(weights, gradients)]


def layers(weights, x):
    for weight in weights:
        x = jnp.tanh(x @ weight)
    return x


def ensemble(weights, x):
    """Networks beside each other, and the variance of what they give."""
    results = [jnp.sort(layers([w, w.T], x), axis=1).sum(axis=1) for w in weights]
    return jnp.var(jnp.stack(results), axis=0)


def make_values(*shape):
    return jnp.asarray(np.random.default_rng(2).standard_normal(shape) * 0.05, jnp.float32)


PROGRAMS = (
    (branches, lambda: (make_values(512, 128),)),
    (momentum, lambda: ([(make_values(512, 512),) * 2 for _ in range(6)], make_values(64, 512))),
    (ensemble, lambda: ([make_values(128, 1024) for _ in range(8)], make_values(512, 128))),
)


def by_moves(tool):
    """Prints what is made of moves, and returns how much is wrong."""
    num_wrong = 0
    print(f"{'program':<21} {'protect':<13} {'moved':>9} {'kept':>9} {'promised':>12} "
          f"{'temp bytes':>12}")
    for program, values in PROGRAMS:
        _, original = measure_transformed(lambda text: text, program, values)
        print(f"{program.__name__:<21} {'original':<13} {'':>9} {'':>9} {'':>12} {original[1]:>12,}")
        for form in ("none", "control-deps"):
            summaries = []

            def change(text):
                after, summary = rewrite(tool, text, [f"--protect={form}", *MOVES])
                summaries.append(summary)
                return after
            _, (_, temp_bytes, outputs) = measure_transformed(change, program, values)
            summary = summaries[-1]
            promised = summary["parts_after"]["temp_bytes"]
            print(f"{program.__name__:<21} {form:<13} {summary['moved']:>9} "
                  f"{summary['moved'] - summary['moves_lost']:>9} {promised:>12,} {temp_bytes:>12,}")
            is_kept = temp_bytes <= promised * 1.01 and temp_bytes < original[1]
            why = ("the results differ" if outputs != original[2]
                   else "nothing has moved" if not summary["moved"]
                   else "XLA has undone the moves" if form == "control-deps" and not is_kept
                   else None)
            if why:
                num_wrong += 1
                print(f"  {why}")
    return num_wrong


# ---- both ----

def promise_of(summary):
    """The temporaries that the summary promises for XLA:CPU's order. Before fusion this is what
    the program takes at most."""
    return summary.get("peak_compiled_bfs_bytes", summary["peak_bfs_bytes"])


def judge_promise(form, summary, num_given, num_made):
    """Whether what the summary says to be merged is what XLA merges."""
    if "peak_compiled_bfs_bytes" not in summary:
        return None
    num_kept = summary["rematerialized"] - summary["merged"]
    if num_made < num_given and num_kept:
        return f"XLA was thought to keep {num_kept} recomputations"
    if num_made == num_given and form != "none" and not num_kept:
        return "XLA was thought to merge all recomputations"
    return None


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
          f"{'promised':>12} {'temp bytes':>12}")
    keeps = KEEPS
    respects = respects_barriers()
    if not respects:
        print("this XLA:CPU undoes jax.checkpoint: opt-barrier is not expected to hold there")
        keeps = {**KEEPS, "before_optimizations": {"conditional"}}
    for route, measure in (("before_optimizations", by_text), ("PRE_SCHEDULER", by_transformation)):
        original = None
        for form, text, measured, summary in measure(tool):
            original = original or measured
            final, temp_bytes, _ = measured
            given = f"{count(text, 'tanh')}+{count(text, 'dot')}"
            made = f"{count(final, 'tanh')}+{count(final, 'dot')}"
            print(f"{route:<21} {form:<13} {given:>9} {made:>9} "
                  f"{count(final, 'conditional'):>12} "
                  f"{f'{promise_of(summary):,}' if summary else '':>12} {temp_bytes:>12,}")
            why = judge(keeps[route], form, text, measured, original)
            if summary and not why and respects:
                why = judge_promise(form, summary, count(text, "tanh"), count(final, "tanh"))
            if why:
                num_wrong += 1
                print(f"  {why}")
    if has_transformations():
        num_wrong += by_moves(tool)
    return 1 if num_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
