"""What tests of the Python package share. Those of the offline half need nothing but Python 3.9:
$REMAT_HLO_LIBRARY names the library, and the package is that of the source tree. Those of the live half
run in a virtual environment where the package is installed (scripts/check/live)."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "hlo_samples"
EXIT_SKIPPED = 77

if "REMAT_HLO_LIBRARY" in os.environ:
    sys.path.insert(0, str(ROOT / "src" / "python"))
    os.environ.setdefault("REMAT_HLO_PROFILE_DIR", str(ROOT / "share/remat-hlo/profiles"))


class PackageTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="python.")
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)

    def heed_ctrl_c(self):
        """A process that a shell runs in the background begins with SIGINT ignored."""
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return path

    def run_python(self, *arguments, env=None, code=0):
        """Runs Python, whose exit code must be `code`, with no options in its environment but `env`.
        Returns what it writes to (stdout, stderr)."""
        inherited = {k: v for k, v in os.environ.items()
                     if not k.startswith(("REMAT_HLO_", "JAX_", "XLA_"))}
        for name in ("REMAT_HLO_LIBRARY", "REMAT_HLO_PROFILE_DIR"):
            if name in os.environ:
                inherited[name] = os.environ[name]
                inherited["PYTHONPATH"] = str(ROOT / "src" / "python")
        run = subprocess.run([sys.executable, *map(str, arguments)], cwd=self.dir, text=True,
                             env={**inherited, "JAX_PLATFORMS": "cpu", **(env or {})},
                             capture_output=True, timeout=240)
        self.assertEqual(run.returncode, code, f"{run.stdout}\n{run.stderr}")
        return run.stdout, run.stderr


def main():
    """Runs the tests of the classes that are named, or all."""
    program = unittest.main(exit=False, verbosity=1)
    if not program.result.wasSuccessful():
        sys.exit(1)
    sys.exit(EXIT_SKIPPED if program.result.skipped else 0)
