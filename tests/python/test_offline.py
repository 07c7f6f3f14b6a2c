#!/usr/bin/env python3
"""The offline half of the Python package, without JAX. usage: test_offline.py [CLASS...]"""

import ast
import builtins
import gzip
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from unittest import mock

import package
from package import ROOT, SAMPLES, PackageTest

import remat_hlo
from remat_hlo import _library as lib
from remat_hlo import _calibrate, _decide, _figures, _files, _interrupts, _module, _options, _plugins, _proto
from remat_hlo import _refusals, _sizes, _text
from remat_hlo._checkpoints import absent, measured

FUSED = ROOT / "tests/golden/fuse/input.hlo"
GPT = SAMPLES / "gpt_unrolled.after_optimizations.hlo"


class Advice(PackageTest):
    def test_advise(self):
        """The dictionary is the JSON of the tool, and limits are those of remat."""
        path = SAMPLES / "gpt_scan.after_optimizations.hlo"
        advice = remat_hlo.advise(path, "50%")
        self.assertEqual(advice["limit_bytes"], advice["counted_bytes"] // 2)
        self.assertTrue(advice["is_met"])
        self.assertEqual(advice["plan"][0]["kind"], "checkpoint-scan")
        self.assertEqual(advice, remat_hlo.load(path).advise("50%"))
        self.assertFalse(remat_hlo.advise(path, "1MiB", max_steps=1)["is_met"])
        self.assertIsNone(remat_hlo.advise(path)["limit_bytes"])
        with self.assertRaises(ValueError):
            remat_hlo.advise(path, "much")


class Loading(PackageTest):
    def test_sources(self):
        """Text, bytes, paths and compressed files give the same module."""
        text = GPT.read_text()
        packed = self.dir / "gpt.hlo.gz"
        packed.write_bytes(gzip.compress(text.encode()))
        for source in (text, text.encode(), GPT, str(GPT), packed):
            module = remat_hlo.load(source)
            self.assertEqual(module.name, "jit_gpt_unrolled")
            self.assertEqual(module.text(), text)

    def test_properties(self):
        module = remat_hlo.load(GPT)
        self.assertTrue(module.is_scheduled)
        self.assertEqual((module.num_instructions, module.target), (1878, "cpu"))
        self.assertIn("1,878 instructions, scheduled", repr(module))

    def test_errors(self):
        with self.assertRaises(remat_hlo.InputError) as caught:
            remat_hlo.load("HloModule m\n\nENTRY e {\n  ROOT a = f32[2] foo()\n}\n")
        diagnostic = caught.exception.diagnostics[0]
        self.assertEqual((diagnostic.severity, diagnostic.line), ("error", 4))
        self.assertIn("foo", str(caught.exception))
        with self.assertRaises(FileNotFoundError):
            remat_hlo.load("no such file")
        with self.assertRaises(TypeError):
            remat_hlo.load(12)
        with self.assertRaises(remat_hlo.UsageError):
            remat_hlo.load(GPT, target="vax")
        with self.assertRaises(ValueError):
            remat_hlo.load(GPT, copies="perhaps")
        with self.assertRaisesRegex(ValueError, "there is no device 'abacus'"):
            remat_hlo.load(GPT, device="abacus").cost()

    def test_times(self):
        """Measured times of a profile replace modelled ones, and what it has not is scaled by what it has."""
        folder = ROOT / "tests" / "golden" / "times"
        plain = remat_hlo.load(folder / "step.hlo", device="cpu")
        self.assertEqual(plain.cost().source, "roofline")
        made = [remat_hlo.load(folder / "step.hlo", device="cpu", times=folder / name)
                for name in ("step.xplane.pb.gz", "step.trace.json.gz")]
        costs = [module.cost() for module in made]
        for cost in costs:
            self.assertRegex(cost.source, r"^measured, 3 steps; \d+\.\d % roofline$")
            self.assertNotAlmostEqual(cost.seconds / plain.cost().seconds, 1, places=1)
        self.assertAlmostEqual(costs[0].seconds / costs[1].seconds, 1, places=4)
        result = made[0].remat("80%", small_node_limit=0)
        self.assertGreater(result.num_rematerialized, 0)
        self.assertEqual(result.cost_before.source[:17], "measured, 3 steps")
        self.assertGreaterEqual(result.cost_after.seconds, result.cost_before.seconds)
        other = remat_hlo.load(GPT, device="cpu", times=folder / "step.xplane.pb.gz")
        self.assertEqual(other.cost().source, "roofline")  # which the profile does not have
        with self.assertRaises(FileNotFoundError):
            remat_hlo.load(folder / "step.hlo", times=folder / "none.xplane.pb")
        with self.assertRaisesRegex(remat_hlo.InputError, "neither an XSpace"):
            remat_hlo.load(folder / "step.hlo", times=folder / "step.hlo")

    def test_unfuse(self):
        module = remat_hlo.load(SAMPLES.parent / "tests/golden/split/input.hlo")
        split = module.schedule(unfuse="shared")
        self.assertLess(split.memory().peak_bytes, module.memory().peak_bytes)
        self.assertEqual(split.memory(), module.schedule(unfuse=["shared"]).memory())
        self.assertEqual(module.remat("min", small_node_limit=0, algorithm="path").text(),
                         split.remat("min", small_node_limit=0, algorithm="path").text())
        with self.assertRaisesRegex(remat_hlo.UsageError, "unfuse: 'everything' is none of loop"):
            module.schedule(unfuse="everything")

    def test_order(self):
        """A module without an order gets one, and keeps its text."""
        path = SAMPLES / "lstm.before_optimizations.hlo"
        module = remat_hlo.load(path, scheduler="dfs")
        self.assertFalse(module.is_scheduled)
        self.assertEqual(module.memory(), module.schedule("dfs").memory())
        self.assertEqual(module.text(), path.read_text())

    def test_copies(self):
        """The name of a dump says whether copies are inserted, where its text leaves it open."""
        text = (SAMPLES.parent / "tests/golden/copies/unmarked.hlo").read_text()
        name = "module_0001.jit_f.{}_optimizations.txt".format
        for source, copies, certain in ((text, "pending", False),
                                        (self.write(name("before"), text), "pending", True),
                                        (self.write(name("cpu_after"), text), "inserted", True)):
            module = remat_hlo.load(source)
            self.assertEqual((module.copies, module.copies_certain), (copies, certain))
        module = remat_hlo.load(text, copies="inserted")
        self.assertEqual((module.copies, module.copies_certain), ("inserted", True))


class Rematerializing(PackageTest):
    def test_open_copies(self):
        """A result that is right only under what is assumed of its copies says so."""
        text = (SAMPLES.parent / "tests/golden/copies/unmarked.hlo").read_text()
        for copies in "auto", "pending":
            module = remat_hlo.load(text, copies=copies)
            result = module.remat("min", algorithm="path", small_node_limit=0)
            self.assertEqual(result.copies_certain, copies == "pending")
            doubts = [str(each) for each in result.diagnostics if "right only if" in str(each)]
            self.assertEqual(len(doubts), copies == "auto")
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                module.verify(result)
            self.assertEqual(len(caught), copies == "auto")

    def test_same_as_tool(self):
        """The tool's summary has the same figures."""
        result = remat_hlo.load(GPT).remat("60%")
        self.assertTrue(result.is_met)
        self.assertEqual((result.num_rematerialized, result.num_moved), (8, 67))
        self.assertLessEqual(result.memory_after.peak_bytes, result.limit_bytes)
        self.assertEqual(_sizes.format_bytes(result.memory_after.peak_bytes), "71.48 MiB")
        self.assertAlmostEqual(result.added_time, 0.042, places=3)

    def test_same_limit_as_tool(self):
        """A part of what is reducible is a part of what the limit counts, constants beside the peak among it."""
        module = remat_hlo.load(SAMPLES / "gpt_scan.after_optimizations.hlo")
        memory = module.memory()
        for counts in lib.COUNTS:
            bound, counted = memory.bound_bytes(counts), memory.counted_bytes(counts)
            result = module.remat("r80%", algorithm="none", limit_counts=counts)
            self.assertEqual(result.limit_bytes, bound + (counted - bound) * 8 // 10, counts)

    def test_measured_once(self):
        module = remat_hlo.load(GPT)
        self.assertIs(module.memory(), module.memory("heap"))
        self.assertNotEqual(module.memory("liveness"), module.memory())
        result = module.remat("60%", effort=0)
        self.assertIs(result.memory_after, result.memory())

    def test_verified(self):
        module = remat_hlo.load(GPT)
        result = module.remat("50%", algorithm="search")
        module.verify(result)
        with self.assertRaises(remat_hlo.NotEquivalentError):
            module.verify(remat_hlo.load(SAMPLES / "vgg.after_optimizations.hlo"))

    def test_fused(self):
        """A module that XLA has yet to optimize, decided about as it will be fused and written as it is."""
        module = remat_hlo.load(FUSED, copies="pending", device="cpu")
        fused = module.schedule("default", fuse=True)
        self.assertLess(fused.memory().peak_bytes, module.schedule("default").memory().peak_bytes)
        self.assertIn(" fusion(", fused.text())
        result = fused.remat("75%", algorithm="search", emit="unscheduled", protect="opt-barrier")
        self.assertTrue(result.is_met)
        self.assertGreater(result.num_rematerialized, 0)
        split = result.split_fusions()
        self.assertNotIn(" fusion(", split.text())
        self.assertNotIn("is_scheduled", split.text())
        module.verify(split, ignore_schedule=True, any_rounding=True)

    def test_not_met(self):
        result = remat_hlo.load(GPT).remat("min")
        self.assertEqual((result.limit_bytes, result.is_min, result.is_met), (0, True, True))
        self.assertLess(result.memory_after.peak_bytes, result.memory_before.peak_bytes)
        self.assertIn(", min, ", repr(result))
        self.assertIn("limit: min; ", result._repr_html_())
        result = remat_hlo.load(GPT).remat("22MiB", effort=0)
        self.assertEqual((result.is_met, result.hardly_helps), (False, False))
        self.assertIn("limit 22.00 MiB, not met", repr(result))
        # What the module itself speaks for comes first.
        self.assertEqual([(way.option, way.value) for way in result.may_help], [("unfuse", "all"), ("effort", "5")])

    def test_plan(self):
        """A plan gives the same text without a search, also from a file."""
        module = remat_hlo.load(GPT)
        result = module.remat("60%", algorithm="search")
        self.assertEqual(module.apply(result.plan, "60%").text(), result.text())
        result.save_plan(self.dir / "plan.json")
        again = remat_hlo.load(GPT.read_text()).apply(self.dir / "plan.json")
        self.assertEqual(again.text(), result.text())
        self.assertIsNone(again.limit_bytes)
        with self.assertRaises(remat_hlo.InputError):
            module.apply('{"version": 1}')

    def test_options(self):
        module = remat_hlo.load(GPT)
        for wrong in ({"algorithm": "magic"}, {"modes": "teleport"}, {"limit_counts": "some"},
                      {"algorithm": "checkpoint=collection"}, {"parameters": {"no.such": 1}},
                      {"protect": "prayer"}, {"pin": "("}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                module.remat("60%", **wrong)
        kept = module.remat("min", algorithm="checkpoint=collection:dot|fusion")
        self.assertEqual(kept.algorithm, "checkpoint=collection")
        pinned = module.remat("min", pin=["."])
        self.assertEqual(pinned.num_rematerialized, 0)

    def test_text_outlives(self):
        """Results refer to the text that was read, which nobody else holds."""
        result = remat_hlo.load(GPT.read_text()).remat("60%").before.remat("70%")
        self.assertIn("HloModule jit_gpt_unrolled", result.text())

    def test_threads(self):
        """Many threads use one module, and get what one gets."""
        module, results = remat_hlo.load(GPT), {}
        limits = [f"{percent}%" for percent in range(50, 90, 5)]
        threads = [threading.Thread(
            target=lambda limit=limit: results.update({limit: module.remat(limit).text()}))
            for limit in limits]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, {limit: module.remat(limit).text() for limit in limits})


class Showing(PackageTest):
    def test_report(self):
        report = remat_hlo.load(GPT).report()
        self.assertEqual(sum(v.bytes for v in report.live) > 0, True)
        for sums in report.by.values():
            self.assertEqual(sum(sums.values()), sum(v.bytes for v in report.live))
        self.assertIn("peak at ynn_fusion", str(report))
        self.assertEqual(json.loads(json.dumps(report.to_dict()))["name"], "jit_gpt_unrolled")

    def test_difference(self):
        """What values take; between them, packing may leave gaps."""
        def in_use(module):
            report = module.report()
            return report.memory.peak_bytes - report.fragmentation_bytes
        module = remat_hlo.load(GPT)
        result = module.remat("60%")
        for by in lib.SUMS:
            changes = module.difference(result, by=by)
            saved = sum(c.before_bytes - c.after_bytes for c in changes)
            self.assertEqual(saved, in_use(module) - in_use(result))

    def test_compare(self):
        table = remat_hlo.load(SAMPLES / "lstm.after_optimizations.hlo").compare(["60%"])
        self.assertIn("search", [row.algorithm for row in table])
        self.assertTrue(all(row.error is None for row in table))
        self.assertIn("path", str(table))
        self.assertEqual(len(json.loads(table.to_json())), len(table))
        failed = remat_hlo.load(GPT).compare(["60%"], ["path"], parameters={"no.such": 1})
        self.assertIn("no.such", failed.rows[0].error)

    def test_notebook(self):
        module = remat_hlo.load(GPT)
        result = module.remat("60%")
        for thing in (module, result, module.report()):
            self.assertIn("&lt;svg", thing._repr_html_())
        self.assertIn("<table>", module.compare(["60%"], ["path"])._repr_html_())
        self.assertIn(_sizes.format_bytes(result.memory_after.peak_bytes), result._repr_html_())

    def test_files(self):
        result = remat_hlo.load(GPT).remat("60%")
        page = result.html(self.dir / "page.html")
        self.assertEqual((self.dir / "page.html").read_text(), page)
        self.assertIn("<html", page)
        self.assertIn("<svg", result.svg(self.dir / "picture.svg"))
        result.save(self.dir / "out.hlo")
        self.assertEqual((self.dir / "out.hlo").read_text(), result.text())
        with self.assertRaises(OSError):
            result.save(self.dir / "nowhere" / "out.hlo")
        self.assertEqual(len(list(self.dir.iterdir())), 3)

    def test_what_is_written_to(self):
        """Links are followed, modes are kept, and what is no file is written to."""
        path = self.write("own", "before")
        path.chmod(0o640)
        link, pipe = self.dir / "link", self.dir / "pipe"
        link.symlink_to(path)
        _files.write_file(link, "after")
        self.assertTrue(link.is_symlink())
        self.assertEqual((path.read_text(), path.stat().st_mode & 0o777), ("after", 0o640))
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        _files.write_file(pipe, "text")
        self.assertEqual(os.read(reader, 100), b"text")
        self.assertTrue(pipe.is_fifo())

    def test_a_profile_that_changes(self):
        """Its text is what counts, not its path."""
        path = self.write("own.json", _files.profile_text("cpu").decode())
        before = remat_hlo.load(GPT, device=str(path)).cost().seconds
        profile = json.loads(path.read_text())
        profile["memory_bandwidth"] *= 0.1
        path.write_text(json.dumps(profile))
        self.assertGreater(remat_hlo.load(GPT, device=str(path)).cost().seconds, before)


class Sizes(PackageTest):
    def test_percents(self):
        for share, text in ((-0.419, "-41.9 %"), (-0.0004, "+0.0 %"), (0.0004, "+0.0 %"), (0, "+0.0 %"),
                            (-0.0006, "-0.1 %")):
            self.assertEqual(_sizes.format_percent(share), text)

    def test_sizes(self):
        for text, size in (("12GiB", 12 << 30), ("800MB", 800_000_000), ("1.5KiB", 1536),
                           ("0.1KB", 100), (".5 MiB", 1 << 19), (7, 7), ("7", 7)):
            self.assertEqual(_sizes.parse_size(text), size)
        for wrong in ("", "x", "12 gib", "-1", "1e9", -1, "12GiB ago", "99999999TiB"):
            with self.subTest(wrong), self.assertRaises(ValueError):
                _sizes.parse_size(wrong)

    def test_budgets(self):
        for text, limit in (("80%", 800), ("r50%", 600), ("min", 0), ("0", 0), ("512", 512),
                            (512, 512), ("33.3333%", 333)):
            self.assertEqual(_sizes.parse_budget(text).bytes(1000, 200), limit)
        for wrong in ("r5", "80 percent", "%", "maximum", None, True):
            with self.subTest(wrong), self.assertRaises(ValueError):
                _sizes.parse_budget(wrong)


class Options(PackageTest):
    def test_environment(self):
        self.addCleanup(lib.os.environ.pop, "REMAT_HLO_MEM_LIMIT", None)
        self.addCleanup(lib.os.environ.pop, "REMAT_HLO_REMAT_COLLECTIVES", None)
        lib.os.environ["REMAT_HLO_MEM_LIMIT"] = "70%"
        lib.os.environ["REMAT_HLO_REMAT_COLLECTIVES"] = "yes"
        options = _options.Options.make(algorithm="search", min_peak="2MiB")
        self.assertEqual((options.mem_limit, options.algorithm, options.min_peak,
                          options.remat_collectives), ("70%", "search", 2 << 20, True))
        self.assertEqual(_options.Options.make(mem_limit="60%").mem_limit, "60%")
        lib.os.environ["REMAT_HLO_MEM_LIMIT"] = "lots"
        with self.assertRaisesRegex(ValueError, "lots"):
            _options.Options.make()

    def test_wrong(self):
        for wrong in ({}, {"mem_limit": "9x"}, {"mem_limit": "50%", "stage": "LATER"},
                      {"mem_limit": "50%", "algorithm": "magic"},
                      {"mem_limit": "50%", "effort": "much"},
                      {"mem_limit": "50%", "device": "abacus"},
                      {"mem_limit": "50%", "modules": "("},
                      {"mem_limit": "50%", "times": "no such file"},
                      {"mem_limit": "auto", "headroom": "r5%"}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                _options.Options.make(**wrong)
        with self.assertRaises(TypeError):
            _options.Options.make(mem_limit="50%", colour="red")

    def test_digest(self):
        """Whatever decides is in the digest, and nothing else is."""
        one = _options.Options.make(mem_limit="50%")
        other = {"mem_limit": "40%", "algorithm": "search", "stage": "PRE_SCHEDULER",
                 "min_peak": 1, "limit_counts": "temp", "effort": 9, "small_node_limit": 1,
                 "modes": "recompute,narrow", "remat_collectives": True, "block_size_limit": 8,
                 "pin": ["x"], "never": ["x"], "parameters": {"engine.attempts": 2}, "device": "cpu",
                 "trip_count": 2, "modules": "x", "scheduler": "dfs", "protect": "opt-barrier",
                 "headroom": "1GiB",
                 "times": str(ROOT / "tests" / "golden" / "times" / "step.xplane.pb.gz")}
        for name, value in other.items():
            changed = _options.Options.make(**{"mem_limit": "50%", name: value})
            self.assertNotEqual(one.digest(), changed.digest(), name)
            self.assertNotEqual(one, changed, name)
        for name, value in {"verbose": False, "report_dir": "x", "num_threads": 2}.items():
            same = _options.Options.make(mem_limit="50%", **{name: value})
            self.assertEqual((one.digest(), one), (same.digest(), same), name)


class Deciding(PackageTest):
    """What is decided about a module within a compilation, without one."""

    def decide(self, text=None, **options):
        made = _options.Options.make(**{"mem_limit": "r50%", **options})
        return _decide.decide(text or GPT.read_text(), made)

    def test_outcomes(self):
        for options, outcome in (({}, _decide.CHANGED), ({"mem_limit": "1TiB"}, _decide.WITHIN),
                                 ({"min_peak": "1TiB"}, _decide.SMALL),
                                 ({"modules": "^other$"}, _decide.OTHER_NAME),
                                 ({"algorithm": "none"}, _decide.NO_BETTER),
                                 ({"pin": ["."], "algorithm": "path"}, _decide.NO_BETTER)):
            decision = self.decide(**options)
            self.assertEqual(decision.report.outcome, outcome)
            self.assertEqual(decision.text is not None, outcome == _decide.CHANGED)
            self.assertEqual(decision.warnings, ())

    def test_hardly(self):
        """What hardly helps is left alone, with a line that says so and what may help."""
        text = (ROOT / "tests" / "golden" / "hardly" / "input.hlo").read_text()
        decision = self.decide(text, mem_limit="50%", min_peak=0)
        report = decision.report
        self.assertEqual((report.outcome, decision.text, report.is_met), (_decide.HARDLY, None, False))
        self.assertRegex(str(report), r"left as it is: the result hardly helps: -[\d.]+ % of memory \(total\) "
                         r"for \+[\d.]+ % of modelled time, total .* not met; may help: .*"
                         r"remat_collectives=True")
        decision = self.decide(text, mem_limit="min", min_peak=0)
        self.assertEqual((decision.report.outcome, decision.report.is_met), (_decide.CHANGED, True))
        self.assertNotIn("not met", str(decision.report))
        self.assertIn("as low as was found", str(decision.report))

    def test_effort(self):
        """A search has the steps of the module's size, unless an effort or an algorithm is asked for."""
        def chosen(**options):
            made = _options.Options.make(mem_limit="r50%", **options)
            report = _decide.LiveReport("", "", "", "", before=remat_hlo.load(GPT).memory())
            remat, _ = _decide.remat_options_for(made, report)
            return remat.algorithm, remat.effort
        self.assertEqual(chosen(), (b"search", lib.EFFORT_BY_SIZE))
        self.assertEqual(chosen(algorithm="path"), (b"path", lib.EFFORT_BY_SIZE))
        self.assertEqual(chosen(algorithm="search", effort=3), (b"search", 3))
        self.assertEqual(chosen(effort=5), (b"auto", 5))
        self.assertEqual(self.decide().report.algorithm, "search")

    def test_little_is_reducible(self):
        """A module that has little to give is not searched, and only a budget of bytes is said not to be
        met. What is little is asked of the figure that the budget counts."""
        text = ("HloModule m, is_scheduled=true\n\nENTRY e {\n  p = f32[1048576] parameter(0)\n"
                "  ROOT r = f32[1048576] add(p, p)\n}\n")
        for options, is_met, line in (
                ({"mem_limit": "80%"}, None, ""),
                ({"mem_limit": "min"}, None, ""), ({"mem_limit": "min", "min_reducible": "0"}, None, ""),
                ({"mem_limit": "4MiB"}, False, ", total 8.00 MiB (temporaries 0 B), limit 4.00 MiB not met")):
            with mock.patch.object(_module.Module, "_rematerialize") as search:
                report = self.decide(text, **options).report
            search.assert_not_called()
            self.assertEqual((report.outcome, report.is_met), (_decide.LITTLE, is_met))
            self.assertEqual(str(report), f"m: left as it is: little is reducible{line}")
        memory = remat_hlo.load(GPT, copies="inserted").memory()
        reducible = memory.peak_bytes - memory.lower_bound_bytes
        for counts in ("total", "temp"):
            counted = memory.counted_bytes(counts)
            for least, outcome in ((str(reducible + 1), _decide.LITTLE), (str(reducible), _decide.CHANGED),
                                   (f"{100 * reducible / counted + 0.1:.3f}%", _decide.LITTLE),
                                   (f"{100 * reducible / counted - 0.1:.3f}%", _decide.CHANGED)):
                report = self.decide(min_reducible=least, limit_counts=counts, algorithm="path").report
                self.assertEqual(report.outcome, outcome, (counts, least))
        self.assertEqual(self.decide(min_reducible="99%", mem_limit=memory.peak_bytes - 1).report.outcome,
                         _decide.CHANGED)
        self.assertEqual(self.decide(min_reducible="99%", modes="recompute,narrow").report.outcome,
                         _decide.CHANGED)

    def test_loops_that_are_compiled_alone(self):
        """Of loops that stay because XLA:CPU compiles them alone, the flag is named, if there is something to gain."""
        text = (ROOT / "tests/golden/hardly/loop_in_call.hlo").read_text()
        report = self.decide(text, mem_limit="min", min_reducible="90%").report
        self.assertEqual((report.outcome, report.may_help), (_decide.LITTLE, (_decide.NO_LOOPS_ALONE,)))
        self.assertTrue(report.is_worth_a_line)
        self.assertIn("may help: XLA_FLAGS=", str(report))
        small = text.replace("8,256,256", "8,2,2").replace("1,256,256", "1,2,2").replace("256,256", "2,2")
        self.assertFalse(self.decide(small, mem_limit="min", min_reducible="90%").report.is_worth_a_line)

    def test_below_the_bound(self):
        """A budget that nothing can meet is answered by what `min` gives, and the line says so."""
        below, least = self.decide(mem_limit="1%"), self.decide(mem_limit="min")
        self.assertEqual(below.text, least.text)
        self.assertTrue(below.report.is_below_bound)
        self.assertFalse(below.report.is_met)
        self.assertRegex(str(below.report), r"limit [0-9.]+ .iB not met: it is below the bound of "
                         r"[0-9.]+ .iB, as low as was found, modelled")
        self.assertFalse(least.report.is_below_bound)
        self.assertRegex(str(least.report), r"\), as low as was found, modelled")

    def test_line(self):
        """A line has the figures that the limit is about."""
        for counts, words in (("total", "total {} -> {} (temporaries {} -> {})"),
                              ("temp+outputs", "temporaries and outputs {} -> {} (temporaries {} -> {})"),
                              ("temp", "temporaries {} -> {}")):
            report = self.decide(limit_counts=counts).report
            figures = [one.counted_bytes(counts) for one in (report.before, report.after)]
            figures += [report.before.temp_bytes, report.after.temp_bytes]
            self.assertIn(f": {words}, limit {{}} met, modelled time".format(*map(
                _sizes.format_bytes, [*figures[:words.count("{}")], report.limit_bytes])), str(report))
            self.assertEqual(report.is_met, figures[1] <= report.limit_bytes)

    def test_repeats(self):
        """The same module and options give the same text, whatever the number of threads."""
        for algorithm in ("path", "search"):
            texts = {self.decide(algorithm=algorithm, num_threads=n).text for n in (1, 2, 1)}
            self.assertEqual(len(texts), 1)

    def test_plans(self):
        """The first decision saves a plan, the next one applies it; another module or budget does
        not."""
        first = self.decide(plan_dir=self.dir / "plans", algorithm="search")
        self.assertIsNone(first.report.from_plan)
        (saved,) = (self.dir / "plans").iterdir()
        again = self.decide(plan_dir=self.dir / "plans", algorithm="search")
        self.assertEqual(again.report.from_plan, str(saved))
        self.assertEqual(again.text, first.text)
        other = self.decide(plan_dir=self.dir / "plans", algorithm="search", mem_limit="r70%")
        self.assertIsNone(other.report.from_plan)

    def test_source_lines_do_not_matter(self):
        """A plan fits the same computation from other files and lines."""
        first = self.decide(plan_dir=self.dir, algorithm="search")
        moved = GPT.read_text().replace("dump_samples.py", "elsewhere.py")
        self.assertNotEqual(moved, GPT.read_text())
        self.assertEqual(self.decide(moved, plan_dir=self.dir, algorithm="search").report.from_plan,
                         first.report.plan_path)

    def test_plan_by_hand(self):
        """A plan that somebody put into the folder goes before a search, if it fits."""
        module = remat_hlo.load(GPT, copies="inserted", device="cpu")
        module.remat("30%", algorithm="search").save_plan(self.dir / "mine.json")
        broken = [self.write("broken.json", '{"module": "jit_gpt_unrolled", "version": 99}'),
                  self.write("cut.json", '{"module": "jit_gpt_unr')]
        self.write("list.json", "[]")  # which is something else
        decision = self.decide(plan_dir=self.dir)
        self.assertEqual(decision.report.from_plan, str(self.dir / "mine.json"))
        self.assertEqual([cause for cause, _ in decision.warnings], [("plan", str(path)) for path in broken])
        other = self.decide((SAMPLES / "vgg.after_optimizations.hlo").read_text(),
                            plan_dir=self.dir)
        self.assertIsNone(other.report.from_plan)

    def test_reports(self):
        decision = self.decide(report_dir=self.dir / "a" / "b")
        kinds = sorted("".join(p.suffixes[-2:]) for p in (self.dir / "a" / "b").iterdir())
        self.assertEqual([kind.rpartition(".")[2] for kind in kinds], ["html", "json", "json"])
        self.assertIn("<html", package.pathlib.Path(decision.report.html_path).read_text())

    def test_no_room_for_reports(self):
        """A folder that cannot be written does not stop anything."""
        blocked = self.write("file", "")
        decision = self.decide(report_dir=blocked / "reports", plan_dir=blocked / "plans")
        self.assertEqual(decision.report.outcome, _decide.CHANGED)
        self.assertEqual({cause for cause, _ in decision.warnings}, {"report_dir", "plan_dir"})

    def test_mark(self):
        marked = _decide.add_mark(GPT.read_text(), "remat_hlo", "1 2 3")
        self.assertEqual(marked.count('frontend_attributes={remat_hlo="1 2 3"}'), 1)
        remat_hlo.load(GPT).verify(remat_hlo.load(marked))
        both = _decide.add_mark(marked, "other", "x")
        self.assertIn('frontend_attributes={other="x",remat_hlo="1 2 3"}', both)
        self.assertEqual(_decide.add_mark("no module", "a", "b"), "no module")

    def test_text_that_crashes_xla(self):
        """XLA's parser reads the end of an operation only after its start."""
        for opcode, operand, is_read in (
                ("async-done", "((f32[4]{0}), f32[4]{0}, s32[]) async-start(%p), calls=%c", True),
                ("negate-done", "((f32[4]{0}), f32[4]{0}, s32[]) negate-start(%p)", True),
                ("negate-done", "((f32[4]{0}), f32[4]{0}, s32[]) negate-update(%p)", False),
                ("async-done", "((f32[4]{0}), f32[4]{0}, s32[]) get-tuple-element(%p), index=0", False),
                ("negate-done", "((f32[4]{0}), f32[4]{0}, s32[]) parameter(0)", False),
                ("copy-done", "(f32[4]{0}, f32[4]{0}, u32[]) get-tuple-element(%p), index=0", True)):
            text = f"ENTRY %e {{\n  %a = {operand}\n  ROOT %b = f32[4]{{0}} {opcode}(%a), metadata={{}}\n}}\n"
            self.assertEqual(_text.is_read_by_xla(text), is_read, text)

    def test_counts(self):
        text = _decide.add_counts("HloModule m, is_scheduled=true\n\nrest", 1, 8)
        self.assertEqual(text, "HloModule m, is_scheduled=true, num_partitions=8\n\nrest")
        self.assertEqual(_decide.add_counts(text, 1, 8), text)


class Platforms(PackageTest):
    def test_profiles(self):
        """What JAX calls devices, and the profiles, which exist."""
        for platform, kind, profile in (
                ("tpu", "TPU v5 lite", "tpu-v5e"), ("tpu", "TPU v5", "tpu-v5p"), ("tpu", "TPU v6 lite", "tpu-v6e"),
                ("tpu", "TPU7x", "tpu7x"), ("cuda", "NVIDIA H100 80GB HBM3", "h100-sxm"), ("cuda", "NVIDIA B200", "b200"),
                ("cuda", "NVIDIA A100-SXM4-40GB", "a100-40g"), ("gpu", "NVIDIA A100-SXM4-80GB", "a100-80g")):
            self.assertEqual(_plugins.profile_of(platform, kind), (profile, True))
            self.assertGreater(_plugins.memory_of(profile), 0)
        self.assertEqual(_plugins.profile_of("tpu", "TPU v9"), ("tpu-v5e", False))

    def test_described_tpus(self):
        for name, tpu in absent.TPUS.items():
            self.assertIn("memory_bytes", json.loads(_files.profile_text(tpu.profile)), name)
        self.assertEqual([tpu.accelerator_type(4) for tpu in absent.TPUS.values()],
                         ["v5litepod-4", "v5p-8", "v6e-4", "tpu7x-8"])

    def test_described_gpus(self):
        """The GPUs that need not be there have the memory, and about the bandwidth, of their profiles."""
        for name, gpu in absent.GPUS.items():
            profile = json.loads(_files.profile_text(gpu.profile))
            self.assertEqual(gpu.memory_bytes, profile["memory_bytes"], name)
            self.assertAlmostEqual(gpu.bandwidth / profile["memory_bandwidth"], 1, delta=0.05, msg=name)
            self.assertEqual(_plugins.profile_of("cuda", gpu.name), (gpu.profile, True))

    def test_least(self):
        """What a program as it was may come down to: on CPU what was predicted, elsewhere what XLA aims at."""
        gib = 1 << 30
        before = _figures.Memory(70 * gib, 64 * gib, 4 * gib, 3 * gib, gib, 0, 70 * gib, 0, "")
        self.assertEqual(_plugins.least_temp_bytes("cpu", before, "cpu"), 64 * gib)
        self.assertEqual(_plugins.least_temp_bytes("tpu", before, "tpu-v5e"), int(9.75 * gib) - (128 << 20))
        self.assertEqual(_plugins.least_temp_bytes("cuda", before, "h100-sxm"), int(0.95 * (0.80 * 84_942_979_072 - 6 * gib)))

    def test_share(self):
        """JAX takes three quarters of a GPU, or what the environment says, and all of a TPU."""
        with mock.patch.dict(os.environ, {"XLA_PYTHON_CLIENT_MEM_FRACTION": ""}):
            self.assertEqual([_plugins.share_for_programs(name) for name in ("cpu", "tpu", "cuda", "gpu", "rocm")],
                             [1, 1, 0.75, 0.75, 0.75])
        for text, share in (("0.9", 0.9), ("x", 0.75)):
            with mock.patch.dict(os.environ, {"XLA_PYTHON_CLIENT_MEM_FRACTION": text}):
                self.assertEqual(_plugins.share_for_programs("cuda"), share)


class Calibrating(PackageTest):
    """Profiles are fitted to measured times."""

    def measurements(self, seconds_of):
        runs = []
        for name in ("mlp_checkpoint", "gpt_unrolled", "unet_donated"):
            path = SAMPLES / f"{name}.after_optimizations.hlo"
            module = remat_hlo.load(path, copies="inserted")
            runs.append({"module": str(path), "seconds": seconds_of(module)})
        return self.write("measured.json", json.dumps({"runs": runs}))

    def calibrate(self, path, *arguments, code=0):
        return self.run_python("-m", "remat_hlo", "calibrate", path, *arguments, code=code)

    def test_known_device(self):
        """Times that another profile gives are found again, by a profile that the library reads."""
        profile = json.loads(_files.profile_text("cpu"))
        profile["memory_bandwidth"] *= 0.02
        profile["flops"] = {name: 0.005 * rate for name, rate in profile["flops"].items()}
        profile["kernel_seconds"] *= 3
        true = _files.parse_profile(json.dumps(profile).encode())
        path = self.measurements(lambda module: module.cost(1, true).seconds)
        out, _ = self.calibrate(path, "--name=mine", "-o", self.dir / "mine.json")
        before, after, held_out = out.splitlines()
        self.assertIn("held out: rank correlation", held_out)
        self.assertRegex(before, r"^cpu: rank correlation .*, median error \d+ %, worst")
        error = int(after.partition("median error ")[2].partition(" %")[0])
        self.assertLessEqual(error, 10, out)
        made = json.loads((self.dir / "mine.json").read_text())
        self.assertEqual(made["name"], "mine")
        module = remat_hlo.load(GPT, device=str(self.dir / "mine.json"), copies="inserted")
        self.assertAlmostEqual(module.cost().seconds / module.cost(1, true).seconds, 1, delta=0.3)

    def test_stdout(self):
        path = self.measurements(lambda module: 1e-3)
        out, err = self.calibrate(path)
        self.assertEqual(json.loads(out)["name"], "calibrated")
        self.assertIn("rank correlation none", err)

    def test_faults(self):
        for text in ("", "{}", '{"runs": []}', '{"runs": [{"module": "no.hlo", "seconds": 1}]}',
                     json.dumps({"runs": [{"module": str(GPT), "seconds": 0}] * 2})):
            _, err = self.calibrate(self.write("wrong.json", text), code=2)
            self.assertIn("remat_hlo: error", err)
        self.calibrate(self.measurements(lambda module: 1), "--device=abacus", code=2)

    def test_one_program(self):
        """Variants of one program are not held out from each other."""
        path = self.measurements(lambda module: module.cost().seconds)
        measured = json.loads(path.read_text())
        for run in measured["runs"]:
            run["program"] = "one"
        out, _ = self.calibrate(self.write("one.json", json.dumps(measured)), "-o", self.dir / "one.made.json")
        self.assertEqual(len(out.splitlines()), 2)

    def test_errors(self):
        error = _calibrate.compare_seconds([1, 2, 3], [10, 20, 15])
        self.assertAlmostEqual(error.rank_correlation, 0.5)
        self.assertAlmostEqual(error.median, 0.9)
        # Ranks 3.5, 1, 3.5, 2: -1 / sqrt(4.5 * 5).
        shared = _calibrate.compare_seconds([3, 1, 3, 2], [1, 2, 3, 4])
        self.assertAlmostEqual(shared.rank_correlation, -1 / 22.5**0.5)
        self.assertIsNone(_calibrate.compare_seconds([1, 1], [1, 2]).rank_correlation)


class Notebook(PackageTest):
    def test_cells(self):
        """man/notebook.ipynb has the cells of scripts/samples/make_notebook.py, which run. The figures in it may be
        those of an earlier version."""
        self.run_python(ROOT / "scripts/samples/make_notebook.py", self.dir / "made.ipynb")
        made, kept = ([(cell["source"], [o["output_type"] for o in cell.get("outputs", [])])
                       for cell in json.loads(path.read_text())["cells"]]
                      for path in (self.dir / "made.ipynb", ROOT / "man/notebook.ipynb"))
        self.assertEqual(made, kept)


class Messages(PackageTest):
    """The walker over HloModuleProto."""

    @staticmethod
    def field(number, content):
        return (Messages.varint(number << 3 | 2) + Messages.varint(len(content)) + content)

    @staticmethod
    def varint(value):
        out = b""
        while value > 127:
            out += bytes((value & 127 | 128,))
            value >>= 7
        return out + bytes((value,))

    def test_carry(self):
        """What only the original has is carried, what the text has is not."""
        number = self.varint(5 << 3) + self.varint(300)
        assignment = self.field(15, b"\x08\x02\x10\x04")
        unknown = self.field(99, b"later")
        original = self.field(1, b"name") + self.field(3, b"old") + number + assignment + unknown
        result = self.field(1, b"name") + self.field(3, b"new") + self.varint(5 << 3) + b"\x07"
        self.assertEqual(_proto.carry(original, result), result + b"\x28\x00" + number + assignment + unknown)
        self.assertEqual(_proto.device_counts(original), (2, 4))
        self.assertEqual(_proto.device_counts(result), (1, 1))

    def test_malformed(self):
        for wrong in (b"\x0a", b"\x0a\x05abc", b"\xff" * 12, b"\x0b", b"\x0d\x01"):
            with self.subTest(wrong), self.assertRaises(ValueError):
                list(_proto.fields(wrong))


class Refusals(PackageTest):
    """What XLA says of programs that it has no memory for."""

    def test_needed_bytes(self):
        tpu = ("RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO "
               "temporaries (18.50G) exceeds available HBM (15.75G)")
        for text, size in ((tpu, 37 << 29), ("RESOURCE_EXHAUSTED: Used 1.5T of 16.00G hbm", 3 << 39),
                           ("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8 bytes", None),
                           ("INTERNAL: a parameter of 3 (4G) parts", None)):
            with self.subTest(text):
                self.assertEqual(_refusals.needed_bytes(RuntimeError(text)), size)
                self.assertEqual(measured.Measured(error=text).needed_bytes, size)
                self.assertEqual(_refusals.is_out_of_memory(text), text.startswith("RESOURCE"))

    def test_what_was_compiled_is_what_it_took(self):
        self.assertEqual(measured.Measured(4, 3, 2, 1).needed_bytes, 6)


class Signatures(PackageTest):
    """What a type checker reads of the package: py.typed, and annotations of all that is public."""
    @staticmethod
    def functions(name):
        """(function, whether it is a method) of a module that is public; so are a class's methods."""
        for node in ast.parse((ROOT / "src/python/remat_hlo" / name).read_text()).body:
            is_class = isinstance(node, ast.ClassDef) and not node.name.startswith("_")
            for one in node.body if is_class else [node]:
                if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
                    yield one, is_class

    def test_public_functions_are_annotated(self):
        self.assertTrue((ROOT / "src/python/remat_hlo/py.typed").exists())
        wanted = {"jax.py": None, "_module.py": {"load", "advise"}, "_figures.py": {"no function"},
                  "_files.py": {"devices"}, "_request.py": {"algorithms", "schedulers"}}
        for name, only in wanted.items():
            for function, is_method in self.functions(name):
                if only and not is_method and function.name not in only:
                    continue
                given = function.args
                arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
                bare = [one.arg for one in arguments[is_method:] if one and not one.annotation]
                with self.subTest(function=f"{name}: {function.name}"):
                    self.assertEqual(bare, [])
                    self.assertIsNotNone(function.returns)

    def test_no_parameter_shadows_a_builtin(self):
        for path in sorted((ROOT / "src/python/remat_hlo").rglob("*.py")):
            for function in ast.walk(ast.parse(path.read_text())):
                if not isinstance(function, (ast.FunctionDef, ast.Lambda)):
                    continue
                given = function.args
                for one in [*given.posonlyargs, *given.args, *given.kwonlyargs]:
                    self.assertNotIn(one.arg, dir(builtins), f"{path.name}:{function.lineno}")


class Structs(PackageTest):
    """The structs of ctypes are those of the header."""

    C_NAMES = {"Diag": "rh_diag", "Text": "rh_text"}

    def setUp(self):
        super().setUp()
        self.compiler = lib.os.environ.get("CC") or shutil.which("cc")
        if not self.compiler:
            self.skipTest("no C compiler")

    @staticmethod
    def c_name(struct):
        snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in struct.__name__)
        return f"rh{snake}"

    def compile(self, lines):
        source = self.write("structs.c", "#include <remat_hlo.h>\n#include <stdio.h>\n"
                            "int main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
        subprocess.run([self.compiler, "-I", str(ROOT / "include"), source, "-o",
                        self.dir / "structs"], check=True)
        return subprocess.run([self.dir / "structs"], check=True, capture_output=True,
                              text=True).stdout.splitlines()

    def structs(self):
        return [s for s in vars(lib).values() if isinstance(s, type)
                and issubclass(s, lib.Structure) and s not in (lib.Structure, lib.Sized)]

    def test_layout(self):
        lines, expected = [], []
        for struct in self.structs():
            name = self.c_name(struct)
            for field, kind in struct._fields_:
                member = getattr(struct, field)
                lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), '
                             f'sizeof((({name} *)0)->{field}));')
                expected.append(f"{name}.{field} {member.offset} {member.size}")
            if struct is not lib.Report:  # of which only the beginning is read
                lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
                expected.append(f"{name} {lib.ctypes.sizeof(struct)}")
        self.assertEqual(self.compile(lines), expected)

    def test_defaults(self):
        """RH_…_INIT, field by field."""
        lines, expected = [], []
        for struct in self.structs():
            if not issubclass(struct, lib.Sized):
                continue
            name = self.c_name(struct)
            lines.append(f"{name} {name}_value = {name.upper()}_INIT;")
            made = struct()
            for field, kind in struct._fields_:
                value = getattr(made, field)
                if kind is lib.c_char_p:
                    form, what = "%s", f'{name}_value.{field} ? {name}_value.{field} : "-"'
                    value = value.decode() if value else "-"
                elif isinstance(value, (int, float, bool)):
                    form, what = "%.0f", f"(double){name}_value.{field}"
                    value = f"{float(value):.0f}"
                else:
                    continue
                lines.append(f'printf("{name}.{field} {form}\\n", {what});')
                expected.append(f"{name}.{field} {value}")
        self.assertEqual(self.compile(lines), expected)

    def test_numbers(self):
        """The numbers of enumerations."""
        names = {"COPIES": ("RH_COPIES_AUTO", "RH_COPIES_INSERTED", "RH_COPIES_PENDING"),
                 "COUNTS": ("RH_COUNT_TEMP", "RH_COUNT_TEMP_OUTPUTS", "RH_COUNT_TOTAL"),
                 "EMITS": ("RH_EMIT_SCHEDULED", "RH_EMIT_UNSCHEDULED"),
                 "PROTECTS": ("RH_PROTECT_AUTO", "RH_PROTECT_NONE", "RH_PROTECT_CONTROL_DEPS",
                              "RH_PROTECT_OPT_BARRIER", "RH_PROTECT_CONDITIONAL"),
                 "INLINES": ("RH_INLINE_AUTO", "RH_INLINE_NEVER", "RH_INLINE_ALWAYS"),
                 "MODES": ("RH_REMAT_RECOMPUTE", "RH_REMAT_COMPRESS", "RH_REMAT_OFFLOAD",
                           "RH_REMAT_NARROW"),
                 "PICTURES": ("RH_PICTURE_HTML", "RH_PICTURE_SVG", "RH_PICTURE_PERFETTO"),
                 "SUMS": ("RH_BY_CATEGORY", "RH_BY_OPCODE", "RH_BY_SOURCE", "RH_BY_OP_NAME",
                          "RH_BY_COMPUTATION"),
                 "REGISTRIES": ("RH_SCHEDULERS", "RH_ALGORITHMS", "RH_MEMORY_MODELS",
                                "RH_LINT_RULES", "RH_PACKINGS", "RH_TARGETS", "RH_PARAMETERS")}
        wanted = [number for table in names for number in getattr(lib, table).values()]
        wanted += [lib.TRAIT_ALL_SIZES, lib.SMALL_NODE_BYTES, lib.OVER_LIMIT,
                   lib.NOT_EQUIVALENT, lib.USAGE, lib.INPUT, lib.WRITE, lib.MEMORY, lib.INTERNAL, lib.BAD_OPTION]
        lines = [f'printf("%d\\n", (int){name});' for table in names.values() for name in table]
        lines += [f'printf("%d\\n", (int){name});' for name in (
            "RH_TRAIT_ALL_SIZES", "RH_SMALL_NODE_BYTES", "RH_OVER_LIMIT",
            "RH_NOT_EQUIVALENT", "RH_ERR_USAGE", "RH_ERR_INPUT", "RH_ERR_WRITE", "RH_ERR_MEMORY",
            "RH_ERR_INTERNAL", "RH_CODE_BAD_OPTION")]
        self.assertEqual(list(map(int, self.compile(lines))), wanted)


class CommandLine(PackageTest):
    """`python -m remat_hlo` as far as it goes without JAX."""

    def test_help(self):
        out, _ = self.run_python("-m", "remat_hlo", "--help")
        for field in _options.dataclasses.fields(_options.Options):
            self.assertIn(f"--{field.name.replace('_', '-')}=", out)

    def test_usage(self):
        for arguments in ((), ("--colour=red", "x.py"), ("--mem-limit",), ("--mem-limit=50%",)):
            _, err = self.run_python("-m", "remat_hlo", *arguments, code=2)
            self.assertIn("remat_hlo: error: ", err)

    def test_missing_library(self):
        _, err = self.run_python("-c", "import remat_hlo", code=1,
                                 env={"REMAT_HLO_LIBRARY": "/nowhere/libremat_hlo.so"})
        self.assertIn("the C library cannot be loaded", err)


class Faults(PackageTest):
    """What goes wrong while the library runs reaches the caller."""

    def setUp(self):
        super().setUp()
        self.heed_ctrl_c()

    def test_what_a_write_raises(self):
        module = remat_hlo.load(GPT)
        with mock.patch.object(lib.ctypes, "string_at", side_effect=MemoryError("made for the test")):
            with self.assertRaisesRegex(MemoryError, "made for the test"):
                module.text()
        self.assertEqual(module.text(), GPT.read_text())

    def test_what_a_visit_raises(self):
        module = remat_hlo.load(GPT)
        after = remat_hlo.load(module.remat("80%", effort=0).text())
        with mock.patch.object(_module, "Change", side_effect=ValueError("made for the test")):
            with self.assertRaisesRegex(ValueError, "made for the test"):
                module.difference(after)
        with mock.patch.object(_module, "Way", side_effect=ValueError("made for the test")):
            with self.assertRaisesRegex(ValueError, "made for the test"):
                print(module.remat("22MiB", effort=0).may_help)

    def test_ctrl_c(self):
        """It ends a search that would take minutes, in whichever function of the library that is."""
        module = remat_hlo.load(GPT)
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        handler, start = signal.getsignal(signal.SIGINT), time.monotonic()
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            while True:
                module.remat("min", algorithm="search", effort=9)
        self.assertLess(time.monotonic() - start, 60)
        self.assertIs(signal.getsignal(signal.SIGINT), handler)

    def test_ctrl_c_beside_the_main_thread(self):
        """It ends the search of a thread that the main thread waits for, because that is in the midst of it."""
        module, is_ended, start = remat_hlo.load(GPT), threading.Event(), time.monotonic()

        def work():
            try:
                while True:
                    module.remat("min", algorithm="search", effort=9)
            except KeyboardInterrupt:
                is_ended.set()

        threading.Thread(target=work).start()
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            is_ended.wait(200)
        except KeyboardInterrupt:
            is_ended.wait(200)
        self.assertTrue(is_ended.is_set())
        self.assertLess(time.monotonic() - start, 60)

    def test_ctrl_c_while_the_main_thread_is_outside_of_python(self):
        """Python tells the main thread when that comes back, and another thread at once."""
        events, is_about_to = [], threading.Event()

        def work():
            try:
                with _interrupts.noted() as found:
                    is_about_to.wait()
                    time.sleep(0.2)  # the main thread is there now, for a second or two
                    os.kill(os.getpid(), signal.SIGINT)
                    end = time.monotonic() + 60
                    while not found.is_pressed and time.monotonic() < end:
                        time.sleep(0.01)
            except KeyboardInterrupt:
                events.append("the thread")

        thread = threading.Thread(target=work)
        with self.assertRaises(KeyboardInterrupt), _interrupts.wakeups.heard():
            thread.start()
            is_about_to.set()
            while True:
                hashlib.pbkdf2_hmac("sha256", b"", b"", 5000000)
        events.append("the main thread")
        thread.join()
        self.assertEqual(events, ["the thread", "the main thread"])
        self.assertFalse(_interrupts.wakeups.is_pressed)
        self.assertEqual(signal.set_wakeup_fd(-1), -1)

    def test_a_program_that_hears_of_signals_itself(self):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        self.addCleanup(signal.set_wakeup_fd, signal.set_wakeup_fd(writer))
        with self.assertRaises(KeyboardInterrupt), _interrupts.wakeups.heard():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        self.assertEqual(os.read(reader, 9), bytes([signal.SIGINT]))
        self.assertFalse(_interrupts.wakeups.is_pressed)

    def test_ctrl_c_of_before(self):
        """What a thread begins while the main thread still handles Ctrl-C is not ended by that."""
        module, made = remat_hlo.load(GPT), []
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            thread = threading.Thread(target=lambda: made.append(module.remat("80%", effort=0)))
            thread.start()
            thread.join()
        self.assertTrue(made[0].is_met)

    def test_ctrl_c_that_the_program_handles(self):
        """A program may note it and go on; it gets what it has asked for."""
        module, noted = remat_hlo.load(GPT), []
        old = signal.signal(signal.SIGINT, lambda *_: noted.append(True))
        self.addCleanup(signal.signal, signal.SIGINT, old)
        with _interrupts.noted() as interrupts:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            self.assertFalse(interrupts.is_pressed)
            self.assertEqual(noted, [])
        self.assertEqual(noted, [True])
        self.assertTrue(module.remat("80%", effort=0).is_met)

    def test_any_locale(self):
        """Files are UTF-8 where the locale has ASCII."""
        path = self.dir / "text"
        program = ("import sys; from remat_hlo import _files; import locale; "
                   "assert locale.getpreferredencoding(False).lower() not in ('utf-8', 'utf8'); "
                   "_files.write_file(sys.argv[1], '\\u00e4\\u2192')")
        env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0",
               "PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.run([sys.executable, "-c", program, str(path)], env=env, check=True)
        self.assertEqual(path.read_text(encoding="utf-8"), "\u00e4\u2192")

    def test_threads_write_one_file(self):
        path, errors = self.dir / "text", []
        texts = [str(number) * 100000 for number in range(8)]

        def write(text):
            try:
                for _ in range(20):
                    _files.write_file(path, text)
            except OSError as error:
                errors.append(error)

        threads = [threading.Thread(target=write, args=(text,)) for text in texts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertIn(path.read_text(), texts)
        self.assertEqual([name.name for name in self.dir.iterdir()], ["text"])


if __name__ == "__main__":
    package.main()
