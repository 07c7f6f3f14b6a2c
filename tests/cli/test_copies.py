#!/usr/bin/env python3
"""Modules that do not show whether XLA has inserted its copies, in all commands. What depends on that
is said, and is not called certain. usage: test_copies.py TOOL [CLASS...]"""

import tool
from tool import GOLDEN, ToolTest

UNMARKED = GOLDEN / "copies/unmarked.hlo"
RIGHT_IF = "right only if XLA has still to insert its copies"

# Donated %p is overwritten by %n and read after that: XLA has still to copy it, or this is wrong.
READ_LATE = """HloModule late, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }

ENTRY main {
  p = f32[1024]{0} parameter(0)
  g = f32[1024]{0} parameter(1)
  n = f32[1024]{0} subtract(p, g)
  s = f32[1024]{0} sine(p)
  ROOT out = (f32[1024]{0}, f32[1024]{0}) tuple(n, s)
}
"""


class OpenCopies(ToolTest):
    def remat(self, *options):
        """The summary, and what was said."""
        run = self.expect(0, UNMARKED, *options, "--json=summary.json", "-o", "after.hlo")
        return tool.json.loads(self.read("summary.json")), run.err

    def rewrite(self, *options):
        return self.remat("--small-node-limit=0", "--mem-limit=min", "--algorithm=path", *options)

    def test_verify(self):
        """What `verify` proves under an assumption, it says so."""
        self.assertIn(RIGHT_IF, self.rewrite()[1])
        self.assertIn(RIGHT_IF, self.expect(0, "verify", UNMARKED, "after.hlo").err)
        self.assertEqual(self.expect(0, "verify", "--copies=pending", UNMARKED, "after.hlo").err, "")
        self.assertNotEqual(self.run_tool("verify", "--copies=inserted", UNMARKED, "after.hlo").code, 0)
        self.assertEqual(self.expect(0, "verify", UNMARKED, UNMARKED).err, "")

    def test_plan(self):
        """A plan knows of copies what --copies said when it was made."""
        for option, is_certain in ((), False), (("--copies=pending",), True):
            with self.subTest(option):
                summary = self.rewrite("--save-plan=plan.json", *option)[0]
                self.assertEqual(summary["copies_certain"], is_certain)
                summary, said = self.remat("--apply-plan=plan.json")
                self.assertEqual(summary["copies_certain"], is_certain)
                self.assertEqual(RIGHT_IF in said, not is_certain)

    def test_schedule_that_reads_late(self):
        self.write("late.hlo", READ_LATE)
        run = self.expect(0, "report", "late.hlo", "--json=-")
        report = tool.json.loads(run.out)
        self.assertFalse(report["copies_certain"])
        self.assertIn("it is not certain whether XLA has inserted its copies", run.err)
        pending = self.json("report", "late.hlo", "--copies=pending")
        self.assertTrue(pending["copies_certain"])
        self.assertGreater(pending["peak_bytes"], report["peak_bytes"])

    def test_difference(self):
        """Two modules of the same kind are compared, even if one of them does not show its kind."""
        before = self.write("m.before_optimizations.txt", READ_LATE.replace("is_scheduled=true, ", ""))
        self.expect(0, before, "--algorithm=none", "--scheduler=input", "-o", "after.hlo")
        difference = self.json("report", before, "after.hlo")
        self.assertEqual(difference["before"]["peak_bytes"], difference["after"]["peak_bytes"])
        self.assertEqual(difference["after"]["copies"], "pending")


if __name__ == "__main__":
    tool.main()
