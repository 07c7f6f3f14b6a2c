#!/usr/bin/env python3
"""`report` on the command line. usage: test_report.py TOOL [CLASS...]"""

import csv
import gzip
import io
import json
import os

import tool
from tool import SAMPLES, ToolTest

SAMPLE = SAMPLES / "gpt_unrolled.after_optimizations.hlo"
ADVICE = "what to change in the program"  # sentences come after it, which no table cuts


def as_csv(value):
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def stored_zstd(data):
    """A zstd frame whose blocks are not compressed."""
    frame, size = b"\x28\xb5\x2f\xfd\x00\x58", 1 << 17
    for begin in range(0, len(data), size):
        block = data[begin : begin + size]
        is_last = begin + size >= len(data)
        frame += (len(block) << 3 | is_last).to_bytes(3, "little") + block
    return frame


class ReportTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.golden("report")
        self.golden("report", "after.hlo")

    def report(self, *args):
        return self.json("report", *args)


class Report(ReportTest):
    def test_keys(self):
        report = self.report("input.hlo")
        for key in """module memory_model temp_bytes liveness_peak_bytes peak_position
                peak_instruction parameter_bytes output_bytes constant_bytes aliased_bytes
                fragmentation_bytes lower_bound_bytes live_at_peak by_source by_opcode
                by_scope""".split():
            self.assertIn(key, report)
        for key in "name bytes opcode op_name source_file source_line category begin end".split():
            self.assertIn(key, report["live_at_peak"][0])

    def test_stack(self):
        """The stacks in JSON are those of the text, library by library."""
        self.golden("frames", to="frames.hlo")
        report = self.report("frames.hlo", "--memory-model=liveness")
        frames = report["stack_frames"]
        values = {value["name"]: value for value in report["live_at_peak"]}

        def stack(name):
            at, files = values[name]["stack_frame"], []
            while at is not None:
                self.assertTrue(frames[at]["caller"] is None or frames[at]["caller"] < at)
                files.append((frames[at]["file"].split("/")[-1], frames[at]["line"], frames[at]["library"]))
                at = frames[at]["caller"]
            return files

        train, model = ("train.py", 38, False), ("model.py", 12, False)
        self.assertEqual(stack("dense"), [("linear.py", 271, True), model, train])
        self.assertEqual(stack("update"), [("update.py", 42, True), train])
        self.assertEqual(stack("lone"), [("linear.py", 271, True)])
        self.assertIsNone(values["w"]["stack_frame"])
        self.assertEqual(values["w"]["argument"], "params['h']['3']['kernel']")
        self.assertIn({"source_file": None, "source_line": None, "argument": "params", "bytes": 32768,
                       "values": 2}, report["by_source"])
        shown = self.expect(0, "report", "frames.hlo", "--memory-model=liveness", "--stack").out
        shown = shown.split("the call stacks of")[1]
        self.assertEqual(shown.count("(library)"), 3)
        self.assertIn("without a stack", shown)

    def test_narrow_tables_keep_names_of_files(self):
        self.golden("frames", to="frames.hlo")
        for width in ("60", "72", "80", "200"):
            out = self.expect(0, "report", "frames.hlo", "--stack", env={"COLUMNS": width}).out
            out = out.split("live at the peak")[1]
            for name in ("model.py:12", "train.py:38", "linear.py:271", "layers.py:7"):
                self.assertIn(name, out, width)
            self.assertEqual("(from ..l" in out or "(from /opt" in out, int(width) > 60, width)
            self.assertEqual(out.count("(from "), out.count(":7)") + out.count(":38)") + out.count(":12)"))

    def test_copies(self):
        """The state of the loop begins in a constant, which XLA has to copy."""
        args = ["report", "input.hlo", "--memory-model=heap", "--perfetto=live.json"]
        values = {}
        for when, warnings in (("auto", 0), ("inserted", 1), ("pending", 0)):
            with self.subTest(when):
                result = self.expect(0, *args, f"--copies={when}")
                self.assertEqual(result.err.count("read of overwritten memory"), warnings)
                values[when] = self.read("live.json")
        self.assertEqual(values["auto"], values["pending"])
        self.assertNotEqual(values["auto"], values["inserted"])
        self.expect(2, "report", "input.hlo", "--copies=perhaps")

    def test_sums(self):
        for model in self.run_tool("list", "--names=models").out.split():
            with self.subTest(model):
                report = self.report(SAMPLE, f"--memory-model={model}")
                self.assertEqual(report["memory_model"], model)
                live = sum(value["bytes"] for value in report["live_at_peak"])
                self.assertEqual(live + report["unused_bytes"], report["peak_bytes"])
                for key in "by_source by_opcode by_category by_computation by_op_name".split():
                    self.assertEqual(sum(row["bytes"] for row in report[key]), live, key)

    def test_figures_are_those_of_remat(self):
        summary = self.json(SAMPLE, "--limit-counts=total")
        report = self.report(SAMPLE)
        self.assertEqual(report["total_bytes"], summary["peak_before_bytes"])
        self.assertEqual(
            report["liveness_peak_bytes"],
            self.report(SAMPLE, "--memory-model=liveness")["peak_bytes"],
        )

    def test_csv_is_the_live_set(self):
        live = self.report(SAMPLE)["live_at_peak"]
        out = self.expect(0, "report", SAMPLE, "--csv=-", "-q").out
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual(len(rows), len(live))
        for row, value in zip(rows, live):
            for key, text in row.items():
                self.assertEqual(text, as_csv(value[key]), key)

    def test_order_options(self):
        self.assertEqual(self.report("input.hlo")["scheduler"], "input")
        self.assertEqual(self.report("input.hlo", "--ignore-schedule")["scheduler"], "default")
        self.assertEqual(
            self.report("input.hlo", "--ignore-schedule", "-s", "dfs")["scheduler"], "dfs"
        )

    def test_top(self):
        lines = [
            len(self.expect(0, "report", SAMPLE, f"--top={top}").out.splitlines())
            for top in (1, 5, 1000)
        ]
        self.assertLess(lines[0], lines[1])
        self.assertLess(lines[1], lines[2])
        tables = self.expect(0, "report", SAMPLE, "--top=1000").out.split(ADVICE)[0]
        self.assertNotIn("more)", tables)

    def test_warnings(self):
        before = SAMPLES / "gpt_unrolled.before_optimizations.hlo"
        self.assertIn("upper estimate", self.expect(0, "report", before).err)
        self.assertEqual(self.expect(0, "report", before, "-q").err, "")

    def test_usage(self):
        for args, says in (
            (["report"], "takes one file, or two"),
            (["report", "input.hlo"] * 2 + ["x"], "takes one file, or two"),
            (["report", "input.hlo", "--json=-", "--csv=-"], "only one output"),
            (["report", "input.hlo", "--json=x", "--csv=x"], "same name"),
            (["report", "input.hlo", "--top=0"], "--top takes"),
            (["report", "input.hlo", "--memory-model=livenes"], "did you mean 'liveness'"),
            (["report", "input.hlo", "--mem-limit=1"], "there is no option"),
        ):
            with self.subTest(args):
                self.assert_message(self.expect(2, *args), says)

    def test_a_file_without_a_line(self):
        text = self.read("input.hlo")
        self.assertIn(" source_line=22", text)
        self.write("unlined.hlo", text.replace(" source_line=22", ""))
        self.write("grown.hlo", self.read("after.hlo").replace(" source_line=22", ""))
        model = ["--memory-model=xla-remat"]
        for args in (
            ["report", "unlined.hlo", "--top=99", *model],
            ["report", "unlined.hlo", "grown.hlo", *model],
            ["report", ".", "--min-peak=0", *model],
            ["check", "unlined.hlo", "--max-peak=1", *model],
        ):
            with self.subTest(args):
                result = self.run_tool(*args)
                self.assertIn("model.py", result.out + result.err)
                self.assertNotIn("model.py:0", result.out + result.err)

    def test_nothing_lives(self):
        self.write("none.hlo", "HloModule none\nENTRY e { ROOT t = () tuple() }")
        for args in (
            ["report", "none.hlo"],
            ["report", "none.hlo", "input.hlo"],
            ["check", "none.hlo", "--max-peak=0"],
        ):
            out = self.expect(0, *args).out
            self.assertIn(" 0 B", out)
            self.assertNotIn("at ,", out)
        self.assertEqual(self.report("none.hlo")["by_source"], [])

    def test_faults(self):
        self.expect(3, "report", "missing.hlo")
        self.expect(3, "report", "input.hlo", "missing.hlo")
        self.expect(4, "report", "input.hlo", "--json=/nonexistent/x")
        self.expect(0, "report", "input.hlo", "--json=/dev/null", "--csv=/dev/null")
        self.expect(4, "report", "input.hlo", "--json=/dev/full")
        self.expect(4, "report", "input.hlo", "--csv=/dev/full")

    def test_tables_go_to_stderr_when_stdout_is_taken(self):
        result = self.expect(0, "report", "input.hlo", "--json=-")
        json.loads(result.out)
        self.assertIn("live at the peak", result.err)


class Difference(ReportTest):
    def test_what_grew(self):
        difference = self.report("input.hlo", "after.hlo", "--memory-model=liveness")
        self.assertEqual(
            difference["by_op_name"],
            [
                {
                    "op_name": "step/broadcast_in_dim",
                    "before_bytes": 32768,
                    "after_bytes": 65536,
                    "before_values": 1,
                    "after_values": 1,
                }
            ],
        )
        grown = difference["peak_bytes"]["after"] - difference["peak_bytes"]["before"]
        for key in ("by_source", "by_op_name", "by_category", "by_opcode"):
            changed = sum(row["after_bytes"] - row["before_bytes"] for row in difference[key])
            self.assertEqual(changed, grown, key)

    def test_nothing_differs(self):
        difference = self.report("input.hlo", "input.hlo")
        self.assertEqual(difference["by_source"], [])
        self.assertNotIn("as before", self.expect(0, "report", "input.hlo", "input.hlo").out)
        self.assertIn("as before", self.expect(0, "report", "input.hlo", "after.hlo").out)


class FolderTest(ReportTest):
    def setUp(self):
        super().setUp()
        self.path("dump").mkdir()
        text = self.read("input.hlo")
        unscheduled = text.replace(", is_scheduled=true", "")
        for name, content in {
            "module_0001.jit_step.before_optimizations.txt": unscheduled,
            "module_0001.jit_step.cpu_after_optimizations.txt": text,
            "module_0001.jit_step.cpu_after_optimizations-buffer-assignment.txt": "BufferAssignment:",
            "module_0001.jit_step.0007.passes.after_dce.before_cse.txt": unscheduled,
            "module_0002.jit_big.v2.cpu_after_optimizations.txt.gz": gzip.compress(
                self.read("after.hlo").encode()
            ),
            "module_0003.jit_old.before_optimizations.txt": unscheduled,
            "debug_options": "x",
        }.items():
            self.write(f"dump/{name}", content)


class FolderAsNobody(FolderTest):
    def test_folders_that_cannot_be_read(self):
        self.dir.chmod(0o755)
        for name, mode in (("listed", 0o444), ("locked", 0)):
            folder = self.path(f"dump/{name}")
            folder.mkdir()
            self.write(f"dump/{name}/m.txt", "HloModule m")
            folder.chmod(mode)
            self.addCleanup(folder.chmod, 0o700)
        result = self.run_as_nobody("report", "dump")
        self.assertEqual(result.code, 3, result)
        self.assert_message(result, "dump/listed/m.txt: error: ", "dump/locked: error: ")
        self.assertIn("3 modules, 5 stages", result.out)


class Folder(FolderTest):
    """`report DIR`."""

    def test_modules_are_sorted_by_peak(self):
        modules = self.report("dump", "--min-peak=0", "--memory-model=xla-remat")
        self.assertEqual(
            [os.path.basename(module["input"]) for module in modules],
            [
                "module_0002.jit_big.v2.cpu_after_optimizations.txt.gz",
                "module_0001.jit_step.cpu_after_optimizations.txt",
                "module_0003.jit_old.before_optimizations.txt",
            ],
        )
        self.assertEqual(
            [stage["stage"] for stage in modules[1]["stages"]],
            ["0007.passes.after_dce.before_cse", "before_optimizations", "cpu_after_optimizations"],
        )
        peaks = [module["peak_bytes"] for module in modules]
        self.assertEqual(peaks, sorted(peaks, reverse=True))
        self.assertNotIn("live_at_peak", modules[0])

    def test_table_and_progress(self):
        result = self.expect(0, "report", "dump/", "--min-peak=0")
        self.assertIn("3 modules, 5 stages, 2 other files", result.out)
        self.assertNotIn("[", result.err)
        err = self.expect(0, "report", "dump", "-q", "--copies=pending", "--progress").err
        self.assertEqual([line[:8] for line in err.splitlines()], [f"[{i} of 3]" for i in (1, 2, 3)])
        self.assertEqual(self.expect(0, "report", "dump", "-q", "--copies=pending").err, "")

    def test_the_capability_of_a_gpu_is_in_the_stage(self):
        for name in ("module_0001.jit_step.sm_8.0_gpu", "f.sm_12.0_gpu"):
            self.write(f"dump/{name}_after_optimizations.txt", self.read("after.hlo"))
        self.assertEqual(
            sorted(
                (os.path.basename(module["input"]), len(module["stages"]), last["stage"])
                for module in self.report("dump", "--min-peak=0")
                if "sm_" in (last := module["stages"][-1])["stage"] + module["input"]
            ),
            [
                ("f.sm_12.0_gpu_after_optimizations.txt", 1, "sm_12.0_gpu_after_optimizations"),
                (
                    "module_0001.jit_step.sm_8.0_gpu_after_optimizations.txt",
                    4,
                    "sm_8.0_gpu_after_optimizations",
                ),
            ],
        )

    def test_stages_of_a_tpu(self):
        """They are one module, also those whose names end in the names of passes."""
        text = self.read("input.hlo")
        stages = ("before_optimizations", "0007.passes.after_dce.before_cse",
                  "after_optimizations_before_buffer_assignment", "after_optimizations",
                  "after_optimizations_after_buffer_assignment", "after_codegen",
                  "oom_intermediate_module")
        self.path("tpu").mkdir()
        for stage in stages:
            self.write(f"tpu/module_0000.jit_f.v2.cl_1003.{stage}.txt".replace(
                ".v2", "" if "passes" in stage else ".v2"), text)
            self.write(f"tpu/module_0001.jit_g.cl_1003.{stage}.txt", text)
        found = self.report("tpu", "--min-peak=0")
        names = {os.path.basename(module["input"]): [stage["stage"] for stage in module["stages"]]
                 for module in found}
        self.assertEqual(names["module_0001.jit_g.cl_1003.after_optimizations.txt"], sorted(stages))
        self.assertEqual(len(names["module_0000.jit_f.v2.cl_1003.after_optimizations.txt"]), 6)
        self.assertEqual(len(names), 3)

    def test_reports_beside_a_module(self):
        """What XLA writes besides is answered by the name of the module's file."""
        start = "dump/module_0000.jit_f.cl_1.after_optimizations"
        for kind, text in (("memory-usage-report", "Memory Space: default (color=0)\n"),
                           ("live-range", "HloLiveRange (max 3):\n"),
                           ("buffer-assignment", "BufferAssignment:\n")):
            path = self.write(f"{start}-{kind}.txt", text)
            for module in "", "_before_buffer_assignment":
                self.write(f"{start}{module}.txt", self.read("input.hlo"))
                result = self.expect(3, "report", path)
                self.assert_message(result, f"note: the module is in {start}{module}.txt")
                self.path(f"{start}_before_buffer_assignment.txt").unlink(missing_ok=True)
            self.path(f"{start}.txt").unlink()
            self.assertNotIn("note: ", self.expect(3, "report", path).err)

    def test_folders_below(self):
        name = "module_0001.jit_step.cpu_after_optimizations.txt"
        for folder in ("host_0", "host_1", "steps/7", ".hidden", "module_0009.old.x"):
            self.path(f"dump/{folder}").mkdir(parents=True)
            self.write(f"dump/{folder}/{name}", self.read("after.hlo"))
        self.write("dump/host_1/module_0001.jit_step.before_optimizations.txt", "HloModule m")
        self.path("dump/host_0/again").symlink_to(self.path("dump"))
        self.path("dump/host_0/linked.txt").symlink_to(self.path("after.hlo"))
        self.path("dump/host_0/nowhere.txt").symlink_to("missing")
        self.path("dump/host_0/round.txt").symlink_to("round.txt")
        os.mkfifo(self.path("dump/host_0/pipe.txt"))
        for path in ("dump", "dump/", "./dump"):
            with self.subTest(path):
                result = self.expect(0, "report", path, "--min-peak=0", env={"COLUMNS": "200"})
                self.assertIn("8 modules, 11 stages, 2 other files", result.out)
                rows = [line.split() for line in result.out.splitlines()[3:]]
                self.assertEqual(
                    [row[4] for row in rows if row[0] == rows[0][0]],
                    [
                        "host_0/linked",
                        "host_0/module_0001.jit_step",
                        "host_1/module_0001.jit_step",
                        "module_0002.jit_big.v2",
                        "module_0009.old.x/module_0001.jit_step",
                        "steps/7/module_0001.jit_step",
                    ],
                )
        modules = self.report("dump", "--min-peak=0")
        self.assertIn(f"dump/steps/7/{name}", [module["input"] for module in modules])
        self.assertEqual(
            [
                [stage["file"] for stage in module["stages"]]
                for module in modules
                if module["input"].startswith("dump/host_1/")
            ],
            [[f"dump/host_1/module_0001.jit_step.{stage}_optimizations.txt"
              for stage in ("before", "cpu_after")]],
        )

    def test_deep_folders(self):
        path = self.path("deep")
        for depth in range(20):
            path.mkdir()
            (path / "m.txt").write_text(self.read("input.hlo"))
            path /= "d"
        result = self.expect(3, "report", "deep")
        self.assertIn("17 modules, 17 stages", result.out)
        self.assert_message(result, "deep" + "/d" * 17 + ": error: is too many folders deep")

    def test_broken_modules_do_not_stop_the_others(self):
        self.write("dump/module_0000.jit_bad.cpu_after_optimizations.txt", "HloModule bad\nENTRY {")
        result = self.expect(3, "report", "dump")
        self.assertIn("3 modules", result.out)
        self.assertIn("jit_bad", result.err)

    def test_long_beginnings(self):
        text = self.read("input.hlo")
        header, rest = text.split("\n", 1)
        for number, content in enumerate(
            (
                "// comment\n" * 20000 + text,
                " " * 100000 + "\n" + text,
                header.replace(", is_scheduled=true", "")
                + ", frontend_attributes={a=\"" + "x" * 100000 + "\"}, is_scheduled=true\n"
                + rest,
                "{" + "x" * 100000,
                "// no end" + "x" * 100000,
                "// comment\n" * 20000,
            )
        ):
            data = content.encode()
            for suffix, packed in (
                (".txt", data),
                (".txt.gz", gzip.compress(data)),
                (".txt.zst", stored_zstd(data)),
            ):
                with self.subTest((number, suffix)):
                    folder = self.path(f"long{number}{suffix}")
                    folder.mkdir()
                    (folder / f"m{suffix}").write_bytes(packed)
                    if number < 3:
                        stage, = self.report(folder, "--min-peak=0")[0]["stages"]
                        self.assertTrue(stage["is_scheduled"])
                    else:
                        self.assert_message(self.expect(3, "report", folder), "no HLO text")

    def test_only_the_beginning_of_other_stages_is_read(self):
        text = self.read("input.hlo").replace(", is_scheduled=true", "").encode()
        packed = gzip.compress(text + os.urandom(1 << 20))
        self.write("dump/module_0001.jit_step.before_layout.txt.gz", packed[:-1000])
        self.assertEqual(len(self.report("dump", "--min-peak=0")[1]["stages"]), 4)
        self.write("dump/module_0001.jit_step.before_layout.txt.gz", packed[:10] + b"\xff" * 1000)
        self.assert_message(self.expect(3, "report", "dump", "-q"), "gzip file is damaged")

    def test_faults(self):
        self.path("empty").mkdir()
        self.assert_message(self.expect(3, "report", "empty"), "no HLO text")
        result = self.expect(3, "report", "empty", "--diagnostics=json")
        self.assertIn("no HLO text", json.loads(result.err)["message"])
        self.expect(3, "report", "missing/")
        self.expect(2, "report", "dump", "--memory-model=x")
        self.expect(4, "report", "dump", "-q", "--json=/nonexistent/x")


class FolderAsItIs(ReportTest):
    """A folder that XLA has dumped: helpers of a few bytes around the step."""

    def setUp(self):
        super().setUp()
        self.path("dump").mkdir()
        for name in ("gpt_scan", "gpt_unrolled"):
            for stage in ("before", "after"):
                self.copy(f"{name}.{stage}_optimizations.hlo", f"module_0042.jit_{name}")
        for number in range(5):
            text = self.read("input.hlo").replace("HloModule jit_step", "HloModule jit_add")
            self.write(f"dump/module_000{number}.jit_add.cpu_after_optimizations.txt", text)

    def copy(self, sample, name):
        stage = sample.split(".")[1]
        self.write(f"dump/{name}.cpu_{stage}.txt", (SAMPLES / sample).read_bytes())

    def check(self, code, *args):
        result = self.expect(code, "check", "dump", *args, "--quiet", "--json")
        return result, json.loads(result.out)

    def test_report_leaves_out_what_is_small(self):
        result = self.expect(0, "report", "dump")
        self.assertIn("7 modules, 9 stages", result.out)
        line = "left out: 5 modules with peaks below 1.00 MiB (--min-peak=0 shows all)\n"
        self.assertEqual(result.out.count(line), 1)
        self.assertNotIn("jit_add", result.out + result.err)
        names = lambda *args: [module["module"] for module in self.report("dump", *args)]
        self.assertEqual(names(), ["jit_gpt_scan", "jit_gpt_unrolled"])
        self.assertEqual(len(names("--min-peak=0")), 7)
        self.assertEqual(names("--min-peak=200MiB"), ["jit_gpt_scan"])
        self.assertEqual(names("--min-peak=1GiB"), [])
        self.assertNotIn("left out", self.expect(0, "report", "dump", "--min-peak=0").out)

    def test_module_is_the_name_of_the_module(self):
        names = lambda glob: [m["module"] for m in self.report("dump", f"--module={glob}")]
        self.assertEqual(names("jit_gpt_scan"), ["jit_gpt_scan"])
        self.assertEqual(names("jit_gpt*"), ["jit_gpt_scan", "jit_gpt_unrolled"])
        self.assertEqual(names("*_un[a-r]olled"), ["jit_gpt_unrolled"])
        for glob in ("module_0042*", "jit_gpt_scn", "gpt_scan"):
            result = self.expect(3, "report", "dump", f"--module={glob}")
            self.assert_message(result, f"no module's name matches '{glob}'")
        self.assertIn("did you mean 'jit_gpt_scan'?",
                      self.expect(3, "report", "dump", "--module=jit_gpt_scn").err)
        text = self.read("input.hlo").replace("HloModule jit_step", "HloModule jit_step.42")
        self.write("dump/again.txt", text)
        lines = self.report("dump", "--module=jit_step", "--min-peak=0")
        self.assertEqual([line["module"] for line in lines], ["jit_step.42"])

    def test_one_file_is_always_shown(self):
        self.assertIn("jit_step", self.expect(0, "report", "input.hlo").out)
        for args in (["--module=x"], ["--min-peak=0"]):
            result = self.expect(2, "report", "input.hlo", *args)
            self.assert_message(result, "choose among the modules of a folder")

    def test_check_validates_everything(self):
        result = self.expect(0, "check", "dump", env={"COLUMNS": "120"})
        self.assertIn("7 modules, 9 stages, 0 other files", result.out)
        self.assertIn("left out: 5 modules", result.out)
        rows = [line.split() for line in result.out.splitlines()[4:]]
        self.assertEqual([row[4] for row in rows],
                         ["module_0042.jit_gpt_scan", "module_0042.jit_gpt_unrolled"])
        self.assertEqual(result.err, "")
        self.write("dump/module_0000.jit_add.before_optimizations.txt", "HloModule jit_add\nENTRY {")
        result = self.expect(3, "check", "dump")
        self.assert_message(result, "module_0000.jit_add.before_optimizations.txt:2")
        self.assertIn("284.19 MiB", result.out)
        self.expect(0, "check", "dump", "--module=jit_gpt*")

    def test_check_with_findings(self):
        self.golden("check_shapes", to="dump/findings.before_optimizations.txt")
        result = self.expect(0, "check", "dump", "--diagnostics=json")
        files = {json.loads(line)["file"] for line in result.err.splitlines()}
        self.assertEqual(files, {"dump/findings.before_optimizations.txt"})
        self.assertNotIn("findings.before", result.out)
        self.expect(3, "check", "dump", "--strict")
        self.expect(0, "check", "dump", "--strict", "--module=jit_*")

    def test_faults(self):
        self.path("empty").mkdir()
        self.assert_message(self.expect(3, "check", "empty"), "no HLO text")
        self.assert_message(self.expect(3, "check", "dump", "--module=x"), "no module's name")
        result = self.expect(2, "check", "dump", "--memory-model=x", "--json=out.json")
        self.assertEqual(result.err.count("error: "), 1)
        self.assertNotIn("out.json", self.names())
        self.expect(4, "check", "dump", "-q", "--json=/nonexistent/x")
        self.expect(3, "check", "dump", "missing.hlo", "-q")
        result = self.expect(1, "check", "dump", "input.hlo", "--max-peak=200MiB")
        self.assertIn("input.hlo: jit_step", result.out)

    def test_max_peak_of_a_module(self):
        for limit, code in (("300MiB", 0), ("200MiB", 1)):
            result, answer = self.check(code, "--module=jit_gpt_scan", f"--max-peak={limit}")
            (module,) = answer["modules"]
            self.assertEqual(answer["ok"], code == 0)
            self.assertEqual(module["is_over_max_peak"], code == 1)
            self.assertEqual(module["peak_bytes"], self.report("dump")[0]["peak_bytes"])
        self.assert_message(result, "jit_gpt_scan", "over --max-peak=200.00 MiB")
        table = self.expect(1, "check", "dump", "--max-peak=200MiB", env={"COLUMNS": "140"}).out
        self.assertEqual([line.split()[4:6] for line in table.splitlines()[4:]],
                         [["over", "--max-peak"], ["ok", "module_0042.jit_gpt_unrolled"]])
        self.expect(1, "check", "dump", "--max-peak=1KiB", "--module=jit_add", "-q")

    def test_baseline_by_name(self):
        self.expect(0, "check", "dump", "--write-baseline=base.json", "-q")
        self.assertEqual(len(json.loads(self.read("base.json"))), 7)
        _, answer = self.check(0, "--baseline=base.json", "--tolerance=0%")
        self.assertEqual((answer["new"], answer["missing"]), ([], []))
        # Other numbers in other folders: the names count.
        self.path("dump").rename(self.path("old"))
        self.path("dump/host_3").mkdir(parents=True)
        self.copy("gpt_scan.after_optimizations.hlo", "host_3/module_0815.jit_gpt_scan")
        self.copy("resnet.after_optimizations.hlo", "module_0007.jit_resnet")
        result, answer = self.check(0, "--baseline=base.json")
        self.assertEqual([module["module"] for module in answer["new"]], ["jit_resnet"])
        self.assertEqual([module["module"] for module in answer["missing"]], ["jit_gpt_unrolled"])
        self.assertIn("module jit_resnet, 95.64 MiB, is new", result.err)
        self.assertIn("module jit_gpt_unrolled, 119.56 MiB, is missing", result.err)
        self.assertNotIn("jit_add", result.err)
        result, _ = self.check(1, "--baseline=base.json", "--strict")
        self.assert_message(result, "is new", "is missing")
        _, answer = self.check(0, "--baseline=base.json", "--module=jit_gpt_scan", "--strict")
        self.assertEqual((answer["new"], answer["missing"]), ([], []))

    def test_baseline_that_is_exceeded(self):
        self.expect(0, "check", "dump", "--write-baseline=base.json", "-q")
        text = (SAMPLES / "vgg.after_optimizations.hlo").read_text()
        self.write("dump/module_0042.jit_gpt_scan.cpu_after_optimizations.txt",
                   text.replace("HloModule jit_vgg", "HloModule jit_gpt_scan"))
        before = self.read("base.json")
        args = "--baseline=base.json", "--write-baseline=base.json"
        result, answer = self.check(1, *args)
        self.assertEqual(self.read("base.json"), before)
        self.assert_message(result, "jit_gpt_scan", "the peak, 482.40 MiB, is 198.21 MiB (69.7 %)",
                            "more from vgg/select_and_scatter")
        over = [module["module"] for module in answer["modules"] if module["is_over_baseline"]]
        self.assertEqual(over, ["jit_gpt_scan"])
        self.expect(0, "check", "dump", "-q", "--baseline=base.json", "--tolerance=70%")

    def test_a_file_against_the_baseline_of_a_folder(self):
        self.expect(0, "check", "dump", "--write-baseline=base.json", "-q")
        sample = SAMPLES / "gpt_unrolled.after_optimizations.hlo"
        self.expect(0, "check", sample, "--baseline=base.json", "--strict")
        self.expect(0, "check", sample, "input.hlo", "--baseline=base.json", "--force")
        result = self.expect(2, "check", SAMPLES / "vgg.after_optimizations.hlo", "--baseline=base.json")
        self.assert_message(result, "no module jit_vgg (fingerprint ", "vgg.after_optimizations.hlo")
        self.expect(0, "report", "dump", "--json=report.json")
        self.expect(0, "check", "dump", "--baseline=report.json", "--strict")

    def test_another_folder_is_refused(self):
        self.expect(0, "check", "dump", "--write-baseline=base.json", "-q")
        self.path("other").mkdir()
        for name in ("vgg", "resnet"):
            sample = f"{name}.after_optimizations.hlo"
            self.write(f"other/{sample}", (SAMPLES / sample).read_bytes())
        result = self.expect(2, "check", "other", "--baseline=base.json")
        self.assert_message(result, "of other modules, such as jit_", "(fingerprint ", "--force")
        self.expect(0, "check", "other", "--baseline=base.json", "--force")

    def test_modules_of_one_name(self):
        """Several modules have one name; those that are unchanged are found by their texts."""
        self.path("steps").mkdir()
        texts = [self.read("input.hlo"), self.read("after.hlo")]
        for number, text in enumerate(texts):
            self.write(f"steps/module_{number}.jit_step.after_optimizations.txt", text)
        self.expect(0, "check", "steps", "--write-baseline=base.json", "-q")
        for number, text in enumerate(reversed(texts)):
            self.write(f"steps/module_{number}.jit_step.after_optimizations.txt", text)
        self.expect(0, "check", "steps", "--baseline=base.json", "--tolerance=0%", "--min-peak=0",
                    "--strict")
        self.path("steps/module_0.jit_step.after_optimizations.txt").unlink()
        result = self.expect(1, "check", "steps", "--baseline=base.json", "--min-peak=0", "--strict")
        self.assert_message(result, "the module jit_step", "is missing")

    def test_progress_is_for_terminals(self):
        for command in ("report", "check"):
            self.assertNotIn("[", self.expect(0, command, "dump").err)
            lines = self.expect(0, command, "dump", "--progress", "-q").err.splitlines()
            self.assertEqual(len(lines), 7)
            self.assertIn("[7 of 7] dump/module_0042.jit_gpt_unrolled", lines[-1])
            text = self.in_terminal(command, "dump")
            self.assertIn(b"\r\033[K[1 of 7] dump/", text)
            self.assertTrue(text.endswith(b"\r\033[K"), text[-40:])
            self.assertEqual(self.in_terminal(command, "dump", "--quiet"), b"")
            # A program that reads the output is in charge of the terminal.
            self.assertNotIn(b"of 7]", self.in_terminal(command, "dump", "--json=-"))


class Bounds(ReportTest):
    """`check` holds a peak against a bound."""

    def setUp(self):
        super().setUp()
        self.peak = self.report("input.hlo")["peak_bytes"]

    def test_max_peak(self):
        self.expect(0, "check", "input.hlo", f"--max-peak={self.peak}")
        result = self.expect(1, "check", "input.hlo", f"--max-peak={self.peak - 1}")
        self.assert_message(result, "1 B over --max-peak", "model.py:20")
        self.expect(1, "check", "input.hlo", "after.hlo", f"--max-peak={self.peak}")
        self.expect(1, "check", "input.hlo", "--max-peak=0")

    def test_max_peak_is_of_the_model(self):
        peak = self.report("input.hlo", "--memory-model=liveness")["peak_bytes"]
        args = ["check", "input.hlo", "--memory-model=liveness"]
        self.expect(0, *args, f"--max-peak={peak}")
        self.expect(1, *args, f"--max-peak={peak - 1}")

    def test_baseline(self):
        self.expect(0, "check", "input.hlo", "--write-baseline=base.json")
        baseline = json.loads(self.read("base.json"))
        self.assertEqual(baseline["peak_bytes"], self.peak)
        self.assertNotIn("live_at_peak", baseline)
        args = ["check", "after.hlo", "--baseline=base.json"]
        self.expect(0, "check", "input.hlo", "--baseline=base.json", "--tolerance=0%")
        self.assert_message(self.expect(1, *args), "28.6 %", "more from step/broadcast_in_dim")
        self.expect(0, *args, "--tolerance=29%")
        self.expect(1, *args, "--tolerance=28%")
        self.expect(0, *args, "--tolerance=32KiB")
        self.expect(1, *args, "--tolerance=32767")

    def test_a_baseline_of_another_module(self):
        """It is refused by name and fingerprint."""
        self.write("other.hlo", self.read("after.hlo").replace("HloModule jit_step", "HloModule jit_f"))
        self.write("renamed.hlo", self.read("after.hlo").replace("jit_step,", "jit_step.7,"))
        self.expect(0, "check", "input.hlo", "--write-baseline=base.json")
        fingerprint = json.loads(self.read("base.json"))["input_hash"]
        args = ["check", "other.hlo", "--baseline=base.json", "--tolerance=50%"]
        result = self.expect(2, *args)
        self.assert_message(result, f"of the module jit_step (fingerprint {fingerprint}), not of jit_f ",
                            "--force")
        self.expect(0, *args, "--force")
        self.expect(1, *args, "--force", "--tolerance=0%")
        self.expect(0, "check", "renamed.hlo", *args[2:], "--strict")

    def test_json(self):
        for args in (["--json=-"], ["--json"], ["--json", "--quiet"]):
            result = self.expect(1, "check", "input.hlo", "--max-peak=1", *args)
            answer = json.loads(result.out)
            self.assertFalse(answer["ok"])
            self.assertEqual(answer["modules"][0]["peak_bytes"], self.peak)
        self.write("bad.hlo", "HloModule x\nnonsense\n")
        self.expect(3, "check", "input.hlo", "bad.hlo", "--json=out.json")
        modules = json.loads(self.read("out.json"))["modules"]
        self.assertEqual([module["is_read"] for module in modules], [True, False])

    def test_several_files_have_one_baseline(self):
        self.golden("recompute", to="other.hlo")
        files = "input.hlo", "other.hlo"
        self.expect(0, "check", *files, "--write-baseline=base.json")
        self.assertEqual(len(json.loads(self.read("base.json"))), 2)
        self.expect(0, "check", *reversed(files), "--baseline=base.json", "--tolerance=0%")

    def test_a_baseline_has_a_heap_limit(self):
        self.expect(0, "check", "input.hlo", "--write-baseline=base.json", "--heap-limit=16KiB")
        args = ["check", "input.hlo", "--baseline=base.json"]
        self.expect(0, *args, "--heap-limit=16KiB")
        result = self.expect(2, *args)
        self.assert_message(result, "the heap limit 16.00 KiB, not none; see --heap-limit")
        result = self.expect(2, *args, "--heap-limit=4096")
        self.assert_message(result, "the heap limit 16.00 KiB, not 4.00 KiB")

    def test_messages_hold_no_control_characters(self):
        self.expect(0, "check", "input.hlo", "--write-baseline=base.json")
        text = self.read("base.json").replace("heap", "xla\\u001b[31m\u00e9")
        self.write("base.json", text)
        result = self.expect(2, "check", "input.hlo", "--baseline=base.json")
        self.assert_message(result, "the memory model xla?[31m\u00e9, not")

    def test_a_baseline_of_nothing(self):
        for text in (
            '{"memory_model": "heap", "peak_bytes": 0, "by_op_name": []}\n\n',
            '{"memory_model": "heap", "peak_bytes": 0, "by_op_name": '
            '[{"op_name": "a", "bytes": 1, "values": 1}, {"op_name": "a", "bytes": 2, "values": 1}]}',
        ):
            self.write("base.json", text)
            result = self.expect(1, "check", "input.hlo", "--baseline=base.json")
            self.assert_message(result, "over the 0 B of")
            self.assertNotIn("%", result.err)

    def test_baseline_on_stdout(self):
        result = self.expect(0, "check", "input.hlo", "--write-baseline=-")
        self.assertEqual(json.loads(result.out)["peak_bytes"], self.peak)
        self.assertIn("computations: ", result.err)
        self.assertIn("memory model", result.err)

    def test_a_report_is_a_baseline(self):
        self.expect(0, "report", "input.hlo", "--json=report.json")
        self.expect(0, "check", "input.hlo", "--baseline=report.json")

    def test_a_baseline_that_is_exceeded_stays(self):
        self.expect(0, "check", "input.hlo", "--write-baseline=base.json")
        before = self.read("base.json")
        self.expect(1, "check", "after.hlo", "--baseline=base.json", "--write-baseline=base.json")
        self.assertEqual(self.read("base.json"), before)

    def test_faults(self):
        for text in (
            "",
            "[]",
            "{}",
            '{"memory_model": "heap"}',
            '{"memory_model": "heap", "peak_bytes": -1}',
            '{"memory_model": "heap", "peak_bytes": 1e300}',
            '{"memory_model": "heap", "peak_bytes": 0.5, "by_op_name": []}',
            '{"memory_model": "heap", "peak_bytes": NaN, "by_op_name": []}',
            '{"memory_model": "heap", "peak_bytes": 1, "by_op_name": []} {}',
            '{"memory_model": "heap", "peak_bytes": 1}',
            '{"memory_model": "heap", "peak_bytes": 1, "by_op_name": 7}',
            '{"memory_model": "heap", "peak_bytes": 1, "by_op_name": [7]}',
            '{"memory_model": "heap", "peak_bytes": 1, "by_op_name": [{"bytes": "x"}]}',
            '{"memory_model": "heap", "peak_bytes": 1, "by_op_name": '
            '[{"bytes": 1, "values": 1}]}',
            "[" * 100000,
        ):
            with self.subTest(text):
                self.write("base.json", text or " ")
                result = self.expect(3, "check", "input.hlo", "--baseline=base.json")
                self.assert_message(result, "no baseline")
        self.write("base.json", '{"memory_model": "liveness", "peak_bytes": 1, "by_op_name": []}')
        result = self.expect(2, "check", "input.hlo", "--baseline=base.json")
        self.assert_message(result, "memory model liveness, not heap")
        self.expect(0, "check", "input.hlo", "--target=gpu", "--write-baseline=gpu.json")
        self.expect(0, "check", "input.hlo", "--target=gpu", "--baseline=gpu.json")
        result = self.expect(2, "check", "input.hlo", "--baseline=gpu.json")
        self.assert_message(result, "target gpu, not cpu; see --target")
        self.expect(3, "check", "input.hlo", "--baseline=missing.json")

    def test_usage(self):
        for args, says in (
            (["input.hlo", "--force"], "--force is for --baseline"),
            (["input.hlo", "--json=x", "--write-baseline=x"], "same name"),
            (["input.hlo", "--tolerance=much"], "--tolerance takes"),
            (["input.hlo", "--tolerance=r1%"], "--tolerance takes"),
            (["input.hlo", "--tolerance=min"], "--tolerance takes"),
            (["input.hlo", "--max-peak=-1"], "--max-peak takes"),
            (["input.hlo", "--max-peak=1", "--memory-model=x"], "x"),
        ):
            with self.subTest(args):
                self.assert_message(self.expect(2, "check", *args), says)

    def test_messages_as_json(self):
        args = ["check", "input.hlo", "--max-peak=1", "--diagnostics=json", "--quiet"]
        result = self.expect(1, *args, "--copies=pending")
        for line in result.err.splitlines():
            self.assertIn(json.loads(line)["severity"], ("error", "note"))
        result = self.expect(1, *args, "--copies=inserted")
        lines = [json.loads(line) for line in result.err.splitlines()]
        self.assertEqual([line["severity"] for line in lines].count("warning"), 1)

    def test_copies(self):
        """The state of the loop begins in a constant, which XLA has to copy."""
        warning = "read of overwritten memory in the module itself"
        for when, count in (("auto", 0), ("inserted", 1), ("pending", 0)):
            with self.subTest(when):
                result = self.expect(0, "check", "input.hlo", "--max-peak=1MiB", f"--copies={when}")
                self.assertEqual(result.err.count(warning), count)

    def test_open_copies(self):
        """A bound may be kept by one of two peaks only."""
        self.golden("copies", "open.hlo")
        warning = "it is not certain whether XLA has inserted its copies"
        for when, count in (("auto", 1), ("inserted", 0), ("pending", 0)):
            with self.subTest(when):
                result = self.expect(0, "check", "open.hlo", "--max-peak=1MiB",
                                     f"--copies={when}")
                self.assertEqual(result.err.count(warning), count)


class Width(ReportTest):
    def widest(self, **env):
        out = self.expect(0, "report", SAMPLE, env=env).out
        body = out.split("made of", 1)[1].split(ADVICE)[0]
        return max(len(line) for line in body.splitlines())

    def test_columns(self):
        for columns in (60, 100, 120):
            self.assertLessEqual(self.widest(COLUMNS=str(columns)), columns)
        self.assertGreater(self.widest(COLUMNS="200"), 80)
        self.expect(0, "report", SAMPLE, env={"COLUMNS": "1"})

    def test_pipes_have_no_width(self):
        """A name is there as it is, and a long one does not move the columns of others."""
        name = "jit(step)/" + 40 * "block/" + "add"
        text = self.read("input.hlo")
        self.write("long.hlo", text.replace('op_name="jit(step)/jvp()/broadcast_in_dim"', f'op_name="{name}"'))
        for env in None, {"COLUMNS": "wide"}:
            out = self.expect(0, "report", "long.hlo", env=env).out
            self.assertIn(name, out)
            self.assertNotIn("..", out)
            self.assertGreater(sum(len(line) < 200 for line in out.splitlines()), 20)
        self.assertNotIn(name, self.expect(0, "report", "long.hlo", env={"COLUMNS": "80"}).out)

    def shown(self, columns, **env):
        env = {"TERM": "xterm", "NO_COLOR": "", **env}
        return self.in_terminal("report", "input.hlo", stream="stdout", columns=columns, env=env).decode()

    def test_colour_is_for_terminals(self):
        self.assertNotIn("\033", self.expect(0, "report", "input.hlo").out)
        self.assertIn("\033[1m", self.shown(70))
        self.assertNotIn("\033", self.shown(70, NO_COLOR="1"))
        self.assertNotIn("\033", self.shown(70, TERM="dumb"))

    def test_terminals_have_a_width(self):
        body = self.shown(60, NO_COLOR="1").split("made of", 1)[1].split(ADVICE)[0]
        self.assertLessEqual(max(map(len, body.splitlines())), 60)

    def test_control_characters_do_not_reach_the_terminal(self):
        text = self.read("input.hlo").replace("jvp(block_0)", "jvp(\\033[31m)")
        self.write("escape.hlo", text)
        self.assertNotIn("\033", self.expect(0, "report", "escape.hlo").out)


if __name__ == "__main__":
    tool.main()
