#!/usr/bin/env python3
"""`compare` on the command line. usage: test_compare.py TOOL [CLASS...]"""

import csv
import html
import io
import json
import os
import re
import shutil
import signal
import xml.etree.ElementTree as ElementTree

import tool
from tool import SAMPLES, ToolTest

SAMPLE = SAMPLES / "mobilenet.after_optimizations.hlo"
UNSCHEDULED = SAMPLES / "mobilenet.before_optimizations.hlo"
PAIRS = "--schedulers=input,default", "--algorithms=standard,path"
KEYS = """input input_hash module version memory_model limit_counts target profile settings budget
    scheduler algorithm limit_bytes peak_before_bytes peak_scheduled_bytes lower_bound_bytes
    lower_bound_instruction
    instructions_before flops_weighted_before bytes_accessed_weighted_before times
    estimated_seconds_before seconds_before peak_after_bytes met removed estimated_seconds_after seconds_after added_seconds overhead flops_weighted_after
    bytes_accessed_weighted_after instructions_after rematerialized moved cpu_seconds""".split()


def without_times(lines):
    return [{key: line[key] for key in line if key != "cpu_seconds"} for line in lines]


class CompareTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.golden("recompute")

    def lines(self, name="runs.jsonl"):
        return [json.loads(line) for line in self.read(name).splitlines()]

    def compare(self, *args, code=0, **kwargs):
        """The lines of a comparison."""
        out = self.expect(code, "compare", *args, "--quiet", "--json=-", **kwargs).out
        return [json.loads(line) for line in out.splitlines()]


class Heading(CompareTest):
    def test_a_warning_is_printed_once(self):
        """Each scheduler reads the module that it is about."""
        self.golden("while_loop")
        err = self.expect(0, "compare", "input.hlo", "--budgets=min", "--algorithms=path,standard",
                          "--schedulers=input,default,bfs", "--copies=inserted").err
        self.assertEqual(err.count("overwritten memory"), 1)

    def test_the_bound_has_its_cause(self):
        args = "--budgets=90%", "--algorithms=path", "--schedulers=input"
        out = self.expect(0, "compare", SAMPLE, *args).out
        report = json.loads(self.expect(0, "report", SAMPLE, "--json=-").out)
        cause = report["lower_bound_instruction"]
        self.assertRegex(out, rf"lower bound [0-9.]+ MiB, by {re.escape(cause)}\n")
        line, = self.compare(SAMPLE, *args)
        self.assertEqual(line["lower_bound_instruction"], cause)

    def test_a_bound_of_no_single_instruction(self):
        self.write("one.hlo", "HloModule one, is_scheduled=true\nENTRY e {\n"
                   "  ROOT p = f32[1024] parameter(0)\n}\n")
        for model, cause in ("heap", "the parameters and outputs"), ("xla-remat", "the outputs"):
            out = self.expect(0, "compare", "one.hlo", "--budgets=min", "--algorithms=none",
                              f"--memory-model={model}").out
            self.assertRegex(out, f"lower bound [0-9.]+ K?i?B, by {cause}\n")


class Compare(CompareTest):
    def test_what_is_run(self):
        algorithms = self.expect(0, "list", "--names=algorithms").out.split()
        schedulers = self.expect(0, "list", "--names=schedulers").out.split()
        lines = self.compare("input.hlo")
        for_padding = {"compress", "standardcompress"}
        others = {"none", "auto", "optimal", "path-compat", "checkpoint=collection"}
        usual = set(algorithms) - others - for_padding
        self.assertEqual({line["algorithm"] for line in lines}, usual)
        best = "best" if "best" in schedulers else "default"
        self.assertEqual({line["scheduler"] for line in lines}, {"input", best})
        lines = self.compare("input.hlo", "--target=tpu", "--schedulers=input")
        self.assertEqual({line["algorithm"] for line in lines}, usual | for_padding)
        lines = self.compare("input.hlo", "--algorithms=compress,path", "--schedulers=input")
        self.assertEqual({line["algorithm"] for line in lines}, {"compress", "path"})

    def test_lines(self):
        lines = self.compare(SAMPLE, *PAIRS)
        self.assertEqual(len(lines), 4 * 2 * 2)
        for line in lines:
            self.assertEqual(list(line), KEYS)
        order = [(line["budget"], line["scheduler"], line["algorithm"]) for line in lines]
        self.assertEqual(
            order,
            [
                (budget, scheduler, algorithm)
                for budget in ("r90%", "r70%", "r50%", "r30%")
                for scheduler in ("input", "default")
                for algorithm in ("standard", "path")
            ],
        )

    def test_figures_are_those_of_remat(self):
        options = "--budgets=r60%,40MiB,min", "--schedulers=input,dfs", "--algorithms=standard,path"
        for line in self.compare(SAMPLE, *options, "--memory-model=xla-remat"):
            with self.subTest(line):
                summary = self.json(
                    SAMPLE,
                    f"-s{line['scheduler']}",
                    f"-a{line['algorithm']}",
                    f"-m{line['budget']}",
                    "--memory-model=xla-remat",
                    code=0 if line["met"] else 1,
                )
                for key in summary.keys() & set(KEYS):
                    if isinstance(summary[key], float):
                        self.assertAlmostEqual(line[key], summary[key], places=12)
                    else:
                        self.assertEqual(line[key], summary[key], key)
                before, after = line["seconds_before"], line["seconds_after"]
                self.assertAlmostEqual(line["added_seconds"], after - before, places=15)
                reducible = line["peak_before_bytes"] - line["lower_bound_bytes"]
                removed = line["peak_before_bytes"] - line["peak_after_bytes"]
                self.assertAlmostEqual(line["removed"], removed / reducible, places=12)

    def test_jobs_change_nothing(self):
        files = SAMPLE, UNSCHEDULED, "input.hlo", *PAIRS
        few, many = self.compare(*files, "--jobs=1"), self.compare(*files, "-j4")
        self.assertEqual(without_times(few), without_times(many))
        env = {"COLUMNS": "80"}  # without the times that runs took
        tables = [self.expect(0, "compare", *files, f"-j{jobs}", env=env) for jobs in (1, 4)]
        self.assertEqual(*[(table.out, table.err) for table in tables])

    def test_csv_has_the_same(self):
        result = self.expect(
            0, "compare", SAMPLE, "input.hlo", "--csv=runs.csv", "--json=runs.jsonl", "--quiet"
        )
        self.assertEqual(result.out, "")
        rows = list(csv.DictReader(io.StringIO(self.read("runs.csv"))))
        self.assertEqual(list(rows[0]), KEYS)
        lines = self.lines()
        self.assertEqual(len(rows), len(lines))
        for row, line in zip(rows, lines):
            for key, value in line.items():
                if isinstance(value, (bool, str)):
                    self.assertEqual(row[key], str(value).lower() if value in (0, 1) else value)
                elif value is None:
                    self.assertEqual(row[key], "")
                else:
                    self.assertEqual(float(row[key]), value, key)

    def test_names_are_taken_once(self):
        options = "--algorithms=path,none,path", "--schedulers=list", "--budgets=min,min"
        lines = self.compare(SAMPLE, *options)
        self.assertEqual([line["algorithm"] for line in lines], ["path", "none"])

    def test_input_is_for_scheduled_modules(self):
        result = self.expect(0, "compare", UNSCHEDULED, "--budgets=r50%")
        self.assertNotIn("note: ", result.err)
        err = self.in_terminal("compare", UNSCHEDULED, "--budgets=r50%")
        self.assertIn(b"note: the module is taken as unscheduled", err)
        for options in ([UNSCHEDULED], [SAMPLE, "--ignore-schedule"]):
            schedulers = {line["scheduler"] for line in self.compare(*options, *PAIRS)}
            self.assertEqual(schedulers, {"default"})

    def test_settings(self):
        line = self.compare("input.hlo", "--budgets=min", "--path-depth=3", "--copies=pending")[0]
        self.assertEqual(line["settings"], "copies=2 path_depth=3")
        line = self.compare("input.hlo", "--budgets=min", "--clone-callees")[0]
        self.assertEqual(line["settings"], "clone_callees=1")
        line = self.compare("input.hlo", "--budgets=min", "--heap-limit=4KiB")[0]
        self.assertEqual(line["settings"], "heap_limit=4096")
        line = self.compare(
            "input.hlo",
            "--budgets=min",
            "--block-factor=2",
            *("--pin=^a", "--pin=b$", "--never=c", "--cost-of=^d$:flops=5"),
        )[0]
        self.assertEqual(
            line["settings"], "block_factor=2 pin=^a pin=b$ never=c cost_of=^d$:flops=5"
        )
        self.assertEqual(self.compare("input.hlo", "--budgets=min")[0]["settings"], "")
        line = self.compare("input.hlo", "--target=tpu", "--device=h100-sxm")[0]
        self.assertEqual((line["target"], line["profile"]), ("tpu", "h100-sxm"))

    def test_folder(self):
        self.path("dump/host_1").mkdir(parents=True)
        shutil.copy(SAMPLE, self.path("dump/module_0001.a.after_optimizations.txt"))
        shutil.copy(UNSCHEDULED, self.path("dump/module_0001.a.before_optimizations.txt"))
        shutil.copy(self.path("input.hlo"), self.path("dump/host_1/b.hlo"))
        args = "dump", "input.hlo", "--budgets=r50%"
        names = {line["input"] for line in self.compare(*args, "--min-peak=0")}
        chosen = {"dump/host_1/b.hlo", "dump/module_0001.a.after_optimizations.txt", "input.hlo"}
        self.assertEqual(names, chosen)

    def test_small_modules_of_folders_are_left_out(self):
        self.path("dump").mkdir()
        shutil.copy(SAMPLE, self.path("dump/module_0001.jit_a.after_optimizations.txt"))
        for number in range(3):
            shutil.copy(self.path("input.hlo"), self.path(f"dump/small_{number}.hlo"))
        args = "compare", "dump", "input.hlo", *PAIRS, "--budgets=r50%"
        result = self.expect(0, *args)
        self.assertIn("left out: 3 modules with peaks below 1.00 MiB", result.out)
        self.assertEqual(result.err, "")
        inputs = lambda *more: [line["input"] for line in self.compare(*args[1:], *more)]
        sample, all_files = "dump/module_0001.jit_a.after_optimizations.txt", set(inputs("--min-peak=0"))
        self.assertEqual(set(inputs()), {sample, "input.hlo"})
        self.assertEqual(len(all_files), 5)
        self.assertEqual(set(inputs("--min-peak=1MiB")), {sample})
        self.assertEqual(set(inputs("--module=jit_mobile*")), {sample})
        self.assertEqual(inputs("--min-peak=1TiB"), [])
        result = self.expect(3, *args, "--module=small_*")
        self.assert_message(result, "no module's name matches 'small_*'")
        text = SAMPLE.read_bytes()
        lines = self.compare("-", "--module=x", "--budgets=r50%", stdin=text)
        self.assertEqual(lines[0]["input"], "<stdin>")

    def test_stdin(self):
        text = SAMPLE.read_bytes()
        result = self.expect(0, "compare", "-", "--budgets=r50%", "-q", "--json=-", stdin=text)
        self.assertEqual(json.loads(result.out.splitlines()[0])["input"], "<stdin>")


class CompareTable(CompareTest):
    def table(self, *args, columns=80):
        out = self.expect(0, "compare", *args, env={"COLUMNS": str(columns)}).out
        self.assertLessEqual(max(map(len, out.splitlines())), columns)
        return out

    def test_width(self):
        narrow, wide = self.table(SAMPLE), self.table(SAMPLE, columns=140)
        for title in "budget scheduler algorithm peak met removed time".split():
            self.assertIn(title, narrow)
        for title in "bytes instr. took".split():
            self.assertIn(title, wide)
        self.assertNotIn("took", narrow)
        result = self.expect(2, "compare", SAMPLE, "--algorithms=path,checkpoint=collection")
        self.assert_message(result, "checkpoint=collection needs patterns")
        self.table(SAMPLE, columns=60)

    def test_small_results(self):
        self.golden("recompute", to="small.hlo")
        args = "small.hlo", "--budgets=min", "--algorithms=path,standard"
        self.assertIn("results of at most 1.00 MiB are not looked at", self.table(*args))
        self.assertNotIn("looked at", self.table(*args, "--small-node-limit=0"))

    def test_page(self):
        """What man/comparison.md shows is what scripts/update-golden.sh has written."""
        shown = (tool.GOLDEN / "compare" / "samples.out").read_text().replace("hlo_samples/", "")
        text = "".join(f"    {line}" if line.strip() else line for line in shown.splitlines(True))
        self.assertIn(text, (tool.ROOT / "man" / "comparison.md").read_text())

    def test_best_of_each_budget(self):
        table = self.table(SAMPLE, *PAIRS).splitlines()
        marked = [line.split()[1:4] for line in table if line[:4] == "  * "]
        lines = self.compare(SAMPLE, *PAIRS)
        for budget, scheduler, algorithm in marked[:-1]:
            runs = [line for line in lines if line["budget"] == budget]
            met = [line for line in runs if line["met"]]
            (best,) = (
                line
                for line in runs
                if (line["scheduler"], line["algorithm"]) == (scheduler, algorithm)
            )
            if met:
                least = min(line["added_seconds"] for line in met)
                self.assertAlmostEqual(best["added_seconds"], least, places=12)
            else:
                least = min(line["peak_after_bytes"] for line in runs)
                self.assertEqual(best["peak_after_bytes"], least)
        self.assertEqual([row[0] for row in marked[:-1]], ["r90%", "r70%", "r50%", "r30%"])

    def test_totals(self):
        out = self.table(SAMPLE, UNSCHEDULED, *PAIRS).split("all files")[1]
        rows = [line.split() for line in out.splitlines()[3:7]]
        self.assertEqual([row[2] for row in rows], ["4", "4", "8", "8"])
        ties = re.search(r"(\d+) times? several runs were equally good", out)
        num_ties = int(ties[1]) if ties else 0
        self.assertEqual(sum(int(row[4]) for row in rows) + num_ties, 8)

    def test_a_tie_counts_for_nobody(self):
        """Nothing can be done with these two: every algorithm leaves them as they are."""
        self.golden("recompute", to="small.hlo")
        self.golden("recompute", to="other.hlo")
        out = self.table("small.hlo", "other.hlo", "--algorithms=path,standard", "--schedulers=input",
                         "--budgets=r90%,r50%")
        self.assertIn("  4 times several runs were equally good: these count for none", out)
        rows = [line.split() for line in out.split("all files")[1].splitlines()[3:5]]
        self.assertEqual([row[4] for row in rows], ["0", "0"])

    def test_table_goes_where_results_do_not(self):
        result = self.expect(0, "compare", "input.hlo", "--csv=-")
        self.assertTrue(result.out.startswith("input,input_hash"))
        self.assertIn("budget", result.err)
        self.assertEqual(self.expect(0, "compare", "input.hlo", "-q").out, "")

    def test_progress(self):
        self.assertEqual(self.expect(0, "compare", SAMPLE, *PAIRS).err, "")
        err = self.expect(0, "compare", SAMPLE, *PAIRS, "--progress", "-q").err.splitlines()
        self.assertEqual(len(err), 16)
        self.assertIn("[16 of 16, 0 s left] r30% default path", err[-1])

    def test_progress_in_a_terminal(self):
        text = self.in_terminal("compare", SAMPLE, *PAIRS, "--csv=runs.csv")
        self.assertIn(b"[1 of 16", text)
        self.assertTrue(text.endswith(b"\r\033[K"), text[-40:])


class CompareBest(CompareTest):
    def test_best_is_what_remat_writes(self):
        for budget in ("r50%", "min"):
            result = self.expect(
                0, "compare", SAMPLE, f"--budgets={budget}", "--best", "--effort=2", "-o", "best.hlo"
            )
            self.assertIn("wrote best.hlo", result.out)
            row = [line for line in result.out.splitlines() if line[:4] == "  * "][0].split()
            self.expect(
                0, SAMPLE, f"-m{budget}", f"-s{row[2]}", f"-a{row[3]}", "--effort=2", "-o", "same.hlo", "-q"
            )
            self.assertEqual(self.read("best.hlo"), self.read("same.hlo"))
            self.expect(0, "verify", SAMPLE, "best.hlo", "-q")

    def test_not_met(self):
        self.expect(1, "compare", SAMPLE, "--budgets=1KiB", "--best", "--effort=2", "-obest.hlo")
        self.assertIn("HloModule", self.read("best.hlo"))

    def test_stdout(self):
        result = self.expect(0, "compare", SAMPLE, "--budgets=r90%", "--best", "--effort=2", "-o-")
        self.assertIn("HloModule", result.out)
        self.assertIn("budget", result.err)

    def test_several(self):
        self.expect(
            0, "compare", SAMPLE, UNSCHEDULED, "--budgets=r90%", "--best", "--effort=2", "-oout/", "-q"
        )
        written = f"out/{SAMPLE.name}", f"out/{UNSCHEDULED.name}"
        self.assert_no_leftovers("input.hlo", "out", *written)

    def test_resumed(self):
        args = SAMPLE, *PAIRS, "--budgets=r50%", "--json=runs.jsonl", "--best", "--effort=2", "-obest.hlo", "-q"
        self.expect(0, "compare", *args)
        first = self.read("best.hlo")
        self.path("best.hlo").unlink()
        self.expect(0, "compare", *args, "--resume")
        self.assertEqual(self.read("best.hlo"), first)
        self.assertEqual(len(self.lines()), 4)


class CompareResume(CompareTest):
    def resume(self, *args, files=(SAMPLE,), code=0):
        outputs = "--json=runs.jsonl", "--resume", "--csv=runs.csv"
        return self.expect(code, "compare", *files, *PAIRS, *args, *outputs)

    def test_nothing_is_run_again(self):
        first = self.resume().out
        lines, table = self.read("runs.jsonl"), self.read("runs.csv")
        self.assertEqual(self.resume().out, first)
        self.assertEqual(self.read("runs.jsonl"), lines)
        self.assertEqual(self.read("runs.csv"), table)  # processor times, too

    def test_what_is_missing_is_run(self):
        self.resume()
        lines = self.read("runs.jsonl").splitlines(True)
        self.write("runs.jsonl", "".join(lines[5:9]))
        self.resume()
        again = self.read("runs.jsonl").splitlines(True)
        self.assertEqual(again[:4], lines[5:9])
        parsed = [json.loads(line) for line in lines[:5] + lines[9:]]
        self.assertEqual(without_times(self.lines()[4:]), without_times(parsed))

    def test_half_a_line(self):
        self.resume()
        text = self.read("runs.jsonl")
        for cut in (1, 2, 200, len(text.splitlines(True)[-1]) - 1):
            with self.subTest(cut):
                self.write("runs.jsonl", text[:-cut])
                self.assertIn("note: ", self.resume().err)
                self.assertEqual(len(self.lines()), 16)
        self.write("runs.jsonl", "")
        self.assertEqual(self.resume().err, "")
        self.assertEqual(len(self.lines()), 16)

    def test_other_runs_are_others(self):
        args = "--budgets=r50%", "--algorithms=path", "--schedulers=input"
        shutil.copy(SAMPLE, self.path("a.hlo"))
        count = 0
        for more in (
            [],
            ["--memory-model=liveness"],
            ["--target=gpu"],
            ["--device=cpu"],
            ["--path-depth=3"],
            ["--limit-counts=temp"],
            ["--unfuse=loop"],
        ):
            for _ in range(2):
                self.resume(*args, *more, files=["a.hlo"])
            count += 1
            self.assertEqual(len(self.lines()), count, more)
        shutil.copy(SAMPLES / "resnet.after_optimizations.hlo", self.path("a.hlo"))
        self.resume(*args, files=["a.hlo"])
        self.assertEqual(len(self.lines()), count + 1)

    def test_it_begins_anew_with_overwrite(self):
        self.resume()
        args = "compare", "input.hlo", "--budgets=min", "--json=runs.jsonl", "-q"
        self.expect(0, *args, "--overwrite")
        self.assertEqual({line["input"] for line in self.lines()}, {"input.hlo"})
        self.expect(0, *args, "--overwrite", "--json=new.jsonl")
        self.assertEqual(len(self.lines("new.jsonl")), len(self.lines()))

    def test_runs_are_not_thrown_away_without_being_told(self):
        self.resume()
        text, table = self.read("runs.jsonl"), self.read("runs.csv")
        self.path("link.jsonl").symlink_to("runs.jsonl")
        for name in ("runs.jsonl", "./runs.jsonl", "link.jsonl"):
            with self.subTest(name):
                args = "input.hlo", f"--json={name}", "--csv=runs.csv", "--pareto=p.svg"
                result = self.expect(2, "compare", *args)
                self.assert_message(result, f"'{name}'", "--resume", "--overwrite")
                self.assertEqual(result.out, "")
                self.assertEqual((self.read("runs.jsonl"), self.read("runs.csv")), (text, table))
                self.assertNotIn("p.svg", self.names())

    def test_only_files_with_something_in_them_are_kept(self):
        args = "compare", "input.hlo", "--budgets=min", "-q"
        self.write("empty.jsonl", "")
        self.expect(0, *args, "--json=empty.jsonl")
        count = len(self.lines("empty.jsonl"))
        self.assertGreater(count, 0)
        for _ in range(2):
            self.expect(0, *args, "--json=/dev/null")
            self.assertEqual(len(self.compare("input.hlo", "--budgets=min")), count)
        os.mkfifo(self.path("pipe"))
        for _ in range(2):
            process = self.start(*args, "--json=pipe")
            self.assertEqual(len(self.lines("pipe")), count)
            process.communicate(timeout=tool.TIMEOUT_SECONDS)
            self.assertEqual(process.returncode, 0)

    def test_stdout_is_added_to(self):
        for name in ("-", "/dev/stdout"):
            with self.subTest(name), open(self.path("out"), "a") as out:
                self.write("out", "before\n")
                args = "compare", "input.hlo", "--budgets=min", "-q", f"--json={name}"
                self.expect(0, *args, stdout=out)
                self.assertTrue(self.read("out").startswith('before\n{"input":'))

    def test_nothing_is_lost_to_a_mistake(self):
        self.resume()
        text = self.read("runs.jsonl")
        for args in (["missing.hlo"], [SAMPLE, "--budgets=x"]):
            for more in (["--overwrite"], []):
                code = 3 if args == ["missing.hlo"] and more else 2
                self.expect(code, "compare", *args, *more, "--json=runs.jsonl")
                self.assertEqual(self.read("runs.jsonl"), text)

    def test_files_of_others_are_refused(self):
        for text in ("notes\n", "notes", '{"a": 1}\n', '{"input": 1}\n', "{}", "\n", "[" * 5000):
            with self.subTest(text):
                self.write("runs.jsonl", text)
                self.assert_message(self.resume(code=3), "runs.jsonl", "line 1 is no run")
                self.assertEqual(self.read("runs.jsonl"), text)


class CompareFaults(CompareTest):
    def test_usage(self):
        for args, says in (
            ([], "needs a file"),
            (["--algorithms=pth"], "--algorithms: there is no 'pth'; did you mean 'path'?"),
            (["--algorithms="], "--algorithms takes"),
            (["--algorithms=path,"], "there is no ''"),
            (["--schedulers=auto"], "--schedulers: there is no 'auto'"),
            (["--budgets=r90%,much"], "not 'much'"),
            (["--budgets=,"], "not ''"),
            (["--memory-model=x"], "--memory-model: there is no 'x'"),
            (["--target=x"], "--target: there is no 'x'"),
            (["--device=x"], "there is no device"),
            (["--jobs=0"], "--jobs takes"),
            (["--resume"], "--json=FILE"),
            (["--resume", "--json=-"], "--json=FILE"),
            (["--best", "--budgets=min"], "-o OUT"),
            (["--overwrite"], "--json=FILE"),
            (["--overwrite", "--resume", "--json=x"], "give one of them"),
            (["-o", "x"], "--best"),
            (["-o", "x", "--best"], "one budget"),
            (["-o", "x", "--best", "--budgets=min,r50%"], "one budget"),
            (["input.hlo", "-o", "x", "--best", "--budgets=min"], "-o FOLDER/"),
            (["--json=-", "--csv=-"], "stdout"),
            (["--json=x", "--pareto=x"], "same name"),
            (["--csv=x", "--pareto=./x"], "same name"),
            (["--mem-limit=1GiB"], "there is no option"),
        ):
            with self.subTest(args):
                files = ["input.hlo"] if says != "needs a file" else []
                self.assert_message(self.expect(2, "compare", *files, *args), says)
                self.assert_no_leftovers("input.hlo")

    def test_others_are_done(self):
        self.write("bad.hlo", "HloModule x\nnonsense\n")
        files = "bad.hlo", "input.hlo", "missing.hlo", SAMPLE
        result = self.expect(3, "compare", *files, "--json=runs.jsonl", "--pareto=p.svg")
        self.assert_message(result, "bad.hlo:3:1", "missing.hlo: error")
        self.assertEqual({line["input"] for line in self.lines()}, {"input.hlo", str(SAMPLE)})
        self.assertIn("all files", result.out)
        self.assertEqual(self.expect(3, "compare", "bad.hlo").out, "")

    def test_folders(self):
        self.path("empty").mkdir()
        self.assert_message(self.expect(3, "compare", "empty"), "no HLO text in it")
        lines = self.compare("empty", "input.hlo", *PAIRS, "--budgets=r50%", code=3)
        self.assertEqual(len(lines), 4)

    def test_unwritable(self):
        for option in ("--json", "--csv", "--pareto"):
            with self.subTest(option):
                result = self.expect(4, "compare", SAMPLE, f"{option}=none/x")
                self.assert_message(result, "none/x")
                self.assertEqual(result.out, "")
                self.assert_message(self.expect(4, "compare", "input.hlo", f"{option}=."), ".")
                self.assert_message(
                    self.expect(4, "compare", "input.hlo", f"{option}=/dev/full"), "/dev/full"
                )
        self.assert_no_leftovers("input.hlo")

    def test_closed_pipe(self):
        reader, writer = os.pipe()
        os.close(reader)
        process = self.start("compare", SAMPLE, "--json=-", "-q", stdout=writer)
        os.close(writer)
        self.assertEqual(process.communicate()[1], b"")
        self.assertEqual(process.returncode, 0)

    def test_out_of_memory(self):
        result = self.expect(4, "compare", SAMPLE, "--max-memory=100KiB", "--csv=runs.csv")
        self.assert_message(result, "out of memory")
        self.assert_no_leftovers("input.hlo")


class CompareSignals(CompareTest):
    NUM_BUDGETS = 700  # not all of them are done before a signal comes, however fast they are
    BUDGETS = "--budgets=" + ",".join(f"r{90 - i / 10:.1f}%" for i in range(NUM_BUDGETS))
    ARGS = SAMPLES / "gpt_unrolled.after_optimizations.hlo", BUDGETS, *PAIRS

    def interrupt(self, number, jobs):
        process = self.start(
            "compare", *self.ARGS, f"-j{jobs}", "--json=runs.jsonl", "--csv=runs.csv",
            "--pareto=runs.svg", "--resume",
        )
        path = self.path("runs.jsonl")
        size = path.stat().st_size if path.exists() else 0
        self.wait_for(lambda: path.exists() and path.stat().st_size > size, "no run was done")
        process.send_signal(number)
        out, err = process.communicate(timeout=tool.TIMEOUT_SECONDS)
        self.assertEqual(process.returncode, 128 + number, err)
        return out.decode(), err.decode()

    def test_without_a_log(self):
        process = self.start("compare", *self.ARGS, "-j1", "--progress")
        process.stderr.read(1)  # it has begun
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=tool.TIMEOUT_SECONDS)[1].decode()
        self.assertEqual(process.returncode, 128 + signal.SIGINT, err)
        self.assertIn("with --json=FILE runs are kept, and --resume goes on with them", err)

    def test_what_is_done_is_kept(self):
        count = 0
        for number, jobs in ((signal.SIGINT, 1), (signal.SIGTERM, 3), (signal.SIGHUP, 2)):
            out, err = self.interrupt(number, jobs)
            lines = self.lines()
            self.assertIn("the same command with --resume goes on with the runs in runs.jsonl", err)
            self.assertEqual(len(err.splitlines()), 1)
            self.assertGreater(len(lines), count)
            self.assertLess(len(lines), self.NUM_BUDGETS * 4)
            count = len(lines)
            rows = list(csv.DictReader(io.StringIO(self.read("runs.csv"))))
            self.assertEqual(len(rows), count)
            ElementTree.fromstring(self.read("runs.svg"))
            self.assertEqual(len([line for line in out.splitlines() if " MiB  " in line]), count)
            self.assert_no_leftovers("input.hlo", "runs.csv", "runs.jsonl", "runs.svg")


class ComparePareto(CompareTest):
    def test_svg(self):
        self.expect(0, "compare", SAMPLE, UNSCHEDULED, *PAIRS, "--pareto=p.svg", "-q")
        root = ElementTree.fromstring(self.read("p.svg"))
        space = "{http://www.w3.org/2000/svg}"
        texts = [text.text for text in root.iter(f"{space}text")]
        for text in (SAMPLE.name, UNSCHEDULED.name, "added modelled time, on a square-root scale", "lower bound",
                     "peak before", "r90%", "input, standard", "default, path", "Pareto front"):
            self.assertIn(text, texts)
        self.assertEqual(len(list(root.iter(f"{space}polyline"))), 4 + 2)
        markers = [mark.find(f"{space}title").text for mark in root.iter(f"{space}g")
                   if mark.find(f"{space}title") is not None]
        self.assertEqual(len(markers), 16 + 8)
        self.assertTrue(any(text.startswith("r70%, input, path: ") for text in markers))

    def test_front_is_not_beaten(self):
        """As many rings as runs that no other one beats in both."""
        self.expect(0, "compare", SAMPLE, *PAIRS, "--pareto=p.svg", "--json=runs.jsonl", "-q")
        points = {(line["peak_after_bytes"], round(line["overhead"], 9)) for line in self.lines()}
        front = [
            a for a in points if not any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in points)
        ]
        rings = self.read("p.svg").count('class="ring"')
        self.assertEqual(rings, len(front) + 1)  # and one of the legend

    def test_names_are_escaped(self):
        name = "<a&b>\x01.hlo"
        shutil.copy(SAMPLE, self.path(name))
        self.path(b"\xff.hlo".decode("utf-8", "surrogateescape"))
        self.expect(0, "compare", name, "--pareto=p.svg", "-q", "--budgets=min")
        ElementTree.fromstring(self.read("p.svg"))

    def test_page(self):
        self.expect(0, "compare", "input.hlo", "--pareto=p.html", "-q")
        text = self.read("p.html")
        self.assertTrue(text.startswith("<!DOCTYPE html>"))
        self.assertIn("</svg>", text)

    def test_page_describes_runs(self):
        """The marks of a page carry what its script shows; the SVG has titles instead."""
        self.expect(0, "compare", SAMPLE, *PAIRS, "--pareto=p.html", "--json=runs.jsonl", "-q")
        text = self.read("p.html")
        self.assertNotIn("<title>r70%", text)
        runs = [html.unescape(run).split("\n") for run in re.findall(r'data-run="([^"]*)"', text)]
        self.assertEqual(len(runs), 16)
        line = next(line for line in self.lines() if line["algorithm"] == "path")
        run = next(run for run in runs if run[0] == "path" and run[1] == f"scheduler: {line['scheduler']}" and
                   run[2].startswith(f"budget: {line['budget']}, "))
        self.assertEqual([fact.split(":")[0] for fact in run[1:]],
                         ["scheduler", "budget", "peak", "added time", "recomputed"])
        self.assertIn(f"({100 * line['overhead']:+.2f} %)", run[4])
        self.assertRegex(text, "default-src 'none'")
        for match in re.finditer(r'(?:src|href)="([^"]*)"', text):
            self.assertRegex(match[1], r"^data:,$")

    def draw_with(self, **values):
        """Draws the runs of the sample after values of one of them have been changed."""
        self.expect(0, "compare", SAMPLE, *PAIRS, "--json=runs.jsonl", "--overwrite", "-q")
        lines = self.lines()
        lines[3].update(values)
        self.write("runs.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        self.expect(0, "compare", "--merge", "runs.jsonl", "--pareto=p.svg", "-q")
        root = ElementTree.fromstring(self.read("p.svg"))
        space = "{http://www.w3.org/2000/svg}"
        marks = [mark.get("transform") for mark in root.iter(f"{space}g")
                 if mark.find(f"{space}title") is not None]
        places = [tuple(map(float, re.findall(r"[\d.]+", mark))) for mark in marks]
        clipped = [text.text for text in root.iter(f"{space}text") if "clipped" in text.get("class")]
        return places, clipped

    def test_extreme_runs_do_not_squeeze_the_others(self):
        plain, clipped = self.draw_with()
        self.assertEqual(clipped, [])
        for values, axis, value in (({"overhead": 50.0}, 1, "+5000 %"),
                                    ({"peak_after_bytes": 1 << 40}, 0, "1.00 TiB")):
            places, clipped = self.draw_with(**values)
            self.assertEqual(clipped, [value])
            spans = []
            for marks in (plain, places):
                others = [mark[axis] for i, mark in enumerate(marks) if i != 3]
                spans.append(max(others) - min(others))
            self.assertGreater(spans[1], 0.6 * spans[0], axis)

    def test_nothing_to_draw(self):
        self.write("bad.hlo", "nonsense")
        self.expect(3, "compare", "bad.hlo", "--pareto=p.svg", "--csv=p.csv")
        ElementTree.fromstring(self.read("p.svg"))
        self.assertEqual(self.read("p.csv").count("\n"), 1)


if __name__ == "__main__":
    tool.main()
