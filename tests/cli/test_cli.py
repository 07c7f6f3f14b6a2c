#!/usr/bin/env python3
"""The command line: each option, and what holds for all of them. usage: test_cli.py TOOL [CLASS...]

The figures are those of tests/golden/recompute/input.hlo, reckoned in its first lines: peak 16388
bytes, 12296 with one value recomputed, no less than 12292.
"""

import csv
import gzip
import io
import json
import os
import pathlib
import re
import resource
import signal
import stat
import subprocess

import tool
from tool import SAMPLES, ToolTest

MODEL = ["--scheduler=input", "--memory-model=xla-remat", "--small-node-limit=0"]
NONE = MODEL + ["--algorithm=none"]
STANDARD = MODEL + ["--algorithm=standard"]
PATH = MODEL + ["--algorithm=path"]

BEFORE, AFTER, BOUND = 16388, 12296, 12292

# The keys that every summary has; `blocking` is there when the limit is not met.
KEYS = """
input module limit_counts scheduler algorithm memory_model target limit_bytes met peak_before_bytes
peak_after_bytes lower_bound_bytes instructions_before instructions_after rematerialized
flops_before flops_after bytes_accessed_before bytes_accessed_after seconds_before seconds_after
flops_weighted_before flops_weighted_after overhead elapsed_seconds phases interrupted timed_out
""".split()

HUGE = """HloModule huge, is_scheduled=true

ENTRY main {
  x = s8[] parameter(0)
  a = s8[9007199254740993]{0} broadcast(x), dimensions={}
  b = s8[9007199254740993]{0} negate(a)
  ROOT r = s8[1]{0} slice(b), slice={[0:1]}
}
"""


class RecomputeTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.golden("recompute")

    def summary(self, *args, code=0):
        return self.json("input.hlo", *args, code=code)


class TimeBound(ToolTest):
    """What recomputation adds at least, in the order of the result."""

    def check_samples(self, *options):
        num_found = 0
        for name in ("resnet", "vgg", "mobilenet"):
            for algorithm in ("standard", "path", "search"):
                for limit in ("r70%", "r40%"):
                    with self.subTest(name, algorithm=algorithm, limit=limit):
                        result = json.loads(self.run_tool(
                            str(SAMPLES / f"{name}.after_optimizations.hlo"), *options,
                            f"--algorithm={algorithm}", f"--mem-limit={limit}", "--small-node-limit=0",
                            "--quiet", "--json=-").out)
                        if not result["met"]:
                            continue
                        self.assertEqual(result["bound_kind"], "this order, originals in place")
                        added = result["seconds_after"] - result["seconds_before"]
                        self.assertLessEqual(result["added_seconds_bound"], added + 1e-12)
                        num_found += result["added_seconds_bound"] > 0
        return num_found

    def test_no_algorithm_adds_less(self):
        self.assertGreater(self.check_samples("--memory-model=liveness"), 0)
        self.assertGreater(self.check_samples("--memory-model=heap"), 0)

    def test_summary(self):
        sample = str(SAMPLES / "vgg.after_optimizations.hlo")
        options = ["--memory-model=liveness", "--small-node-limit=0", "--algorithm=search"]
        text = self.expect(0, sample, *options, "--mem-limit=r15%").out
        found = re.search(r"added time: at least \+([0-9.]+) % in this order; within ([0-9.]+) points", text)
        result = self.json(sample, *options, "--mem-limit=r15%")
        least = result["added_seconds_bound"] / result["seconds_before"]
        self.assertAlmostEqual(float(found[1]), 100 * least, delta=0.051)
        self.assertAlmostEqual(float(found[2]), 100 * (result["overhead"] - least), delta=0.051)

    def test_impossible(self):
        self.golden("recompute")
        options = ["--memory-model=liveness", "--scheduler=input", "--mem-limit=1", "--small-node-limit=0"]
        self.assertIn("no recomputation in this order can meet the limit",
                      self.expect(1, "input.hlo", *options).out)
        self.assertIsNone(self.json("input.hlo", *options, code=1)["added_seconds_bound"])

    def test_unknown(self):
        self.golden("recompute")
        for options in ([], ["--mem-limit=min"], ["--mem-limit=14KiB", "--memory-model=xla-remat"]):
            self.assertNotIn("bound_kind", self.json("input.hlo", "--small-node-limit=0", *options))


class Graphs(RecomputeTest):
    """The options for graphs, which not every build has."""

    def setUp(self):
        super().setUp()
        self.need("--dump-dot")

    def test_dump_dot(self):
        self.expect(0, "input.hlo", *STANDARD, "-m14KiB", "--dump-dot=graphs")
        self.assert_no_leftovers(
            "graphs", "graphs/before.recompute.dot", "graphs/remat.recompute.dot", "input.hlo"
        )
        self.assertNotIn("broadcast.remat", self.read("graphs/before.recompute.dot"))
        self.assertIn("broadcast.remat", self.read("graphs/remat.recompute.dot"))

    def test_dot_min_bytes_and_max_nodes(self):
        # What lives at the peak, three values here, is always shown of all.
        for args, count in (
            (["--dot-filter=all", "--dot-min-bytes=0"], 8),
            (["--dot-filter=all", "--dot-min-bytes=4097"], 5),
            (["--dot-filter=all", "--dot-min-bytes=1MiB"], 3),
            (["--dot-filter=all", "--dot-max-nodes=4"], 4),
            ([], 5),
            (["--dot-hops=2"], 6),
            (["--dot-min-bytes=4096"], 3),
            (["--dot-min-bytes=1MiB"], 1),
            (["--dot-max-nodes=2"], 2),
        ):
            with self.subTest(args):
                self.expect(0, "input.hlo", *NONE, "--dump-dot=graphs", *args)
                text = self.read("graphs/before.recompute.dot")
                self.assertEqual(len(re.findall(r"tooltip=\"\S+ = ", text)), count, text)

    def test_dot_filter(self):
        for filter, names in (
            ("name:wide", ["wide"]),
            ("regex:^(wide|both)$", ["wide", "both"]),
            ("computation:main", ["source", "wide", "result"]),
        ):
            with self.subTest(filter):
                self.expect(0, "input.hlo", *NONE, "--dump-dot=graphs", f"--dot-filter={filter}")
                text = self.read("graphs/before.recompute.dot")
                for name in names:
                    self.assertRegex(text, rf"<U><FONT[^>]*><B>{re.escape(name)}</B></FONT></U>")
        result = self.expect(0, "input.hlo", *NONE, "--dump-dot=graphs", "--dot-filter=scope:a/b")
        self.assertEqual(result.err.count("no instruction matches 'scope:a/b'"), 1)
        # Nothing is written, not even computed.
        for filter, says in (
            ("regex:[a", "the regular expression '[a': "),
            ("regex:(a)\\1", "the regular expression '(a)\\1': back references are not supported"),
            ("block", "a graph shows peak, all, name:NAME"),
        ):
            args = ["--dump-dot=other", f"--dot-filter={filter}"]
            self.assertIn(f"--dot-filter: {says}", self.expect(2, "input.hlo", *args).err)
        self.assertFalse(os.path.exists(self.path("other")))

    def test_dump_dot_switch(self):
        self.expect(0, "input.hlo", *NONE, "--xla_rematerialization_dump_dot=true")
        self.assert_no_leftovers("before.recompute.dot", "input.hlo", "remat.recompute.dot")


class Options(RecomputeTest):
    """One test an option of `remat`, in the order of --help."""

    def test_mem_limit(self):
        for args in (["--mem-limit=14KiB"], ["--mem-limit", "14KiB"], ["-m", "14KiB"], ["-m14KiB"]):
            with self.subTest(args):
                summary = self.summary(*STANDARD, *args)
                self.assertEqual(summary["limit_bytes"], 14336)
                self.assertEqual(summary["peak_after_bytes"], AFTER)

    def test_without_mem_limit_nothing_is_rematerialized(self):
        result = self.expect(0, "input.hlo", *STANDARD)
        self.assertIn("no --mem-limit: nothing was rematerialized", result.out)
        summary = self.summary(*STANDARD)
        self.assertEqual(summary["rematerialized"], 0)
        self.assertEqual(summary["peak_after_bytes"], BEFORE)
        self.assertTrue(summary["met"])

    def test_limit_counts(self):
        for counts, before in (("temp", 16384), ("temp+outputs", 16388), ("total", 16392)):
            with self.subTest(counts):
                summary = self.summary(*NONE, f"--limit-counts={counts}")
                self.assertEqual(summary["limit_counts"], counts)
                self.assertEqual(summary["peak_before_bytes"], before)

    def test_memory_model(self):
        for model in self.run_tool("list", "--names=models").out.split():
            with self.subTest(model):
                summary = self.summary(
                    "--scheduler=input", "--algorithm=none", f"--memory-model={model}"
                )
                self.assertEqual(summary["memory_model"], model)
                # There the result of 4 bytes has its memory from the beginning.
                before = BEFORE + 4 if model == "heap" else BEFORE
                self.assertEqual(summary["peak_before_bytes"], before)

    def test_target(self):
        padded = HUGE.replace("s8[9007199254740993]{0}", "f32[4,4]{1,0:T(8,128)}").replace(
            "slice={[0:1]}", "slice={[0:1],[0:1]}").replace("s8[1]{0}", "f32[1,1]{1,0}").replace(
            "s8[]", "f32[]").replace("negate(a)", "reverse(a), dimensions={0}")
        self.write("tiles.hlo", padded)
        peaks = {}
        for target in self.run_tool("list", "--names=targets").out.split():
            args = ["tiles.hlo", "--memory-model=heap", f"--target={target}", "--json=-"]
            peaks[target] = json.loads(self.expect(0, "report", *args).out)["temp_bytes"]
        # a and b at once: each alone a multiple of 64, of 256, or a whole tile.
        self.assertEqual(peaks, {"cpu": 128, "gpu": 320, "tpu": 32768})
        self.golden("cost", "custom_calls.hlo")
        for name, target in (
            ("tiles.hlo", "tpu"),
            ("custom_calls.hlo", "gpu"),
            ("input.hlo", "cpu"),
        ):
            with self.subTest(name):
                report = self.json("report", name)
                self.assertEqual(report["target"], target)
                self.assertEqual(self.json(name)["target"], target)
                self.assertEqual(report, self.json("report", name, f"--target={target}"))
        result = self.expect(2, "input.hlo", *NONE, "--target=gqu")
        self.assert_message(result, "there is no target 'gqu'", "did you mean 'gpu'?")

    def test_packing(self):
        sample = SAMPLES / "mlp_checkpoint.after_optimizations.hlo"
        temps, lost, peaks = {}, {}, {}
        for packing in self.run_tool("list", "--names=packings").out.split():
            args = ["--memory-model=heap", f"--packing={packing}", "--max-steps=10000000", "--json=-"]
            report = json.loads(self.expect(0, "report", sample, *args).out)
            self.assertEqual(report["packing"], packing)
            temps[packing], lost[packing] = report["temp_bytes"], report["fragmentation_bytes"]
            peaks[packing] = report["peak_bytes"]
        # What one packing loses the other has less: the search reaches the lower bound.
        self.assertGreater(lost["xla"], 0)
        self.assertEqual(lost["best"], 0)
        for packing in temps:
            self.assertEqual(temps[packing] - lost[packing], temps["best"])
        bound = f"--max-peak={peaks['best']}"
        model = ["--memory-model=heap", "--max-steps=10000000"]
        self.expect(1, "check", sample, *model, bound)
        self.expect(0, "check", sample, *model, bound, "--packing=best")
        result = self.expect(2, "report", sample, "--packing=bets")
        self.assert_message(result, "there is no packing 'bets'", "did you mean 'best'?")

    def test_heap_limit(self):
        whole = self.json("report", "input.hlo", "--memory-model=heap")
        self.assertNotIn("heap_limit_bytes", whole)
        for limit in (10000, 4096, 0):
            args = ["--memory-model=heap", f"--heap-limit={limit}"]
            report = self.json("report", "input.hlo", *args)
            self.assertEqual(report["heap_limit_bytes"], limit)
            self.assertEqual(sum(report["heap_bytes"]), report["temp_bytes"])
            self.assertEqual(
                report["peak_bytes"] - whole["peak_bytes"], report["temp_bytes"] - whole["temp_bytes"]
            )
            self.expect(0, "check", "input.hlo", *args, f"--max-peak={report['peak_bytes']}")
            self.expect(1, "check", "input.hlo", *args, f"--max-peak={report['peak_bytes'] - 1}")
            summary = self.summary("--algorithm=none", *args)
            self.assertEqual(summary["heap_limit_bytes"], limit)
            self.assertEqual(summary["peak_before_bytes"], report["peak_bytes"])
        self.assertGreater(len(report["heap_bytes"]), 1)
        one = self.json("report", "input.hlo", "--heap-limit=-1", "--memory-model=heap")
        self.assertEqual(one, whole)

    def test_scheduler(self):
        for scheduler in self.run_tool("list", "--names=schedulers").out.split():
            for args in ([f"--scheduler={scheduler}"], ["-s", scheduler]):
                with self.subTest(args):
                    summary = self.summary(
                        "--ignore-schedule", "--algorithm=none", "--memory-model=xla-remat", *args
                    )
                    self.assertEqual(summary["scheduler"], scheduler)

    def test_ignore_schedule(self):
        args = ["--scheduler=auto", "--algorithm=none", "--memory-model=xla-remat"]
        self.assertEqual(self.summary(*args)["scheduler"], "input")
        self.assertEqual(self.summary(*args, "--ignore-schedule")["scheduler"], "default")

    def test_inline_calls(self):
        self.golden("calls", to="calls.hlo")
        args = ["--scheduler=default", "--algorithm=none", "--memory-model=xla-remat"]
        for when, count in (("auto", 5), ("always", 5), ("never", 13)):
            with self.subTest(when):
                summary = self.json("calls.hlo", *args, f"--inline-calls={when}")
                self.assertEqual(summary["instructions_after"], count)

    def test_fuse(self):
        self.golden("fuse", to="open.hlo")
        args = ["--scheduler=default", "--algorithm=none"]
        before, fused = (self.json("open.hlo", *args, *options) for options in ([], ["--fuse"]))
        self.assertLess(fused["peak_before_bytes"], before["peak_before_bytes"])
        self.assertGreater(fused["instructions_before"], before["instructions_before"])  # with those in fusions

    def test_unfuse(self):
        self.golden("fusions", to="fusions.hlo")
        args = [
            "--scheduler=default",
            "--algorithm=none",
            "--memory-model=xla-remat",
            "-o",
            "out.hlo",
        ]
        kinds = {"loop": "kLoop", "input": "kInput", "output": "kOutput"}
        for value in ("loop", "input", "output", "loop,input", "input,output,loop", "all"):
            with self.subTest(value):
                summary = self.json("fusions.hlo", *args, f"--unfuse={value}")
                # No product meets a sum in the fusions of the kind loop, but in the others.
                self.assertEqual(summary["bit_exact"], value == "loop")
                for word, kind in kinds.items():
                    is_left = f"kind={kind}" in self.read("out.hlo")
                    self.assertEqual(is_left, word not in value.split(",") and value != "all")
                self.assertIn("kind=kCustom", self.read("out.hlo"))
        self.assertTrue(self.json("fusions.hlo", *args)["bit_exact"])

    def test_unfuse_shared(self):
        """Fusions that compute the same values are split if the budget is missed otherwise, which a plan repeats."""
        self.golden("split", to="split.hlo")
        args = ["split.hlo", "--mem-limit=min", "--small-node-limit=0", "--algorithm=path"]
        summary = self.json(*args, "-o", "out.hlo", "--save-plan=plan.json")
        self.assertTrue(summary["bit_exact"])
        self.assertGreaterEqual(summary["peak_after_bytes"], summary["lower_bound_bytes"])
        self.assertEqual(json.loads(self.read("plan.json"))["preparation"]["unfuse"], ["shared"])
        done = self.expect(0, "split.hlo", "--apply-plan=plan.json", "-o", "again.hlo", "-q")
        self.assertEqual(done.err, "")
        self.assertEqual(self.read("again.hlo"), self.read("out.hlo"))
        self.expect(0, "verify", "split.hlo", "out.hlo")
        whole = self.json("split.hlo", "--algorithm=none", "--unfuse=shared", "-o", "shared.hlo")
        self.assertTrue(whole["bit_exact"])
        self.assertLess(whole["peak_after_bytes"], summary["peak_before_bytes"])
        self.assertEqual(self.json("shared.hlo", "--algorithm=none", "--unfuse=shared", "-o", "twice.hlo")
                         ["instructions_after"], whole["instructions_after"])

    def test_disable_cuda(self):
        self.golden("fusions", to="fusions.hlo")
        args = [
            "fusions.hlo",
            "--scheduler=default",
            "--algorithm=none",
            "--memory-model=xla-remat",
        ]
        self.expect(0, *args, "--unfuse=all", "-o", "all.hlo")
        self.expect(0, *args, "--disable-cuda", "-o", "cuda.hlo")
        self.assertEqual(self.read("all.hlo"), self.read("cuda.hlo"))

    def test_algorithm(self):
        for algorithm in self.run_tool("list", "--names=algorithms").out.split():
            word = algorithm + (":^negate$" if algorithm == "checkpoint=collection" else "")
            for args in ([f"--algorithm={word}"], ["-a", word]):
                with self.subTest(args):
                    # It has no backward part that could be told from a forward one, no padding and no
                    # loops; the last undoing of path-compat goes above the limit.
                    misses = ("none", "checkpoint=speed", "checkpoint=memory", "compress")
                    misses += ("path-compat", "scan")
                    code = 1 if algorithm in misses else 0
                    summary = self.summary(*MODEL, *args, "--mem-limit=14KiB", code=code)
                    self.assertEqual(summary["algorithm"], algorithm)

    def test_collection(self):
        self.write("keep.txt", "^nobody$\n\n^negate$\r\n")
        for argument in ("^negate$", "@keep.txt"):
            with self.subTest(argument):
                args = [f"--algorithm=checkpoint=collection:{argument}", "--mem-limit=min"]
                summary = self.summary(*MODEL, *args)
                self.assertEqual(summary["peak_after_bytes"], BOUND)
        for argument, code, message in (
            ("", 2, "checkpoint=collection needs what to keep"),
            (":", 2, "checkpoint=collection needs what to keep"),
            (":@", 2, "checkpoint=collection needs what to keep"),
            (":(", 2, "the regular expression '('"),
            (":@missing.txt", 3, "missing.txt"),
            ("s:a", 2, "there is no algorithm 'checkpoint=collections:a'"),
        ):
            with self.subTest(argument):
                run = self.run_tool("input.hlo", f"-acheckpoint=collection{argument}")
                self.assertEqual(run.code, code, run)
                self.assertIn(message, run.err)

    def test_pin_and_never(self):
        limit = ("--mem-limit=min", "--algorithm=standard")
        free = self.summary(*MODEL, *limit)
        self.assertGreater(free["rematerialized"], 0)
        for option, reason in (("--pin", "pinned"), ("--never", "never")):
            with self.subTest(option):
                held = self.summary(*MODEL, *limit, f"{option}=nobody", f"{option}=.")
                self.assertEqual(held["rematerialized"], 0)
                self.assertGreater(held["peak_after_bytes"], free["peak_after_bytes"])
                reasons = {buffer["reason"] for buffer in held["blocking"]["live"]}
                self.assertIn(reason, reasons)
                run = self.run_tool("input.hlo", *limit, f"{option}=(")
                self.assertEqual(run.code, 2, run)
                self.assertIn("the regular expression '('", run.err)
                run = self.run_tool("input.hlo", *limit, f"{option}=nobody")
                self.assertIn("warning: nothing in the module matches", run.err)
                self.expect(2, "input.hlo", f"{option}=")

    def test_save_plan(self):
        limit = ("--mem-limit=min", "--algorithm=standard")
        self.expect(0, "input.hlo", *MODEL, *limit, "-o", "out.hlo", "--save-plan=plan.json")
        plan = json.loads(self.read("plan.json"))
        self.assertEqual(plan["remat_hlo_plan"], 1)
        self.assertEqual({step["action"] for step in plan["steps"]}, {"recompute"})
        written = self.expect(0, "input.hlo", *MODEL, *limit, "--save-plan=-")
        self.assertEqual(written.out, self.read("plan.json"))
        self.assertIn("rematerialized: 2", written.err)
        self.expect(0, "input.hlo", *MODEL, *limit, "--save-plan=plans/")
        self.assertEqual(self.read("plans/plan.recompute.json"), self.read("plan.json"))
        self.expect(0, "input.hlo", *MODEL, *limit, "--save-plan=dry.json", "--dry-run")
        self.assertNotIn("dry.json", self.names())
        self.expect(2, "input.hlo", "input.hlo", "--save-plan=plan.json")
        self.expect(2, "input.hlo", "-o", "same", "--save-plan=same")
        self.expect(4, "input.hlo", *MODEL, *limit, "--save-plan=/dev/full")

    def test_apply_plan(self):
        limit = ("--mem-limit=min", "--algorithm=standard")
        self.expect(0, "input.hlo", *MODEL, *limit, "-o", "out.hlo", "--save-plan=plan.json")
        applied = self.expect(0, "input.hlo", "--apply-plan=plan.json", "-o", "again.hlo")
        self.assertEqual(self.read("again.hlo"), self.read("out.hlo"))
        self.assertIn("what plan.json says was done; rematerialized: 2", applied.out)
        summary = self.summary("--apply-plan=plan.json")
        self.assertEqual((summary["algorithm"], summary["met"]), ("plan", True))
        self.assertFalse(self.summary("--apply-plan=plan.json", "-m1B", code=1)["met"])
        # The plan of its result is the same plan.
        self.expect(0, "input.hlo", "--apply-plan=plan.json", "--save-plan=again.json")
        self.assertEqual(self.read("again.json"), self.read("plan.json"))
        self.expect(2, "input.hlo", "input.hlo", "--apply-plan=plan.json", "-o", "folder/")
        self.expect(3, "input.hlo", "--apply-plan=missing.json")
        self.write("plan.json", self.read("plan.json").replace('"broadcast"', '"lost"'))
        run = self.expect(3, "input.hlo", "--apply-plan=plan.json", "-o", "new.hlo")
        self.assertRegex(run.err, r"^plan.json:\d+:\d+: error: there is no instruction 'lost'")
        self.assertNotIn("new.hlo", self.names())
        run = self.run_tool("input.hlo", "--apply-plan=plan.json", "--diagnostics=json")
        self.assertEqual(json.loads(run.err.splitlines()[0])["file"], "plan.json")

    def test_small_node_limit(self):
        args = [
            "--scheduler=input",
            "--memory-model=xla-remat",
            "--algorithm=standard",
            "--mem-limit=14KiB",
        ]
        for limit, code in (
            ("0", 0),
            ("4095", 1),
            ("4095B", 0),
            ("4096B", 1),
            ("0.001", 0),
            ("1", 1),
            ("4KiB", 1),
        ):
            with self.subTest(limit):
                self.expect(code, "input.hlo", *args, f"--small-node-limit={limit}")
        self.expect(1, "input.hlo", *args)

    def test_remat_collectives(self):
        self.golden("collectives", to="c.hlo")
        self.assertFalse(self.json("c.hlo", *PATH, "-m14KiB", code=1)["met"])
        self.assertTrue(self.json("c.hlo", *PATH, "-m14KiB", "--remat-collectives")["met"])

    def test_keep_order(self):
        """The search computes a later, and nothing a second time; where nothing may move, a stays."""
        self.write("later.hlo", (tool.GOLDEN / "search" / "later.hlo").read_text())
        args = "later.hlo", *MODEL, "--algorithm=search", "-mmin"
        moved, kept = self.json(*args), self.json(*args, "--keep-order")
        self.assertEqual((moved["rematerialized"], moved["overhead"]), (0, 0))
        self.assertLess(moved["peak_after_bytes"], moved["peak_before_bytes"])
        self.assertEqual(kept["peak_after_bytes"], kept["peak_before_bytes"])

    def test_clone_callees(self):
        """Only the second of two calls has no room for what it calls."""
        self.golden("shared_callees", to="s.hlo")
        args = "s.hlo", *PATH, "-m21KiB", "--limit-counts=temp"
        shared = self.json(*args)
        cloned = self.json(*args, "--clone-callees")
        self.assertEqual((shared["rematerialized"], cloned["rematerialized"]), (2, 3))
        self.assertTrue(shared["met"] and cloned["met"])
        self.assertLess(cloned["seconds_after"], shared["seconds_after"])
        met = self.expect(0, *args[:-2], "-m26KiB", "--clone-callees", "-o", "-")
        self.assertEqual(met.out, self.path("s.hlo").read_text())

    def test_copies(self):
        """Output {0} takes the memory of w, which a clone of a, behind new, would read."""
        lines = """
          w = f32[1000] parameter(0)
          zero = f32[] constant(0)
          a = f32[1000] sine(w)
          wide = f32[5,1000] broadcast(a), dimensions={1}
          sum = f32[1000] reduce(wide, zero), dimensions={0}, to_apply=add
          twice = f32[5,1000] broadcast(sum), dimensions={1}
          again = f32[1000] reduce(twice, zero), dimensions={0}, to_apply=add
          new = f32[1000] subtract(w, again)
          last = f32[1000] multiply(a, new)
          ROOT out = (f32[1000], f32[1000]) tuple(new, last)\n"""
        head = "HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }\n"
        add = "add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }\n"
        self.write("in.hlo", head + add + "ENTRY e {" + lines + "}\n")
        for when, count in (("pending", 1), ("auto", 0), ("inserted", 0)):
            with self.subTest(when):
                self.run_tool("in.hlo", *PATH, "-mmin", "-o", f"{when}.hlo", f"--copies={when}")
                self.assertEqual(self.read(f"{when}.hlo").count("a.remat ="), count)
                self.expect(0, "verify", "in.hlo", f"{when}.hlo", f"--copies={when}")
        for when in ("auto", "inserted"):
            err = self.expect(1, "verify", "in.hlo", "pending.hlo", f"--copies={when}").err
            self.assertIn("note: 'w' is read by 'a.remat' after 'new' has overwritten it", err)
        self.expect(2, "verify", "in.hlo", "in.hlo", "--copies=perhaps")

    def test_remat_mode(self):
        self.expect(0, "input.hlo", *STANDARD, "-m14KiB", "--remat-mode=recompute")
        self.write(
            "padded.hlo",
            "HloModule m, is_scheduled=true\nENTRY e { p = f32[] parameter(0)\n"
            "a = f32[64,2]{1,0:T(8,128)} broadcast(p), dimensions={}\n"
            "b = f32[64,128]{1,0:T(8,128)} broadcast(p), dimensions={}\n"
            "c = f32[64,128]{1,0:T(8,128)} exponential(b)\n"
            "d = f32[64,2]{1,0:T(8,128)} slice(c), slice={[0:64],[0:2]}\n"
            "ROOT e = f32[64,2]{1,0:T(8,128)} add(a, d)\n}\n",
        )
        args = ["padded.hlo", *MODEL, "--small-node-limit=0", "-m104KiB", "-o", "out.hlo"]
        for target, mode, algorithm, clones, copies in (
            ("tpu", "recompute", "standard", 1, 0),
            ("tpu", "compress", "standard", 0, 2),
            ("tpu", "recompute", "compress", 0, 2),
            ("tpu", "compress", "peak-priority", 0, 2),
            ("tpu", "recompute,compress", "standard", 1, 0),
            ("tpu", "recompute", "standardcompress", 1, 0),
            ("cpu", "compress", "standard", 0, 0),
        ):
            with self.subTest(target=target, mode=mode, algorithm=algorithm):
                chosen = [f"--target={target}", f"--remat-mode={mode}", f"--algorithm={algorithm}"]
                self.run_tool(*args, *chosen)
                text = self.read("out.hlo")
                self.assertEqual((text.count(".remat ="), text.count(" copy(")), (clones, copies))
                self.expect(0, "verify", "padded.hlo", "out.hlo")

    def test_offload(self):
        self.golden("offload")
        self.golden("offload", "device.json")
        args = ["input.hlo", *MODEL, "--small-node-limit=0", "--device=device.json", "-o", "out.hlo"]
        for chosen, copies in (
            (["--algorithm=offload"], 1),
            (["--algorithm=offload", "--offload-to-host=1KiB"], 0),
            (["--algorithm=offload", "--offload-to-device=1KiB"], 0),
            (["--algorithm=standard"], 0),
            (["--algorithm=standard", "--remat-mode=offload"], 1),
            (["--algorithm=peak-priority", "--remat-mode=offload,compress"], 1),
        ):
            with self.subTest(chosen):
                self.run_tool(*args, *chosen, "-m21KiB")
                self.assertEqual(self.read("out.hlo").count(" copy-start("), 2 * copies)
                self.expect(0, "check", "--strict", "out.hlo")
                self.expect(0, "verify", "input.hlo", "out.hlo")
        self.run_tool(*args[:-1], "away.hlo", "--algorithm=offload", "-m21KiB")
        link = ("offloaded_bytes_after", "seconds_after", "stall_seconds_after")
        for way_back, figures in (("4KiB", (4096, 4, 0)), ("2KiB", (4096, 5, 1))):
            slow = ["--device=device.json", f"--offload-to-device={way_back}"]
            away = self.json("away.hlo", *NONE, *slow)
            for key, figure in zip(link, figures):
                self.assertAlmostEqual(away[key], figure, places=6)
        self.assertNotIn("stall_seconds_after", self.json("input.hlo", *NONE))
        self.expect(2, "input.hlo", "--offload-to-host=fast")
        self.expect(2, "input.hlo", "--remat-mode=offload,away")

    def test_remat_mode_narrow(self):
        self.golden("narrow")
        args = ["input.hlo", *MODEL, "--small-node-limit=0", "-mmin", "-o", "out.hlo"]
        for mode, algorithm, is_narrowed in (
            ("narrow", "standard", True),
            ("narrow,recompute", "peak-priority", False),  # recomputing frees as much
            ("narrow,compress", "standard", True),
            ("recompute,compress", "standard", False),
            ("narrow", "standardcompress", False),
            ("narrow", "path", False),
        ):
            with self.subTest(mode=mode, algorithm=algorithm):
                self.run_tool(*args, f"--remat-mode={mode}", f"--algorithm={algorithm}")
                text = self.read("out.hlo")
                self.assertEqual(" = u8[256,128]{1,0} convert(mask)" in text, is_narrowed)
                self.expect(0, "verify", "input.hlo", "out.hlo")

    def test_block_size_limit(self):
        self.golden("layers", to="layers.hlo")
        args = [
            "layers.hlo",
            "--scheduler=default",
            "--memory-model=xla-remat",
            "--algorithm=standard",
            "--small-node-limit=0",
            "--mem-limit=min",
        ]
        names = [
            self.json(*args, f"--block-size-limit={size}", "-o", "out.hlo") and self.read("out.hlo")
            for size in (1, 4)
        ]
        self.assertNotEqual(*names)

    def test_block_factor(self):
        for factor in ("0", "1", "2.5"):
            self.expect(0, "input.hlo", *STANDARD, "-m14KiB", f"--block-factor={factor}")

    def test_min_remat_size(self):
        self.assertTrue(self.summary(*STANDARD, "-m14KiB", "--min-remat-size=4KiB")["met"])
        self.assertFalse(
            self.summary(*STANDARD, "-m14KiB", "--min-remat-size=14KiB", code=1)["met"]
        )

    def test_set(self):
        free = self.summary(*PATH, "--mem-limit=min")
        few = ("--set=path.rounds=1", "--set", "path.steps=1000000")
        held = self.summary(*PATH, "--mem-limit=min", *few)
        self.assertGreater(held["peak_after_bytes"], free["peak_after_bytes"])
        names = self.run_tool("list", "--names=parameters").out.split()
        self.assertIn("path.rounds", names)
        for line in self.run_tool("list").out.splitlines():
            if line.split() and line.split()[0] in names:  # each tells its default, which changes nothing
                name, value = line.split()[0], re.search(r"\[(\d+)\]$", line)[1]
                same = self.summary(*PATH, "--mem-limit=min", f"--set={name}={value}")
                self.assertEqual(same["peak_after_bytes"], free["peak_after_bytes"])
        for text, message in (
            ("path.round=1", "there is no parameter 'path.round'; did you mean 'path.rounds'?"),
            ("path.rounds", "'path.rounds' is not NAME=VALUE"),
            ("path.rounds=0", "path.rounds is a whole number from 1 to 1000000, not '0'"),
            ("path.rounds=1x", "path.rounds is a whole number from 1 to 1000000, not '1x'"),
            ("path.rounds=", "path.rounds is a whole number from 1 to 1000000, not ''"),
        ):
            with self.subTest(text):
                self.assert_message(self.expect(2, "input.hlo", *PATH, f"--set={text}"), message)

    def test_path_depth(self):
        for depth in (1, 2, 10):
            self.assertTrue(self.summary(*PATH, "-m14KiB", f"--path-depth={depth}")["met"])

    def test_path_compat(self):
        for args in ([*PATH, "--path-compat"], [*MODEL, "-apath-compat"]):
            for args in (args, [*args, "--path-compat"]):
                with self.subTest(args):
                    summary = self.summary(*args, f"-m{BOUND}")
                    self.assertEqual(summary["algorithm"], "path-compat")
        refused = self.expect(2, "input.hlo", *STANDARD, "--path-compat")
        self.assertIn("--path-compat is for", refused.err)

    def test_compat(self):
        self.golden("collectives", to="c.hlo")
        self.assertTrue(self.json("c.hlo", *STANDARD, "-m14KiB", "--compat")["met"])
        self.assertFalse(self.json("c.hlo", *PATH, "-m14KiB", "--compat", code=1)["met"])

    def test_device(self):
        seconds = set()
        for device in self.run_tool("list", "--names=devices").out.split():
            with self.subTest(device):
                summary = self.summary(*NONE, f"--device={device}")
                self.assertEqual(summary["profile"], device)
                seconds.add(summary["seconds_before"])
        self.assertGreater(len(seconds), 3)

    def test_cost_of(self):
        plain = self.summary(*MODEL)
        said = self.summary(*MODEL, "--cost-of=^negate$:flops=5e6", "--cost-of=wide:bytes=1MiB")
        self.assertEqual(said["flops_before"], plain["flops_before"])
        self.assertEqual(said["flops_weighted_before"], plain["flops_weighted_before"] - 1024 + 5e6)
        self.assertGreater(said["bytes_accessed_weighted_before"], 1 << 20)
        self.expect(2, "input.hlo", "--cost-of=negate")

    def test_trip_count(self):
        text = (tool.GOLDEN / "while_loop" / "input.hlo").read_text()
        self.write(
            "loop.hlo",
            text.replace(', backend_config={"known_trip_count":{"n":"10"}}', "").replace(
                "add(s32[] %state#0, s32[] %one)", "multiply(s32[] %state#0, s32[] %one)"
            ),
        )
        flops = {
            n: self.json("loop.hlo", *NONE, f"--trip-count={n}")["flops_weighted_before"]
            for n in (1, 2, 7)
        }
        self.assertEqual(flops, {1: 502, 2: 904, 7: 2914})

    def test_output(self):
        for args in (
            ["-o", "out.hlo"],
            ["--output=out.hlo"],
            ["--output", "out.hlo"],
            ["-oout.hlo"],
        ):
            with self.subTest(args):
                self.expect(0, "input.hlo", *STANDARD, "-m14KiB", *args)
                self.assertIn("%broadcast.remat", self.read("out.hlo"))
                self.path("out.hlo").unlink()

    def test_emit(self):
        args = ["input.hlo", *STANDARD, "-m14KiB", "--quiet", "-o", "-"]
        self.assertIn("is_scheduled=true", self.expect(0, *args, "--emit=scheduled").out)
        out = self.expect(0, *args, "--emit=unscheduled").out
        self.assertIn("is_scheduled=false", out)
        self.assertIn("control-predecessors={%narrow}", out)

    def test_protect(self):
        args = ["input.hlo", *STANDARD, "-m14KiB", "--quiet", "-o", "out.hlo", "--json=s.json"]
        forms = {
            "none": None,
            "control-deps": "control-predecessors=",
            "opt-barrier": " opt-barrier(",
            "conditional": " conditional(",
        }
        for emit in ("scheduled", "unscheduled"):
            for form, wanted in forms.items():
                self.expect(0, *args, f"--emit={emit}", f"--protect={form}")
                out = self.read("out.hlo")
                for other in filter(None, forms.values()):
                    if other == wanted:
                        self.assertIn(other, out)
                    elif form != "conditional":  # whose other branch has a barrier
                        self.assertNotIn(other, out)
                self.assertEqual(json.loads(self.read("s.json"))["protect"], form)
                self.expect(0, "verify", "input.hlo", "out.hlo")
        for emit, form in (("scheduled", "none"), ("unscheduled", "control-deps")):
            self.expect(0, *args, f"--emit={emit}", "--protect=auto")
            self.assertEqual(json.loads(self.read("s.json"))["protect"], form)
        self.expect(2, *args, "--protect=hope")

    def test_json(self):
        self.expect(0, "input.hlo", *NONE, "--json=s.json")
        self.assertEqual(json.loads(self.read("s.json"))["module"], "recompute")

    def test_csv(self):
        self.golden("recompute", to="again.hlo")
        self.expect(0, "input.hlo", "again.hlo", *STANDARD, "-m14KiB", "--csv=s.csv", "--json=s.json")
        with open(self.path("s.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        summaries = json.loads(self.read("s.json"))
        self.assertEqual([row["input"] for row in rows], ["input.hlo", "again.hlo"])
        for row, summary in zip(rows, summaries, strict=True):
            for name, value in row.items():
                told = summary[name]
                self.assertEqual(float(value) if isinstance(told, float) else value,
                                 told if isinstance(told, float) else
                                 str(told).lower() if isinstance(told, bool) else str(told), name)
        out = self.expect(0, "input.hlo", *STANDARD, "-m14KiB", "--csv=-")
        self.assertEqual(out.out.splitlines()[1], self.read("s.csv").splitlines()[1])
        self.assertIn("peak", out.err)

    def test_dump_memlog(self):
        self.expect(0, "input.hlo", *STANDARD, "-m14KiB", "--dump-memlog=mem.csv")
        with open(self.path("mem.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 9)
        self.assertEqual(max(int(row["memory_bytes"]) for row in rows) + 4, AFTER)
        self.expect(0, "input.hlo", *STANDARD, "-m14KiB", "--dump-memlog=mem.jsonl")
        lines = [json.loads(line) for line in self.read("mem.jsonl").splitlines()]
        self.assertEqual(
            [line["instruction"] for line in lines], [row["instruction"] for row in rows]
        )
        self.expect(0, "input.hlo", *STANDARD, "-m14KiB", "--dump-memlog=mem.log")
        self.assertIn("[recomputes broadcast]", self.read("mem.log"))
        self.expect(0, "input.hlo", *STANDARD, "-m14KiB", "--dump-memlog=logs/")
        self.assertEqual(self.read("logs/mem.recompute.log"), self.read("mem.log"))

    def test_dry_run(self):
        for flag in ("--dry-run", "-n"):
            outputs = ["-o", "out.hlo", "--json=s.json", "--dump-memlog=m.log", "--dump-dot=graphs"]
            result = self.run_tool("input.hlo", *STANDARD, "-m14KiB", flag, *outputs)
            self.assertIn(result.code, (0, 2))  # 2: built without graphviz
            self.assert_no_leftovers("input.hlo")
        out = self.expect(0, "input.hlo", *STANDARD, "-m14KiB", "-n").out
        self.assertIn("limit: 14.00 KiB, met; rematerialized: 1", out)

    def test_require_runnable(self):
        self.golden("elided", to="elided.hlo")
        self.assertFalse(self.json("elided.hlo", *NONE)["runnable"])
        result = self.expect(3, "elided.hlo", *NONE, "--require-runnable", "-o", "out.hlo")
        self.assert_message(result, "elided.hlo: error: constants are elided")
        self.assert_no_leftovers("elided.hlo", "input.hlo")
        self.assertTrue(self.summary(*NONE, "--require-runnable")["runnable"])

    def test_quiet(self):
        for flag in ("--quiet", "-q"):
            result = self.expect(0, "input.hlo", *STANDARD, "-m14KiB", flag, "-o", "out.hlo")
            self.assertEqual(result.out + result.err, "")

    def test_quiet_still_says_what_is_wrong(self):
        self.assert_message(self.expect(3, "none.hlo", "-q"), "none.hlo")

    def test_max_memory(self):
        result = self.expect(4, "input.hlo", *NONE, "--max-memory=1KiB")
        self.assert_message(result, "out of memory", "(--max-memory=1.00 KiB)")
        self.expect(0, "input.hlo", *NONE, "--max-memory=1GiB")
        for command in ("check", "print"):
            self.expect(4, command, "input.hlo", "--max-memory=1KiB")
        self.expect(4, "verify", "input.hlo", "input.hlo", "--max-memory=1KiB")

    def test_max_errors(self):
        lines = [f"  %n{i} = f32[] negate(%none{i})\n" for i in range(30)]
        self.write("bad.hlo", "HloModule m\n\nENTRY %e {\n" + "".join(lines) + "}\n")
        for args, count in (([], 20), (["--max-errors=1"], 1), (["--max-errors=99"], 30)):
            err = self.expect(3, "check", "bad.hlo", *args).err
            self.assertEqual(err.count("error: operand 'none"), count)
            self.assertEqual(err.count("error: "), count)

    def test_diagnostics(self):
        text = b"HloModule m\n\nENTRY %e {\n  %p\xff = f32[] parameter(0\n}\n"
        self.write("bad.hlo", text)
        for command in ([], ["check"], ["print"], ["fmt"], ["verify", "bad.hlo"]):
            result = self.expect(3, *command, "bad.hlo", "--diagnostics=json")
            diag = json.loads(result.err)
            self.assertEqual(diag["file"], "bad.hlo")
            self.assertEqual(diag["severity"], "error")
            self.assertEqual((diag["line"], diag["column"], diag["offset"]), (4, 5, 28))
            self.assertEqual(diag["source"], "  %p? = f32[] parameter(0")
            self.assertEqual(diag["source_column"], 1)
            self.assertIsNone(diag["opener"])
            self.assertEqual(result.out, "")
        as_text = self.expect(3, "check", "bad.hlo", "--diagnostics=text").err
        self.assertIn("\n    %p? = f32[] parameter(0\n      ^\n", as_text)
        self.assertEqual(as_text, self.expect(3, "check", "bad.hlo").err)

    def test_diagnostics_of_what_is_written(self):
        self.write("in.hlo", "HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }\n")
        for command in (["print", "in.hlo"], ["in.hlo", "--mem-limit=1GiB"]):
            err = self.expect(4, *command, "-o", "none/out", "--diagnostics=json").err
            diag = json.loads(err.splitlines()[-1])
            self.assertEqual((diag["file"], diag["severity"]), ("none/out", "error"))
            self.assertIsNone(diag["line"])

    def test_diagnostics_are_objects_a_line(self):
        body = "  %n = f32[] neg(%x)\n  %m = f32[4 {0}\n"
        self.write("bad.hlo", "HloModule m\n\nENTRY %e {\n" + body + "}")
        err = self.expect(3, "check", "bad.hlo", "none.hlo", "--diagnostics=json").err
        diags = [json.loads(line) for line in err.splitlines()]
        self.assertEqual([diag["line"] for diag in diags], [4, 5, None])
        self.assertEqual((diags[1]["opener"]["line"], diags[1]["opener"]["column"]), (5, 11))
        self.assertEqual(diags[2]["file"], "none.hlo")
        self.assertEqual(diags[2]["message"], "No such file or directory")
        keys = {"file", "severity", "message", "line", "column", "offset", "source",
                "source_column", "opener"}
        for diag in diags:
            self.assertEqual(set(diag), keys)
        page = (tool.ROOT / "man" / "remat-hlo.1").read_text().split(".SH DIAGNOSTICS")[1]
        for key in keys:
            self.assertRegex(page.split(".SH")[0], rf"\b{key}\b")

    def test_diagnostics_of_long_lines(self):
        self.write("bad.hlo", "HloModule m ENTRY e { " + "/*é*/" * 1000 + " ?" + " x" * 1000)
        diag = json.loads(self.expect(3, "check", "bad.hlo", "--diagnostics=json").err)
        self.assertLessEqual(len(diag["source"].encode()), 1000)
        begin = diag["column"] - diag["source_column"]
        self.assertEqual(diag["source"].encode()[begin : begin + 3], b"? x")

    def test_diagnostics_of_other_kinds(self):
        self.golden("elided", to="elided.hlo")
        args = ["elided.hlo", *NONE, "--diagnostics=json"]
        diag = json.loads(self.expect(3, *args, "--require-runnable").err)
        self.assertIn("constants are elided", diag["message"])
        diag = json.loads(self.expect(4, "input.hlo", "--diagnostics=json", "--max-memory=1KiB").err)
        self.assertIn("out of memory", diag["message"])
        self.write("before.hlo", "HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }")
        for line in self.expect(0, "before.hlo", *NONE, "--diagnostics=json").err.splitlines():
            self.assertEqual(json.loads(line)["severity"], "warning")

    def test_xla_flags_env(self):
        env = {"XLA_FLAGS": "--xla_rematerialization_mem_limit=14KiB --xla_gpu_autotune_level=0"}
        args = ["input.hlo", *STANDARD, "--quiet", "--json=-"]
        summary = json.loads(self.expect(0, *args, "--xla-flags-env", env=env).out)
        self.assertEqual(summary["limit_bytes"], 14336)
        self.assertEqual(json.loads(self.expect(0, *args, env=env).out)["rematerialized"], 0)

    def test_help(self):
        for args in (
            ["--help"],
            ["-h"],
            ["remat", "--help"],
            ["verify", "-h"],
            ["check", "--help"],
            ["print", "--help"],
            ["list", "--help"],
        ):
            result = self.expect(0, *args)
            self.assertTrue(result.out.startswith("usage: remat-hlo "), args)
            self.assertEqual(result.err, "")
            self.assertLessEqual(max(map(len, result.out.splitlines())), 100)

    def test_version(self):
        for args in (["--version"], ["-V"], ["check", "--version"]):
            self.assertRegex(self.expect(0, *args).out, r"\Aremat-hlo \d+\.\d+\.\d+\n\Z")

    def test_list_names_options(self):
        self.assertIn("--mem-limit", self.expect(0, "list", "--options=remat").out)
        self.assertNotIn("--mem-limit", self.expect(0, "list", "--options=verify").out)

    def test_list_names(self):
        shown = re.findall(r"^(\w+) \(--", self.expect(0, "list").out, re.M)
        self.assertGreater(len(shown), 5)
        text = self.expect(0, "list", "--help").out.split("--names", 1)[1]
        for what in shown + ["rules", "commands"]:
            self.assertRegex(text, rf"\b{what}\b")
            self.assertTrue(self.expect(0, "list", f"--names={what}").out)

    def test_what_was_recomputed(self):
        """By source line and by scope the same bytes, and the summary begins with the same lines."""
        sample = SAMPLES / "gpt_unrolled.after_optimizations.hlo"
        args = sample, "--algorithm=path", "--mem-limit=50%"
        summary = self.json(*args)
        recomputed = summary["recomputed"]
        lines = recomputed["by_source"]
        self.assertEqual(recomputed["values"], summary["rematerialized"])
        self.assertEqual(sum(line["bytes"] for line in lines), recomputed["bytes"])
        self.assertEqual(sum(line["values"] for line in lines), recomputed["values"])
        roots = [scope for scope in recomputed["by_scope"] if scope["depth"] == 0]
        self.assertEqual(sum(scope["bytes"] for scope in roots), recomputed["bytes"])
        self.assertEqual(lines, sorted(lines, key=lambda line: -line["bytes"]))
        shown = self.expect(0, *args).out.split("recomputed: ")[1].splitlines()
        self.assertEqual(shown[0].split(" in ")[1], f"{recomputed['values']} values")
        for text, line in zip(shown[1:6], lines):
            self.assertIn(f"{line['source_file']}:{line['source_line']}, {line['scope']}", text)
        self.assertIn(f"from {len(lines) - 5} more", shown[6])
        self.assertNotIn("recomputed", self.json(sample, "--mem-limit=2GiB"))

    def test_one_peak_everywhere(self):
        """What logs call peak and total, the summary calls so, too."""
        sample = self.golden("layers", to="layers.hlo")
        for model in ("heap", "liveness", "xla-remat"):
            for counts in ("total", "temp", "temp+outputs"):
                args = sample, f"--memory-model={model}", "--dump-memlog=a.log"
                text = self.expect(0, *args, f"--limit-counts={counts}").out
                summary = self.json(*args, f"--limit-counts={counts}")
                head = self.read("a.log").split("\n\n")[0]
                peak = int(re.search(r"peak .*\((\d+) bytes\)", head)[1])
                self.assertEqual(summary["model_peak_after_bytes"], peak)
                self.assertEqual("model's peak" in text, peak != summary["peak_after_bytes"])
                total = summary["parts_after"]["total_bytes"]
                self.assertEqual(bool(re.search("^  total ", head, re.M)), peak != total)

    def test_what_loops_recompute(self):
        """Each iteration counts: 400 bytes ten times."""
        self.golden("while_loop", to="loop.hlo")
        summary = self.json("loop.hlo", "--small-node-limit=0", "--mem-limit=min", "--algorithm=standard",
                            "--copies=pending")
        self.assertEqual(summary["rematerialized"], summary["recomputed"]["values"])
        self.assertGreaterEqual(summary["recomputed"]["bytes"], 4000)

    def test_frames(self):
        """Which frame of a stack gives positions to what is written, and how --pin finds it."""
        self.golden("frames", to="frames.hlo")
        user, inner = "/home/user/project/src/attention/model.py", "flax/linen/linear.py"
        for option, file in (("--frames=user", user), ("--frames=innermost", inner),
                             ("--frames=outermost", "train.py"), ("--library=^/home/", inner),
                             ("--library=!/flax/", inner)):
            self.expect(0, "frames.hlo", option, "--dump-memlog=log.csv", "--quiet")
            with open(self.path("log.csv")) as log:
                rows = {row["instruction"]: row for row in csv.DictReader(log)}
            self.assertIn(file, rows["dense"]["source_file"], option)
        last = "--library=!/flax/", "--library=flax"
        self.expect(0, "frames.hlo", *last, "--dump-memlog=log.csv", "--quiet")
        self.assertIn(user, self.read("log.csv"))
        for place in ("model.py:12", "linear.py:271"):
            self.assertEqual(self.expect(0, "frames.hlo", f"--pin={place}", "--quiet").err, "")
        self.assertIn("nothing", self.expect(0, "frames.hlo", "--pin=linear.py:272").err)
        for expression in ("(", "!(", "a{9999}"):
            result = self.expect(2, "frames.hlo", f"--library={expression}")
            self.assertIn("the regular expression", result.err)

    def test_times(self):
        """A profile that does not measure the module, or is none, is an error and not a roofline."""
        for name in ("step.hlo", "other.hlo", "step.xplane.pb.gz"):
            self.golden("times", name)
        summary = self.json("step.hlo", "--times=step.xplane.pb.gz", "--device=cpu")
        self.assertTrue(summary["times"].startswith("measured, "), summary["times"])
        self.assert_message(self.expect(3, "other.hlo", "--times=step.xplane.pb.gz"), "")
        self.expect(3, "step.hlo", "--times=step.hlo")
        self.expect(3, "step.hlo", "--times=none.xplane.pb")

    def test_every_option_has_its_test(self):
        source = pathlib.Path(__file__).read_text().split("def test_every_option")[0]
        for other in ("test_interrupt.py", "test_pictures.py"):
            source += pathlib.Path(__file__).with_name(other).read_text()
        shown = re.findall(r"^ +(?:-\w, )? *--([a-z-]+)", self.expect(0, "--help").out, re.M)
        self.assertGreater(len(shown), 30)
        for name in shown:
            self.assertIn(f"--{name}", source)


class Aliases(RecomputeTest):
    """The names of the seed's flags."""

    def test_all_of_them(self):
        self.golden("fusions", to="fusions.hlo")
        for form in ("--xla_rematerialization_{}", "--xla-rematerialization-{}"):

            def name(text):
                return form.format(text.replace("_", form[5]))

            summary = self.summary(
                name("mem_limit") + "=14336",
                name("scheduler") + "=input",
                name("algorithm") + "=standard",
                name("small_node_limit") + "=0",
                "--memory-model=xla-remat",
            )
            self.assertEqual(
                (
                    summary["limit_bytes"],
                    summary["scheduler"],
                    summary["algorithm"],
                    summary["met"],
                ),
                (14336, "input", "standard", True),
            )
            self.assertFalse(
                self.json(
                    "fusions.hlo",
                    "--scheduler=default",
                    "--algorithm=none",
                    "--memory-model=xla-remat",
                    name("disable_cuda"),
                )["bit_exact"]
            )

    def test_dump_flags_are_switches_there(self):
        self.expect(0, "input.hlo", *NONE, "--xla_rematerialization_dump_memlog")
        self.assert_no_leftovers("input.hlo", "mem.recompute.log")
        self.expect(0, "input.hlo", *NONE, "--xla_rematerialization_dump_memlog=false")
        self.expect(0, "input.hlo", *NONE, "--xla_rematerialization_dump_memlog=log.csv")
        self.assert_no_leftovers("input.hlo", "log.csv", "mem.recompute.log")

    def test_use_hlo_rematerialization(self):
        args = [*STANDARD, "-m14KiB"]
        self.assertTrue(self.summary(*args, "--xla_use_hlo_rematerialization")["met"])
        self.assertTrue(self.summary(*args, "--xla_use_hlo_rematerialization=true")["met"])
        summary = self.summary(*args, "--xla_use_hlo_rematerialization=false", code=1)
        self.assertEqual(summary["algorithm"], "none")
        self.expect(2, "input.hlo", "--xla_use_hlo_rematerialization=perhaps")

    def test_underscores_are_hyphens(self):
        self.assertEqual(
            self.summary(
                "--mem_limit=1MiB",
                "--memory_model=xla-remat",
                "--scheduler=input",
                "--algorithm=none",
                "--small_node_limit=0",
            )["limit_bytes"],
            1 << 20,
        )

    def test_zero_is_as_low_as_it_gets(self):
        summary = self.summary(*PATH, "--xla_rematerialization_mem_limit=0")
        self.assertEqual((summary["peak_after_bytes"], summary["met"]), (BOUND, True))


class Environment(RecomputeTest):
    """XLA_FLAGS and REMAT_HLO_FLAGS with --xla-flags-env."""

    def summary_with(self, *args, **env):
        result = self.expect(
            0, "input.hlo", *MODEL, "--quiet", "--json=-", "--xla-flags-env", *args, env=env
        )
        return json.loads(result.out)

    def test_both_are_read_and_ours_wins(self):
        summary = self.summary_with(
            XLA_FLAGS="--xla_rematerialization_mem_limit=1GiB --xla_dump_to=x "
            "--xla_rematerialization_algorithm=standard",
            REMAT_HLO_FLAGS="--mem-limit=2GiB",
        )
        self.assertEqual((summary["limit_bytes"], summary["algorithm"]), (2 << 30, "standard"))
        self.assert_no_leftovers("input.hlo")

    def test_one_of_xlas_own_is_read(self):
        flag = "--xla_multiheap_size_constraint_per_heap="
        self.assertEqual(self.summary_with(XLA_FLAGS=flag + "4096")["heap_limit_bytes"], 4096)
        self.assertNotIn("heap_limit_bytes", self.summary_with(XLA_FLAGS=flag + "-1"))

    def test_the_command_line_wins(self):
        self.assertEqual(
            self.summary_with("-m3GiB", REMAT_HLO_FLAGS="--mem-limit=2GiB")["limit_bytes"], 3 << 30
        )

    def test_hyphens_are_optional_and_blanks_any(self):
        flags = " \t xla_rematerialization_mem_limit=5000\n --xla_rematerialization_algorithm=none "
        self.assertEqual(
            json.loads(
                self.expect(
                    1,
                    "input.hlo",
                    *MODEL,
                    "--json=-",
                    "-q",
                    "--xla-flags-env",
                    env={"XLA_FLAGS": flags},
                ).out
            )["limit_bytes"],
            5000,
        )

    def test_faults_name_the_variable(self):
        result = self.expect(
            2, "input.hlo", "--xla-flags-env", env={"REMAT_HLO_FLAGS": "--mem-limt=2GiB"}
        )
        self.assert_message(result, "did you mean '--mem-limit'?", "REMAT_HLO_FLAGS")
        result = self.expect(
            2,
            "input.hlo",
            "--xla-flags-env",
            env={"XLA_FLAGS": "--xla_rematerialization_mem_limit=many"},
        )
        self.assert_message(result, "--mem-limit takes a size", "XLA_FLAGS")

    def test_unread_without_the_option(self):
        self.expect(0, "input.hlo", *NONE, env={"REMAT_HLO_FLAGS": "--nonsense"})


class Usage(RecomputeTest):
    """Wrong command lines: exit code 2, one message, nothing written."""

    def refuse(self, *args, says):
        result = self.expect(2, *args)
        self.assertEqual(result.out, "")
        self.assert_message(result, says)
        self.assert_no_leftovers("input.hlo")

    def test_no_arguments(self):
        result = self.expect(2)
        self.assertIn("usage: remat-hlo", result.err)

    def test_did_you_mean(self):
        for given, meant in (
            ("--mem-limits=1", "--mem-limit"),
            ("--mem-limt=1", "--mem-limit"),
            ("--scheduller=dfs", "--scheduler"),
            ("--algo=path", "--algorithm"),
            ("--dumpmemlog=x", "--dump-memlog"),
            ("--drry-run", "--dry-run"),
        ):
            with self.subTest(given):
                self.refuse("input.hlo", given, says=f"did you mean '{meant}'?")

    def test_did_you_mean_a_name(self):
        for option, given, meant in (
            ("scheduler", "dsf", "dfs"),
            ("algorithm", "standart", "standard"),
            ("memory-model", "xla-rmat", "xla-remat"),
            ("device", "a100-80gb", "a100-80g"),
        ):
            with self.subTest(option):
                self.refuse("input.hlo", f"--{option}={given}", says=f"did you mean '{meant}'?")

    def test_did_you_mean_a_command(self):
        self.refuse("verfy", "input.hlo", says="did you mean 'verify'?")

    def test_unknown_option(self):
        self.refuse("input.hlo", "--colour=blue", says="there is no option '--colour=blue'")
        self.refuse("input.hlo", "-x", says="there is no option '-x'")
        self.refuse("check", "input.hlo", "--mem-limit=1", says="there is no option")

    def test_a_share_without_its_sign(self):
        """A number without a unit is bytes."""
        hint = "--mem-limit=80% would be of the peak before"
        self.golden("recompute")
        self.assertIn(hint, self.expect(1, "input.hlo", "--mem-limit=80").out)
        for limit in "80%", "101", "80MiB":
            run = self.run_tool("input.hlo", f"--mem-limit={limit}")
            self.assertNotIn("would be of", run.out)

    def test_values_in_another_form_are_counted(self):
        """The first is XLA's own test of compression."""
        self.write("tiled.hlo", """HloModule tiled, is_scheduled=true
add { y = f32[] parameter(0)
  z = f32[] parameter(1)
  ROOT s = f32[] add(y, z) }
ENTRY e {
  p = f32[] parameter(0)
  zero = f32[] constant(0)
  big = f32[64,2]{1,0:T(1,64)} broadcast(p), dimensions={}
  other = f32[128,64]{1,0:T(1,64)} broadcast(p), dimensions={}
  wide = f32[128,64]{1,0:T(1,64)} negate(other)
  r0 = f32[] reduce(wide, zero), dimensions={1,0}, to_apply=add
  r1 = f32[] reduce(big, zero), dimensions={1,0}, to_apply=add
  ROOT sum = f32[] add(r0, r1) }
""")
        args = ["tiled.hlo", "--target=tpu", "--algorithm=compress", "--mem-limit=min",
                "--memory-model=xla-remat", "--small-node-limit=0"]
        self.assertIn("rematerialized: 0; compressed 1 value\n", self.expect(0, *args).out)
        self.assertEqual(self.json(*args)["compressed"], 1)

    def test_all_outputs_at_once(self):
        """Each of them is compared with all others, in arrays that must have room for them."""
        self.golden("recompute")
        outputs = [f"--{name}=out.{name}" for name in
                   ("output", "json", "csv", "dump-memlog", "save-plan", "svg", "perfetto")]
        self.expect(0, "input.hlo", "--quiet", *outputs)
        self.assertEqual(len([name for name in self.names() if name.startswith("out.")]), 7)
        result = self.expect(2, "input.hlo", *outputs, "--perfetto=out.csv")
        self.assertIn("out.csv", result.err)

    def test_bad_values(self):
        for option, values in {
            "mem-limit": [
                "",
                "x",
                "-1",
                "12 parsecs",
                "1e9",
                "80%%",
                "r80",
                "%",
                "r%",
                "-5%",
                "9223372036854775808",
                "9000000000GiB",
                "minimum",
                "12gib",
            ],
            "limit-counts": ["", "temps", "TEMP"],
            "frames": ["", "users", "USER"],
            "library": [""],
            "small-node-limit": ["", "x", "-1", "1%"],
            "min-remat-size": ["", "-1", "x"],
            "block-size-limit": ["0", "-1", "1.5", "x", ""],
            "block-factor": ["-1", "x", ""],
            "path-depth": ["0", "x"],
            "effort": ["10", "-1", "x", "", "5.5"],
            "time-limit": ["-1", "nan", "x", ""],
            "threads": ["-1", "x", ""],
            "trip-count": ["0", "-3", "x"],
            "inline-calls": ["sometimes", ""],
            "unfuse": ["", "custom", "loop,", "loop;input"],
            "remat-mode": ["compres", "narrow,"],
            "emit": ["hlo"],
            "dry-run": ["maybe"],
            "dot-max-nodes": ["0", "many"],
            "dot-hops": ["0", "x"],
            "dot-filter": [""],
            "max-memory": ["-1", "1.5.5"],
            "output": [""],
            "device": [""],
        }.items():
            for value in values:
                with self.subTest(option=option, value=value):
                    self.refuse("input.hlo", f"--{option}={value}", says=f"--{option} takes ")

    def test_missing_value(self):
        self.refuse("input.hlo", "--mem-limit", says="--mem-limit needs a value")
        self.refuse("input.hlo", "-o", says="--output needs a value")

    def test_file_counts(self):
        self.refuse("verify", "input.hlo", says="takes two files")
        self.refuse("print", "input.hlo", "input.hlo", says="takes one file")
        self.refuse("check", says="needs a file")
        self.refuse("list", "input.hlo", says="takes no files")
        self.refuse("--quiet", says="needs a file")

    def test_two_inputs_from_stdin(self):
        for args in (
            ["-", "-", "-o", "out/"],
            ["verify", "-", "-"],
            ["report", "-", "-"],
            ["check", "input.hlo", "-", "-"],
            ["check", "-", "--baseline=-"],
        ):
            self.refuse(*args, says="only one input can come from stdin")

    def test_two_outputs_on_stdout(self):
        for pair in (
            ["-o", "-", "--json=-"],
            ["-o-", "--dump-memlog=-"],
            ["--json=-", "--dump-memlog=-"],
            ["-o", "/dev/stdout", "--json=-"],
        ):
            with self.subTest(pair):
                self.refuse("input.hlo", *NONE, *pair, says="only one output can go to stdout")

    def test_two_outputs_of_one_name(self):
        self.refuse("input.hlo", *NONE, "-o", "x", "--json=x", says="same name")

    def test_several_files_need_a_folder(self):
        self.refuse("input.hlo", "input.hlo", *NONE, "-o", "out.hlo", says="-o FOLDER/")
        self.refuse("input.hlo", "input.hlo", *NONE, "-o", "-", says="-o FOLDER/")
        self.refuse(
            "input.hlo", "input.hlo", *NONE, "--dump-memlog=x", says="--dump-memlog=FOLDER/"
        )

    def test_options_end_at_two_hyphens(self):
        self.write("--odd.hlo", self.path("input.hlo").read_bytes())
        self.expect(0, "check", "--", "--odd.hlo")

    def test_a_command_wins_over_a_file_of_its_name(self):
        self.write("check", self.path("input.hlo").read_bytes())
        self.assertIn("usage: remat-hlo check FILE", self.expect(2, "check").err)
        self.expect(0, "./check", *NONE)

    def test_list_faults(self):
        self.refuse("list", "--names=colours", says="colours")
        self.refuse("list", "--options=fly", says="fly")


class Streams(RecomputeTest):
    """stdin, stdout and stderr."""

    def test_stdin(self):
        text = self.path("input.hlo").read_bytes()
        self.assertEqual(self.expect(0, "print", "-", stdin=text).out.encode(), text)
        self.assertIn("<stdin>: recompute", self.expect(0, "check", "-", stdin=text).out)
        summary = json.loads(self.expect(0, "-", *NONE, "-q", "--json=-", stdin=text).out)
        self.assertEqual(summary["input"], "<stdin>")

    def test_from_pipe_to_pipe(self):
        text = self.path("input.hlo").read_bytes()
        once = self.expect(0, "-", *STANDARD, "-m14KiB", "-o", "-", stdin=text).out
        again = self.expect(0, "-", *STANDARD, "-m14KiB", "-o", "-", stdin=once.encode()).out
        self.assertEqual(once, again)

    def test_summary_moves_to_stderr_when_stdout_is_taken(self):
        summary = "input.hlo: recompute, 8 instructions"
        for args in (["-o", "-"], ["-o", "/dev/stdout"], ["--json=-"], ["--dump-memlog=-"]):
            with self.subTest(args):
                result = self.expect(0, "input.hlo", *NONE, *args)
                self.assertNotIn(summary, result.out)
                self.assertIn(summary, result.err)
        self.assertIn(summary, self.expect(0, "input.hlo", *NONE, "-o", "out.hlo").out)

    def test_hlo_on_stdout_is_the_written_file(self):
        out = self.expect(0, "input.hlo", *STANDARD, "-m14KiB", "-o", "-").out
        self.expect(0, "input.hlo", *STANDARD, "-m14KiB", "-o", "out.hlo")
        self.assertEqual(out, self.read("out.hlo"))

    def close_early(self, *args):
        """As `| head -1` does; what the pipe holds is written before the tool notices."""
        process = self.start(*args)
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        return process.wait(timeout=tool.TIMEOUT_SECONDS), err

    def test_closed_pipe_is_no_error_message(self):
        large = SAMPLES / "vgg.after_optimizations.hlo"
        for args in (
            ["print", large],
            [large, *NONE, "-q", "-o", "-"],
            [large, *NONE, "-q", "--dump-memlog=-"],
            ["list"],
            ["--help"],
        ):
            with self.subTest(args):
                code, err = self.close_early(*args)
                self.assertEqual(err, b"")
                self.assertEqual(code, 0)

    def test_closed_stdout(self):
        result = self.run_tool(
            "input.hlo", *NONE, "-o", "out.hlo", "-q", preexec_fn=lambda: os.close(1)
        )
        self.assertEqual(result.code, 0, result)
        self.assertIn("ENTRY", self.read("out.hlo"))


class Files(RecomputeTest):
    """How outputs replace what is there."""

    def write_out(self, name="out.hlo", code=0, *args):
        return self.expect(code, "input.hlo", *STANDARD, "-m14KiB", "-q", "-o", name, *args)

    def test_symlink_is_followed(self):
        self.path("real").mkdir()
        self.write("real/out.hlo", "old")
        self.path("link.hlo").symlink_to("real/out.hlo")
        self.write_out("link.hlo")
        self.assertTrue(self.path("link.hlo").is_symlink())
        self.assertIn("ENTRY", self.read("real/out.hlo"))
        self.assert_no_leftovers("input.hlo", "link.hlo", "real", "real/out.hlo")

    def test_symlink_that_ends_nowhere(self):
        self.path("link.hlo").symlink_to("new.hlo")
        self.write_out("link.hlo")
        self.assertTrue(self.path("link.hlo").is_symlink())
        self.assertIn("ENTRY", self.read("new.hlo"))

    def test_symlink_chain(self):
        self.path("sub").mkdir()
        self.path("a").symlink_to("sub/b")
        self.path("sub/b").symlink_to("c")
        self.write("sub/c", "old")
        self.write_out("a")
        self.assertIn("ENTRY", self.read("sub/c"))
        self.assertTrue(self.path("a").is_symlink() and self.path("sub/b").is_symlink())

    def test_symlink_chain_that_ends_nowhere(self):
        self.path("sub").mkdir()
        self.path("a").symlink_to("sub/b")
        self.path("sub/b").symlink_to("c")
        self.write_out("a")
        self.assertTrue(self.path("a").is_symlink() and self.path("sub/b").is_symlink())
        self.assertIn("ENTRY", self.read("sub/c"))

    def test_symlink_to_itself(self):
        self.path("a").symlink_to("a")
        self.assert_message(self.write_out("a", 4), "a: error: Too many levels of symbolic links")
        self.assert_no_leftovers("a", "input.hlo")

    def test_symlink_to_a_folder(self):
        self.path("real").mkdir()
        self.path("link").symlink_to("real")
        self.write_out("link/")
        self.assertIn("ENTRY", self.read("real/input.hlo"))

    def test_mode_is_kept(self):
        for mode in (0o600, 0o640, 0o755):
            self.write("out.hlo", "old")
            self.path("out.hlo").chmod(mode)
            self.write_out()
            self.assertEqual(stat.S_IMODE(self.path("out.hlo").stat().st_mode), mode)

    def test_mode_of_a_new_file(self):
        for mask in (0o022, 0o077):
            self.write_out(f"new.{mask}")
            self.expect(
                0, "input.hlo", *NONE, "-q", "-o", f"out.{mask}", preexec_fn=lambda: os.umask(mask)
            )
            self.assertEqual(stat.S_IMODE(self.path(f"out.{mask}").stat().st_mode), 0o666 & ~mask)

    def test_fifo(self):
        os.mkfifo(self.path("pipe"))
        process = self.start("input.hlo", *STANDARD, "-m14KiB", "-q", "-o", "pipe")
        text = self.read("pipe")
        self.assertEqual(process.wait(timeout=tool.TIMEOUT_SECONDS), 0)
        process.stdout.close(), process.stderr.close()
        self.assertIn("%broadcast.remat", text)
        self.assertTrue(stat.S_ISFIFO(self.path("pipe").stat().st_mode))

    def test_null_device(self):
        self.write_out("/dev/null", 0, "--json=/dev/null", "--dump-memlog=/dev/null")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_the_input_may_be_replaced(self):
        self.write_out("input.hlo")
        self.assertIn("%broadcast.remat", self.read("input.hlo"))
        self.assert_no_leftovers("input.hlo")

    def test_folder(self):
        self.write_out("new/")
        self.path("there").mkdir()
        self.write_out("there")
        self.assertEqual(self.read("new/input.hlo"), self.read("there/input.hlo"))

    def test_several_files(self):
        self.golden("while_loop", to="loop.hlo")
        self.expect(
            0,
            "input.hlo",
            "loop.hlo",
            *NONE,
            "-o",
            "out/",
            "--json=all.json",
            "-q",
            "--dump-memlog=logs/",
        )
        self.assertEqual(
            [item["module"] for item in json.loads(self.read("all.json"))], ["recompute", "loop"]
        )
        self.assert_no_leftovers(
            "all.json",
            "input.hlo",
            "logs",
            "logs/mem.loop.log",
            "logs/mem.recompute.log",
            "loop.hlo",
            "out",
            "out/input.hlo",
            "out/loop.hlo",
        )

    def test_written_files_are_listed(self):
        result = self.expect(
            0, "input.hlo", *NONE, "-o", "out.hlo", "--dump-memlog=m.log", "--json=s.json"
        )
        self.assertEqual(re.findall(r"wrote (.*)", result.out), ["out.hlo", "m.log"])
        self.assertEqual(json.loads(self.read("s.json"))["written"], ["out.hlo", "m.log"])

    def test_names_of_modules_become_file_names(self):
        text = self.read("input.hlo").replace("HloModule recompute", "HloModule a.b-c_d")
        self.write("odd.hlo", text)
        self.expect(0, "odd.hlo", *NONE, "-q", "--dump-memlog=logs/")
        self.assertIn("logs/mem.a.b-c_d.log", self.names())

    def test_print_writes_byte_for_byte(self):
        for sample in sorted(SAMPLES.glob("*.hlo")):
            with self.subTest(sample.name):
                self.expect(0, "print", sample, "-o", "out.hlo")
                self.assertEqual(self.path("out.hlo").read_bytes(), sample.read_bytes())


class ProtocolBuffers(ToolTest):
    """Modules as XLA's messages: those of dumps are in an HloProto."""

    def setUp(self):
        super().setUp()
        module = (tool.GOLDEN.parent / "cli" / "module.hlo_proto.pb").read_bytes()
        assert len(module) < 1 << 14
        length = bytes([len(module) & 127 | 128, len(module) >> 7])
        self.path("dump").mkdir()
        self.module, self.wrapped = module, b"\n" + length + module + b"\x1a\0"
        self.write("m.hlo_proto.pb", module)
        self.write("dump/module_0001.f.cpu_after_optimizations.hlo.pb", self.wrapped)
        printed = self.run_tool("print", "m.hlo_proto.pb")
        if "does not read protocol buffers" in printed.err:
            self.assertEqual(printed.code, 3)
            self.assertIn("binary HLO proto", printed.err)
            self.skipTest("this build has no protobuf-c")
        self.text = printed.out
        self.assertEqual(printed.code, 0, printed.err)

    def test_are_read(self):
        self.assertIn("HloModule message, is_scheduled=true", self.text)
        self.write("m.hlo.pb.gz", gzip.compress(self.wrapped))
        for path, stdin in (("m.hlo.pb.gz", None), ("-", self.module), ("-", self.wrapped),
                            ("-", gzip.compress(self.module))):
            self.assertEqual(self.expect(0, "print", path, stdin=stdin).out, self.text)

    def test_in_folders(self):
        out = self.expect(0, "report", "dump", "--min-peak=0").out
        self.assertIn("1 modules, 1 stages, 0 other files", out)
        self.write("dump/module_0001.f.cpu_after_optimizations.txt", self.text)
        out = self.expect(0, "report", "dump", "--min-peak=0").out
        self.assertIn("1 modules, 1 stages, 1 other files", out)

    def test_that_are_cut_off(self):
        self.write("cut.hlo.pb", self.module[:-1])
        self.assert_message(self.expect(3, "check", "cut.hlo.pb"), "not an HloModuleProto")
        self.write("text.hlo", "\n\x12HloModule")
        self.assertNotIn("HloModuleProto", self.expect(3, "check", "text.hlo").err)


class Signals(RecomputeTest):
    """What an interrupted run leaves behind: nothing."""

    def wait_for_temporary(self):
        def is_there():
            return any(re.search(r"\.[A-Za-z0-9]{6}$", name) for name in self.names())

        self.wait_for(is_there, "no temporary file appeared")

    def interrupt(self, process, number):
        process.send_signal(number)
        process.communicate(timeout=tool.TIMEOUT_SECONDS)
        return process.returncode

    def test_while_writing(self):
        """The summary is open while the tool waits for its input."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                process = self.start("-", *NONE, "--json=s.json.new", stdin=subprocess.PIPE)
                self.wait_for_temporary()
                self.assertEqual(self.interrupt(process, number), 128 + number)
                self.assert_no_leftovers("input.hlo")

    def test_while_two_files_are_open(self):
        """The first file is done; the summary of all stays open while the second one is awaited."""
        process = self.start(
            "input.hlo", "-", *NONE, "-o", "out/", "--json=s.json.new", stdin=subprocess.PIPE
        )
        process.stdin.write(b" " * (1 << 20))  # is more than a pipe holds, so somebody reads
        self.assertIn("out/input.hlo", self.names())
        self.assertEqual(self.interrupt(process, signal.SIGINT), 130)
        self.assert_no_leftovers("input.hlo", "out", "out/input.hlo")

    def test_what_was_there_stays(self):
        self.write("s.json", "as it was")
        process = self.start("-", *NONE, "--json=s.json", stdin=subprocess.PIPE)
        self.wait_for_temporary()
        self.assertEqual(self.interrupt(process, signal.SIGINT), 130)
        self.assertEqual(self.read("s.json"), "as it was")
        self.assert_no_leftovers("input.hlo", "s.json")

    def test_out_of_memory_leaves_nothing(self):
        self.expect(4, "input.hlo", *NONE, "--json=s.json", "--max-memory=1KiB")
        self.assert_no_leftovers("input.hlo")


class Summary(RecomputeTest):
    """The summary in JSON."""

    def test_has_every_key(self):
        for args, code in (
            (NONE, 0),
            (STANDARD + ["-m14KiB"], 0),
            (PATH + ["-m4KiB"], 1),
            (STANDARD + ["-mmin"], 0),
        ):
            summary = self.summary(*args, code=code)
            self.assertEqual([key for key in KEYS if key not in summary], [])
            for phase in ("parse", "schedule", "remat", "verify", "emit"):
                self.assertIsInstance(summary["phases"][phase], (int, float))

    def test_figures(self):
        summary = self.summary(*STANDARD, "-m14KiB")
        want = dict(
            input="input.hlo",
            module="recompute",
            limit_counts="temp+outputs",
            scheduler="input",
            algorithm="standard",
            memory_model="xla-remat",
            limit_bytes=14336,
            met=True,
            peak_before_bytes=BEFORE,
            peak_after_bytes=AFTER,
            lower_bound_bytes=BOUND,
            instructions_before=8,
            instructions_after=9,
            rematerialized=1,
            flops_before=1024,
            flops_after=1024,
            bytes_accessed_before=36900,
            bytes_accessed_after=41000,
        )
        self.assertEqual({key: summary[key] for key in want}, want)
        self.assertAlmostEqual(
            summary["overhead"], summary["seconds_after"] / summary["seconds_before"] - 1
        )
        self.assertLessEqual(sum(summary["phases"].values()), summary["elapsed_seconds"])

    def test_without_a_limit(self):
        summary = self.summary(*NONE)
        self.assertIn(summary["limit_bytes"], (None, (1 << 63) - 1))
        self.assertTrue(summary["met"])

    def test_met_and_exit_code_agree(self):
        for limit in (BEFORE, BEFORE - 1, AFTER, AFTER - 1, BOUND, BOUND - 1, 1):
            for args in (NONE, STANDARD, PATH):
                result = self.run_tool("input.hlo", *args, f"-m{limit}", "-q", "--json=-")
                summary = json.loads(result.out)
                self.assertEqual(summary["met"], summary["peak_after_bytes"] <= limit)
                self.assertEqual(result.code, 0 if summary["met"] else 1)
                self.assertEqual("blocking" in summary, not summary["met"])

    def test_blocking(self):
        blocking = self.summary(*STANDARD, "-m4KiB", code=1)["blocking"]
        self.assertEqual(blocking["instruction"], "wide")
        self.assertEqual(
            [(item["instruction"], item["bytes"]) for item in blocking["live"]],
            [("wide", 8192), ("negate", 4096)],
        )
        for item in blocking["live"]:
            self.assertTrue(item["reason"] and item["explanation"])

    def test_integers_are_exact(self):
        self.write("huge.hlo", HUGE)
        out = self.expect(0, "huge.hlo", *NONE, "-q", "--json=-").out
        self.assertIn("18014398509481987", out)
        summary = json.loads(out)
        self.assertEqual(summary["peak_before_bytes"], 2 * 9007199254740993 + 1)
        self.assertEqual(summary["flops_before"], 9007199254740993)

    def test_the_best_is_written_when_the_limit_is_not_met(self):
        summary = self.summary(*STANDARD, "-m12000", "-o", "out.hlo", code=1)
        self.assertEqual(summary["peak_after_bytes"], BOUND)
        self.assertEqual(self.json("out.hlo", *NONE)["peak_before_bytes"], BOUND)

    def test_names_of_any_bytes(self):
        name = b"caf\xe9 \xff.hlo"
        with open(os.path.join(os.fsencode(self.dir), name), "wb") as file:
            file.write(self.path("input.hlo").read_bytes())
        out = self.expect(0, os.fsdecode(name), *NONE, "-q", "--json=-").out
        self.assertEqual(json.loads(out)["input"], "caf? ?.hlo")

    def test_op_names_with_quotes(self):
        self.write(
            "q.hlo",
            "HloModule q, is_scheduled=true\nENTRY e { p = f32[4]{0} parameter(0), "
            'metadata={op_name="a\\"b,c\\\\d"} ROOT n = f32[4]{0} negate(p) }',
        )
        self.expect(0, "q.hlo", *NONE, "-q", "--dump-memlog=m.jsonl")
        for line in self.read("m.jsonl").splitlines():
            json.loads(line)
        self.expect(0, "q.hlo", *NONE, "-q", "--dump-memlog=m.csv")
        with open(self.path("m.csv"), newline="") as file:
            self.assertEqual({len(row) for row in csv.reader(file)}, {12})


class Budget(RecomputeTest):
    """--mem-limit to the byte."""

    def limit(self, text):
        result = self.run_tool("input.hlo", *NONE, f"--mem-limit={text}", "-q", "--json=-")
        self.assertIn(result.code, (0, 1), result)
        return json.loads(result.out)["limit_bytes"]

    def test_units(self):
        for text, want in (
            ("1", 1),
            ("4096", 4096),
            ("4096B", 4096),
            ("1KB", 1000),
            ("1KiB", 1024),
            ("1MB", 10**6),
            ("1MiB", 1 << 20),
            ("12GiB", 12 << 30),
            ("80GB", 80 * 10**9),
            ("1TiB", 1 << 40),
            ("2TB", 2 * 10**12),
            ("12 GiB", 12 << 30),
            ("1.5GiB", 3 << 29),
            (".5KiB", 512),
            ("0.1KiB", 102),
            ("0.001GB", 10**6),
            ("9007199254740993", 9007199254740993),
        ):
            with self.subTest(text):
                self.assertEqual(self.limit(text), want)

    def test_shares_are_rounded_down(self):
        for text, want in (
            ("100%", BEFORE),
            ("80%", 13110),
            ("77.5%", 12700),
            ("0.01%", 1),
            ("33.3333%", 5462),
            ("150%", 24582),
            ("0%", 0),
        ):
            with self.subTest(text):
                self.assertEqual(self.limit(text), want)

    def test_shares_of_the_reducible_part(self):
        part = BEFORE - BOUND
        for text, want in (
            ("r100%", BEFORE),
            ("r0%", BOUND),
            ("r50%", BOUND + part // 2),
            ("r80%", BOUND + part * 80 // 100),
            ("r12.5%", BOUND + part // 8),
        ):
            with self.subTest(text):
                self.assertEqual(self.limit(text), want)

    def test_min(self):
        for text in ("min", "0", "0MiB"):
            with self.subTest(text):
                summary = self.summary(*STANDARD, f"--mem-limit={text}")
                self.assertEqual((summary["met"], summary["peak_after_bytes"]), (True, BOUND))
                self.assertIn("blocking", summary)

    def test_share_of_huge_figures(self):
        self.write("huge.hlo", HUGE)
        summary = self.json("huge.hlo", *NONE, "--mem-limit=33.333333%", code=1)
        self.assertEqual(summary["limit_bytes"], (2 * 9007199254740993 + 1) * 33333333 // 10**8)

    def test_of_what_is_counted(self):
        for counts, before in (("temp", 16384), ("total", 16392)):
            summary = self.summary(*STANDARD, f"--limit-counts={counts}", "-m100%")
            self.assertEqual(summary["limit_bytes"], before)

    def test_before_is_the_order_without_us(self):
        """A share is of the peak in XLA's default order, whatever order is asked for."""
        self.golden("orders", to="orders.hlo")
        args = [
            "--algorithm=none",
            "--memory-model=xla-remat",
            "-m100%",
            "--limit-counts=temp+outputs",
        ]
        default = self.json("orders.hlo", *args, "--scheduler=default")["limit_bytes"]
        for scheduler in ("bfs", "postorder", "list"):
            result = self.run_tool(
                "orders.hlo", *args, f"--scheduler={scheduler}", "-q", "--json=-"
            )
            self.assertEqual(json.loads(result.out)["limit_bytes"], default)


class Devices(RecomputeTest):
    """Device profiles of one's own."""

    PROFILE = (tool.GOLDEN / "layers" / "toy.json").read_text()

    def refuse(self, text, *says):
        self.write("bad.json", text)
        result = self.expect(3, "input.hlo", *NONE, "--device=./bad.json", "-o", "out.hlo")
        self.assert_message(result, "bad.json", *says)
        self.assert_no_leftovers("bad.json", "input.hlo")

    def test_file(self):
        self.write("toy.json", self.PROFILE)
        for name in ("./toy.json", "toy.json", self.path("toy.json")):
            summary = self.summary(*NONE, f"--device={name}")
            self.assertEqual(summary["profile"], "toy")
            self.assertAlmostEqual(summary["seconds_before"], 36900e-9)

    def test_missing_file(self):
        self.assert_message(
            self.expect(3, "input.hlo", "--device=./none.json"),
            "none.json: error: No such file or directory",
        )

    def test_directory(self):
        self.path("folder.json").mkdir()
        self.expect(3, "input.hlo", "--device=./folder.json")

    def test_faults(self):
        profile = json.loads(self.PROFILE)
        self.refuse("", "not valid JSON")
        self.refuse("{", "not valid JSON")
        self.refuse("[]", "must be a JSON object")
        self.refuse("HloModule m", "not valid JSON")
        self.refuse(json.dumps({**profile, "colour": "red"}), "'colour' is an unknown key")
        for key in profile:
            self.refuse(
                json.dumps({k: v for k, v in profile.items() if k != key}), f"'{key}' is missing"
            )
        self.refuse(json.dumps({**profile, "memory_bandwidth": -1}), "memory_bandwidth")
        self.refuse(json.dumps({**profile, "memory_bandwidth": "fast"}), "memory_bandwidth")
        self.refuse(json.dumps({**profile, "flops": {"f33": 1, "default": 1}}), "f33")
        self.refuse(json.dumps({**profile, "flops": {"f32": 1}}), "flops.default")

    def test_installed_ones_are_valid(self):
        for name in self.run_tool("list", "--names=devices").out.split():
            self.expect(0, "input.hlo", *NONE, f"--device={name}", "-q")


class RoundTrip(ToolTest):
    """What is claimed of a written file is true of it."""

    JOBS = [
        (model, algorithm, limit)
        for model in ("xla-remat", "liveness", "liveness-once", "heap")
        for algorithm in ("standard", "path")
        for limit in ("r50%", "min")
    ]

    def check(self, path, scheduler="input", inline="auto"):
        for model, algorithm, limit in self.JOBS:
            with self.subTest(path=path.name, model=model, algorithm=algorithm, limit=limit):
                result = self.run_tool(
                    path,
                    f"--scheduler={scheduler}",
                    f"--algorithm={algorithm}",
                    f"--memory-model={model}",
                    "--small-node-limit=0",
                    f"--mem-limit={limit}",
                    "-o",
                    "out.hlo",
                    "-q",
                    "--json=-",
                )
                self.assertIn(result.code, (0, 1), result)
                claimed = json.loads(result.out)
                fresh = self.json(
                    "out.hlo", "--scheduler=input", "--algorithm=none", f"--memory-model={model}"
                )
                for key in ("peak", "instructions", "flops", "bytes_accessed"):
                    suffix = "_bytes" if key == "peak" else ""
                    self.assertEqual(
                        claimed[f"{key}_after{suffix}"], fresh[f"{key}_before{suffix}"]
                    )
                if algorithm != "standard":  # XLA's greedy sweep can end above where it began
                    self.assertLessEqual(
                        claimed["peak_after_bytes"], claimed["peak_scheduled_bytes"]
                    )
                self.assertGreaterEqual(claimed["peak_after_bytes"], claimed["lower_bound_bytes"])
                self.expect(0, "verify", path, "out.hlo")
                self.expect(0, "check", "out.hlo")

    def test_golden_modules(self):
        for folder in (
            "recompute",
            "while_loop",
            "branches",
            "fusions",
            "donated",
            "control",
            "async",
            "collectives",
            "custom_call",
            "elided",
        ):
            self.check(tool.GOLDEN / folder / "input.hlo")

    def test_unscheduled_golden_modules(self):
        for folder in ("orders", "calls", "layers"):
            for scheduler in ("default", "bfs", "dfs", "list", "postorder"):
                self.check(tool.GOLDEN / folder / "input.hlo", scheduler)

    def test_samples(self):
        for name in ("unet_donated", "vgg", "lstm"):
            self.check(SAMPLES / f"{name}.after_optimizations.hlo")

    def test_unscheduled_result_verifies(self):
        for folder in ("recompute", "while_loop", "branches", "layers"):
            path = tool.GOLDEN / folder / "input.hlo"
            self.run_tool(
                path,
                "--scheduler=auto",
                "--algorithm=path",
                "--memory-model=xla-remat",
                "--small-node-limit=0",
                "--mem-limit=r50%",
                "--emit=unscheduled",
                "-o",
                "out.hlo",
            )
            self.assertNotIn("is_scheduled=true", self.read("out.hlo"))
            self.expect(0, "verify", path, "out.hlo")

    def test_nothing_to_do_changes_nothing(self):
        for path in [tool.GOLDEN / "while_loop" / "input.hlo", *SAMPLES.glob("*.after_*.hlo")]:
            self.expect(0, path, *NONE, "-q", "-o", "out.hlo")
            self.assertEqual(self.path("out.hlo").read_bytes(), path.read_bytes(), path.name)

    def test_two_runs_are_equal(self):
        path = SAMPLES / "resnet.after_optimizations.hlo"
        for algorithm in ("standard", "path"):
            texts = []
            for run in range(2):
                self.run_tool(
                    path,
                    *MODEL,
                    f"--algorithm={algorithm}",
                    "-mr50%",
                    "-o",
                    f"{run}.hlo",
                    f"--dump-memlog={run}.csv",
                    "-q",
                )
                texts.append(self.read(f"{run}.hlo") + self.read(f"{run}.csv"))
            self.assertEqual(*texts)

    def test_order_of_a_scheduled_module_is_kept(self):
        """Lines that are not changed keep their order: a diff shows the rematerialization."""
        path = SAMPLES / "vgg.after_optimizations.hlo"
        self.run_tool(path, *PATH, "-mr50%", "-o", "out.hlo", "-q")
        old, new = path.read_text().splitlines(), self.read("out.hlo").splitlines()
        kept = set(old) & set(new)
        self.assertLess(len(kept), len(set(new)))
        self.assertGreater(len(kept), len(set(old)) * 9 // 10)
        once = {line for line in kept if old.count(line) == 1}
        self.assertEqual(
            [line for line in new if line in once], [line for line in old if line in once]
        )


class Locale(RecomputeTest):
    """Numbers are written and read without the locale."""

    NAMES = ("fr_FR.UTF-8", "fr_FR.utf8", "de_DE.UTF-8", "de_DE.utf8")

    def test_output_is_the_same(self):
        there = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.split()
        names = [name for name in self.NAMES if name in there]
        if not names:
            self.skipTest("no locale with a decimal comma is installed")
        args = ["input.hlo", *STANDARD, "-m0.875MiB", "-q", "--json=-", "--block-factor=1.5"]
        plain = json.loads(self.expect(0, *args, env={"LC_ALL": "C"}).out)
        for name in names:
            summary = json.loads(self.expect(0, *args, env={"LC_ALL": name}).out)
            for key in plain.keys() - {"elapsed_seconds", "phases"}:
                self.assertEqual(summary[key], plain[key])


class Verify(ToolTest):
    """`verify` and `check`, for scripts."""

    def test_exit_codes(self):
        folder = tool.GOLDEN / "verify"
        self.expect(0, "verify", folder / "before.hlo", folder / "same.hlo")
        self.expect(0, "verify", folder / "same.hlo", folder / "before.hlo")
        for name in ("drawn_twice", "swapped", "other_opcode", "sent_once", "other_constant"):
            self.expect(1, "verify", folder / "before.hlo", folder / f"{name}.hlo")
            self.expect(1, "verify", folder / f"{name}.hlo", folder / "before.hlo")
        self.expect(3, "verify", folder / "before.hlo", "none.hlo")
        self.expect(3, "verify", "none.hlo", folder / "before.hlo")

    def test_quiet(self):
        folder = tool.GOLDEN / "verify"
        result = self.expect(0, "verify", "-q", folder / "before.hlo", folder / "same.hlo")
        self.assertEqual(result.out + result.err, "")

    def test_different_modules(self):
        self.expect(
            1,
            "verify",
            tool.GOLDEN / "recompute" / "input.hlo",
            tool.GOLDEN / "while_loop" / "input.hlo",
        )

    def test_check_of_all_samples(self):
        self.expect(0, "check", "-q", *sorted(SAMPLES.glob("*.hlo")))

    def test_check_finds(self):
        lines = [f"  n{i} = f32[{i}] negate(p)\n" for i in range(3, 30)]
        body = "  p = f32[2] parameter(0)\n" + "".join(lines)
        self.write("odd.hlo", "HloModule m\n\nENTRY e {\n" + body + "}\n")
        result = self.expect(0, "check", "odd.hlo")
        self.assertIn("odd.hlo: m, computations: 1, instructions: 28", result.out)
        self.assertEqual(result.err.count("warning: "), 20)
        self.assertEqual(result.err.count(" [implicit-broadcast]\n"), 20)
        self.assertIn("odd.hlo: note: 7 more findings; --max-errors shows more\n", result.err)
        result = self.expect(3, "check", "odd.hlo", "--strict", "--max-errors=99")
        self.assertEqual((result.out, result.err.count("error: ")), ("", 27))
        err = self.expect(0, "check", "odd.hlo", "--diagnostics=json", "--max-errors=1").err
        diags = [json.loads(line) for line in err.splitlines()]
        self.assertEqual(diags[0]["rule"], "implicit-broadcast")
        self.assertEqual((diags[0]["severity"], diags[0]["line"]), ("warning", 5))
        self.assertEqual(diags[1]["message"], "26 more findings; --max-errors shows more")
        self.assertNotIn("rule", diags[1])
        names = self.expect(0, "list", "--names=rules").out.split()
        self.assertIn("implicit-broadcast", names)

    def test_check_takes_the_gravest(self):
        self.golden("recompute")
        self.write("bad.hlo", "HloModule")
        result = self.expect(3, "check", "input.hlo", "bad.hlo", "input.hlo")
        self.assertEqual(len(result.out.splitlines()), 2)


class Compressed(ToolTest):
    """gzip and zstd are read as what they stand for, whatever the file is called."""

    TEXT = b"HloModule packed\n\nENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n"

    def zstd(self):
        """A frame of one raw block, as RFC 8878 has it: shorter than 256 bytes, no checksum."""
        size = len(self.TEXT)
        self.assertLess(size, 256)
        block = (size << 3 | 1).to_bytes(3, "little")
        return b"\x28\xb5\x2f\xfd" + bytes([0x20, size]) + block + self.TEXT

    def packed(self):
        return {"m.gz": gzip.compress(self.TEXT), "m.zst": self.zstd()}

    def test_files_and_pipes(self):
        for name, data in self.packed().items():
            self.write(name, data)
            self.assertEqual(self.expect(0, "print", name).out, self.TEXT.decode())
            self.assertEqual(self.expect(0, "print", "-", stdin=data).out, self.TEXT.decode())

    def test_parts_follow_each_other(self):
        half = len(self.TEXT) // 2
        self.write("m", gzip.compress(self.TEXT[:half]) + gzip.compress(self.TEXT[half:]))
        self.assertEqual(self.expect(0, "print", "m").out, self.TEXT.decode())

    def test_cut_off(self):
        for name, data in self.packed().items():
            for length in (len(data) // 2, len(data) - 1):
                self.write(name, data[:length])
                self.assert_message(self.expect(3, "print", name), name, "file is cut off")

    def test_damaged(self):
        data = bytearray(gzip.compress(self.TEXT * 3))
        data[len(data) // 2] ^= 0xFF
        self.write("m.gz", bytes(data))
        self.assert_message(self.expect(3, "print", "m.gz"), "m.gz: error: the gzip file is damaged")
        self.write("m.zst", self.zstd()[:9].replace(b"\x20", b"\xff") + self.TEXT)
        self.assert_message(self.expect(3, "print", "m.zst"), "m.zst: error: the zstd file is")

    def test_places_are_those_of_the_text(self):
        self.write("m.gz", gzip.compress(self.TEXT.replace(b"parameter", b"paramater")))
        self.assert_message(self.expect(3, "print", "m.gz"), "m.gz:4:19: error: ", "paramater(0)")

    def test_diagnostics_are_what_was_asked_for(self):
        self.TEXT = self.TEXT.replace(b"parameter", b"paramater")
        for name, data in self.packed().items():
            self.write(name, data)
            diag = json.loads(self.expect(3, "check", name, "--diagnostics=json").err)
            self.assertEqual((diag["file"], diag["line"], diag["column"]), (name, 4, 19))

    def test_large_window(self):
        block = (len(self.TEXT) << 3 | 1).to_bytes(3, "little")
        window = bytes([0, 30 - 10 << 3])  # of 2^30 bytes, as `zstd --long=30` has it
        self.write("m.zst", b"\x28\xb5\x2f\xfd" + window + block + self.TEXT)
        message = "m.zst: error: unpacking takes more than 128 MiB; `zstd -d --long=31` does it\n"
        self.assertEqual(self.expect(3, "print", "m.zst").err, message)


class CompressedInLittleMemory(ToolTest):
    """Apart, as sanitizers cannot do it."""

    def test_out_of_memory(self):
        if tool.has_sanitizers(self.tool):
            self.skipTest("sanitizers need more address space than any limit")
        limit = 100 << 20
        block = (len(Compressed.TEXT) << 3 | 1).to_bytes(3, "little")
        window = bytes([0, 27 - 10 << 3])  # of 2^27 bytes
        self.write("m.zst", b"\x28\xb5\x2f\xfd" + window + block + Compressed.TEXT)
        self.expect(0, "print", "m.zst")
        result = self.expect(
            4,
            "print",
            "m.zst",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        )
        self.assert_message(result, "m.zst: error: out of memory")


class Calibrate(ToolTest):
    """Measured times of modules in a folder of their own."""

    MODULE = "HloModule m\n\nENTRY e {\n  p = f32[%d] parameter(0)\n  ROOT a = f32[%d] negate(p)\n}\n"

    def setUp(self):
        super().setUp()
        (self.dir / "runs").mkdir()
        runs = []
        for index, elements in enumerate((1000, 4000, 9000, 9000)):
            self.write(f"runs/{index}.hlo", self.MODULE % (elements, elements))
            runs.append({"module": f"{index}.hlo", "seconds": 1e-8 * elements, "clock": "wall",
                         "program": f"of {elements}"})
        self.runs = runs
        self.measure()

    def measure(self):
        self.write("runs/measured.json", json.dumps({"runs": self.runs, "jax": "0"}))

    def calibrate(self, *args, code=0):
        return self.expect(code, "calibrate", "runs/measured.json", *args)

    def test_profile_is_a_device(self):
        result = self.calibrate("--device=cpu", "--name=here", "-o", "here.json")
        self.assertEqual(result.err, "")
        self.assertIn("4 measurements of 3 programs", result.out)
        self.assertEqual(len(result.out.splitlines()), 5)
        self.assertEqual(json.loads((self.dir / "here.json").read_text())["name"], "here")
        cost = json.loads(self.expect(0, "cost", "runs/1.hlo", "--device=here.json", "--json", "-q").out)
        told = json.loads(self.calibrate("--device=cpu", "-o", "x.json", "--json=-", "-q").out)
        self.assertAlmostEqual(told["by_measurement"][1]["fitted_seconds"] / cost["seconds"], 1, 12)
        self.assertAlmostEqual(cost["seconds"] / 4e-5, 1, 1)

    def test_outputs(self):
        result = self.calibrate()
        self.assertEqual(json.loads(result.out)["name"], "calibrated")
        self.assertIn("each program by a fit to the others", result.err)
        told = json.loads(self.calibrate("--json=-", "-o", "x.json", "-q").out)
        self.assertEqual((told["device"], told["measurements"], told["programs"]), ("a100-80g", 4, 3))
        self.assertLess(told["fitted"]["median_error"], told["before"]["median_error"])
        rows = list(csv.DictReader(io.StringIO(self.calibrate("--csv=-", "-o", "x.json", "-q").out)))
        for row, item in zip(rows, told["by_measurement"]):
            self.assertEqual(list(row), list(item))
            self.assertEqual(row["module"], item["module"])
            for name in list(row)[2:]:
                self.assertAlmostEqual(float(row[name]) / item[name], 1, 12)
        self.assert_message(self.calibrate("--json=-", code=2), "only one output can go to stdout")
        self.assertEqual(self.calibrate("-q").err, "")

    def test_estimates(self):
        """Of a folder, those texts are taken that XLA:TPU has estimated; what is made of them is a device."""
        (self.dir / "dumps").mkdir()
        self.write("dumps/plain.hlo", self.MODULE % (8, 8))
        self.assertIn("has no HLO text with estimates of XLA:TPU",
                      self.expect(3, "calibrate", "dumps", "--device=tpu-v5e").err)
        self.golden("estimates", "input.hlo")
        (self.dir / "input.hlo").rename(self.dir / "dumps" / "input.hlo")
        told = json.loads(self.expect(0, "calibrate", "dumps", "-o", "here.json", "--json=-", "-q").out)
        self.assertEqual((told["device"], told["programs"], told["held_out"]), ("tpu-v5e", 1, None))
        self.assertLess(told["fitted"]["median_error"], told["before"]["median_error"])
        cost = json.loads(self.expect(0, "cost", "dumps/input.hlo", "--device=here.json", "--json", "-q").out)
        self.assertRegex(cost["times"], r"^XLA:TPU's estimates; \d+\.\d % fitted to such$")
        self.assertAlmostEqual(told["by_measurement"][0]["measured_seconds"], 365000 / 1.5e9, 12)

    def test_one_program(self):
        """Nothing can be held out; a module is a program of its own unless the file says otherwise."""
        for run in self.runs:
            run["program"] = "one"
        self.measure()
        told = json.loads(self.calibrate("--json=-", "-o", "x.json", "-q").out)
        self.assertIsNone(told["held_out"])
        self.assertIsNone(told["by_measurement"][0]["held_out_seconds"])
        for run in self.runs:
            del run["program"]
        self.measure()
        self.assertEqual(json.loads(self.calibrate("--json=-", "-o", "x.json", "-q").out)["programs"], 4)

    def test_faults(self):
        for text, what in (("", "must be JSON with a list 'runs'"), ("{}", "must be JSON with a list 'runs'"),
                           ('{"runs": [{"module": "0.hlo", "seconds": 1}]}', "at least two measurements"),
                           ('{"runs": [{"module": 1, "seconds": 1}, {}]}', "runs[0]: 'module' must be"),
                           ('{"runs": [{"module": "0.hlo", "seconds": 0}, {}]}', "runs[0]: 'seconds' must be"),
                           ('{"runs": [{"module": "0.hlo", "seconds": "1"}, {}]}', "runs[0]: 'seconds' must be")):
            self.write("runs/measured.json", text)
            self.assert_message(self.calibrate(code=3), what)
        self.runs[1]["module"] = "none.hlo"
        self.measure()
        self.assert_message(self.calibrate(code=3), "runs/none.hlo: error: No such file")
        self.write("runs/none.hlo", "HloModule m")
        self.assert_message(self.calibrate(code=3), "runs/none.hlo")
        self.assert_message(self.calibrate("--device=abacus", code=2), "there is no device 'abacus'")
        self.assert_message(self.expect(2, "calibrate"), "calibrate takes one file")


class Pack(ToolTest):
    """Best fit puts d on 0 and a on top of it or above b; the lowest packing has b on 0."""

    TEXT = "id,lower,upper,size\na,0,4,3\nb,2,6,3\nc,2,3,3\nd,4,8,4\n"
    XLA, LOWEST = 10, 9

    def setUp(self):
        super().setUp()
        self.write("in.csv", self.TEXT)

    def height(self, *args, code=0):
        result = self.expect(code, "pack", "in.csv", *args)
        found = re.search(r"in.csv: height (\d+) bytes", result.err)
        self.assertTrue(found, result)
        rows = list(csv.DictReader(result.out.splitlines()))
        self.assertEqual([row["id"] for row in rows], list("abcd"))
        self.assertEqual(max(int(row["offset"]) + int(row["size"]) for row in rows), int(found[1]))
        return int(found[1])

    def test_packing(self):
        self.assertEqual(self.height(), self.LOWEST)
        self.assertEqual(self.height("--packing=best"), self.LOWEST)
        self.assertEqual(self.height("--packing=xla"), self.XLA)
        for packing in self.run_tool("list", "--names=packings").out.split():
            with self.subTest(packing):
                self.assertGreaterEqual(self.height("--packing", packing), self.LOWEST)
        self.assert_message(self.expect(2, "pack", "in.csv", "--packing=xls"), "did you mean 'xla'?")

    def test_capacity(self):
        self.assertEqual(self.height("--capacity=10"), self.XLA)
        self.assertEqual(self.height("--capacity=9"), self.LOWEST)
        self.assertEqual(self.height("--capacity=8", code=1), self.LOWEST)
        self.assertEqual(self.height("--capacity=9", "--packing=xla", code=1), self.XLA)
        result = self.expect(1, "pack", "in.csv", "--capacity=8", "--quiet")
        self.assertEqual(
            result.err,
            "in.csv: error: the height of 9 bytes is above the capacity of 8; "
            "so is what lives at one time\n",
        )

    def heaps(self, *args):
        """What the rows say: the heights of the heaps, no two buffers in one place of a heap."""
        result = self.expect(0, "pack", "in.csv", *args)
        rows = [
            {key: value if key == "id" else int(value) for key, value in row.items()}
            for row in csv.DictReader(result.out.splitlines())
        ]
        heights = [0] * (max(row["heap"] for row in rows) + 1)
        for row in rows:
            heights[row["heap"]] = max(heights[row["heap"]], row["offset"] + row["size"])
            for other in rows[: rows.index(row)]:
                if other["heap"] == row["heap"] and other["lower"] < row["upper"]:
                    self.assertFalse(
                        row["lower"] < other["upper"]
                        and row["offset"] < other["offset"] + other["size"]
                        and other["offset"] < row["offset"] + row["size"],
                        (row, other),
                    )
        self.assertIn(f"in.csv: height {sum(heights)} bytes", result.err)
        self.assertIn(f"in.csv: {len(heights)} heaps with a limit of ", result.err)
        self.assertIn(f", bytes: {', '.join(map(str, heights))}\n", result.err)
        return heights

    def test_heap_limit(self):
        for packing in self.run_tool("list", "--names=packings").out.split():
            for limit in range(12):
                with self.subTest(packing=packing, limit=limit):
                    for height in self.heaps("--packing", packing, f"--heap-limit={limit}"):
                        self.assertLessEqual(height, max(limit, 4))
        self.assertEqual(self.heaps("--heap-limit=7", "--packing=xla"), [7, 3])
        self.assertEqual(self.heaps("--heap-limit=9", "--packing=xla"), [7, 3])
        self.assertEqual(self.heaps("--heap-limit=9"), [self.LOWEST])
        self.assertEqual(self.heaps("--heap-limit=0", "--packing=xla"), [4, 3, 3, 3])
        self.assertEqual(self.heaps("--heap-limit=0"), [4, 3, 3])
        self.assertEqual(self.heaps("--xla_multiheap_size_constraint_per_heap=7")[0], 7)
        self.assertEqual(self.height("--heap-limit=-1"), self.LOWEST)
        self.assertNotIn("heap", self.expect(0, "pack", "in.csv", "--heap-limit=-1").out)
        result = self.expect(1, "pack", "in.csv", "--heap-limit=4", "--capacity=8")
        self.assert_message(result, "in.csv: error: the height of 10 bytes is above the capacity of 8")
        self.assert_message(self.expect(2, "pack", "in.csv", "--heap-limit=-2"), "--heap-limit takes")
        self.expect(0, "pack", "in.csv", "--heap-limit=7", "-o", "out.csv")
        again = self.expect(0, "pack", "out.csv", "--heap-limit=7")
        self.assertEqual(again.out, self.read("out.csv"))
        self.assertEqual(self.expect(0, "pack", "out.csv").out, self.expect(0, "pack", "in.csv").out)
        rows = "".join(f"{i},0,1,{i + 1}\n" for i in range(20))
        self.write("many.csv", "id,lower,upper,size\n" + rows)
        result = self.expect(0, "pack", "many.csv", "--heap-limit=1", "--packing=xla")
        self.assertIn("20 heaps with a limit of 1 B, bytes: 20, 19, 18, ", result.err)
        self.assertIn(", 5, ...\n", result.err)

    def test_output(self):
        for args in (["-o", "out.csv"], ["--output=out.csv"]):
            with self.subTest(args):
                result = self.expect(0, "pack", "in.csv", *args)
                self.assertEqual(result.out, "")
                self.assertTrue(self.read("out.csv").startswith("id,lower,upper,size,offset\na,0,4,3,"))
        self.assert_no_leftovers("in.csv", "out.csv")
        again = self.expect(0, "pack", "out.csv")
        self.assertEqual(again.out, self.read("out.csv"))

    def test_stdin(self):
        result = self.expect(0, "pack", "-", stdin=self.TEXT.encode())
        self.assertIn("<stdin>: height 9 bytes (optimal), lower bound 9, fragmentation 0", result.err)

    def test_quiet(self):
        self.assertEqual(self.expect(0, "pack", "in.csv", "-q").err, "")

    def test_compressed(self):
        self.write("in.csv.gz", gzip.compress(self.TEXT.encode()))
        packed = self.expect(0, "pack", "in.csv.gz")
        self.assertEqual(packed.out, self.expect(0, "pack", "in.csv").out)

    def test_max_steps_and_time_limit(self):
        for args in (["--max-steps=1"], ["--max-steps=9000000000000000000"], ["--time-limit=0.01"]):
            with self.subTest(args):
                self.assertLessEqual(self.height(*args), self.XLA)
        self.assert_message(self.expect(2, "pack", "in.csv", "--max-steps=0"), "--max-steps takes")

    def test_max_memory(self):
        rows = "".join(f"{i},{i},{i + 9},4\n" for i in range(20000))
        self.write("large.csv", "id,lower,upper,size\n" + rows)
        result = self.expect(4, "pack", "large.csv", "--max-memory=200KB")
        self.assert_message(result, "large.csv: error: out of memory")
        result = self.expect(4, "pack", "large.csv", "--max-memory=1.8MB")
        self.assert_message(result, "large.csv: error: out of memory")

    def test_faults(self):
        self.write("bad.csv", "id,lower,upper,size\na,0,2,3\nb,2,x,2\nc,4,3,2\n")
        result = self.expect(3, "pack", "bad.csv")
        self.assertEqual(result.out, "")
        self.assertIn("bad.csv:3:5: error: expected an integer, got 'x'\n  b,2,x,2\n      ^\n", result.err)
        self.assertIn("bad.csv:4:5: error: the live range ends before it begins", result.err)
        self.assertNotIn("4:5", self.expect(3, "pack", "bad.csv", "--max-errors=1").err)
        lines = self.expect(3, "pack", "bad.csv", "--diagnostics=json").err.splitlines()
        self.assertEqual([json.loads(line)["line"] for line in lines], [3, 4])
        self.assert_message(self.expect(3, "pack", "none.csv"), "none.csv: error: No such file")
        self.assert_message(self.expect(2, "pack"), "pack takes one file")

    def test_full_disk(self):
        self.assert_message(self.expect(4, "pack", "in.csv", "-o", "/dev/full"), "/dev/full: error:")


if __name__ == "__main__":
    tool.main()
