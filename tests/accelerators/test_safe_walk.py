#!/usr/bin/env python3
"""The walk over the memory of a buffer assignment (safe_walk.py), on modules of a few lines, and on the dumps of
../shared if they are there. usage: test_safe_walk.py [TOOL] [CLASS...]"""

import json
import random
import unittest

import hlo_reader
import plant
import safe_walk
from buffer_assignment import BufferAssignment
from dump_tests import CORPUS, main

ARRAY = "f32[4]{0}"


def dump(*allocations):
    """A buffer assignment: for each allocation its kind, and its values as name, first byte, last one, and shape."""
    lines = ["BufferAssignment:"]
    for number, (kind, *values) in enumerate(allocations):
        lines.append(f"allocation {number}: size 64, page 0, {kind}:")
        lines += [f" value: <{10 * number + i} {name} @0> (size={end - begin},offset={begin}): {(*shape, ARRAY)[0]}"
                  for i, (name, begin, end, *shape) in enumerate(values)]
    return BufferAssignment("\n".join(lines) + "\n\nTotal bytes used: 1\n")


def module(body, head="", others=""):
    return f"HloModule m, is_scheduled=true{head}\n{others}\nENTRY %main {{\n" + \
        "\n".join("  " + line for line in body) + "\n}\n"


class WalkTest(unittest.TestCase):
    def walk(self, text, assignment):
        return safe_walk.check(text, assignment)

    def expect_fault(self, message, text, assignment):
        with self.assertRaises(safe_walk.Fault) as caught:
            self.walk(text, assignment)
        self.assertIn(message, str(caught.exception))


PARAMETER = f"%p = {ARRAY} parameter(0)"
STRAIGHT = [PARAMETER, f"%a = {ARRAY} negate(%p)", f"%b = {ARRAY} negate(%a)", f"%c = {ARRAY} add(%a, %b)",
            f"ROOT %d = {ARRAY} negate(%c)"]
P, OUT = ("parameter 0, shape |f32[4]| at ShapeIndex {}", ("p", 0, 16)), "output shape is |f32[4]|, maybe-live-out"


class Straight(WalkTest):
    def test_values_that_share_memory_in_turn(self):
        walked = self.walk(module(STRAIGHT), dump(P, (OUT, ("d", 0, 16)), (
            "preallocated-temp", ("a", 0, 16), ("b", 16, 32), ("c", 0, 16))))
        self.assertEqual((walked.reads, walked.writes), (6, 4))

    def test_a_value_on_one_that_is_still_read(self):
        self.expect_fault("c reads a{} at bytes 0 to 16 of allocation 2, where there is b{} by now", module(STRAIGHT),
                          dump(P, (OUT, ("d", 0, 16)), ("preallocated-temp", ("a", 0, 16), ("b", 0, 16),
                                                        ("c", 16, 32))))

    def test_a_part_is_enough(self):
        self.expect_fault("c reads a{}", module(STRAIGHT), dump(
            P, (OUT, ("d", 0, 16)), ("preallocated-temp", ("a", 0, 16), ("b", 12, 28), ("c", 32, 48))))

    def test_order_counts(self):
        lines = [STRAIGHT[0], STRAIGHT[1], STRAIGHT[2], f"%e = {ARRAY} negate(%b)", STRAIGHT[3],
                 f"ROOT %d = {ARRAY} add(%c, %e)"]
        assignment = dump(P, (OUT, ("d", 0, 16)), ("preallocated-temp", ("a", 0, 16), ("b", 16, 32), ("e", 0, 16),
                                                   ("c", 32, 48)))
        self.expect_fault("c reads a{}", module(lines), assignment)
        self.walk(module([*lines[:3], lines[4], lines[3], lines[5]]), assignment)

    def test_a_copy_of_what_a_constant_says_may_lie_on_it(self):
        def lines(literal, copied):
            return [PARAMETER, "%i = f32[4]{0:T(128)} constant(0)", f"%k = {ARRAY} constant({literal})",
                    f"%a = {ARRAY} copy({copied})", f"%b = {ARRAY} add(%a, %i)", f"ROOT %d = {ARRAY} negate(%b)"]

        assignment = dump(P, (OUT, ("d", 0, 16)), ("constant", ("i", 0, 16), ("a", 0, 16)), ("constant", ("k", 0, 16)),
                          ("preallocated-temp", ("b", 0, 16)))
        self.assertEqual(self.walk(module(lines(0, "%k")), assignment).writes, 3)
        for literal, copied in ((1, "%k"), ("{...}", "%k"), (0, "%p")):  # another value, one that is unknown
            self.expect_fault("a{} is written to a constant", module(lines(literal, copied)), assignment)

    def test_a_loop_counter_of_a_tpu_may_lie_where_it_begins(self):
        lines = [PARAMETER, "%zero = s32[] constant(0)", "%i = s32[] negate(%zero)", f"%a = {ARRAY} add(%p, %i)",
                 f"ROOT %d = {ARRAY} negate(%a)"]
        for shape, size in (("s32[]", 4096), ("s32[]{:T(128)}", 4096), ("s32[]", 4), ("f32[]", 4096)):
            assignment = dump(P, (OUT, ("d", 0, 16)), ("preallocated-temp", ("a", 0, 16)),
                              ("constant", ("zero", 0, size, shape), ("i", 0, size, shape)))
            if (shape, size) == ("s32[]", 4096):
                self.walk(module(lines), assignment)
                read = [*lines[:3], f"%a = {ARRAY} add(%i, %zero)", lines[4]]
                self.expect_fault("a reads zero{}", module(read), assignment)
            else:
                self.expect_fault("i{} is written to a constant", module(lines), assignment)

    def test_parameters_and_constants_stay(self):
        self.expect_fault("a{} is written to a parameter 0", module(STRAIGHT), dump(
            (P[0], P[1], ("a", 0, 16)), (OUT, ("d", 0, 16)), ("preallocated-temp", ("b", 0, 16), ("c", 16, 32))))
        self.expect_fault("a{} is written to a constant", module(STRAIGHT), dump(
            P, (OUT, ("d", 0, 16)), ("constant", ("a", 0, 16)), ("preallocated-temp", ("b", 0, 16), ("c", 16, 32))))

    def test_nothing_is_passed_over(self):
        self.expect_fault("negate b() has no value of its own", module(STRAIGHT), dump(
            P, (OUT, ("d", 0, 16)), ("preallocated-temp", ("a", 0, 16), ("c", 16, 32))))
        self.expect_fault("is not defined by any instruction that runs", module(STRAIGHT), dump(
            P, (OUT, ("d", 0, 16)), ("preallocated-temp", ("a", 0, 16), ("b", 16, 32), ("c", 0, 16), ("x", 32, 48))))


class InPlace(WalkTest):
    head = ", input_output_alias={ {}: (0, {}, may-alias) }"
    lines = [PARAMETER, "%i = s32[] constant(0)", f"%a = {ARRAY} negate(%p)",
             f"ROOT %u = {ARRAY} dynamic-update-slice(%p, %a, %i)"]
    donated = ("parameter 0, shape |f32[4]| at ShapeIndex {}, maybe-live-out", ("p", 0, 16), ("u", 0, 16))
    rest = ("preallocated-temp", ("a", 0, 16), ("b", 16, 32)), ("constant", ("i", 0, 4))

    def test_a_donated_parameter(self):
        self.walk(module(self.lines, self.head), dump(self.donated, ("preallocated-temp", ("a", 0, 16)), self.rest[1]))

    def test_read_after_it_was_overwritten(self):
        lines = [*self.lines[:3], self.lines[3].removeprefix("ROOT "), f"%b = {ARRAY} negate(%p)",
                 f"ROOT %t = ({ARRAY}, {ARRAY}) tuple(%u, %b)"]
        head = ", input_output_alias={ {0}: (0, {}, may-alias) }"
        assignment = dump(self.donated, (OUT, ("t", 0, 16), ("b", 16, 32)), ("preallocated-temp", ("a", 0, 16)),
                          self.rest[1])
        self.expect_fault("b reads p{} at bytes 0 to 16 of allocation 0, where there is u{} by now",
                          module(lines, head), assignment)
        lines[3:5] = reversed(lines[3:5])
        self.walk(module(lines, head), assignment)

    def test_an_alias_that_is_not_kept(self):
        self.expect_fault("output () is to lie in parameter 0", module(self.lines, self.head), dump(
            P, (OUT, ("u", 0, 16)), ("preallocated-temp", ("a", 0, 16)), self.rest[1]))


STATE = f"({ARRAY}, {ARRAY})"


def loop(body, after=()):
    others = f"""
%condition {{
  %state.1 = {STATE} parameter(0)
  ROOT %more = pred[] custom-call(%state.1#0), custom_call_target="more"
}}

%body {{
  %state = {STATE} parameter(0)
""" + "".join(f"  {line}\n" for line in body) + "}\n"
    return module([PARAMETER, f"%x = {ARRAY} negate(%p)", f"%y = {ARRAY} negate(%x)", f"%t = {STATE} tuple(%x, %y)",
                   f"%w = {STATE} while(%t), condition=%condition, body=%body", *after], others=others)


class Loops(WalkTest):
    body = [f"%new.x = {ARRAY} add(%state#0, %state#1)", f"%new.y = {ARRAY} negate(%state#1)",
            f"ROOT %new = {STATE} tuple(%new.x, %new.y)"]
    root = [f"ROOT %d = {ARRAY} add(%w#0, %w#1)"]

    def dump(self, new_y=16, extra=()):
        return dump(P, (OUT, ("d", 0, 16)), ("preallocated-temp", ("x", 0, 16), ("y", 16, 32), ("new.x", 0, 16),
                                             ("new.y", new_y, new_y + 16), ("more", 48, 49), *extra),
                    ("preallocated-temp", ("t", 0, 16), ("new", 0, 16)))

    def test_a_state_is_replaced_in_place(self):
        self.walk(loop(self.body, self.root), self.dump())

    def test_a_body_reads_what_it_has_replaced(self):
        body = [self.body[1], self.body[0], self.body[2]]
        self.expect_fault("new.x reads y{}", loop(body, self.root), self.dump())

    def test_a_state_that_wanders(self):
        self.expect_fault("w(1,) is y{} and new.y{}, which do not lie at the same place", loop(self.body, self.root),
                          self.dump(new_y=32))

    def test_the_second_iteration_counts(self):
        """The first finds the initial state, which nobody has overwritten yet."""
        body = [f"%new.x = {ARRAY} negate(%state#0)", f"%late = {ARRAY} add(%state#0, %state#1)",
                f"%new.y = {ARRAY} negate(%late)", f"ROOT %new = {STATE} tuple(%state#0, %new.y)"]
        self.walk(loop([f"%late = {ARRAY} add(%state#0, %state#1)", *body[2:]], self.root),
                  dump(P, (OUT, ("d", 0, 16)), ("preallocated-temp", ("x", 0, 16), ("y", 16, 32), ("late", 32, 48),
                                                ("new.y", 16, 32), ("more", 48, 49)),
                       ("preallocated-temp", ("t", 0, 16), ("new", 0, 16))))
        self.expect_fault("reads x{}", loop([*body[1:3], f"%z = {ARRAY} negate(%new.y)", body[3]], self.root),
                          dump(P, (OUT, ("d", 0, 16)), (
                              "preallocated-temp", ("x", 0, 16), ("y", 16, 32), ("late", 32, 48), ("new.y", 16, 32),
                              ("z", 0, 16), ("more", 48, 49)), ("preallocated-temp", ("t", 0, 16), ("new", 0, 16))))

    def test_the_initial_state_is_gone_afterwards(self):
        self.expect_fault("d reads x{}", loop(self.body, [f"ROOT %d = {ARRAY} add(%x, %w#1)"]), self.dump())


class Conditionals(WalkTest):
    others = f"""
%one {{
  %p.1 = {ARRAY} parameter(0)
  ROOT %r.1 = {ARRAY} negate(%p.1)
}}

%two {{
  %p.2 = {ARRAY} parameter(0)
  %s.2 = {ARRAY} negate(%p.2)
  ROOT %r.2 = {ARRAY} negate(%s.2)
}}
"""
    lines = [PARAMETER, f"%a = {ARRAY} negate(%p)", f"%k = {ARRAY} negate(%a)", "%i = s32[] constant(0)",
             f"%c = {ARRAY} conditional(%i, %a, %a), branch_computations={{%one, %two}}",
             f"ROOT %d = {ARRAY} add(%c, %k)"]

    def dump(self, r_2=32, s_2=0):
        return dump(P, (OUT, ("d", 0, 16)), ("constant", ("i", 0, 4)), (
            "preallocated-temp", ("a", 0, 16), ("k", 16, 32), ("r.1", 32, 48), ("r.2", r_2, r_2 + 16),
            ("s.2", s_2, s_2 + 16)))

    def test_branches_are_walked(self):
        self.walk(module(self.lines, others=self.others), self.dump())

    def test_one_branch_is_enough(self):
        self.expect_fault("d reads k{}", module(self.lines, others=self.others), self.dump(s_2=16))

    def test_results_lie_at_one_place(self):
        self.expect_fault("which do not lie at the same place", module(self.lines, others=self.others),
                          self.dump(r_2=48))


class Asynchronous(WalkTest):
    lines = [PARAMETER, f"%a = {ARRAY} negate(%p)", f"%s = ({ARRAY}, {ARRAY}, u32[]) copy-start(%a)",
             f"%b = {ARRAY} negate(%p)", f"%e = {ARRAY} copy-done(%s)", f"ROOT %d = {ARRAY} add(%e, %b)"]

    def dump(self, b=32):
        return dump(P, (OUT, ("d", 0, 16)), ("preallocated-temp", ("a", 0, 16), ("s{0}", 16, 32), ("b", b, b + 16)),
                    ("preallocated-temp", ("s", 0, 16), ("s{2}", 16, 20)))

    def test_a_copy(self):
        self.walk(module(self.lines), self.dump())

    def test_a_source_is_read_until_the_end(self):
        self.expect_fault("e waits for a{}", module(self.lines), self.dump(b=0))

    def test_a_target_is_written_from_the_beginning(self):
        self.expect_fault("e waits for s{0}", module(self.lines), self.dump(b=16))


class SideBySide(WalkTest):
    lines = [PARAMETER, f"%a = {ARRAY} negate(%p)", f"%b = {ARRAY} negate(%a)",
             '%c = f32[8]{0} custom-call(%a, %b), custom_call_target="ConcatBitcast"', f"%e = {ARRAY} add(%a, %b)",
             f"ROOT %d = {ARRAY} slice(%c)"]

    def test_operands_stay_what_they_are(self):
        self.walk(module(self.lines), dump(P, (OUT, ("d", 0, 16)), (
            "preallocated-temp", ("a", 0, 16), ("b", 16, 32), ("c", 0, 32), ("e", 32, 48))))

    def test_what_overwrites_a_part(self):
        self.expect_fault("d reads c", module(self.lines), dump(P, (OUT, ("d", 0, 16)), (
            "preallocated-temp", ("a", 0, 16), ("b", 16, 32), ("c", 0, 32), ("e", 16, 32))))


class Reading(unittest.TestCase):
    def test_an_instruction(self):
        line = ('  ROOT %f.1 = (f32[8,4]{1,0:T(8,128)(2,1)S(1)}, /*index=1*/(s32[], token[])) fusion(%a, '
                'f32[2]{0} %b#1, /*index=2*/%c), kind=kLoop, calls=%g, metadata={op_name="jit(f)/a) %x"}')
        read = hlo_reader.read_instruction(line, 7)
        self.assertEqual((read.name, read.opcode, read.is_root, read.line_number), ("f.1", "fusion", True, 7))
        self.assertEqual(read.shape, ["f32[8,4]{1,0:T(8,128)(2,1)S(1)}", ["s32[]", "token[]"]])
        self.assertEqual(read.operands, [("a", ()), ("b", (1,)), ("c", ())])
        self.assertEqual(read.called("calls"), "g")
        self.assertEqual([*hlo_reader.indices(read.shape)], [(), (0,), (1,), (1, 0), (1, 1)])

    def test_what_is_no_dump(self):
        with self.assertRaises(ValueError):
            BufferAssignment("HloModule m\n")
        with self.assertRaises(ValueError):
            BufferAssignment("allocation 0: size 4, page 0, constant:\n value: <1 x> somewhere\n")

    def test_allocations(self):
        assignment = BufferAssignment(
            "BufferAssignment:\nallocation 0: size 64, page 0, parameter 3, shape |f32[16]| at ShapeIndex {1,0}, "
            "maybe-live-out:\nallocation 1: size 512, color 1, page 0, preallocated-temp:\nallocation 2: size 20000, "
            "page 0, preallocated-temp:\n value: <7 a.1{0,2} (phi) @0> (size=4,offset=8): f32[]\n")
        first, vmem, temp = assignment.allocations
        self.assertEqual((first.parameter, first.is_live_out, first.is_temporary), ((3, (1, 0)), True, False))
        self.assertEqual((vmem.color, vmem.is_temporary, temp.is_temporary), (1, True, True))
        self.assertEqual(assignment.places["a.1", (0, 2)].is_phi, True)
        self.assertEqual(assignment.truth(is_tpu=True)["temp_size_in_bytes"], 32768)
        self.assertEqual(assignment.truth(is_tpu=False), {
            "temp_size_in_bytes": 20000, "argument_size_in_bytes": 64, "output_size_in_bytes": 64,
            "alias_size_in_bytes": 64})


def dumps(pattern):
    """(module, buffer assignment, truth.json) of the dumps that match."""
    for path in sorted(CORPUS.glob(pattern)):
        name = path.name.replace("-buffer-assignment.txt", ".txt").replace(
            "buffer-assignment.txt", "after_optimizations.txt")
        yield path, (path.parent / name).read_text(), BufferAssignment(path.read_text())


class Shared(WalkTest):
    """Real modules have no faults, and those that are planted in them are found: for each platform at least ten."""
    patterns = {"cpu": "memory/*/*/buffer-assignment.txt", "gpu": "accelerators/gpu*/*/*-buffer-assignment.txt",
                "tpu": "accelerators/tpu*/*/*-buffer-assignment.txt"}

    def setUp(self):
        if not (CORPUS / "accelerators").is_dir():
            self.skipTest("there is no ../shared")

    def check(self, platform):
        number = 0
        for path, text, assignment in dumps(self.patterns[platform]):
            with self.subTest(path.relative_to(CORPUS)):
                self.walk(text, assignment)
                planted, missed = plant.missed(text, assignment, self.seed)
                number += planted
                self.assertEqual([(one.kind, one.what) for one in missed], [], f"seed {self.seed}")
        self.assertGreaterEqual(number, 10)

    seed = random.SystemRandom().randrange(1 << 30)

    def test_cpu(self):
        self.check("cpu")

    def test_gpu(self):
        self.check("gpu")

    def test_tpu(self):
        self.check("tpu")

    def test_temporaries_are_those_of_memory_analysis(self):
        for pattern in self.patterns.values():
            for path, _, assignment in dumps(pattern):
                truth = json.loads((path.parent / "truth.json").read_text())
                truth = truth.get("memory_analysis", truth)
                if "extracted" in path.name or "error" in truth or "early" in truth:
                    continue
                with self.subTest(path.relative_to(CORPUS)):
                    for name, value in assignment.truth("tpu" in str(path)).items():
                        self.assertEqual(value, truth[name], name)


if __name__ == "__main__":
    main()
