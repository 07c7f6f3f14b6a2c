"""Figures for programs: each command that prints figures has --json and --csv, with the same in both."""

import csv
import io
import json

import tool
from tool import ToolTest

RANGES = "id,lower,upper,size\na,0,4,16\nb,2,6,32\nc,5,9,8\n"


class Tables(ToolTest):
    def setUp(self):
        super().setUp()
        self.golden("recompute")
        self.write("in.csv", RANGES)
        self.expect(0, "input.hlo", "--mem-limit=14KiB", "--small-node-limit=0", "-q", "-o", "after.hlo")

    def rows(self, *args, code=0):
        """The rows of both forms, which must agree; what people see goes elsewhere, or nowhere."""
        table = self.expect(code, *args, "--csv=-")
        quiet = self.expect(code, *args, "--csv=-", "-q")
        self.assertGreater(len(table.err), len(quiet.err))
        self.assertEqual(len(table.out.splitlines()), len(quiet.out.splitlines()))
        rows = list(csv.DictReader(io.StringIO(table.out)))
        objects = json.loads(self.expect(code, *args, "--json=-", "-q").out)
        objects = objects if isinstance(objects, list) else [objects]
        self.assertEqual(len(rows), len(objects))
        for row, item in zip(rows, objects):
            self.assertEqual(list(row), list(item))
            for name in set(row) - {"seconds"}:  # of the clock
                told = item[name]
                text = "" if told is None else str(told).lower() if isinstance(told, bool) else str(told)
                self.assertEqual(row[name], text)
        return objects

    def test_every_command_that_prints_figures(self):
        for command in ("remat", "report", "compare", "verify", "check", "pack", "cost", "calibrate", "list"):
            options = self.expect(0, "list", f"--options={command}").out.split()
            self.assertLessEqual({"--json=", "--csv=", "--quiet"}, set(options), command)

    def test_verify(self):
        (row,) = self.rows("verify", "input.hlo", "after.hlo")
        self.assertEqual(row, {"before": "input.hlo", "after": "after.hlo", "equivalent": True, "reason": None})
        self.golden("fusions", to="other.hlo")
        (row,) = self.rows("verify", "input.hlo", "other.hlo", code=1)
        self.assertFalse(row["equivalent"])
        self.assertIn(row["reason"], self.expect(1, "verify", "input.hlo", "other.hlo").err)

    def test_pack(self):
        (row,) = self.rows("pack", "in.csv", "-o", "out.csv")
        self.assertEqual((row["input"], row["buffers"], row["height_bytes"]), ("in.csv", 3, 48))
        self.assertEqual((row["lower_bound_bytes"], row["heaps"]), (48, None))
        (row,) = self.rows("pack", "in.csv", "-o", "out.csv", "--heap-limit=40")
        self.assertEqual((row["heap_limit_bytes"], row["heaps"]), (40, 2))
        self.assert_message(self.expect(2, "pack", "in.csv", "--csv=-"), "only one output can go to stdout")
        self.assert_message(self.expect(2, "pack", "in.csv", "-o", "x", "--csv=x"), "same name")

    def test_list(self):
        rows = self.rows("list")
        names = self.expect(0, "list", "--names=lists").out.split()
        self.assertEqual(sorted({row["list"] for row in rows}), sorted(set(names) - {"lists"}))
        (row,) = [row for row in rows if row["name"] == "peak-priority"]
        self.assertEqual((row["list"], row["option"]), ("algorithms", "--algorithm"))
        self.assertIn(f"  {row['name']:21}  {row['summary']}\n", self.expect(0, "list").out)
        devices = json.loads(self.expect(0, "list", "--names=devices", "--json=-").out)
        self.assertEqual([row["name"] for row in devices], self.expect(0, "list", "--names=devices").out.split())
        self.assert_message(self.expect(2, "list", "--options=list", "--json=-"), "not of options")
        self.assert_message(self.expect(2, "list", "--names=list", "--json=-"), "no list of 'list'")

    def test_names_for_shells(self):
        described = self.expect(0, "list", "--names=models", "--describe").out.splitlines()
        self.assertEqual([line.split("\t")[0] for line in described],
                         self.expect(0, "list", "--names=models").out.split())
        self.assertTrue(all(line.split("\t")[1] for line in described))
        for option, words in (("--protect", "auto none control-deps opt-barrier conditional"),
                              ("--unfuse=", "loop input output all shared"), ("emit", "scheduled unscheduled"),
                              ("--quiet", ""), ("-o", "")):
            self.assertEqual(self.expect(0, "list", f"--values={option}").out.split(), words.split())
        self.assertIn("path", self.expect(0, "list", "--values=-a").out.split())
        self.assert_message(self.expect(2, "list", "--values=--protekt"), "there is no option '--protekt'")

    def test_check(self):
        self.write("bad.hlo", "HloModule")
        args = "check", "input.hlo", "after.hlo", "bad.hlo", "--max-peak=14KiB"
        rows = list(csv.DictReader(io.StringIO(self.expect(3, *args, "--csv=-").out)))
        modules = json.loads(self.expect(3, *args, "--json=-").out)["modules"]
        self.assertEqual([row["input"] for row in rows], list(args[1:4]))
        for row, module in zip(rows, modules, strict=True):
            for name in set(row) & set(module):
                told = module[name]
                text = "" if told is None else str(told).lower() if isinstance(told, bool) else str(told)
                self.assertEqual(row[name], text, name)
        self.assertEqual([row["is_over_max_peak"] for row in rows], ["true", "false", "false"])

    def test_folder(self):
        args = "report", ".", "--min-peak=0", "-q"
        rows = list(csv.DictReader(io.StringIO(self.expect(0, *args, "--csv=-").out)))
        modules = json.loads(self.expect(0, *args, "--json=-").out)
        self.assertEqual([(row["input"], int(row["peak_bytes"])) for row in rows],
                         [(module["input"], module["peak_bytes"]) for module in modules])
        self.assertEqual(len(rows), 2)

    def test_difference(self):
        args = "report", "input.hlo", "after.hlo"
        rows = list(csv.DictReader(io.StringIO(self.expect(0, *args, "--csv=-", "-q").out)))
        summary = json.loads(self.expect(0, *args, "--json=-", "-q").out)
        for by in ("source", "op_name", "category", "opcode"):
            ours = [row for row in rows if row["by"] == by]
            theirs = summary[f"by_{by}"]
            self.assertEqual(len(ours), len(theirs))
            for row, item in zip(ours, theirs):
                for name in ("before_bytes", "after_bytes", "before_values", "after_values"):
                    self.assertEqual(int(row[name]), item[name])
        self.assertTrue(rows)


class WithoutArguments(ToolTest):
    def test_what_there_is_in_16_lines(self):
        result = self.expect(2)
        self.assertEqual(result.out, "")
        self.assertLessEqual(len(result.err.splitlines()), 16)
        for command in self.expect(0, "list", "--names=commands").out.split():
            self.assertIn(f"  {command} ", result.err)
        self.assertIn("--help", result.err)


if __name__ == "__main__":
    tool.main()
