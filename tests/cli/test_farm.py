#!/usr/bin/env python3
"""Work that is split for many workers, and put together again: --shard, --merge. usage: test_farm.py TOOL [CLASS...]"""

import csv
import getpass
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import socket

import tool
from tool import SAMPLES, ToolTest

NAMES = "gpt_scan lstm mobilenet resnet unet_donated vgg".split()
GRID = "--algorithms=path,standard", "--schedulers=input,default", "--budgets=r70%,r50%"
OUTPUTS = ("one.jsonl", "one.csv", "one.svg", "one.html")
NUM_FILES = len(NAMES) + 2  # with one that is not scheduled and one that is small


class FarmTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.path("dump/host_1").mkdir(parents=True)
        for number, name in enumerate(NAMES):
            text = (SAMPLES / f"{name}.after_optimizations.hlo").read_bytes()
            folder = "host_1/" if number % 2 else ""
            self.write(f"dump/{folder}module_{number:04}.jit_{name}.cpu_after_optimizations.txt", text)
        self.write("dump/a.before_optimizations.txt",
                   (SAMPLES / "mlp_checkpoint.before_optimizations.hlo").read_bytes())
        self.golden("report", to="dump/module_0100.jit_small.cpu_after_optimizations.txt")

    def lines(self, name):
        return [json.loads(line) for line in self.read(name).splitlines()]

    def runs(self, name):
        return [line for line in self.lines(name) if "peak_after_bytes" in line]

    def shard(self, index, count, *args, files=("dump",), code=0):
        """The log of a worker."""
        name = f"shard_{index}_of_{count}.jsonl"
        self.expect(code, "compare", *files, *GRID, f"--shard={index}/{count}", "-q",
                    f"--json={name}", *args)
        return name

    def one(self, *files, more=GRID, code=0):
        return self.expect(code, "compare", *(files or ["dump"]), *more, "--json=one.jsonl",
                           "--csv=one.csv", "--pareto=one.svg").out

    def merge(self, *logs, code=0, more=()):
        return self.expect(code, "compare", "--merge", *logs, *more)

    def same_time(self, *names):
        """Gives all runs the same processor time, the only figure that differs each time."""
        for name in names:
            text = re.sub(r'"cpu_seconds":[-+0-9.e]+', '"cpu_seconds":0.25', self.read(name))
            self.write(name, text)

    def assert_is_one(self, *logs, inputs=("dump",), small=1):
        """The logs together are what one run is: tables, CSV, log and picture, byte for byte."""
        self.one(*inputs)
        self.same_time("one.jsonl", *logs)
        outputs = lambda name: [f"--json={name}.jsonl", f"--csv={name}.csv",
                                f"--pareto={name}.svg"]
        picture = self.read("one.svg")
        alone = self.merge("one.jsonl", more=outputs("alone")).out
        merged = self.merge(*logs, more=outputs("merged"))
        for kind in ("jsonl", "csv", "svg"):
            self.assertEqual(self.read(f"merged.{kind}"), self.read(f"alone.{kind}"), kind)
        self.assertEqual(self.read("merged.svg"), picture)
        self.assertEqual(self.read("merged.jsonl"), self.read("one.jsonl"))
        left_out = "  left out: 1 module with a peak below 1.00 MiB (--min-peak=0 shows all)\n"
        self.assertEqual(merged.out, alone + left_out * small)
        self.assertEqual(merged.err, "")
        for name in ("alone", "merged", "one"):
            for kind in ("jsonl", "csv", "svg"):
                self.path(f"{name}.{kind}").unlink()


class Shards(FarmTest):
    def inputs_of(self, *args, count=3):
        parts = []
        for index in range(1, count + 1):
            modules = self.json("report", "dump", "--min-peak=0", f"--shard={index}/{count}", *args)
            parts.append({module["input"] for module in modules})
        return parts

    def test_each_module_is_in_one(self):
        for args in ([], ["--shard-by=hash"], ["--shard-by=size"]):
            for count in (1, 2, 3, 7):
                parts = self.inputs_of(*args, count=count)
                self.assertEqual(sum(map(len, parts)), NUM_FILES)
                self.assertEqual(len(set.union(*parts)), NUM_FILES)

    def test_the_text_alone_decides(self):
        before = self.inputs_of()
        for number in range(10):
            text = self.read("dump/a.before_optimizations.txt")
            self.write(f"dump/new_{number}.txt", text.replace("mlp_checkpoint", f"mlp_{number}"))
        after = self.inputs_of()
        for part, larger in zip(before, after):
            self.assertLess(part, larger | {"something"})
            self.assertEqual(part, {name for name in larger if "/new_" not in name})
        # Neither the name nor the form of the file matters.
        self.path("dump").rename(self.path("old"))
        self.path("dump/x").mkdir(parents=True)
        for part in before:
            for name in part:
                data = self.path(name.replace("dump", "old", 1)).read_bytes()
                self.write(f"dump/x/{os.path.basename(name)}.gz", gzip.compress(data))
        base = lambda part: {os.path.basename(name) for name in part}
        self.assertEqual([{name + ".gz" for name in base(part)} for part in before],
                         [base(part) for part in self.inputs_of()])

    def test_compare_and_report_agree(self):
        parts = self.inputs_of(count=2)
        for index in (1, 2):
            log = self.shard(index, 2, "--min-peak=0")
            self.assertEqual({line["input"] for line in self.lines(log)}, parts[index - 1])

    def test_by_size_is_balanced(self):
        size = lambda name: self.path(name).stat().st_size
        for count in (2, 3):
            loads = [sum(map(size, part)) for part in self.inputs_of("--shard-by=size", count=count)]
            largest = max(size(path) for path in self.dir.rglob("*.txt"))
            self.assertLessEqual(max(loads) - min(loads), largest)

    def test_of_what_is_chosen(self):
        names = []
        for index in (1, 2):
            modules = self.json("report", "dump", "--module=jit_[lv]*", f"--shard={index}/2")
            names += [module["module"] for module in modules]
        self.assertEqual(sorted(names), ["jit_lstm", "jit_vgg"])
        result = self.expect(3, "report", "dump", "--module=x", "--shard=1/2")
        self.assert_message(result, "no module's name matches")

    def test_empty_ones(self):
        count = 97
        parts = self.inputs_of(count=count)
        index = next(i for i, part in enumerate(parts) if not part) + 1
        shard = f"--shard={index}/{count}"
        result = self.expect(0, "compare", "dump", shard, "--json=e.jsonl", "--csv=e.csv",
                             "--pareto=e.svg")
        self.assertEqual((self.read("e.jsonl"), result.err), ("", ""))
        self.assertEqual(len(self.read("e.csv").splitlines()), 1)
        self.assertIn(f"shard {index}/{count}: 0 of {NUM_FILES} modules", result.out)
        self.assertEqual(self.json("report", "dump", shard), [])
        self.assertIn("0 of 8", self.expect(0, "report", "dump", shard).out)
        self.expect(0, "compare", "dump", shard, "--resume", "--json=e.jsonl", "-q")
        self.write("e.jsonl", "something\n")
        self.expect(2, "compare", "dump", shard, "--json=e.jsonl", "-q")
        self.expect(0, "compare", "dump", shard, "--json=e.jsonl", "-q", "--overwrite")
        self.assertEqual(self.read("e.jsonl"), "")

    def test_a_file_that_cannot_be_read_is_in_one(self):
        self.write("dump/bad.txt", "HloModule bad\nENTRY {")
        codes = [self.run_tool("report", "dump", f"--shard={i}/3", "-q").code for i in (1, 2, 3)]
        self.assertEqual(sorted(codes), [0, 0, 3])
        codes = [self.run_tool("compare", "missing.hlo", f"--shard={i}/3", "-q").code for i in (1, 2, 3)]
        self.assertEqual(sorted(codes), [0, 0, 3])

    def test_usage(self):
        for value in ("0/2", "3/2", "1", "1/0", "a/b", "1/2/3", "-1/2", " 1/2", "1/2 ", "1/", "/2",
                      "1/100001", "99999999999999999999/2", "+1/2"):
            for command in ("compare", "report"):
                result = self.expect(2, command, "dump", f"--shard={value}")
                self.assert_message(result, "--shard takes I/N with I from 1 to N")
        self.assert_message(self.expect(2, "compare", "dump", "--shard-by=name"), "hash or size")
        self.assert_message(self.expect(2, "compare", "-", "dump", "--shard=1/2"), "not stdin")
        file = "dump/a.before_optimizations.txt"
        for files in ([file], [file, file]):
            result = self.expect(2, "report", *files, "--shard=1/2")
            self.assert_message(result, "--shard takes a part of the modules of a folder")


class Merge(FarmTest):
    def test_shards_are_one_run(self):
        self.assert_is_one(*(self.shard(index, 3) for index in (3, 1, 2)))
        self.assert_is_one(*(self.shard(index, 2, "--shard-by=size") for index in (2, 1)))

    def test_files_keep_their_order(self):
        files = [path.relative_to(self.dir) for path in sorted(self.dir.rglob("*.txt"), reverse=True)]
        files = [file for file in files if "small" not in file.name]
        self.assert_is_one(*(self.shard(i, 3, files=files) for i in (1, 2, 3)), inputs=files, small=0)

    def test_logs_without_shards(self):
        """What was run one after the other; the order of schedulers is that of all runs."""
        files = "dump/a.before_optimizations.txt", *(
            f"dump/module_000{number}.jit_{name}.cpu_after_optimizations.txt"
            for number, name in ((0, "gpt_scan"), (2, "mobilenet")))
        for number, file in enumerate(files):
            self.expect(0, "compare", file, *GRID, "-q", f"--json=part{number}.jsonl")
        self.assert_is_one(*(f"part{number}.jsonl" for number in range(3)), inputs=files, small=0)

    def test_empty_and_missing_shards(self):
        logs = [self.shard(index, 40) for index in range(1, 41)]
        empty = [log for log in logs if not self.read(log)]
        others = [log for log in logs if log not in empty]
        self.assertGreater(len(empty), 30)
        self.merge(*logs)
        self.merge(*others)  # nothing is missing
        self.assertEqual(self.merge(*empty).out, "")
        result = self.merge(*others[1:], code=1)
        missing = re.search(r"_(\d+)_of", others[0])[1]
        self.assertRegex(result.err, r"error: \d of 8 inputs are in no log: there is no line of shard ")
        shards = re.search(r"shard ([-0-9, ]+) of 40$", result.err, re.M)[1].split(", ")
        ranges = [[int(end) for end in shard.split("-")] for shard in shards]
        self.assertTrue(any(r[0] <= int(missing) <= r[-1] for r in ranges), result.err)
        for log in others[1:]:
            present = int(re.search(r"_(\d+)_of", log)[1])
            self.assertFalse(any(r[0] <= present <= r[-1] for r in ranges), result.err)
        self.assertIn("all files", result.out)

    def test_duplicates_are_named(self):
        logs = [self.shard(index, 2) for index in (1, 2)]
        shutil.copy(self.path(logs[0]), self.path("again.jsonl"))
        result = self.merge(*logs, "again.jsonl")
        inputs = {line["input"] for line in self.runs(logs[0])}
        for name in inputs:
            self.assertIn(f"{name}: warning: 8 runs are there more than once, first in {logs[0]} and "
                          "again in again.jsonl; the first", result.err.replace("4 runs", "8 runs"))
        self.assertEqual(result.out, self.merge(*logs).out)
        text = re.sub('"peak_after_bytes":', '"peak_after_bytes":1', self.read(logs[0]))
        self.write("again.jsonl", text)
        result = self.merge(*logs, "again.jsonl")
        self.assertIn("and have other results there", result.err)
        few = self.merge(*logs, "again.jsonl", more=["--max-errors=1"]).err
        self.assertEqual(len(few.splitlines()), min(len(inputs), 2))

    def test_holes_are_named(self):
        # Which inputs a shard has follows from their hashes; the one with more of them is the killed one.
        logs = sorted((self.shard(index, 2) for index in (1, 2)), key=lambda log: -self.read(log).count('"inputs":'))
        shard = re.search(r"_(\d+)_of", logs[0])[1]
        lines = self.read(logs[0]).splitlines(True)
        plans = [line for line in lines if '"inputs":' in line]
        name = json.loads(plans[0])["input"]
        # Before the first input was read; then in the middle of its runs.
        self.write("killed.jsonl", "".join(plans))
        result = self.merge("killed.jsonl", logs[1], code=1)
        self.assert_message(result, f"{name}: error: none of its runs is there (shard {shard}/2, killed.jsonl)")
        runs = [i for i, line in enumerate(lines) if '"peak_after' in line and name in line]
        self.write("killed.jsonl", "".join(lines[: runs[3]]) + lines[runs[3]][:-9])
        result = self.merge("killed.jsonl", logs[1], code=1)
        self.assert_message(result, f"{name}: error: {len(runs) - 3} of {len(runs)} runs are missing",
                            "the last line is not whole")
        self.assertIn("all files", result.out)
        # While it wrote its plan.
        self.write("killed.jsonl", plans[0])
        result = self.merge("killed.jsonl", logs[1], code=1)
        self.assert_message(result, f"error: {len(plans) - 1} of 8 inputs are in no log: some log is not whole")
        result = self.merge("killed.jsonl", logs[1], code=1, more=["--diagnostics=json", "-q"])
        for line in result.err.splitlines():
            self.assertIn(json.loads(line)["severity"], ("error", "warning"))

    def test_a_killed_worker_resumes(self):
        budgets = "--budgets=" + ",".join(f"r{90 - i}%" for i in range(10))
        args = "compare", "dump", *GRID[:2], budgets, "--shard=1/2", "--json=killed.jsonl", "-q"
        process = self.start(*args, "--jobs=1")
        path = self.path("killed.jsonl")
        num_plans = NUM_FILES
        self.wait_for(lambda: path.exists() and path.read_bytes().count(b"\n") > num_plans + 5,
                      "no run was done")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.expect(0, "compare", "dump", *GRID[:2], budgets, "--shard=2/2", "--json=other.jsonl", "-q")
        result = self.merge("killed.jsonl", "other.jsonl", code=1)
        self.assertRegex(result.err, r"error: \d+ of \d+ runs are missing \(shard 1/2, killed.jsonl\)")
        num_done = len(path.read_bytes().splitlines())
        self.expect(0, *args, "--resume")
        self.assertGreater(len(path.read_bytes().splitlines()), num_done)
        self.merge("killed.jsonl", "other.jsonl", more=["--json=merged.jsonl"])
        self.one("dump", more=[*GRID[:2], budgets])
        self.same_time("merged.jsonl", "one.jsonl")
        self.assertEqual(self.read("merged.jsonl"), self.read("one.jsonl"))
        before = self.read("killed.jsonl")
        self.expect(0, *args, "--resume")
        self.assertEqual(self.read("killed.jsonl"), before)

    def test_inputs_that_cannot_be_read(self):
        self.write("dump/bad.txt", "HloModule bad\nENTRY {")
        logs = []
        for index in (1, 2):
            code = self.run_tool("compare", "dump", *GRID, f"--shard={index}/2", "-q",
                                 f"--json={index}.jsonl").code
            self.assertIn(code, (0, 3))
            logs.append(f"{index}.jsonl")
        result = self.merge(*logs, code=3)
        self.assert_message(result, "dump/bad.txt: error: it could not be read or measured (shard ")
        self.assertIn("all files", result.out)

    def test_files_that_are_added(self):
        logs = [self.shard(1, 2)]
        self.write("dump/new.txt", self.read("dump/a.before_optimizations.txt").replace("mlp_", "m_"))
        logs.append(self.shard(2, 2))
        result = self.merge(*logs)
        self.assertIn("warning: the shards are of different lists", result.err)
        self.shard(1, 2, "--resume")
        self.assertEqual(self.merge(*logs).err, "")
        self.assertEqual({line["input"] for log in logs for line in self.lines(log)},
                         {path.relative_to(self.dir).as_posix() for path in self.dir.rglob("*.txt")})

    def test_a_file_that_has_changed(self):
        name = "dump/module_0002.jit_mobilenet.cpu_after_optimizations.txt"
        args = "compare", name, *GRID, "-q"
        self.expect(0, *args, "--json=old.jsonl")
        self.write(name, (SAMPLES / "resnet.after_optimizations.hlo").read_bytes())
        self.expect(0, *args, "--json=new.jsonl")
        result = self.merge("old.jsonl", "new.jsonl")
        self.assertIn(f"{name}: warning: the file has changed between its runs: 8 runs", result.err)
        self.assertEqual(result.out, self.merge("new.jsonl").out)

    def test_another_comparison(self):
        file = "dump/a.before_optimizations.txt"
        self.expect(0, "compare", file, *GRID, "-q", "--json=a.jsonl")
        for option, says in (("--memory-model=liveness", "memory_model 'liveness'"),
                             ("--path-depth=3", "settings 'path_depth=3'"),
                             ("--device=cpu", "profile 'cpu'")):
            self.expect(0, "compare", file, *GRID, "-q", "--json=b.jsonl", "--overwrite", option)
            result = self.merge("a.jsonl", "b.jsonl", code=3)
            self.assert_message(result, says, "different comparisons")
            self.assertEqual(result.out, "")

    def test_faults(self):
        self.expect(0, "compare", "dump/a.before_optimizations.txt", *GRID, "-q", "--json=a.jsonl")
        before = self.read("a.jsonl")
        for text in ("notes\n", '{"a": 1}\n', '{"input": 1}\n', '{"input": "x"}\n', "[" * 5000,
                     '{"input": "x", "shard": 7, "inputs": 1}\n',
                     '{"input": "x", "peak_after_bytes": "many"}\n'):
            self.write("bad.jsonl", text)
            result = self.merge("a.jsonl", "bad.jsonl", code=3)
            self.assertEqual(result.out, "")
        for text in ('{"input": "x", "shard": "9/2", "inputs": -1}\n',
                     '{"input": "x", "shard": "1/2", "inputs": 1e300, "number": 5}\n',
                     '{"input": "x", "shard": "1/2", "runs": null}\n',
                     '{"input": "x", "shard": "1/2", "inputs": 1, "budgets": [1, []]}\n'):
            self.write("odd.jsonl", text)
            self.assertIn(self.run_tool("compare", "--merge", "a.jsonl", "odd.jsonl").code, (0, 1))
        self.merge("missing.jsonl", code=3)
        for args, says in ((["--resume", "--json=x"], "--merge runs nothing"),
                           (["--best", "-ox"], "--merge runs nothing"),
                           (["--budgets=min"], "--budgets are for runs"),
                           (["--shard=1/2"], "--budgets are for runs"),
                           (["--module=x"], "--budgets are for runs"),
                           (["--json=a.jsonl"], "a.jsonl"),
                           (["--csv=./a.jsonl"], "a.jsonl"),
                           (["--json=x", "--csv=x"], "same name")):
            self.assert_message(self.merge("a.jsonl", code=2, more=args), says)
        self.assertEqual(self.read("a.jsonl"), before)
        self.assert_message(self.expect(2, "compare", "--merge"), "needs a file")

    def test_from_a_pipe(self):
        self.expect(0, "compare", "dump/a.before_optimizations.txt", *GRID, "-q", "--json=a.jsonl")
        piped = self.expect(0, "compare", "--merge", "-", stdin=self.read("a.jsonl").encode())
        self.assertEqual(piped.out, self.merge("a.jsonl").out)


class ParallelTest(FarmTest):
    """GNU parallel starts the workers, on several hosts as it sees them."""

    def setUp(self):
        super().setUp()
        self.parallel = shutil.which("parallel")
        if not self.parallel or b"GNU" not in subprocess.run(
            [self.parallel, "--version"], capture_output=True).stdout:
            self.skipTest("GNU parallel is not installed (Debian: parallel)")
        self.path("home").mkdir()

    def run_parallel(self, *args, command, code=0):
        env = {**self.environment(None), "HOME": str(self.path("home")), "LC_ALL": "C"}
        result = subprocess.run(
            [self.parallel, "--will-cite", *args, command, ":::", *map(str, range(1, 6))],
            cwd=self.dir, env=env, capture_output=True, text=True, timeout=tool.TIMEOUT_SECONDS)
        self.assertEqual(result.returncode, code, result)
        return result

    def worker(self, *more):
        return " ".join(["cd", str(self.dir), "&&", self.tool, "compare", "dump",
                         *(f"'{option}'" for option in GRID), "--shard={}/5", "--jobs=1", "-q",
                         "--json=part.{}.jsonl", *more])

    def parts(self):
        return [f"part.{index}.jsonl" for index in range(1, 6)]


class Parallel(ParallelTest):
    def test_workers_on_this_host(self):
        self.run_parallel("--jobs=3", command=self.worker())
        self.assert_is_one(*self.parts())

    def test_several_hosts(self):
        self.run_parallel("--sshlogin=2/:", "--joblog=jobs", command=self.worker())
        self.assertEqual(len(self.read("jobs").splitlines()), 6)
        self.assert_is_one(*self.parts())

    def test_a_worker_that_dies_is_run_again(self):
        """parallel --retries runs it on; --resume keeps what it has done."""
        once = "test -e done.{} || { touch done.{}; ulimit -f 4; }; "
        command = f"cd {self.dir}; {once}" + self.worker("--resume").split("&& ", 1)[1]
        result = self.run_parallel("--retries=3", "--joblog=jobs", command=command)
        sequences = [line.split("\t")[0] for line in self.read("jobs").splitlines()[1:]]
        self.assertEqual(len(sequences), 5, result)
        self.assert_is_one(*self.parts())


class ParallelOverSsh(ParallelTest):
    """A second host is a server of this machine on a port of its own."""

    def setUp(self):
        super().setUp()
        sshd = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if not sshd or not shutil.which("ssh-keygen"):
            self.skipTest("there is no sshd (Debian: openssh-server)")
        if os.geteuid() == 0:
            pathlib.Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(key)], check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.write("sshd_config", f"Port {port}\nListenAddress 127.0.0.1\nHostKey {self.path('host')}\n"
                   f"AuthorizedKeysFile {self.path('user.pub')}\nStrictModes no\nUsePAM no\n"
                   "PidFile none\nPermitRootLogin yes\nPasswordAuthentication no\n")
        self.write("ssh_config", f"Host *\n  Port {port}\n  User {getpass.getuser()}\n"
                   f"  HostName 127.0.0.1\n  IdentityFile {self.path('user')}\n  BatchMode yes\n"
                   "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n")
        self.server = subprocess.Popen([sshd, "-D", "-e", "-f", self.path("sshd_config")],
                                       stderr=subprocess.PIPE)
        self.addCleanup(self.stop)
        self.ssh = f"ssh -F {self.path('ssh_config')}"
        for _ in range(50):
            tried = subprocess.run([*self.ssh.split(), "first", "true"], capture_output=True, text=True)
            if tried.returncode == 0:
                return
        self.skipTest(f"sshd does not let its user in: {tried.stderr.strip()}")

    def stop(self):
        self.server.kill()
        self.server.communicate()

    def test_hosts(self):
        self.run_parallel(f"--ssh={self.ssh}", "--sshlogin=1/first,1/second,1/:", "--joblog=jobs",
                          command=self.worker())
        hosts = {line.split("\t")[1] for line in self.read("jobs").splitlines()[1:]}
        self.assertEqual(hosts, {"first", "second", ":"})
        self.assert_is_one(*self.parts())


if __name__ == "__main__":
    tool.main()
