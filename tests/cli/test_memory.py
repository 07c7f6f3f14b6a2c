#!/usr/bin/env python3
"""Memory that runs out while the tool writes: nothing is left out. usage: test_memory.py TOOL [CLASS...]"""

import os
import subprocess

import tool
from tool import GOLDEN, ToolTest

REFUSING = os.environ.get("REFUSING_TOOL")
SCAN = str(GOLDEN / "scan" / "gru.hlo")
# The times that a run takes stand in its summary and JSON.
UNSTEADY = "took ", "_seconds"


class RefusedMemory(ToolTest):
    """Each request in turn is refused. The tool then ends with 4, or writes all that it writes with memory;
    it never leaves out a row, a cell or a key, and it leaves no temporary files."""

    def setUp(self):
        super().setUp()
        if not REFUSING:
            self.skipTest("built with a sanitizer, or not by CTest")

    def run_refused(self, number, args):
        env = {**self.environment({}), "REFUSED_REQUEST": str(number)}
        made = subprocess.run([REFUSING, *args], cwd=self.dir, env=env, capture_output=True, text=True,
                              timeout=tool.TIMEOUT_SECONDS)
        steady = [line for line in made.stdout.splitlines() if not any(word in line for word in UNSTEADY)]
        return made.returncode, steady, made.stderr

    def check(self, *args):
        given = self.names()
        whole = self.run_refused(10 ** 9, args)
        self.assertIn("all requests were granted", whole[2])
        files = self.names()
        num_ended, step, number = 0, 1, 0
        while True:
            for name in set(self.names()) - set(given):
                self.path(name).unlink()
            code, lines, err = self.run_refused(number, args)
            with self.subTest(args=args, number=number):
                if code == 4:
                    self.assertIn("out of memory", err)
                    self.assertEqual([name for name in self.names() if name not in files], [])
                    num_ended += 1
                else:
                    self.assertEqual((code, lines), whole[:2])
                    self.assertEqual(self.names(), files)
            if "all requests were granted" in err:
                break
            number += step
            step += number // 400  # all of the first ones, and some of thousands
        self.assertGreater(num_ended, 3)

    def test_remat(self):
        self.check(SCAN, "--mem-limit=min", "--effort=0", "--algorithm=scan", "--json=out.json", "-o", "out.hlo")

    def test_report(self):
        self.check("report", SCAN, "--json=out.json")

    def test_cost(self):
        self.check("cost", SCAN)

    def test_messages(self):
        self.check("check", self.write("bad.hlo", "HloModule m\n\nENTRY e {\n  ROOT p = f32[ parameter(0)\n}\n"))


if __name__ == "__main__":
    tool.main()
