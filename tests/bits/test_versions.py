"""What scripts/check/bits runs for one version of JAX and for several: programs in the place of Python note their
arguments."""

import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/check/bits"
SECONDS = 300


class Versions(unittest.TestCase):
    def run_script(self, *arguments, fails=""):
        """(exit code, the arguments of each run as text). Where JAX is `fails`, the run fails."""
        with tempfile.TemporaryDirectory() as room:
            log = pathlib.Path(room, "log")
            log.touch()
            for version in ("0.1", "0.2"):
                python = pathlib.Path(room, f"venv-{version}/bin/python")
                python.parent.mkdir(parents=True)
                python.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exit 0\necho "{version} $*" >>{log}\n'
                                  f'[ "{version}" != "{fails}" ]\n')
                python.chmod(0o755)
            run = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, timeout=SECONDS, check=False,
                                 env={**os.environ, "CHECK_BITS_VENV": f"{room}/venv", "REMAT_HLO": "/bin/true"})
            return run.returncode, log.read_text().splitlines()

    def test_one(self):
        code, runs = self.run_script("--derivatives", "--jax=0.1", "--minutes=9", "--ways=2")
        self.assertEqual((code, len(runs)), (0, 1))
        self.assertRegex(runs[0], r"^0\.1 \S*derivative_check\.py \S+ --ways=2 --minutes=9$")

    def test_several_have_a_part_of_the_time_each(self):
        code, runs = self.run_script("--minutes=9", "--derivatives", "--jax=0.1,0.2", "--ways=2")
        self.assertEqual((code, [run.split()[0] for run in runs]), (0, ["0.1", "0.2"]))
        for run in runs:
            self.assertRegex(run, r"derivative_check\.py \S+ --ways=2 --minutes=4\.5$")

    def test_all_are_run_and_one_failure_counts(self):
        code, runs = self.run_script("--derivatives", "--jax=0.1,0.2", fails="0.1")
        self.assertEqual((code, len(runs)), (1, 2))


if __name__ == "__main__":
    unittest.main()
