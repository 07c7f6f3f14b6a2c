"""What the tests of dumps share: where the corpus is, the tool that they are given, and how they end."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"
EXIT_SKIPPED = 77
# The first argument, which all tests of their kind are given; None: a class is named instead.
TOOL = sys.argv.pop(1) if len(sys.argv) > 1 and "/" in sys.argv[1] else None


def main():
    program = unittest.main(exit=False, verbosity=1)
    if not program.result.wasSuccessful():
        sys.exit(1)
    sys.exit(EXIT_SKIPPED if program.result.skipped else 0)
