#!/usr/bin/env python3
"""Faults that need files made for them, or a system that refuses.

usage: test_system.py TOOL [CLASS...]
"""

import os
import pathlib
import resource
import stat
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import tool
from tool import ToolTest

MEGA = 1 << 20
RECOMPUTE = [
    "--scheduler=input",
    "--algorithm=standard",
    "--memory-model=xla-remat",
    "--small-node-limit=0",
    "--mem-limit=14KiB",
]


class Huge(ToolTest):
    """Time and memory are bounded by the size of the input, messages by the width of a screen."""

    def check(self, text, code, *parts):
        self.write("huge.hlo", text)
        process = self.start("check", "huge.hlo")
        out, err = process.communicate(timeout=tool.TIMEOUT_SECONDS)
        self.assertEqual(process.returncode, code, err[:1000])
        self.assertLess(len(err), 2000)
        for part in parts:
            self.assertIn(part, err.decode())
        return out

    def peak_bytes(self, *args):
        process = self.start(*args)
        process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close(), process.stderr.close()
        return usage.ru_maxrss * 1024

    def test_garbage_in_one_line_of_100_mb(self):
        self.check(b"x" * (100 * MEGA), 3, "huge.hlo:1:")

    def test_one_line_of_100_mb(self):
        line = (
            "ENTRY e { "
            + " ".join(f"i{i} = f32[8,128]{{1,0}} parameter({i})" for i in range(2_400_000))
            + " }"
        )
        self.assertGreater(len(line), 100_000_000)
        self.check("HloModule m\n" + line, 0)
        if not tool.has_sanitizers(self.tool):
            self.assertLess(self.peak_bytes("check", "huge.hlo"), 12 * len(line))

    def test_all_of_many_branches_are_printed(self):
        num_branches = 70_000
        self.write(
            "branches.hlo",
            "HloModule m\n\nb { ROOT p = f32[] parameter(0) }\n\nENTRY e {\n i = s32[] parameter(0)\n"
            f" x = f32[] parameter(1)\n ROOT c = f32[] conditional(i{', x' * num_branches}),"
            f" branch_computations={{b{', b' * (num_branches - 1)}}}\n}}\n",
        )
        for command in ("fmt", "print"):
            process = self.start(command, "branches.hlo")
            out, err = process.communicate(timeout=tool.TIMEOUT_SECONDS)
            self.assertEqual(process.returncode, 0, err[:1000])
            names = out.decode().split("branch_computations={")[1].split("}")[0].split(",")
            self.assertEqual(len(names), num_branches, command)

    def test_fault_in_one_line_of_100_mb(self):
        self.check(
            'HloModule m ENTRY e { p = f32[] parameter(0), metadata={op_name="'
            + "a" * (100 * MEGA)
            + '"} ROOT n = f32[] negate(q) }',
            3,
            "huge.hlo:1:104857691: error: operand 'q' is not defined above",
            "...",
            "negate(q) }",
        )

    def test_string_of_100_mb_that_is_never_closed(self):
        self.check(
            'HloModule m ENTRY e { p = f32[] parameter(0), metadata={op_name="'
            + "a" * (100 * MEGA),
            3,
            "string is never closed",
        )

    def test_nested_parentheses(self):
        self.check("HloModule m\nENTRY e { p = " + "(" * 1_000_000, 3, "nested more than")

    def test_nested_operands(self):
        self.check(
            "HloModule m\nENTRY e { p = f32[] negate(" + "f32[] negate(" * 1_000_000,
            3,
            "nested more than",
        )

    def test_nested_computations(self):
        self.check(
            "HloModule m\nENTRY e { p = f32[] call(), to_apply="
            + "{ p = f32[] call(), to_apply=" * 1_000_000,
            3,
            "nested more than",
        )

    def test_nested_literals(self):
        self.check("HloModule m\nENTRY e { p = f32[2] constant(" + "{" * 1_000_000, 3)

    def test_nested_dicts(self):
        self.check(
            "HloModule m\nENTRY e { p = f32[] parameter(0), backend_config=" + "{" * 1_000_000,
            3,
            "never closed",
        )

    def test_many_errors_in_lists(self):
        self.check(
            "HloModule m\nENTRY e { p = f32[] parameter(0), control-predecessors={"
            + "a," * 1_000_000,
            3,
        )

    def test_many_mistakes(self):
        for line in ("n{0} = f32[] negate(q{0})", "n{0} = f32[] neg(q{0})"):
            for end in ("\n", " "):
                lines = end.join(line.format(i) for i in range(200_000))
                self.write("many.hlo", "HloModule m" + end + "ENTRY e {" + end + lines + end + "}")
                process = self.start("check", "many.hlo", "--max-errors=1000000")
                err = process.communicate(timeout=tool.TIMEOUT_SECONDS)[1]
                self.assertEqual(process.returncode, 3)
                self.assertEqual(err.count(b": error: "), 200_000)

    def test_dimensions(self):
        self.check("HloModule m\nENTRY e { p = f32[" + "1," * 1_000_000 + "1] parameter(0) }", 0)

    def test_numbers_at_the_ends_of_64_bits(self):
        """What XLA takes, however odd, is taken, and all commands get through with it."""
        for number in (2**63 - 1, 2**63, 2**64, 10**1000):
            for line in (
                "f32[{}] parameter(0)",
                "f32[{0},{0},0] parameter(0)",
                "f32[] parameter({})",
                "f32[2]{{{}}} parameter(0)",
                "f32[2,3]{{1,0:T({0},{0})S({0})}} parameter(0)",
                "f32[2] iota(), iota_dimension={}",
                "f32[2] pad(p, z), padding={0}_{0}_{0}",
                "f32[2] slice(p), slice={{[{0}:{0}:{0}]}}",
                "f32[2] reduce-window(p, z), to_apply=f,"
                " window={{size={0} stride={0} pad={0}_{0} lhs_dilate={0} rhs_dilate={0}}}",
                "f32[2] all-gather(p), replica_groups=[{0},{0}]<=[{0},2], dimensions={{{0}}}",
                "f32[] constant(0), sharding={{devices=[{0},{0}]<=[{0}]}}",
            ):
                self.write(
                    "numbers.hlo",
                    "HloModule m, replica_count={0}, num_partitions={0}\n"
                    "f {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}\n"
                    "ENTRY e {{ p = f32[2] constant({{0, 0}}) z = f32[] constant(0)\n"
                    "n = ".format(number) + line.format(number) + " }",
                )
                for command in ("check", "fmt", "remat"):
                    with self.subTest(number=str(number)[:30], line=line, command=command):
                        result = self.run_tool(command, "numbers.hlo")
                        self.assertIn(result.code, (0, 3), result)

    def test_name_of_10_mb(self):
        self.check("HloModule m\nENTRY e { p = f32[] negate(" + "n" * (10 * MEGA) + ") }", 3)

    def test_names_of_100_mb(self):
        name = "n" * (100 * MEGA)
        self.check(f"HloModule {name}\nENTRY e {{ p = f32[] parameter(0) }}", 0)
        self.check(f"HloModule m\nENTRY {name} {{ p = f32[] parameter(0) }}", 0)
        self.check(f"HloModule m\nENTRY e {{ {name} = f32[] parameter(0) }}", 0)
        self.check(f"HloModule m\nENTRY e {{ p = f32[] {name}(), }}", 3, "huge.hlo:2:")
        self.check(f"HloModule m\nENTRY e {{ p = f32[] parameter(0), {name}=1 }}", 3, "huge.hlo:2:")

    def test_names_that_are_nearly_the_same(self):
        name = "n" * (50 * MEGA)
        self.check(
            f"HloModule m\nENTRY e {{ {name}a = f32[] parameter(0) c = f32[] negate({name}b) }}", 3
        )

    def test_attributes(self):
        for attr in ("a=1", 'metadata={op_name="a"}', "metadata={" + "op_type='a' " * 20 + "}"):
            self.check(
                "HloModule m\nENTRY e { p = f32[] parameter(0)" + f", {attr}" * 1_000_000 + " }", 3
            )

    def test_frontend_attributes(self):
        keys = ",".join(f'k{i * 7919 % 1_000_000}="1"' for i in range(1_000_000))
        text = f"HloModule m\nENTRY e {{ p = f32[] parameter(0), frontend_attributes={{{keys}}} }}"
        self.check(text, 0)
        self.expect(0, "fmt", "huge.hlo", "-o", "out.hlo")

    def test_report_of_one_name_for_many_values(self):
        shape = "(" + ", ".join(["f32[4]"] * 10_000) + ")"
        self.write(
            "huge.hlo",
            "HloModule m, is_scheduled=true\nENTRY e { p = f32[4] parameter(0) "
            f'ROOT w = {shape} custom-call(p), custom_call_target="f", '
            f'metadata={{op_name="{"a" * 8 * MEGA}/b"}} }}',
        )
        self.expect(0, "report", "huge.hlo", "--max-memory=200MB")

    def check_sharding(self, sharding):
        self.check(
            "HloModule m\nENTRY e { ROOT p = f32[] parameter(0), sharding={%s} }" % sharding, 0
        )

    def test_order_of_an_iota(self):
        count = 1_000_000
        dims = "1," * (count - 1) + "2"
        order = ",".join(map(str, range(count)))
        self.check_sharding(f"devices=[2]<=[{dims}]T({order})")

    def test_axes_of_a_mesh(self):
        names = [f"'{i:x}'" for i in range(1_000_000)]
        sizes = ",".join(f"{name}=1" for name in names)
        self.check_sharding(f"mesh[{sizes}], [{{{','.join(names)}}}]")

    def test_shardings_of_a_loop(self):
        count = 200_000
        shape = "(" + ", ".join(["f32[]"] * count) + ")"
        one = "{maximal device=" + " " * 4_000_000 + "0}"
        many = "{" + ",".join(["{maximal device=0}"] * count) + "}"
        self.check(
            f"HloModule m\n"
            f"c {{ p = {shape} parameter(0), sharding={one} ROOT t = pred[] constant(true) }}\n"
            f"b {{ p = {shape} parameter(0), sharding={many} ROOT r = {shape} copy(p) }}\n"
            f"ENTRY e {{ x = {shape} parameter(0) "
            f"ROOT w = {shape} while(x), condition=c, body=b }}",
            0,
        )

    def test_shardings_of_branches(self):
        count = 100_000
        one = "{maximal device=" + " " * 8_000_000 + "0}"
        branches = "".join(
            f"b{i} {{ p = f32[] parameter(0) ROOT r = f32[] negate(p), sharding={one} }}\n"
            for i, one in enumerate([one] + ["{maximal device=0}"] * (count - 1))
        )
        self.check(
            "HloModule m\n"
            + branches
            + "ENTRY e { i = s32[] parameter(0) p = f32[] parameter(1) ROOT c = f32[] conditional(i"
            + ", p" * count
            + "), branch_computations={"
            + ",".join(f"b{i}" for i in range(count))
            + "} }",
            0,
        )

    def test_control_predecessors(self):
        names = [f"n{i}" for i in range(300_000)]
        self.check(
            "HloModule m\nENTRY e { p = f32[] parameter(0)\n"
            + "\n".join(f"{name} = f32[] negate(p)" for name in names)
            + "\nROOT r = f32[] negate(p), control-predecessors={"
            + ",".join(names)
            + "} }",
            0,
        )

    def tuples(self, count, *more):
        """Tuples of tuples: each line has twice as many parts as the one before it."""
        lines = [f"t{i + 1} = tuple(t{i}, t{i})" for i in range(count)]
        return "\n".join(
            ["HloModule m", "ENTRY e {", "t0 = f32[] parameter(0)", *lines, *more, "}"]
        )

    def test_parts_that_are_only_inferred(self):
        shape = "(" + ", ".join(["f32[]"] * 200_000) + ")"
        self.check(
            f"HloModule m\nENTRY e {{ p = {shape} parameter(0)\n"
            + "".join(f"t{i} = tuple(p), sharding={{replicated}}\n" for i in range(400_000))
            + "ROOT r = tuple(p) }",
            3,
            "more than 2^24 parts",
        )

    def test_tuples_that_double(self):
        self.check(self.tuples(1000), 3, "would have more than 4194304 parts")
        self.check(
            self.tuples(19, *(f"k{i} = tuple(t19, t19)" for i in range(1000))),
            3,
            "more than 2^24 parts altogether",
        )
        self.check(self.tuples(20), 0)
        self.expect(0, "fmt", "huge.hlo", "-o", "out.hlo")
        self.write("small.hlo", self.tuples(17))
        self.expect(0, "small.hlo", "-o", "out.hlo", "--quiet")

    def test_tuples_in_tuples(self):
        lines = "\n".join(f"t{i + 1} = tuple(t{i})" for i in range(100_000))
        self.check(
            "HloModule m\nENTRY e {\nt0 = f32[] parameter(0)\n" + lines + "\n}",
            3,
            "would be more than 300 deep",
        )

    def test_null_bytes(self):
        self.check(b"\0" * (100 * MEGA), 3, "huge.hlo:1:1:")
        self.check(b"HloModule m\nENTRY e { p\0q = f32[] parameter(0) }", 3, "huge.hlo:2:")

    def test_what_is_no_utf_8(self):
        self.check(b"\xff" * (100 * MEGA), 3, "huge.hlo:1:1:")
        self.check(b"HloModule m\nENTRY e { p\xc3 = f32[] parameter(0) }", 3, "huge.hlo:2:")

    def test_newlines(self):
        self.check("\n" * (100 * MEGA) + "x", 3, "huge.hlo:104857601:")


class Inputs(ToolTest):
    """What is no file with a module in it."""

    def test_missing(self):
        for command in (["check"], ["print"], []):
            result = self.expect(3, *command, "none.hlo")
            self.assertEqual(result.err, "none.hlo: error: No such file or directory\n")
            self.assertEqual(result.out, "")

    def test_directory(self):
        self.path("dump").mkdir()
        self.assert_message(self.expect(3, "check", "dump"), "dump: error: there is no HLO text")
        self.assert_message(self.expect(3, "./dump", "-o", "out.hlo"), "is a directory")
        self.assert_no_leftovers("dump")

    def test_null_device(self):
        self.assert_message(self.expect(3, "check", "/dev/null"), "the text holds no HLO")

    def test_empty_stdin(self):
        self.assert_message(self.expect(3, "check", "-"), "<stdin>:1:1: error: ")

    def test_closed_stdin(self):
        result = self.run_tool("check", "-", stdin=None, preexec_fn=lambda: os.close(0))
        self.assertEqual(result.code, 3, result)
        self.assert_message(result, "<stdin>: error: ")

    def test_fault_in_stdin(self):
        self.assert_message(
            self.expect(3, "check", "-", stdin=b"HloModule m\nENTRY {"), "<stdin>:2:7: error: "
        )

    def test_fifo(self):
        os.mkfifo(self.path("pipe"))
        self.golden("recompute")
        writer = threading.Thread(
            target=lambda: self.path("pipe").write_bytes(self.path("input.hlo").read_bytes())
        )
        writer.start()
        self.expect(0, "check", "pipe")
        writer.join()

    def test_one_bad_file_keeps_no_other_from_being_done(self):
        self.golden("recompute", to="good.hlo")
        self.write("bad.hlo", "HloModule")
        self.expect(3, "bad.hlo", "good.hlo", "-o", "out/", "--quiet")
        self.assert_no_leftovers("bad.hlo", "good.hlo", "out", "out/good.hlo")

    def test_file_that_shrinks_while_it_is_read(self):
        """Large files are mapped: what is gone cannot be read any more."""
        line = "/* " + "x" * (1 << 20) + " */\n"
        self.write("large.hlo", "HloModule m\n" + line * 100 + "ENTRY e {\n" + line * 4)
        for size in (0, 1 << 20, 5_000_000):
            with self.subTest(size):
                self.write("shrinks.hlo", self.path("large.hlo").read_bytes())
                process = self.start("check", "shrinks.hlo")
                wait_for_mapping(process, "shrinks.hlo")
                os.truncate(self.path("shrinks.hlo"), size)
                err = process.communicate(timeout=tool.TIMEOUT_SECONDS)[1].decode()
                self.assertEqual(process.returncode, 3, err)
                self.assertIn("shrinks.hlo", err)

    def test_any_small_max_memory(self):
        sample = tool.SAMPLES / "mlp_checkpoint.before_optimizations.hlo"
        for command in ("check", "fmt", "print", "remat"):
            codes = set()
            for kib in (1, 16, 64, 128, 256, 512, 768, 1024, 1536, 2048, 4096):
                with self.subTest(command=command, kib=kib):
                    result = self.run_tool(command, sample, f"--max-memory={kib}KiB")
                    self.assertIn(result.code, (0, 4), result)
                    if result.code == 4:
                        self.assertIn("out of memory", result.err)
                    codes.add(result.code)
            self.assertIn(4, codes, command)

    def test_module_too_large_for_max_memory(self):
        self.golden("recompute")
        self.assert_message(
            self.expect(4, "input.hlo", "--max-memory=1KiB", "-o", "out.hlo"),
            "input.hlo: error: out of memory",
        )
        self.assert_no_leftovers("input.hlo")


class OutputTest(ToolTest):
    """Files that cannot be written: exit code 4, a message with the path, no half of a file."""

    OPTIONS = {}

    def setUp(self):
        super().setUp()
        self.golden("recompute")

    def refuse(self, option, path, *parts, **kwargs):
        args = [option, path] if option == "-o" else [f"{option}={path}"]
        result = self.expect(4, "input.hlo", *RECOMPUTE, *args, **kwargs)
        self.assert_message(result, *parts)
        return result

    def test_full_disk(self):
        """A limit on the size of files stands in for a disk that fills up."""

        def limit():
            tool.ignore_file_size_signal()
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        for option, path in self.OPTIONS.items():
            with self.subTest(option):
                self.refuse(option, path, "error: File too large", preexec_fn=limit)
                left = [name for name in self.names() if name not in ("input.hlo", "graphs")]
                self.assertEqual(left, [])

    def test_missing_folder(self):
        for option in self.OPTIONS:
            with self.subTest(option):
                self.refuse(option, "none/out", "none/out", "No such file or directory")
        self.assert_no_leftovers("input.hlo")

    def test_file_as_folder(self):
        self.write("file", "")
        for option in self.OPTIONS:
            with self.subTest(option):
                self.refuse(option, "file/out", "file/out", "Not a directory")
        self.assert_no_leftovers("file", "input.hlo")


class Outputs(OutputTest):
    OPTIONS = {"-o": "out.hlo", "--json": "s.json", "--dump-memlog": "m.log"}

    def test_full_device(self):
        for option in ("-o", "--json", "--dump-memlog"):
            with self.subTest(option):
                self.refuse(option, "/dev/full", "/dev/full: error: No space left on device")
                self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))
        self.assert_no_leftovers("input.hlo")

    def test_full_device_behind_a_link(self):
        self.path("out.hlo").symlink_to("/dev/full")
        self.refuse("-o", "out.hlo", "No space left on device")
        self.assertTrue(self.path("out.hlo").is_symlink())
        self.assert_no_leftovers("input.hlo", "out.hlo")

    def test_full_stdout(self):
        large = tool.SAMPLES / "vgg.after_optimizations.hlo"
        for args in (
            ["input.hlo"],
            ["input.hlo", "-o", "-"],
            ["input.hlo", "--json=-"],
            ["input.hlo", "--dump-memlog=-"],
            ["check", "input.hlo"],
            ["print", large],
            ["print", "input.hlo"],
            [large, "-o", "-"],
            [large, "--dump-memlog=-"],
            ["verify", "input.hlo", "input.hlo"],
            ["list"],
            ["--help"],
            ["--version"],
        ):
            with self.subTest(args), open("/dev/full", "wb") as full:
                result = self.run_tool(*args, stdout=full)
                self.assertEqual(result.code, 4, result)
                self.assertIn("<stdout>: error: No space left on device", result.err)

    def test_full_disk_keeps_what_was_there(self):
        def limit():
            tool.ignore_file_size_signal()
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        for option in ("-o", "--json", "--dump-memlog"):
            with self.subTest(option):
                self.write("old", "as it was")
                self.refuse(option, "old", "error: File too large", preexec_fn=limit)
                self.assertEqual(self.read("old"), "as it was")
                self.assert_no_leftovers("input.hlo", "old")

    def test_directory_as_json(self):
        self.path("folder").mkdir()
        self.refuse("--json", "folder", "folder: error: is a directory")
        self.assert_no_leftovers("folder", "input.hlo")

    def test_directory_as_print_output(self):
        self.path("folder").mkdir()
        self.assert_message(self.expect(4, "print", "input.hlo", "-o", "folder"), "is a directory")

    def test_name_too_long(self):
        self.refuse("-o", "n" * 300, "File name too long")
        self.assert_no_leftovers("input.hlo")

    def test_json_says_nothing_of_a_run_that_failed(self):
        self.write("s.json", "as it was")
        self.expect(4, "input.hlo", *RECOMPUTE, "--json=s.json", "-o", "none/out.hlo")
        self.assertEqual(self.read("s.json"), "as it was")
        self.assert_no_leftovers("input.hlo", "s.json")


class GraphOutputs(OutputTest):
    OPTIONS = {"--dump-dot": "graphs"}

    def setUp(self):
        super().setUp()
        self.need("--dump-dot")

    def test_file_as_dot_directory(self):
        self.write("file", "")
        self.refuse("--dump-dot", "file", "file")
        self.assertEqual(self.read("file"), "")


class AsNobody(ToolTest):
    """What root may, others may not."""

    def setUp(self):
        super().setUp()
        self.golden("recompute")

    def test_unreadable(self):
        self.write("secret.hlo", "HloModule m")
        self.path("secret.hlo").chmod(0)
        result = self.run_as_nobody("check", "secret.hlo")
        self.assertEqual(result.code, 3)
        self.assertEqual(result.err, "secret.hlo: error: Permission denied\n")

    def test_read_only_folder(self):
        self.path("closed").mkdir(mode=0o555)
        result = self.run_as_nobody("input.hlo", *RECOMPUTE, "-o", "closed/out.hlo")
        self.assertEqual(result.code, 4)
        self.assert_message(result, "closed/out.hlo: error: Permission denied")

    def test_read_only_file_is_replaced_only_where_the_folder_allows(self):
        self.write("out.hlo", "as it was")
        self.dir.chmod(0o555)
        result = self.run_as_nobody("input.hlo", *RECOMPUTE, "-o", "out.hlo")
        self.dir.chmod(0o755)
        self.assertEqual(result.code, 4)
        self.assertEqual(self.read("out.hlo"), "as it was")


def wait_for_mapping(process, name):
    """Until the process has mapped the file or is over."""
    maps = pathlib.Path(f"/proc/{process.pid}/maps")
    while process.poll() is None and name not in maps.read_text():
        time.sleep(0.001)


if __name__ == "__main__":
    tool.main()
