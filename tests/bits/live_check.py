"""Runs programs as they are and rematerialized within XLA:CPU's compilation, as remat_hlo.jax does it, and
compares every bit of what they put out: the worker of derivative_check.py and network_check.py, a process
that may die or hang, and the parent's side of it.

REMAT_HLO_LIBRARY names the library, REMAT_HLO_PROFILE_DIR the device profiles."""

import importlib
import json
import os
import pathlib
import sys

from worker_process import WorkerProcess

ROOT = pathlib.Path(__file__).resolve().parents[2]
OWN_JIT = "jit"  # beside the names of stages: remat_hlo.jax.jit
WITHOUT_RULE = "fuse.any-rounding=1"
PROGRAMS_IN_A_PROCESS = 25  # what is compiled stays in memory
SILENCE_SECONDS = 240


# ---- the worker: compiles and runs, in a process that may die or hang ----

def work():
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(event, **more):
        channel.write(json.dumps({"event": event, **more}) + "\n")
        channel.flush()

    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    judge = Judge()
    for line in sys.stdin:
        task = json.loads(line)
        try:
            judge.perform(task, tell)
        except Exception as error:
            tell("failed", what=f"{type(error).__name__}: {str(error).strip().splitlines()[:1]}")
        tell("done")


class Judge:
    def __init__(self):
        import jax
        import numpy

        import remat_hlo.jax
        from remat_hlo import _decide
        self.jax, self.numpy, self.live = jax, numpy, remat_hlo.jax
        self.texts = None
        decide = _decide.decide

        def keep(text, *arguments, **named):
            decision = decide(text, *arguments, **named)
            if decision.text is not None:
                self.texts = text, decision.text
            return decision
        _decide.decide = keep

    def run(self, compiled, arguments):
        """The results. All that is no number is the same one: its sign follows from the order of operands in
        the machine's instructions."""
        results = [self.numpy.array(self.data_of(leaf)) for leaf in self.jax.tree.leaves(compiled(*arguments))]
        for result in results:
            if result.dtype.kind in "fcV":
                result[self.numpy.isnan(result)] = float("nan")
        return results

    def data_of(self, leaf):
        """The numbers of a typed random key, which NumPy does not know."""
        is_key = self.jax.dtypes.issubdtype(leaf.dtype, self.jax.dtypes.prng_key)
        return self.jax.random.key_data(leaf) if is_key else leaf

    def compile_plain(self, task):
        """(the function, its arguments, what it computes, whether it does so again)"""
        self.jax.config.update("jax_enable_x64", task.get("x64", False))
        function, arguments = importlib.import_module(task["maker"]).make(task["spec"])
        compiled = self.jax.jit(function).lower(*arguments).compile()
        expected = self.run(compiled, arguments)
        return function, arguments, expected, self.same(expected, self.run(compiled, arguments))

    @staticmethod
    def same(a, b):
        return all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))

    def compile_rewritten(self, function, arguments, way, task):
        budget, algorithm = way
        options = {"algorithm": algorithm, "verbose": False, "min_peak": 1, "effort": 0, "parameters": task["parameters"]}
        self.texts = None
        self.live.clear_reports()
        if task.get("stage") == OWN_JIT:
            return self.live.jit(function, budget, **options).lower(*arguments).compile()
        with self.live.rematerialize(budget, stage=task.get("stage", "POST_SCHEDULER"), **options):
            return self.jax.jit(function).lower(*arguments).compile()

    def compare(self, function, arguments, expected, way, task):
        """What became of a program: a kind of event, and what it tells."""
        compiled = self.compile_rewritten(function, arguments, way, task)
        reports = self.live.last_reports(with_unchanged=True)
        failed = [r for r in reports if r.outcome == "failed"]
        if failed:
            return "failed", {"what": failed[0].reason, "texts": self.texts}
        if not self.live.check(compiled).is_changed:
            return "unchanged", {"what": "; ".join(sorted({f"{r.outcome} {r.reason}".strip() for r in reports}))}
        results = self.run(compiled, arguments)
        if self.same(expected, results):
            return "same", {}
        pairs = [(a, b) for a, b in zip(expected, results) if a.tobytes() != b.tobytes()]
        count = sum(self.num_other(a, b) for a, b in pairs)
        return "differs", {"what": f"{count} values in {len(pairs)} of {len(expected)} results",
                           "relative": max(self.relative(a, b) for a, b in pairs), "texts": self.texts}

    def num_other(self, a, b):
        a, b = (self.numpy.frombuffer(x.tobytes(), self.numpy.uint8).reshape(x.size, -1) for x in (a, b))
        return int((a != b).any(axis=1).sum())

    def relative(self, a, b):
        """The largest difference as a part of the largest number."""
        a, b = (self.numpy.nan_to_num(x.astype(self.numpy.complex128)) for x in (a, b))
        return float(abs(a - b).max() / max(abs(a).max(), 1e-30))

    def perform(self, task, tell):
        function, arguments, expected, is_deterministic = self.compile_plain(task)
        if not is_deterministic:
            tell("skipped", why="differs from itself")
            return
        is_finite = all(self.numpy.isfinite(x.astype(self.numpy.complex128)).all() for x in expected
                        if x.dtype.kind in "fcV")
        tell("program", is_finite=bool(is_finite))
        for way in task["ways"]:
            kind, more = self.compare(function, arguments, expected, way, task)
            tell(kind, way=way, **more)


# ---- the parent ----

class Worker:
    """A process with these flags; a new one after so many programs, or when it has died."""

    def __init__(self):
        self.process, self.flags, self.count = None, None, 0

    def start(self, flags):
        self.stop()
        environment = {**os.environ, "XLA_FLAGS": " ".join(
            ("--xla_cpu_multi_thread_eigen=false", os.environ.get("XLA_FLAGS", ""), flags)),
            "PYTHONPATH": os.pathsep.join((str(ROOT / "src/python"), os.environ.get("PYTHONPATH", "")))}
        self.process = WorkerProcess([sys.executable, __file__], SILENCE_SECONDS, environment)
        self.flags, self.count = flags, 0

    def stop(self):
        if self.process is not None:
            self.process.stop()
            self.process = None

    def ask(self, task):
        """The events of a task; the last one says so if the process died or hung."""
        if self.process is None or self.flags != task["flags"] or self.count >= PROGRAMS_IN_A_PROCESS:
            self.start(task["flags"])
        self.count += 1
        events = []
        try:
            self.process.ask(task)
            for event in self.process.events():
                events.append(event)
        except (TimeoutError, EOFError, BrokenPipeError) as error:
            self.stop()
            what = "hangs" if isinstance(error, TimeoutError) else "dies"
            return [*events, {"event": "failed", "what": f"the process {what}"}]
        return events


if __name__ == "__main__":
    work()
