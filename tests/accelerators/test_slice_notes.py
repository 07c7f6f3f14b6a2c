#!/usr/bin/env python3
"""What XLA:GPU notes of slices (slice_notes.py), in modules of a few lines, in the dumps of ../shared if they are there,
and in what the tool makes of these. usage: test_slice_notes.py [TOOL] [CLASS...]"""

import pathlib
import re
import subprocess
import tempfile
import unittest

import slice_notes
from dump_tests import CORPUS, TOOL, main

DUMPS = CORPUS / "accelerators"
LLAMA = DUMPS / "gpu_h100_sxm/llama_scan/post_scheduler_hook.hlo"
STATE = "(s32[], f32[4,8]{1,0}, f32[1,8]{1,0})"
NOTE = ', backend_config={"dynamic_slice_config":{%s}}'
DOWN = '"loop_index":"0","byte_offset":"96","byte_stride":"-32"'


def module(config):
    """A loop that takes the rows of an array from the last one on."""
    return f"""HloModule m, is_scheduled=true

%row (w: f32[4,8], i: s32[]) -> f32[1,8] {{
  %w = f32[4,8]{{1,0}} parameter(0)
  %i = s32[] parameter(1)
  %n = s32[] constant(3)
  %z = s32[] constant(0)
  %at = s32[] subtract(%n, %i)
  ROOT %r = f32[1,8]{{1,0}} dynamic-slice(%w, %at, %z), dynamic_slice_sizes={{1,8}}{NOTE % config}
}}

%c (t: {STATE}) -> pred[] {{
  %t = {STATE} parameter(0)
  %i = s32[] get-tuple-element(%t), index=0
  %n = s32[] constant(4)
  ROOT %lt = pred[] compare(%i, %n), direction=LT
}}

%b (t: {STATE}) -> {STATE} {{
  %t = {STATE} parameter(0)
  %i = s32[] get-tuple-element(%t), index=0
  %w = f32[4,8]{{1,0}} get-tuple-element(%t), index=1
  %one = s32[] constant(1)
  %in = s32[] add(%i, %one)
  %r = f32[1,8]{{1,0}} fusion(%w, %i), kind=kLoop, calls=%row
  ROOT %o = {STATE} tuple(%in, %w, %r)
}}

ENTRY %e (w: f32[4,8], s: f32[1,8]) -> {STATE} {{
  %w = f32[4,8]{{1,0}} parameter(0)
  %s = f32[1,8]{{1,0}} parameter(1)
  %z = s32[] constant(0)
  %a = {STATE} tuple(%z, %w, %s)
  ROOT %l = {STATE} while(%a), condition=%c, body=%b
}}
"""


class Notes(unittest.TestCase):
    def test_a_note_that_holds(self):
        for config in (DOWN, f'"byte_offset":"0","byte_stride":"0","loop_index":"0","linear":{{{DOWN[17:]}}}'):
            checked = slice_notes.check(module(config))
            self.assertEqual((checked.slices, checked.unknown, checked.faults), (4, 0, []))

    def test_notes_that_do_not(self):
        for config in (DOWN.replace("-32", "-8"), DOWN.replace("96", "64"), DOWN.replace('"0"', '"1"', 1), DOWN[17:]):
            self.assertTrue(slice_notes.check(module(config)).faults, config)

    def test_the_first_iteration_may_be_right(self):
        faults = slice_notes.check(module('"loop_index":"0","byte_offset":"96","byte_stride":"0"')).faults
        self.assertEqual(len(faults), 3)
        self.assertEqual(faults[0], "r begins at byte 64 in iteration [1], and its note says 96")


@unittest.skipUnless(DUMPS.is_dir(), "there is no ../shared")
class SharedNotes(unittest.TestCase):
    """Scans as XLA:GPU schedules them, and rewritten."""

    def check(self, path):
        checked = slice_notes.check(path.read_text())
        self.assertEqual((checked.faults, checked.unknown), ([], 0), path)
        return checked.slices

    def test_dumps(self):
        paths = [*DUMPS.glob("gpu*/*/*after_optimizations.txt"), *DUMPS.glob("gpu*/*/post_scheduler_hook.hlo")]
        self.assertGreater(sum(self.check(path) for path in paths), 1000)

    def test_what_is_made_of_them(self):
        if not TOOL:
            self.skipTest("no tool is given")
        number = 0
        for limit in ("40%", "min"):
            with self.subTest(limit), tempfile.TemporaryDirectory() as folder:
                made = pathlib.Path(folder) / "made.hlo"
                subprocess.run([TOOL, "remat", LLAMA, f"--mem-limit={limit}", "-o", made],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertRegex(made.read_text(), r"\.remat\b")
                number += self.check(made)
        self.assertGreater(number, 100)

    def test_others_are_found(self):
        text = LLAMA.read_text()
        strides = [found.span(1) for found in re.finditer(r'"byte_stride":"(-?[1-9]\d*)"', text)]
        self.assertGreater(len(strides), 10)
        for begin, end in strides[:: len(strides) // 8]:
            number = int(text[begin:end])
            self.assertTrue(slice_notes.check(f"{text[:begin]}{-number}{text[end:]}").faults, text[begin - 300:end])


if __name__ == "__main__":
    main()
