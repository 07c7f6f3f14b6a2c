"""What tests of the command line share: a directory of their own and a tool to run in it."""

import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
SAMPLES = ROOT / "hlo_samples"

# Only what hangs takes as long.
TIMEOUT_SECONDS = 240

# What CTest takes as skipped.
EXIT_SKIPPED = 77


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit {self.code}\nstdout: {self.out[:2000]}\nstderr: {self.err[:2000]}"


def read_all(terminal):
    """What comes out of a terminal until its other side is closed."""
    text = b""
    try:
        while chunk := os.read(terminal, 4096):
            text += chunk
    except OSError:
        pass
    return text


class ToolTest(unittest.TestCase):
    tool = None

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="cli.")
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)

    # ---- files ----

    def path(self, name):
        return self.dir / name

    def write(self, name, text):
        path = self.path(name)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    def read(self, name):
        return self.path(name).read_text()

    def golden(self, folder, name="input.hlo", to=None):
        """Copies a module of the golden tests into the directory."""
        return self.write(to or name, (GOLDEN / folder / name).read_bytes())

    def names(self):
        return sorted(path.relative_to(self.dir).as_posix() for path in self.dir.rglob("*"))

    # ---- runs ----

    def environment(self, extra):
        env = {key: value for key, value in os.environ.items() if not key.endswith("_FLAGS")}
        env.pop("COLUMNS", None)
        env.update(extra or {})
        return env

    def start(self, *args, env=None, **kwargs):
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(
            [self.tool, *map(str, args)], cwd=self.dir, env=self.environment(env), **kwargs
        )

    def run_tool(self, *args, stdin=None, **kwargs):
        if stdin is not None:
            kwargs["stdin"] = subprocess.PIPE
        process = self.start(*args, **kwargs)
        try:
            out, err = process.communicate(stdin, timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.fail(f"{args} did not end within {TIMEOUT_SECONDS} seconds")
        return Result(process.returncode, (out or b"").decode(), (err or b"").decode())

    def expect(self, code, *args, **kwargs):
        result = self.run_tool(*args, **kwargs)
        self.assertEqual(result.code, code, f"{args}\n{result}")
        return result

    def in_terminal(self, *args, stream="stderr", columns=None, **kwargs):
        """What a stream gets if it is a terminal."""
        leader, follower = pty.openpty()
        if columns:
            fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        process = self.start(*args, **{stream: follower}, **kwargs)
        os.close(follower)
        text = read_all(leader)
        process.communicate()
        # Linux looks for bytes before it looks whether the other side is closed (n_tty_read), so that
        # what is written and closed between the two is still there after the end was reported.
        text += read_all(leader)
        os.close(leader)
        self.assertEqual(process.returncode, 0)
        return text

    def json(self, *args, code=0):
        """The summary in JSON of a run."""
        return json.loads(self.expect(code, *args, "--quiet", "--json=-").out)

    def wait_for(self, condition, what):
        end = time.monotonic() + TIMEOUT_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.01)

    # ---- what not every build or machine can do ----

    def need(self, option, module="input.hlo"):
        """Skips the test where the tool was built without what an option takes."""
        err = self.run_tool(module, f"{option}=probe", "--dry-run", "--quiet").err
        if missing := re.search(r"built without \w+", err):
            self.skipTest(missing[0])

    def run_as_nobody(self, *args):
        """Runs the tool without root's rights, which would open everything."""

        def drop_rights():
            if os.geteuid() == 0:
                os.setuid(65534)

        self.dir.chmod(self.dir.stat().st_mode | 0o055)
        try:
            result = self.run_tool(*args, preexec_fn=drop_rights)
        except PermissionError:
            self.skipTest("only root can reach the tool")
        # A build for coverage says, too, that it can't write its counts.
        result.err = re.sub(r"^profiling:.*\n", "", result.err, flags=re.M)
        return result

    # ---- what is asserted often ----

    def assert_message(self, result, *parts):
        """One message of ours, with all of these parts."""
        self.assertIn("error: ", result.err, result)
        for part in parts:
            self.assertIn(part, result.err, result)

    def assert_no_leftovers(self, *expected):
        self.assertEqual(self.names(), sorted(expected))


def has_sanitizers(tool):
    return b"__asan_init" in pathlib.Path(tool).read_bytes()


def ignore_file_size_signal():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def main():
    """usage: test_x.py TOOL [CLASS...]"""
    if len(sys.argv) < 2:
        sys.exit(main.__doc__)
    ToolTest.tool = str(pathlib.Path(sys.argv.pop(1)).resolve())
    result = unittest.main(verbosity=2, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    # Not passed: a test that cannot run everywhere is in a class of its own.
    sys.exit(EXIT_SKIPPED if result.skipped else 0)
