#!/usr/bin/env python3
"""Where the outputs of several inputs go. usage: test_places.py TOOL [CLASS...]"""

import gzip
import os
import re
import shutil

import tool
from tool import SAMPLES, ToolTest

NONE = "--scheduler=input", "--algorithm=none", "--quiet"
BEST = "--best", "--budgets=min", "--algorithms=path", "--schedulers=input", "--quiet"
NAMED_AFTER_MODULE = {
    "--dump-memlog": ["mem.recompute.log"],
    "--save-plan": ["plan.recompute.json"],
    "--svg": ["memory.recompute.svg"],
    "--perfetto": ["memory.recompute.json"],
}


class PlacesTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.put("host0/m.hlo")
        self.put("host1/m.hlo")

    def put(self, name, module="recompute"):
        """A module of this name in folders that are made."""
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        text = (tool.GOLDEN / "recompute" / "input.hlo").read_text()
        return self.write(name, text.replace("HloModule recompute", f"HloModule {module}"))

    def files(self, folder="out"):
        root = self.path(folder)
        found = [path for path in root.rglob("*") if path.is_file()]
        return sorted(path.relative_to(root).as_posix() for path in found)

    def write_to_out(self, *args, code=0, **kwargs):
        """What is in `out` then; it is removed."""
        result = self.expect(code, *args, *NONE, "-o", "out/", **kwargs)
        files = self.files()
        shutil.rmtree(self.path("out"), ignore_errors=True)
        return files, result

    def check_folders(self, option, *names):
        """What an option writes of modules in two folders."""
        folder = option.strip("-")
        self.expect(0, "host0/m.hlo", "host1/m.hlo", *NONE, f"{option}={folder}/")
        wanted = [f"{host}/{name}" for host in ("host0", "host1") for name in names]
        self.assertEqual(self.files(folder), wanted)

    def refuse(self, *args, says, what="would be written twice", **kwargs):
        """Before anything is written or read as a whole."""
        before = self.names()
        result = self.expect(2, *args, **kwargs)
        self.assert_message(result, what, *says)
        self.assertEqual(result.out, "")
        self.assertEqual(self.names(), before)
        self.assertEqual(len(result.err.splitlines()), 1, result)


class Mirrored(PlacesTest):
    """Folders of the inputs are found again below that of the outputs."""

    def test_same_names_in_two_folders(self):
        files, _ = self.write_to_out("host0/m.hlo", "host1/m.hlo")
        self.assertEqual(files, ["host0/m.hlo", "host1/m.hlo"])

    def test_what_was_written_is_told(self):
        result = self.expect(0, "host0/m.hlo", "host1/m.hlo", *NONE[:2], "-oout/")
        told = re.findall(r"wrote (.*)", result.out)
        self.assertEqual(told, ["out/host0/m.hlo", "out/host1/m.hlo"])
        for name in told:
            self.assertIn("HloModule recompute", self.read(name))

    def test_each_option_that_takes_a_folder(self):
        for option, names in NAMED_AFTER_MODULE.items():
            with self.subTest(option):
                self.check_folders(option, *names)

    def test_one_folder_changes_nothing(self):
        self.put("host0/n.hlo")
        for inputs in (
            ("host0/m.hlo", "host0/n.hlo"),
            ("host0/m.hlo", "./host1/../host0/n.hlo"),
            ("host0/m.hlo", self.path("host0/n.hlo")),
        ):
            with self.subTest(inputs):
                self.assertEqual(self.write_to_out(*inputs)[0], ["m.hlo", "n.hlo"])
        self.assertEqual(self.write_to_out("host0/m.hlo")[0], ["m.hlo"])

    def test_below_the_deepest_common_folder(self):
        self.put("job/a/x/m.hlo")
        self.put("job/a/m.hlo")
        self.put("job/ab/m.hlo")
        for inputs, wanted in (
            (["job/a/x/m.hlo", "job/a/m.hlo"], ["m.hlo", "x/m.hlo"]),
            (["job/a/m.hlo", "job/ab/m.hlo"], ["a/m.hlo", "ab/m.hlo"]),
            (["job/ab/m.hlo", "job/a/x/m.hlo"], ["a/x/m.hlo", "ab/m.hlo"]),
            (["job/a/x/m.hlo", "host0/m.hlo"], ["host0/m.hlo", "job/a/x/m.hlo"]),
        ):
            with self.subTest(inputs):
                self.assertEqual(self.write_to_out(*inputs)[0], wanted)

    def test_nothing_is_written_elsewhere(self):
        """Dots and links in the names of inputs lead out of no folder."""
        self.path("inside").mkdir()
        self.path("link").symlink_to("host1")
        shutil.copytree(self.path("host0"), self.path("inside/host2"))
        before = self.names()
        inputs = "inside/../host0/m.hlo", "inside/host2/../../link/m.hlo", "inside/host2/m.hlo"
        files, _ = self.write_to_out(*inputs)
        self.assertEqual(files, ["host0/m.hlo", "host1/m.hlo", "inside/host2/m.hlo"])
        self.assertEqual(self.names(), before)

    def test_a_link_to_a_file_is_where_it_stands(self):
        self.path("host0/link.hlo").symlink_to("../host1/m.hlo")
        files, _ = self.write_to_out("host0/m.hlo", "host0/link.hlo")
        self.assertEqual(files, ["link.hlo", "m.hlo"])

    def test_in_place(self):
        self.expect(0, "host0/m.hlo", "host1/m.hlo", "--algorithm=none", "-q", "-o", ".")
        self.expect(0, "host0/m.hlo", "--algorithm=none", "-q", "-o", "host0/m.hlo")
        self.assert_no_leftovers("host0", "host0/m.hlo", "host1", "host1/m.hlo")

    def test_stdin_has_its_own_name(self):
        text = self.path("host0/m.hlo").read_bytes()
        files, _ = self.write_to_out("host0/m.hlo", "-", "host1/m.hlo", stdin=text)
        self.assertEqual(files, ["<stdin>", "host0/m.hlo", "host1/m.hlo"])
        files, _ = self.write_to_out("host0/m.hlo", "-", stdin=text)
        self.assertEqual(files, ["<stdin>", "m.hlo"])

    def test_pipes_have_no_folder(self):
        text = self.path("host0/m.hlo").read_bytes()
        reader, writer = os.pipe()
        os.write(writer, text)
        os.close(writer)
        args = "host0/m.hlo", f"/dev/fd/{reader}", *NONE, "-o", "out/"
        process = self.start(*args, pass_fds=[reader])
        os.close(reader)
        self.assertEqual((process.communicate()[1], process.returncode), (b"", 0))
        self.assertEqual(self.files(), sorted(["m.hlo", str(reader)]))

    def test_missing_files_keep_nothing_from_being_done(self):
        for missing in ("host2/m.hlo", "host1/none.hlo", "none/../m.hlo"):
            with self.subTest(missing):
                files, result = self.write_to_out("host0/m.hlo", missing, code=3)
                self.assert_message(result, f"{missing}: error: No such file")
                in_host = missing.startswith("host1")
                self.assertEqual(files, ["host0/m.hlo" if in_host else "m.hlo"])

    def test_dry_run(self):
        files, _ = self.write_to_out("host0/m.hlo", "host1/m.hlo", "--dry-run")
        self.assertEqual(files, [])

    def test_folders_that_cannot_be_made(self):
        self.path("out").mkdir()
        self.write("out/host1", "a file")
        result = self.expect(4, "host0/m.hlo", "host1/m.hlo", *NONE, "-oout/")
        self.assert_message(result, "out/host1")
        self.assertEqual(self.files(), ["host0/m.hlo", "host1"])
        self.assertEqual(self.read("out/host1"), "a file")


class MirroredPages(PlacesTest):
    def test_folder(self):
        self.need("--html", "host0/m.hlo")
        self.check_folders("--html", "memory.recompute.html")


class MirroredGraphs(PlacesTest):
    def test_folder(self):
        self.need("--dump-dot", "host0/m.hlo")
        self.check_folders("--dump-dot", "before.recompute.dot", "remat.recompute.dot")


class MirroredBest(PlacesTest):
    """The same of `compare --best`."""

    def compare(self, *args, code=0):
        result = self.expect(code, "compare", *args, *BEST, "--min-peak=0", "-oout/")
        files = self.files()
        shutil.rmtree(self.path("out"))
        return files, result

    def test_files(self):
        files, _ = self.compare("host0/m.hlo", "host1/m.hlo")
        self.assertEqual(files, ["host0/m.hlo", "host1/m.hlo"])

    def test_what_was_written_is_told(self):
        result = self.expect(0, "compare", "host0/m.hlo", "host1/m.hlo", *BEST[:-1], "-oout/")
        told = re.findall(r"wrote (.*)", result.out)
        self.assertEqual(told, ["out/host0/m.hlo", "out/host1/m.hlo"])

    def test_what_is_in_a_folder_keeps_its_path(self):
        self.put("job/host0/module_0001.jit_f.after_optimizations.txt")
        name = "host0/module_0001.jit_f.after_optimizations.txt"
        for folder in ("job", "job/", "host0/../job/."):
            with self.subTest(folder):
                self.assertEqual(self.compare(folder)[0], [name])
        self.put("job/host1/module_0001.jit_f.after_optimizations.txt")
        self.assertEqual(self.compare("job")[0], [name, name.replace("host0", "host1")])

    def test_folders_and_files(self):
        shutil.copytree(self.path("host0"), self.path("job/host0"))
        files, _ = self.compare("job", "host0", "host1/m.hlo")
        self.assertEqual(files, ["host0/m.hlo", "host1/m.hlo", "job/host0/m.hlo"])

    def test_refused(self):
        for inputs in (
            ["host0/m.hlo", "host0/m.hlo"],
            ["host0", "host1/../host0/m.hlo"],
            ["host0", "./host0"],
        ):
            with self.subTest(inputs):
                args = *inputs, *BEST, "--json=runs.jsonl", "--csv=runs.csv", "-oout/"
                self.refuse("compare", *args, says=["'out/m.hlo'", "host0/m.hlo'"])

    def test_results_of_all_files(self):
        self.path("out").mkdir()
        for option in ("--json", "--csv", "--pareto"):
            with self.subTest(option):
                args = "host0/m.hlo", *BEST, "-oout/", f"{option}=./out/../out/m.hlo"
                self.refuse("compare", *args, says=["out/m.hlo'", option, "--output"])

    def test_twice_without_best(self):
        """Nothing is written for each: it is no more than done twice."""
        self.expect(0, "compare", "host0/m.hlo", "host0/m.hlo", *BEST[1:])


class TwoOutputsInOne(PlacesTest):
    def test_one_file_given_twice(self):
        self.path("link").symlink_to("host0")
        for other in ("host0/m.hlo", "./host0/m.hlo", "host1/../host0/m.hlo", "link/m.hlo",
                      str(self.path("host0/m.hlo"))):
            with self.subTest(other):
                says = ["'out/m.hlo'", "--output of 'host0/m.hlo'", f"--output of '{other}'"]
                self.refuse("host0/m.hlo", other, *NONE, "-o", "out/", says=says)

    def test_another_input(self):
        """A result of `host0/m.hlo` would be where `host0/sub/m.hlo` is, which is still to be read."""
        self.put("host0/sub/m.hlo")
        inputs = "host0/m.hlo", "host0/sub/m.hlo"
        for args in (inputs, inputs[::-1]):
            with self.subTest(args):
                self.refuse(*args, "-a", "none", "-ohost0/sub/",
                            what="is an input", says=["'host0/sub/m.hlo'", "of 'host0/m.hlo'"])
        self.refuse("host0/m.hlo", "--json=host0/../host0/m.hlo", what="is an input", says=["--json"])

    def test_modules_of_one_name(self):
        self.put("host0/n.hlo")
        for option, names in NAMED_AFTER_MODULE.items():
            with self.subTest(option):
                says = [f"'out/{names[0]}'", f"{option} of 'host0/m.hlo'", "'host0/n.hlo'"]
                self.refuse("host0/m.hlo", "host0/n.hlo", *NONE, f"{option}=out/", says=says)

    def test_names_of_modules_are_found_where_they_stand(self):
        text = self.read("host0/m.hlo")
        self.write("host0/b.hlo", "// one\n\n// two\n" + text)
        self.write("host0/c.hlo", "// " + 40000 * "long " + "\n" + text)
        self.write("host0/d.hlo", text.replace("HloModule recompute", "HloModule  %recompute"))
        self.write("host0/e.hlo", gzip.compress(text.encode()))
        for other in "bcde":
            with self.subTest(other):
                inputs = "host0/m.hlo", f"host0/{other}.hlo"
                self.refuse(*inputs, *NONE, "--svg=out/", says=["memory.recompute.svg"])
        self.put("host0/f.hlo", "recompute.1")
        self.expect(0, "host0/m.hlo", "host0/f.hlo", *NONE, "--svg=out/")
        self.assertEqual(self.files(), ["memory.recompute.1.svg", "memory.recompute.svg"])

    def test_compressed_inputs(self):
        text = self.path("host0/m.hlo").read_bytes()
        self.write("host0/m.hlo.gz", gzip.compress(text))
        files, _ = self.write_to_out("host0/m.hlo", "host0/m.hlo.gz")
        self.assertEqual(files, ["m.hlo", "m.hlo.gz"])
        self.refuse("host0/m.hlo", "host0/m.hlo.gz", *NONE, "--svg=out/", says=["m.hlo.gz"])

    def test_two_options(self):
        self.path("out").mkdir()
        for args, says in (
            (["-oout/", "--json=out/m.hlo"], ["--json and --output of 'host0/m.hlo'"]),
            (["--svg=out/", "--dump-memlog=out/x/../memory.recompute.svg"], ["--svg"]),
            (["--perfetto=out/", "-o", "./out/memory.recompute.json"], ["--perfetto", "--output"]),
        ):
            with self.subTest(args):
                self.path("out/x").mkdir(exist_ok=True)
                self.refuse("host0/m.hlo", *NONE, *args, says=says)
        self.expect(2, "host0/m.hlo", *NONE, "-oa", "--json=./a")
        self.expect(2, "report", "host0/m.hlo", "--csv=a", "--json=out/../a")

    def test_what_shares_a_folder_only(self):
        options = [f"{option}=out/" for option in NAMED_AFTER_MODULE]
        self.expect(0, "host0/m.hlo", "host1/m.hlo", *NONE, *options, "-oout/")
        self.assertEqual(len(self.files()), 2 * 5)

    def test_links_among_the_outputs(self):
        self.path("out").mkdir()
        self.path("out/host1").symlink_to("host0")
        says = ["'out/host1/m.hlo'", "'host0/m.hlo'", "'host1/m.hlo'"]
        self.path("out/host0").mkdir()
        self.refuse("host0/m.hlo", "host1/m.hlo", *NONE, "-oout/", says=says)
        self.path("out/host1").unlink()
        self.path("out/host1").mkdir()
        self.path("out/host1/m.hlo").symlink_to("../host0/m.hlo")
        self.refuse("host0/m.hlo", "host1/m.hlo", *NONE, "-oout/", says=says)

    def test_dry_runs_tell_too(self):
        args = "host0/m.hlo", "host0/m.hlo", *NONE, "-oout/", "--dry-run"
        self.refuse(*args, says=["'out/m.hlo'"])

    def test_modules_that_can_be_read_once(self):
        """Their name is known when the first file is there: it stays."""
        text = self.path("host0/m.hlo").read_bytes()
        args = "host0/m.hlo", "-", *NONE, "--save-plan=out/"
        result = self.expect(2, *args, stdin=text)
        self.assert_message(result, "'out/plan.recompute.json'", "'host0/m.hlo'", "'-'")
        self.assertEqual(self.files(), ["plan.recompute.json"])
        self.expect(0, *args, stdin=text.replace(b"HloModule recompute", b"HloModule other"))
        self.assertEqual(self.files(), ["plan.other.json", "plan.recompute.json"])

    def test_real_modules(self):
        """Two stages of one module have its name."""
        before, after = (SAMPLES / f"lstm.{stage}_optimizations.hlo" for stage in ("before", "after"))
        self.refuse(before, after, *NONE, "--svg=out/", says=["memory.jit_lstm.svg", "run them apart"])
        files, _ = self.write_to_out(before, after)
        self.assertEqual(files, [after.name, before.name])

    def test_devices_take_everything(self):
        for _ in range(2):
            self.expect(0, "host0/m.hlo", *NONE, "-o/dev/null", "--svg=/dev/null")


if __name__ == "__main__":
    tool.main()
