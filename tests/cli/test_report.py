#!/usr/bin/env python3
"""`report` on the command line. usage: test_report.py TOOL [CLASS...]"""

import csv
import fcntl
import gzip
import io
import json
import os
import pty
import struct
import termios

import tool
from tool import SAMPLES, ToolTest

SAMPLE = SAMPLES / "gpt_unrolled.after_optimizations.hlo"


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

    def test_copies(self):
        """The state of the loop begins in a constant, which XLA has to copy."""
        args = ["report", "input.hlo", "--memory-model=heap", "--perfetto=live.json"]
        values = {}
        for when, warnings in (("auto", 1), ("inserted", 1), ("pending", 0)):
            with self.subTest(when):
                result = self.expect(0, *args, f"--copies={when}")
                self.assertEqual(result.err.count("reads of overwritten memory"), warnings)
                values[when] = self.read("live.json")
        self.assertEqual(values["auto"], values["inserted"])
        self.assertNotEqual(values["auto"], values["pending"])
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
        self.assertNotIn("more)", self.expect(0, "report", SAMPLE, "--top=1000").out)

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
            (["report", "input.hlo", "after.hlo", "--csv=x"], "--csv takes one file"),
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
            ["report", ".", *model],
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
        modules = self.report("dump", "--memory-model=xla-remat")
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
        result = self.expect(0, "report", "dump/")
        self.assertIn("3 modules, 5 stages, 2 other files", result.out)
        self.assertIn("[5 of 5]", result.err)
        self.assertEqual(self.expect(0, "report", "dump", "-q", "--copies=pending").err, "")

    def test_the_capability_of_a_gpu_is_in_the_stage(self):
        for name in ("module_0001.jit_step.sm_8.0_gpu", "f.sm_12.0_gpu"):
            self.write(f"dump/{name}_after_optimizations.txt", self.read("after.hlo"))
        self.assertEqual(
            sorted(
                (os.path.basename(module["input"]), len(module["stages"]), last["stage"])
                for module in self.report("dump")
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
                result = self.expect(0, "report", path, env={"COLUMNS": "200"})
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
        modules = self.report("dump")
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
                        stage, = self.report(folder)[0]["stages"]
                        self.assertTrue(stage["is_scheduled"])
                    else:
                        self.assert_message(self.expect(3, "report", folder), "no HLO text")

    def test_only_the_beginning_of_other_stages_is_read(self):
        text = self.read("input.hlo").replace(", is_scheduled=true", "").encode()
        packed = gzip.compress(text + os.urandom(1 << 20))
        self.write("dump/module_0001.jit_step.before_layout.txt.gz", packed[:-1000])
        self.assertEqual(len(self.report("dump")[1]["stages"]), 4)
        self.write("dump/module_0001.jit_step.before_layout.txt.gz", packed[:10] + b"\xff" * 1000)
        self.assert_message(self.expect(3, "report", "dump", "-q"), "gzip file is damaged")

    def test_faults(self):
        self.path("empty").mkdir()
        self.assert_message(self.expect(3, "report", "empty"), "no HLO text")
        result = self.expect(3, "report", "empty", "--diagnostics=json")
        self.assertIn("no HLO text", json.loads(result.err)["message"])
        self.expect(3, "report", "missing/")
        self.assert_message(self.expect(2, "report", "dump", "--csv=x"), "--csv takes one file")
        self.expect(2, "report", "dump", "--memory-model=x")
        self.expect(4, "report", "dump", "-q", "--json=/nonexistent/x")


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
            (["input.hlo", "after.hlo", "--baseline=x"], "--baseline takes one file"),
            (["input.hlo", "after.hlo", "--write-baseline=x"], "--write-baseline takes one"),
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
        lines = [json.loads(line) for line in self.expect(1, *args).err.splitlines()]
        self.assertEqual([line["severity"] for line in lines].count("warning"), 1)

    def test_copies(self):
        """The state of the loop begins in a constant, which XLA has to copy."""
        warning = "reads of overwritten memory in the module itself"
        for when, count in (("auto", 1), ("inserted", 1), ("pending", 0)):
            with self.subTest(when):
                result = self.expect(0, "check", "input.hlo", "--max-peak=1MiB", f"--copies={when}")
                self.assertEqual(result.err.count(warning), count)


class Width(ReportTest):
    def widest(self, **env):
        out = self.expect(0, "report", SAMPLE, env=env).out
        body = out.split("made of", 1)[1]
        return max(len(line) for line in body.splitlines())

    def test_columns(self):
        self.assertLessEqual(self.widest(), 80)
        for columns in (60, 100, 120):
            self.assertLessEqual(self.widest(COLUMNS=str(columns)), columns)
        self.assertGreater(self.widest(COLUMNS="200"), 80)
        self.assertLessEqual(self.widest(COLUMNS="wide"), 80)
        self.expect(0, "report", SAMPLE, env={"COLUMNS": "1"})

    def in_terminal(self, columns, **env):
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        process = self.start(
            "report", "input.hlo", stdout=follower, env={"TERM": "xterm", "NO_COLOR": "", **env}
        )
        os.close(follower)
        text = b""
        try:
            while chunk := os.read(leader, 4096):
                text += chunk
        except OSError:
            pass
        os.close(leader)
        process.stderr.close()
        self.assertEqual(process.wait(), 0)
        return text.decode()

    def test_colour_is_for_terminals(self):
        self.assertNotIn("\033", self.expect(0, "report", "input.hlo").out)
        self.assertIn("\033[1m", self.in_terminal(70))
        self.assertNotIn("\033", self.in_terminal(70, NO_COLOR="1"))
        self.assertNotIn("\033", self.in_terminal(70, TERM="dumb"))

    def test_terminals_have_a_width(self):
        body = self.in_terminal(60, NO_COLOR="1").split("made of", 1)[1]
        self.assertLessEqual(max(map(len, body.splitlines())), 60)

    def test_control_characters_do_not_reach_the_terminal(self):
        text = self.read("input.hlo").replace("jvp(block_0)", "jvp(\\033[31m)")
        self.write("escape.hlo", text)
        self.assertNotIn("\033", self.expect(0, "report", "escape.hlo").out)


if __name__ == "__main__":
    tool.main()
