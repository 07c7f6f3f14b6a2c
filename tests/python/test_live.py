#!/usr/bin/env python3
"""The live half of the Python package, within XLA:CPU. Run by scripts/check/live, in an environment that
has JAX and the package. usage: test_live.py [CLASS...]"""

import concurrent.futures
import contextlib
import json
import logging
import os
import re
import socket
import signal
import threading
import time
import types
import unittest.mock

import package
from package import ROOT, PackageTest

# One thread, so that sums are made in one order.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import jax  # noqa: E402
import numpy as np  # noqa: E402
import same_module  # noqa: E402
from live_programs import PROGRAMS, compile_program, run  # noqa: E402

import remat_hlo  # noqa: E402
import remat_hlo.jax as live  # noqa: E402
from jax._src.interpreters import pxla  # noqa: E402
from remat_hlo import _assigned, _before, _compilations, _decide, _files, _hooks, _interrupts, _limits, _module  # noqa: E402
from remat_hlo import _options, _proto, _rewriting, _text, _trials  # noqa: E402

QUIET = {"verbose": False}
# The memory model is that of the XLA in JAX 0.12; the one in 0.10 packs some values tighter.
TOLERANCE = 0.01 if jax.__version_info__ >= (0, 12) else 0.03
REFERENCES = {}
STACK_FRAMES = 17  # of HloModuleProto


def reference(name):
    """(program, its compiled form, its outputs), without us."""
    if name not in REFERENCES:
        program = PROGRAMS[name]()
        compiled = compile_program(program)
        REFERENCES[name] = program, compiled, run(compiled, program)
    return REFERENCES[name]


class LiveTest(PackageTest):
    def setUp(self):
        super().setUp()
        live.clear_reports()
        self.addCleanup(live.uninstall)
        self.records = []
        handler = logging.Handler()
        handler.emit = lambda record: self.records.append(
            (record.levelname, record.getMessage()))
        logger = logging.getLogger("remat_hlo")
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        self.addCleanup(logger.removeHandler, handler)

    def warnings(self):
        return [message for level, message in self.records if level == "WARNING"]

    def lines(self):
        return [message for level, message in self.records if level == "INFO"]


class SameBits(LiveTest):
    """What is rewritten computes the same bits in less memory, in as much as was predicted."""

    def check(self, name, stage, algorithm, limit):
        program, before, expected = reference(name)
        with live.rematerialize(limit, stage=stage, algorithm=algorithm, **QUIET):
            compiled = compile_program(program)
        self.assertEqual(run(compiled, program), expected)
        check = live.check(compiled)
        was = before.memory_analysis().temp_size_in_bytes
        if not check.is_changed:
            self.assertEqual(check.assigned_temp_bytes, was)
            return False
        self.assertLess(check.predicted_temp_bytes, check.before_temp_bytes)
        if stage == "POST_SCHEDULER":
            self.assertEqual(check.before_temp_bytes, was)
            self.assertLess(abs(check.error), TOLERANCE)
            self.assertLess(check.assigned_temp_bytes, was)
            report = check.report
            self.assertEqual(report.is_met, report.is_min or report.after.total_bytes <= report.limit_bytes)
        else:
            self.assertLessEqual(check.assigned_temp_bytes, was)
        return True

    def check_all(self, stage, algorithm):
        changed = 0
        for number, name in enumerate(PROGRAMS):
            limit = ("r60%", "min")[number % 2]
            with self.subTest(name, stage=stage, algorithm=algorithm, limit=limit):
                changed += self.check(name, stage, algorithm, limit)
        self.assertGreaterEqual(changed, 4)
        self.assertEqual(self.warnings(), [])

    def test_post_path(self):
        self.check_all("POST_SCHEDULER", "path")

    def test_post_search(self):
        self.check_all("POST_SCHEDULER", "search")

    def test_pre_path(self):
        self.check_all("PRE_SCHEDULER", "path")

    @unittest.skipIf(jax.__version_info__ < (0, 12), "another XLA:CPU")
    def test_chain(self):
        """Fusions that compute the same values are split where that meets the budget, and all bits stay."""
        program, before, expected = reference("chain")
        limit = before.memory_analysis().temp_size_in_bytes * 6 // 10
        with live.rematerialize(limit, limit_counts="temp", algorithm="path", **QUIET):
            compiled = compile_program(program)
        self.assertEqual(run(compiled, program), expected)
        self.assertTrue(live.check(compiled).report.is_met)
        self.assertLessEqual(compiled.memory_analysis().temp_size_in_bytes, limit)

    @unittest.skipIf(jax.__version_info__ < (0, 12), "another XLA:CPU")
    def test_pre_order(self):
        """The order that XLA:CPU gives to what we return is the one in which it was measured."""
        import matrix_programs
        made, decide = [], _decide.decide

        def note(*arguments, **named):
            made.append(decide(*arguments, **named))
            return made[-1]

        program = matrix_programs.PROGRAMS["fft"]()
        asked = {"stage": "PRE_SCHEDULER", "algorithm": "path", "min_peak": "64KiB", **QUIET}
        with unittest.mock.patch.object(_decide, "decide", note), live.rematerialize("r30%", **asked):
            compiled = compile_program(program)
        (text,) = [decision.text for decision in made if decision.text]
        order = remat_hlo.load(text.encode(), copies="inserted").schedule("bfs-proto").text()
        (scheduled,) = compiled.runtime_executable().hlo_modules()
        self.assertEqual([name for _, name, _ in entry_instructions(order)],
                         [name for _, name, _ in entry_instructions(_files.print_hlo(scheduled))])
        self.assertEqual(live.check(compiled).error, 0)


class MaxSlowdown(LiveTest):
    """The first steps of a changed program take turns with those of the program as it was, and the faster of the two
    goes on where the former is slower than allowed."""

    STEPS = 2 * (1 + _trials.STEPS)

    def setUp(self):
        super().setUp()
        self.calls = 0
        inner = pxla.ExecuteReplicated.__call__

        def count(*arguments):
            self.calls += 1
            return inner(*arguments)

        patch = unittest.mock.patch.object(pxla.ExecuteReplicated, "__call__", count)
        patch.start()
        self.addCleanup(patch.stop)

    def train(self, name, steps, **options):
        """The outputs of each step as bytes, where each step has the weights of the last."""
        function, (weights, x), donated = PROGRAMS[name]()
        step = jax.jit(lambda weights, x: function(weights, x), donate_argnums=donated)
        made = []
        if options:
            live.install("min", min_peak="64KiB", **options)
        x = jax.device_put(x)
        weights = [jax.device_put(w, may_alias=False) for w in weights]
        for _ in range(steps):
            weights, value = step(weights, x)
            made.append((np.asarray(value).tobytes(), np.asarray(weights[0]).tobytes()))
        return made

    def report(self):
        return next(r for r in live.last_reports(with_unchanged=True) if r.measured_slowdown is not None)

    def test_what_is_too_slow_is_taken_back(self):
        expected = self.train("training_step", self.STEPS + 3)
        self.calls = 0
        # Both calls are at one place in the source, so that their modules are equal.
        made, again = (self.train("training_step", steps, max_slowdown=0.01, verbose=True)
                       for steps in (self.STEPS + 3, 2))
        self.assertEqual(made, expected)
        first, second = (r for r in live.last_reports(with_unchanged=True) if r.outcome == _decide.SLOWER)
        self.assertGreater(first.measured_slowdown, 0.01)
        self.assertIn("0.01 allowed", first.reason)
        (line,) = self.warnings()
        self.assertRegex(line, "times its time as it was, measured over 3 steps, 0.01 allowed: it is taken back")
        # It is not made again.
        self.assertEqual(again, expected[:2])
        self.assertTrue(second.from_cache)
        self.assertEqual(_hooks.state.trials.of, {})
        # Calls by way of Python: those that were measured, and one by which JAX finds its fast path, of each program.
        self.assertLessEqual(self.calls, self.STEPS + 1 + 1 + 2)

    def test_what_is_fast_enough_stays(self):
        expected = self.train("training_step", self.STEPS + 3)
        made = self.train("training_step", self.STEPS + 3, max_slowdown=1000, verbose=True)
        self.assertEqual(made, expected)
        self.assertEqual(self.report().outcome, _decide.CHANGED)
        self.assertIn("1000 allowed", self.lines()[-1])
        self.assertEqual(self.warnings(), [])
        self.assertEqual(_hooks.state.trials.of, {})

    def test_as_it_was_is_compiled_once(self):
        """For the bytes that are compared and for the steps that are measured."""
        from jax._src import compiler
        inner = compiler.backend_compile_and_load
        names = []

        def count(backend, module, *arguments, **named):
            names.append(module.operation.attributes["sym_name"].value)
            return inner(backend, module, *arguments, **named)
        with unittest.mock.patch.object(compiler, "backend_compile_and_load", count):
            made = self.train("training_step", self.STEPS + 1, max_slowdown=1000, check="always", **QUIET)
            live.uninstall()
        self.assertEqual(made, self.train("training_step", self.STEPS + 1))
        self.assertEqual(self.report().outcome, _decide.CHANGED)
        self.assertEqual(names.count(self.report().name), 2)

    def test_a_compiled_program_changes_in_place(self):
        program, before, expected = reference("training_step")
        live.install("min", min_peak="64KiB", max_slowdown=0.01, **QUIET)
        compiled = compile_program(program)
        self.assertTrue(live.check(compiled).is_changed)
        for _ in range(self.STEPS):
            self.assertEqual(run(compiled, program), expected)
        self.assertEqual(compiled.memory_analysis().temp_size_in_bytes,
                         before.memory_analysis().temp_size_in_bytes)
        self.assertFalse(live.check(compiled).is_changed)
        self.assertEqual(run(compiled, program), expected)

    def test_threads(self):
        program, _, expected = reference("mlp")
        live.install("min", min_peak="64KiB", max_slowdown=0.01, **QUIET)
        compiled = compile_program(program)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for made in pool.map(lambda _: run(compiled, program), range(4 * self.STEPS)):
                self.assertEqual(made, expected)
        self.assertEqual(len(self.warnings()), 1)
        self.assertEqual(self.report().outcome, _decide.SLOWER)

    def test_a_program_without_room_is_not_run(self):
        program, _, expected = reference("mlp")
        live.install("min", min_peak="64KiB", max_slowdown=0.01, **QUIET)
        compiled = compile_program(program)
        with unittest.mock.patch.object(_trials, "has_room", lambda executable: False):
            for _ in range(3):
                self.assertEqual(run(compiled, program), expected)
        self.assertTrue(live.check(compiled).is_changed)
        self.assertRegex(self.warnings()[0], "is not measured: as it was, it has no room")

    def test_jax_without_what_is_needed(self):
        live.uninstall()
        with unittest.mock.patch.object(_trials, "NEEDED", (("jax._src.compiler", None, "no_such"),)):
            live.install("min", min_peak="64KiB", max_slowdown=0.01, **QUIET)
        program, _, expected = reference("mlp")
        compiled = compile_program(program)
        self.assertEqual(run(compiled, program), expected)
        self.assertTrue(live.check(compiled).is_changed)
        self.assertIn("does not let steps be measured", self.warnings()[0])

    def test_values(self):
        for value, message in ((0, "no number above 0"), ("fast", "could not convert"), (-1, "no number above 0")):
            with self.assertRaisesRegex(ValueError, message):
                live.install("min", max_slowdown=value)
        with self.assertRaisesRegex(ValueError, "measures no steps"):
            live.install("min", max_slowdown=2, stage="BEFORE_OPTIMIZATIONS")


class Routes(LiveTest):
    """A result is a patch of XLA's message, and the same as what XLA reads from its text."""

    def compile(self, name, stage="POST_SCHEDULER"):
        """(its report, XLA's message, what it was given back)"""
        program, _, expected = reference(name)
        seen = []
        carry = _proto.carry

        def spy(before, after):
            seen.append((before, carry(before, after)))
            return seen[-1][1]
        with unittest.mock.patch.object(_proto, "carry", spy), \
                live.rematerialize("r50%", stage=stage, algorithm="path", **QUIET):
            compiled = compile_program(program)
        self.assertEqual(run(compiled, program), expected)
        return live.check(compiled).report, *seen[-1]

    def setUp(self):
        super().setUp()
        if not has_patches():
            self.skipTest("the library was built without protobuf-c")
        _hooks.state.cache.clear()
        self.addCleanup(_hooks.state.cache.clear)

    def test_same(self):
        found = []
        patch = same_module.watch_routes(found)
        self.addCleanup(setattr, _rewriting, "patch", patch)
        for name in ("mlp", "training_step", "scan", "constants"):
            for stage in ("POST_SCHEDULER", "PRE_SCHEDULER"):
                found.clear()
                report, before, after = self.compile(name, stage)
                self.assertEqual(found, [("patch", "")], name)
                self.assertNotIn("from text", report.seconds, name)
                for field in (_proto.ID, STACK_FRAMES):  # of a number the last one counts
                    self.assertEqual(last_field(after, field), last_field(before, field), name)

    def test_what_text_does_not_show(self):
        """Fields that this package does not know are still there."""
        from jaxlib import _hlo
        decision = None
        decide = _decide.decide

        def keep(*arguments, **named):
            nonlocal decision
            decision = decide(*arguments, **named)
            return decision
        with unittest.mock.patch.object(_decide, "decide", keep):
            _, before, _ = self.compile("mlp")
        extra = bytes((0xfa, 0x3f, 3)) + b"new"  # field 1023
        made = _rewriting.patch(decision, before + extra, "mark")
        self.assertEqual([bytes(content) for number, content, _, _ in _proto.fields(made)
                          if number == 1023], [b"new"])
        self.assertTrue(_hlo.HloModule.from_serialized_hlo_module_proto(made))

    def test_library_refuses(self):
        """What cannot be patched is read from the text."""
        with unittest.mock.patch.object(_rewriting, "patch_proto", side_effect=remat_hlo.InputError(
                "RH_ERR_INPUT", [])):
            report, _, _ = self.compile("mlp")
        self.assertIn("from text", report.seconds)
        self.assertEqual(self.warnings(), [])

    def test_fault_of_the_library(self):
        """The same, but it is said."""
        with unittest.mock.patch.object(_rewriting, "patch_proto", side_effect=remat_hlo.InternalError(
                "RH_ERR_INTERNAL", [])):
            report, _, _ = self.compile("mlp")
        self.assertIn("from text", report.seconds)
        self.assertEqual(len(self.warnings()), 1)

    def test_broken_messages(self):
        """An error, and no crash."""
        text = b"HloModule m\nENTRY %e { ROOT %p = f32[] parameter(0) }\n"
        module = remat_hlo.load(text)
        for broken in (b"", b"\x1a", b"\x1a\xff\xff\xff\xff\x0f", text, bytes(1000), b"\xff" * 1000):
            with self.assertRaises(remat_hlo.InputError):
                _rewriting.patch_proto(module, module, broken)


SPLIT = """HloModule split, is_scheduled=true, replica_count=4

%wrapped (i: f32[8]) -> f32[8] {
  %i = f32[8]{0} parameter(0)
  ROOT %o = f32[8]{0} COLLECTIVE
}

ENTRY %e (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %s = ((f32[8]{0}), f32[8]{0}) async-start(%p), calls=%wrapped, frontend_attributes={a="b"}
  ROOT %d = f32[8]{0} async-done(%s)
}
"""
COLLECTIVES = ("all-gather(%i), channel_id=1, replica_groups={{0}}, dimensions={0}",
               "collective-permute(%i), channel_id=1, source_target_pairs={{0,1},{1,2}}",
               "all-to-all(%i), channel_id=1, replica_groups={{0,1,2,3}}, dimensions={0}, frontend_attributes={a=\"b\"}")


class Absent(LiveTest):
    def test_auto_for_absent_devices(self):
        """15.75 GiB of a v5e, three quarters of what an H100 has, without what is left free."""
        options = _options.Options(mem_limit="auto", headroom="0%")
        with unittest.mock.patch.dict(os.environ, {"XLA_PYTHON_CLIENT_MEM_FRACTION": ""}):
            self.assertEqual(_limits.limit_of(options, "tpu", "tpu-v5e"), int(15.75 * (1 << 30)))
            self.assertEqual(_limits.limit_of(options, "cuda", "h100-sxm"), int(0.75 * 84_942_979_072))


class Texts(LiveTest):
    """Texts that the library prints are those of jaxlib, which prints what the library refuses.
    proto_texts.py has more programs."""

    def setUp(self):
        super().setUp()
        if not has_patches():
            self.skipTest("the library was built without protobuf-c")
        _text.prints_as_jaxlib.cache_clear()
        self.addCleanup(_text.prints_as_jaxlib.cache_clear)
        self.message = jax.jit(lambda x: jax.numpy.sin(x) + 1).lower(
            np.float32(1)).compiler_ir("hlo").as_serialized_hlo_module_proto()

    def text_by(self, message, by_library):
        """Checks by whom the text is printed, and returns it."""
        with unittest.mock.patch.object(_text, "_print_by_jaxlib", wraps=_text._print_by_jaxlib) as jaxlib:
            text = _text.text_of(message)
        self.assertEqual(not jaxlib.called, by_library)
        return text

    def test_library_prints(self):
        if jax.__version_info__ < (0, 12):
            self.skipTest("this version of XLA prints in another way")
        self.assertTrue(_text.prints_as_jaxlib())
        self.assertEqual(self.text_by(self.message, True), _text._print_by_jaxlib(self.message))

    def test_jaxlib_prints_what_is_refused(self):
        _text.prints_as_jaxlib()
        text = self.text_by(self.message + bytes((0xfa, 0x3f, 3)) + b"new", False)  # field 1023
        self.assertEqual(text, _text._print_by_jaxlib(self.message))

    def test_jaxlib_prints_if_it_prints_differently(self):
        with unittest.mock.patch.object(_text, "print_proto", return_value="HloModule other"):
            self.assertFalse(_text.prints_as_jaxlib())
            self.assertNotEqual(self.text_by(self.message, False), "HloModule other")

    def test_collectives_that_are_split_read_back(self):
        """XLA prints them as `all-gather-start(…)`, which its parser takes for another opcode, and with frontend
        attributes twice, which it refuses."""
        if jax.__version_info__ < (0, 12):
            self.skipTest("this version of XLA prints in another way")
        from jaxlib import _hlo
        self.assertTrue(_text.prints_as_jaxlib())
        for collective in COLLECTIVES:
            message = _hlo.hlo_module_from_text(SPLIT.replace("COLLECTIVE", collective)).as_serialized_hlo_module_proto()
            text = self.text_by(message, True)
            self.assertIn("async-start(%p), calls=%wrapped", text)
            again = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
            self.assertEqual(self.text_by(again, True), text)
            module = remat_hlo.load(text)
            patched = _module.patch_proto(module, module, message, "mark", "1")
            self.assertEqual(self.text_by(patched, True).replace(', frontend_attributes={mark="1"}', ""), text)

    def test_broken_messages(self):
        for broken in (b"", b"\x1a", bytes(1000), b"\xff" * 1000, self.message[:-1]):
            with self.assertRaises(remat_hlo.InputError):
                _module.print_proto(broken)


def last_field(message, wanted):
    found = [content for number, content, _, _ in _proto.fields(message) if number == wanted]
    return found[-1] if found else None


def has_patches():
    """Whether the library was built with protobuf-c: without it, that is what the error says."""
    module = remat_hlo.load(b"HloModule m\nENTRY %e { ROOT %p = f32[] parameter(0) }\n")
    try:
        _rewriting.patch_proto(module, module, b"")
    except remat_hlo.UsageError:
        return False
    except remat_hlo.InputError:
        return True


def entry_instructions(text):
    """(index, name, line) of the lines of the entry computation."""
    lines = text.split("\n")
    begin = next(i for i, line in enumerate(lines) if line.startswith("ENTRY "))
    for index in range(begin + 1, len(lines)):
        if lines[index].startswith("}"):
            return
        match = re.match(r"\s+(?:ROOT )?%(\S+) = ", lines[index])
        yield index, match[1], lines[index]


def clone_late(text, name):
    """The text with a clone of an instruction of the entry, and of the computation that it calls,
    right before its last user, which reads the clone: what somebody would write who does not know
    of shared memory."""
    found = list(entry_instructions(text))
    original = next(line for _, n, line in found if n == name)
    users = [(i, line) for i, _, line in found
             if re.search(rf"%{re.escape(name)}[,)]", line.partition("(")[2])]
    index, user = users[-1]
    lines = text.split("\n")
    lines[index] = re.sub(rf"%{re.escape(name)}([,)])", rf"%{name}.late\1", user)
    clone = original.replace(f"%{name} =", f"%{name}.late =", 1)
    computation = ""
    match = re.search(r"calls=%([\w.-]+)", original)
    if match:
        body = re.search(rf"^%{re.escape(match[1])} .*?^}}\n", text, re.M | re.S)[0]
        computation = body.replace(f"%{match[1]} ", f"%{match[1]}.late ", 1) + "\n"
        clone = clone.replace(f"calls=%{match[1]}", f"calls=%{match[1]}.late")
    lines.insert(index, clone)
    text = "\n".join(lines)
    return text.replace("\nENTRY ", f"\n{computation}ENTRY ", 1)


class Overwritten(LiveTest):
    """Two programs in which a clone, at the place where it saves most, would read memory that was
    overwritten. XLA compiles such a clone without a word."""

    def naive(self, name):
        """Looks for a clone by hand that gives other bits, which our verification must refuse."""
        program, _, expected = reference(name)
        texts = []
        with self.rewriting(texts.append):
            compile_program(program)
        text = texts[0]
        module = remat_hlo.load(text, copies="inserted")
        for _, instruction, line in list(entry_instructions(text)):
            if " fusion(" not in line or line.lstrip().startswith("ROOT"):
                continue
            if not re.search(rf"%{re.escape(instruction)}[,)]", text.partition("\nENTRY ")[2]):
                continue
            late = clone_late(text, instruction)
            with self.rewriting(lambda _, late=late: late):
                compiled = compile_program(program)
            if run(compiled, program) != expected:
                with self.assertRaises(remat_hlo.NotEquivalentError):
                    module.verify(remat_hlo.load(late))
                return
        self.fail("no clone by hand gives other bits")

    @contextlib.contextmanager
    def rewriting(self, function):
        """Has every module's text go through a function."""
        from jax.extend import xla
        from jaxlib import _hlo

        def hook(serialized):
            text = function(_files.print_hlo(
                _hlo.HloModule.from_serialized_hlo_module_proto(serialized)))
            return text and _proto.carry(
                serialized, _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())

        xla.register_hlo_module_transformation(hook, name="naive", stage=xla.PipelineStage
                                               .POST_SCHEDULER, platforms="cpu")
        try:
            yield
        finally:
            xla.clear_hlo_module_transformation("naive", stage=xla.PipelineStage.POST_SCHEDULER,
                                                platforms="cpu")

    def check(self, name):
        self.naive(name)
        program, _, expected = reference(name)
        changed = 0
        for stage in ("POST_SCHEDULER", "PRE_SCHEDULER"):
            for algorithm in ("path", "standard", "checkpoint=memory", "search", "auto"):
                with self.subTest(stage=stage, algorithm=algorithm):
                    with live.rematerialize("min", stage=stage, algorithm=algorithm,
                                            small_node_limit=0, **QUIET):
                        compiled = compile_program(program)
                    changed += live.check(compiled).is_changed
                    self.assertEqual(run(compiled, program), expected)
        self.assertGreater(changed, 3)

    def test_parameter(self):
        self.check("overwritten_parameter")

    def test_carry(self):
        self.check("overwritten_carry")


class Failures(LiveTest):
    """Whatever fails on our side, programs are compiled as they are, with one warning for each
    cause."""

    def check_left_alone(self, num_warnings=1, words=""):
        program, before, expected = reference("mlp")
        other = reference("training_step")
        with live.rematerialize("r50%"):
            compiled = [compile_program(program), compile_program(other[0])]
        self.assertEqual(run(compiled[0], program), expected)
        self.assertEqual(run(compiled[1], other[0]), other[2])
        self.assertEqual([c.memory_analysis().temp_size_in_bytes for c in compiled],
                         [c.memory_analysis().temp_size_in_bytes for c in (before, other[1])])
        self.assertEqual(len(self.warnings()), num_warnings, self.warnings())
        self.assertIn(words, "".join(self.warnings()))
        self.assertEqual(live.last_reports(), [])

    def test_library_fails(self):
        with unittest.mock.patch.object(_decide, "parse", side_effect=remat_hlo.InternalError(
                "RH_ERR_INTERNAL", [])):
            self.check_left_alone(words="RH_ERR_INTERNAL")
        reports = live.last_reports(with_unchanged=True)
        self.assertEqual({r.outcome for r in reports}, {"failed"})
        self.assertEqual(reports[0].name, "jit_loss")

    def test_out_of_memory(self):
        with unittest.mock.patch.object(_decide, "decide", side_effect=MemoryError()):
            self.check_left_alone(words="MemoryError")

    def test_bug_in_the_hook(self):
        with unittest.mock.patch.object(_rewriting, "transform", side_effect=KeyError("bug")):
            self.check_left_alone(words="KeyError")

    def decide_wrongly(self, change):
        decide = _decide.decide

        def wrong(*arguments, **named):
            decision = decide(*arguments, **named)
            return decision if decision.text is None else decision._replace(
                text=change(decision.text), modules=())
        return unittest.mock.patch.object(_decide, "decide", wrong)

    def test_text_that_xla_does_not_read(self):
        with self.decide_wrongly(lambda text: text.replace("fusion(", "confusion(")):
            self.check_left_alone()

    def test_module_that_xla_does_not_compile(self):
        """XLA:CPU has no kernel for what its passes have expanded long before."""
        def with_cholesky(text):
            root = re.search(r"\n  ROOT %\S+ = [^\n]*\n}", text[text.index("\nENTRY "):])[0]
            extra = ("\n  %odd = f32[256,256]{1,0} cholesky(f32[256,256]{1,0} "
                     + re.search(r"(%\S+) = f32\[256,256\]\S* parameter", text.partition(
                         "\nENTRY ")[2])[1] + ")")
            return text.replace(root, extra + root)
        with self.decide_wrongly(with_cholesky):
            self.check_left_alone(words="XLA does not compile")
        self.assertEqual({r.outcome for r in live.last_reports(with_unchanged=True)}, {"refused by XLA"})

    def test_result_that_takes_more(self):
        """XLA assigns more to a result than to the program as it was, which was predicted wrongly."""
        program, before, expected = reference("mlp")
        decide = _decide.decide

        def wrong(text, *arguments, **named):
            decision = decide(text, *arguments, **named)
            report = decision.report
            report.before = _decide.dataclasses.replace(report.before, temp_bytes=1000)
            return decision
        asked, may_be_worse = [], _compilations._may_be_worse

        def ask(*arguments):
            asked.append(may_be_worse(*arguments))
            return asked[-1]
        with unittest.mock.patch.object(_decide, "decide", wrong), \
                unittest.mock.patch.object(_compilations, "_may_be_worse", ask), live.rematerialize("r50%"):
            compiled = compile_program(program)
        self.assertIn(True, asked)
        # It is less than that of the program as it was, all the same, and so it is kept.
        now = compiled.memory_analysis().temp_size_in_bytes
        self.assertLess(now, before.memory_analysis().temp_size_in_bytes)
        self.assertEqual(self.warnings(), [])
        self.assertEqual(len(live.last_reports()), 1)
        live.clear_reports()
        with self.decide_wrongly(lambda text: text), \
                unittest.mock.patch.object(_compilations, "_may_be_worse", lambda o, p, c, made: bool(c.changed)), \
                unittest.mock.patch.object(_assigned, "temp_bytes",
                                           lambda e: -e.get_compiled_memory_stats().temp_size_in_bytes):
            self.check_left_alone(words="more temporaries")

    def test_result_that_is_needless(self):
        """XLA assigns as much to a result that takes more time, or the limit is met without it, which was predicted
        wrongly."""
        program, before, _ = reference("mlp")
        for where, name, what, outcome in (
                (_assigned, "temp_bytes", lambda executable: 1000, _decide.NO_BETTER),
                (_compilations, "_meets", lambda executable, report: True, _decide.WITHIN)):
            with self.subTest(name), unittest.mock.patch.object(where, name, what), \
                    unittest.mock.patch.object(_compilations, "_may_be_worse", lambda o, p, c, made: bool(c.changed)), \
                    live.rematerialize("r50%"):
                compiled = compile_program(program)
                self.assertEqual(compiled.memory_analysis().temp_size_in_bytes,
                                 before.memory_analysis().temp_size_in_bytes)
                self.assertEqual({report.outcome for report in live.last_reports(with_unchanged=True)}, {outcome})
            live.clear_reports()
        self.assertEqual(self.warnings(), [])

    def test_limit_that_xla_exceeds(self):
        """XLA loses memory between values, which nobody has predicted: it is asked again under a lower limit, and what
        takes the least is kept, of which it is said whether it meets the limit."""
        program, _, expected = reference("mlp")
        counted_bytes = _assigned.counted_bytes
        for num_lossy, outcomes, is_met in ((1, [_decide.EXCEEDED, _decide.CHANGED], True),
                                            (9, [_decide.EXCEEDED] * 2 + [_decide.CHANGED], False)):
            seen = []

            def lossy(executable, counts):
                if executable not in seen:
                    seen.append(executable)
                counted = counted_bytes(executable, counts)
                limit = live.last_reports(with_unchanged=True)[0].limit_bytes
                return limit + (1 << 16) if seen.index(executable) < num_lossy else counted
            with self.subTest(num_lossy), unittest.mock.patch.object(_assigned, "counted_bytes", lossy), \
                    live.rematerialize("r50%"):
                compiled = compile_program(program)
                self.assertEqual(run(compiled, program), expected)
                reports = live.last_reports(with_unchanged=True)
                self.assertEqual(sorted(report.outcome for report in reports), sorted(outcomes))
                kept = next(report for report in reports if report.outcome == _decide.CHANGED)
                self.assertEqual((kept.is_met, kept.after.temp_bytes),
                                 (is_met, compiled.memory_analysis().temp_size_in_bytes))
                self.assertEqual(kept.after.temp_bytes, min(report.after.temp_bytes for report in reports))
                self.assertIsNone(reports[0].sought_bytes)
                self.assertLessEqual(reports[-1].sought_bytes, reports[0].limit_bytes - (1 << 16))
                self.assertEqual(reports[-1].limit_bytes, reports[0].limit_bytes)
            live.clear_reports()
        self.assertEqual(self.warnings(), [])

    def test_memory_optimized_scheduler(self):
        """The order that XLA:CPU chooses under its flag is known, so that predictions hold."""
        script = self.write("scheduler.py", f"""
import sys
sys.path.insert(0, {str(ROOT / "tests/python")!r})
import live_programs, remat_hlo.jax as live
program = live_programs.mlp()
plain = live_programs.compile_program(program).memory_analysis().temp_size_in_bytes
with live.rematerialize("r70%", stage="PRE_SCHEDULER", algorithm="path"):
    check = live.check(live_programs.compile_program(program))
assert check.is_changed and check.before_temp_bytes == plain, (check, plain)
assert abs(check.error) < 0.01 and check.assigned_temp_bytes < plain, check
""")
        self.run_python(script, env={"XLA_FLAGS": "--xla_cpu_scheduler_type="
                                     "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"})

    def test_wrong_options(self):
        for wrong in ({"mem_limit": "much"}, {"mem_limit": "50%", "algorithm": "magic"}, {}):
            with self.assertRaises(ValueError):
                live.install(**wrong)
        with self.assertRaises(TypeError):
            live.install("50%", colour="red")
        self.assertIsNone(_hooks.state.context.value)


class Interrupts(LiveTest):
    """Ctrl-C while we decide."""

    def setUp(self):
        super().setUp()
        self.heed_ctrl_c()

    def interrupt(self, program):
        """Compiles it in this thread, where Ctrl-C is pressed while we decide."""
        def decide(*_, **_named):
            with _interrupts.noted() as noted:
                os.kill(os.getpid(), signal.SIGINT)
                end = time.monotonic() + 60
                while not noted.is_pressed and time.monotonic() < end:
                    time.sleep(0.01)
            self.fail("this is not reached")

        with live.rematerialize("r50%"), unittest.mock.patch.object(_decide, "decide", decide):
            compile_program(program)

    def test_ctrl_c(self):
        """Nobody gets what is compiled without the decision that it ends, and nothing is said of it."""
        program, _, expected = reference("mlp")
        with self.assertRaises(KeyboardInterrupt):
            self.interrupt(program)
        with live.rematerialize("r50%"):
            compiled = compile_program(program)
        self.assertTrue(live.check(compiled).is_changed)
        self.assertEqual(run(compiled, program), expected)
        self.assertEqual(self.warnings(), [])

    def test_ctrl_c_beside_the_main_thread(self):
        program, is_ended = reference("mlp")[0], threading.Event()

        def work():
            try:
                self.interrupt(program)
            except KeyboardInterrupt:
                is_ended.set()

        try:
            threading.Thread(target=work).start()
            is_ended.wait(100)
        except KeyboardInterrupt:
            is_ended.wait(100)
        self.assertTrue(is_ended.is_set())
        self.assertEqual(self.warnings(), [])


class Measured(LiveTest):
    def test_times_of_a_run(self):
        """What was measured of a program decides about it, and results say so."""
        (function, arguments, _), _, outputs = reference("mlp")
        path = self.dir / "times.xplane.pb"
        jitted = jax.jit(function)
        self.assertEqual(live.calibrate(lambda: jitted(*arguments), path, steps=2), path)
        for times in (None, str(path)):
            with live.rematerialize("r50%", times=times, **QUIET):
                compiled = compile_program(reference("mlp")[0])
            self.assertTrue(live.check(compiled).is_changed)
            for one, other in zip(jax.tree.leaves(run(compiled, reference("mlp")[0])), jax.tree.leaves(outputs)):
                np.testing.assert_array_equal(one, other)
        modelled, measured = live.last_reports()
        self.assertEqual(modelled.times, "roofline")
        self.assertRegex(measured.times, r"^measured, 2 steps")
        self.assertNotEqual(modelled.modelled_seconds, measured.modelled_seconds)


class Silence(LiveTest):
    def test_nothing_to_do(self):
        program, before, _ = reference("mlp")
        for options in ({"mem_limit": "1TiB"}, {"mem_limit": "r50%", "min_peak": "1GiB"},
                        {"mem_limit": "r50%", "modules": "^other"}):
            with live.rematerialize(**options):
                compiled = compile_program(program)
            self.assertFalse(live.check(compiled).is_changed)
        self.assertEqual(self.records, [])
        self.assertEqual([r.outcome for r in live.last_reports(with_unchanged=True)],
                         ["within the budget", "small", "name does not match"])

    def test_a_line_on_each_module(self):
        program = reference("mlp")[0]
        with live.rematerialize("r50%"):
            compile_program(program)
        self.assertEqual(len(self.lines()), 1)
        self.assertRegex(self.lines()[0], r"^jit_loss: total .* MiB -> .* MiB \(temporaries .* MiB -> .* MiB\), "
                         r"limit .* met")

    def eager(self):
        """Operations outside of a jit, of more than min_peak: some have something to save, and the last
        ones are compiled by backward passes."""
        jax.clear_caches()
        x = jax.random.normal(jax.random.key(0), (1024, 1024))
        (x.reshape(-1) + 1).reshape(x.shape) @ x
        jax.grad(lambda x: jax.numpy.tanh(x @ x).sum())(x)

    def test_eager_operations(self):
        """There is no line on them, whatever becomes of them, unless all lines are asked for."""
        for limit in ("80%", "min", "1MiB"):
            with self.subTest(limit), live.rematerialize(limit, min_peak="4KiB"):
                self.eager()
                self.assertEqual(self.records, [])
                reports = live.last_reports(with_unchanged=True)
                self.assertTrue(all(r.is_eager for r in reports), [r.name for r in reports if not r.is_eager])
                if limit == "1MiB":
                    self.assertIn(False, {r.is_met for r in reports})
                else:  # a part of what one operation takes is no budget for a program
                    self.assertEqual({r.outcome for r in reports}, {_decide.EAGER})
            live.clear_reports()
        live.clear_reports()
        with live.rematerialize("80%", verbose="all"):
            self.eager()
        self.assertEqual(self.lines(), [str(r) for r in live.last_reports(with_unchanged=True)])
        self.assertGreater(len(self.lines()), 3)

    def test_own_jit_is_not_eager(self):
        with live.rematerialize("80%"):
            jax.jit(lambda x: x + 1)(np.ones(3))
            compile_program(reference("mlp")[0])
        self.assertEqual([r.is_eager for r in live.last_reports(with_unchanged=True)
                          if r.name in ("jit__lambda", "jit_loss")], [False, False])

    def test_little_to_gain(self):
        """A program that has nothing to give is left alone without a search or a word."""
        with live.rematerialize("80%"):
            jax.jit(lambda x: x.T @ x).lower(np.ones((1024, 1024), np.float32)).compile()
        (report,) = live.last_reports(with_unchanged=True)
        self.assertEqual(report.outcome, _decide.LITTLE)
        self.assertNotIn("remat", report.seconds)
        self.assertEqual(self.records, [])

    def test_not_met(self):
        """A budget that cannot be met is said, whether anything was saved or not."""
        program = reference("mlp")[0]
        for algorithm in ("path", "none"):
            with live.rematerialize("1KiB", algorithm=algorithm):
                compile_program(program)
        self.assertEqual(len(self.lines()), 2)
        for line in self.lines():
            self.assertIn("not met", line)

    def test_auto_on_cpu(self):
        """XLA:CPU does not say how much memory there is, which is said once."""
        program = reference("mlp")[0]
        for _ in range(2):
            with live.rematerialize("auto"):
                compiled = compile_program(program)
            self.assertFalse(live.check(compiled).is_changed)
        self.assertEqual(len(self.warnings()), 1)
        self.assertIn("auto does nothing", self.warnings()[0])


class Auto(LiveTest):
    def setUp(self):
        super().setUp()
        _hooks.state.auto_limits.clear()
        self.addCleanup(_hooks.state.auto_limits.clear)

    def devices(self, *stats):
        devices = [unittest.mock.Mock(platform="gpu", **{"memory_stats.return_value": s})
                   for s in stats]
        return unittest.mock.patch.object(jax, "local_devices", lambda **_: devices)

    def test_limit(self):
        """What the device has, less what is in use, less the headroom; of several, the least."""
        for headroom, limit in (("10%", 500), ("100", 500), ("0", 600)):
            options = remat_hlo._options.Options.make(mem_limit="auto", headroom=headroom)
            with self.devices({"bytes_limit": 1000, "bytes_in_use": 400},
                              {"bytes_limit": 1000, "bytes_in_use": 100}):
                self.assertEqual(_limits.auto_limit(options), limit)
            self.assertEqual(_limits.auto_limit(options), limit)  # found once

    def test_nothing_left(self):
        options = remat_hlo._options.Options.make(mem_limit="auto", headroom="50%")
        with self.devices({"bytes_limit": 1000, "bytes_in_use": 700}):
            self.assertIsNone(_limits.auto_limit(options))
        self.assertIn("no memory is left", self.warnings()[0])

    def test_applied(self):
        program, before, expected = reference("mlp")
        size = before.memory_analysis()
        total = size.temp_size_in_bytes + size.argument_size_in_bytes + size.output_size_in_bytes
        with self.devices({"bytes_limit": total, "bytes_in_use": 0}), \
                live.rematerialize("auto", headroom="20%", **QUIET):
            compiled = compile_program(program)
        report = live.check(compiled).report
        self.assertEqual(report.limit_bytes, total - total * 20 // 100)
        self.assertEqual(run(compiled, program), expected)


class Installing(LiveTest):
    """What was compiled before install() is compiled anew, and is used again after uninstall()."""

    def test_jit_before_and_after(self):
        function, arguments, _ = PROGRAMS["mlp"]()
        jitted = jax.jit(function)
        first = jitted(*arguments)
        live.install("r50%", **QUIET)
        second = jitted(*arguments)
        self.assertEqual(len(live.last_reports()), 1)
        jitted(*arguments)
        self.assertEqual(len(live.last_reports()), 1)
        live.install("r70%", **QUIET)  # other options: compiled anew
        jitted(*arguments)
        self.assertEqual(len(live.last_reports()), 2)
        live.uninstall()
        jitted(*arguments)
        self.assertFalse(live.check(jitted.lower(*arguments).compile()).is_changed)
        self.assertEqual(len(live.last_reports()), 2)
        live.install("r50%", **QUIET)  # compiled already
        jitted(*arguments)
        self.assertEqual(len(live.last_reports()), 2)
        for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second)):
            self.assertEqual(np.asarray(a).tobytes(), np.asarray(b).tobytes())
        live.uninstall()
        live.uninstall()

    def test_lowered_before(self):
        """What counts is when a program is compiled, not when it was lowered. JAX keeps what
        compile() has given."""
        function, arguments, _ = PROGRAMS["mlp"]()
        early = jax.jit(lambda *a: function(*a)).lower(*arguments)
        live.install("r50%", **QUIET)
        late = jax.jit(lambda *a: function(*a)).lower(*arguments)
        self.assertTrue(live.check(early.compile()).is_changed)
        live.uninstall()
        self.assertTrue(live.check(early.compile()).is_changed)
        self.assertFalse(live.check(late.compile()).is_changed)

    def test_nothing_is_left(self):
        """What is replaced in JAX is put back by the last one, also from within."""
        from jax._src import cache_key, compiler, monitoring

        def replaced():
            return (compiler.backend_compile_and_load, getattr(cache_key, "custom_hook", None),
                    len(monitoring._event_duration_secs_listeners))

        before = replaced()
        for _ in range(2):
            live.install("60%")
            self.assertNotEqual(replaced()[0], before[0])
            with live.rematerialize("50%"):
                jax.jit(lambda x: jax.numpy.sin(x) @ x)(np.ones((8, 8)))
                live.uninstall()
                self.assertNotEqual(replaced()[0], before[0])
            self.assertEqual(replaced(), before)

    def test_nested(self):
        program = reference("mlp")[0]
        live.install("r80%", **QUIET)
        with live.rematerialize("r50%", **QUIET):
            inner = live.check(compile_program(program))
            with live.disabled():
                self.assertFalse(live.check(compile_program(program)).is_changed)
        outer = live.check(compile_program(program))
        self.assertLess(inner.limit_bytes, outer.limit_bytes)
        live.uninstall()
        self.assertFalse(live.check(compile_program(program)).is_changed)
        self.assertEqual(_hooks.state.registered, set())

    def test_reports(self):
        program = reference("mlp")[0]
        with live.rematerialize("r50%", report_dir=self.dir / "reports", **QUIET):
            compiled = compile_program(program)
        (report,) = live.last_reports()
        self.assertIs(live.check(compiled).report, report)
        self.assertIn("<html", package.pathlib.Path(report.html_path).read_text())
        self.assertEqual(json.loads(package.pathlib.Path(report.plan_path).read_text())["module"],
                         "jit_loss")
        self.assertGreater(report.total_seconds, 0)
        self.assertLessEqual({"to text", "parse", "remat", "verify", "patch"},
                             report.seconds.keys())
        self.assertIn("predicted", str(live.check(compiled)))

    def test_cache(self):
        """The same module and options are decided on once; plans are applied without a search."""
        program, _, expected = reference("mlp")
        for _ in range(2):
            with live.rematerialize("r50%", algorithm="search", plan_dir=self.dir, **QUIET):
                compiled = compile_program(program)
        first, second = live.last_reports()
        self.assertEqual((first.from_cache, second.from_cache), (False, True))
        self.assertEqual(first.after, second.after)
        live.clear_reports()
        with live.rematerialize("r50%", algorithm="search", plan_dir=self.dir, **QUIET):
            compiled = compile_program(program)
        (third,) = live.last_reports()
        self.assertIsNotNone(third.from_plan)
        self.assertNotIn("remat", third.seconds)
        self.assertEqual(third.after, first.after)
        self.assertEqual(run(compiled, program), expected)

    def test_offline_plan(self):
        """A plan that was searched on a dump is applied within the compilation."""
        program, before, expected = reference("mlp")
        offline = remat_hlo.load(before, copies="inserted", device="cpu")
        offline.remat("r50%", algorithm="search").save_plan(self.dir / "plan.json")
        with live.rematerialize("r50%", plan_dir=self.dir, **QUIET):
            compiled = compile_program(program)
        self.assertEqual(live.last_reports()[0].from_plan, str(self.dir / "plan.json"))
        self.assertEqual(run(compiled, program), expected)

    def test_threads(self):
        """Compilations in parallel, each with options of its own."""
        (function, arguments, _), _, expected = reference("mlp")
        limits = ["r80%", "r60%", "r40%", None, "r20%"]
        found, errors = {}, []
        barrier = threading.Barrier(len(limits))

        def work(number, limit):
            def named(*arguments):
                return function(*arguments)

            # Of a name of its own: some versions of XLA call us in other threads, where that tells.
            named.__name__ = f"program_{number}"
            program = named, arguments, ()
            try:
                barrier.wait()
                for _ in range(2):
                    with live.rematerialize(limit, **QUIET) if limit else live.disabled():
                        compiled = compile_program(program)
                    found.setdefault(limit, []).append(live.check(compiled))
                    self.assertEqual(run(compiled, program), expected)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=pair) for pair in enumerate(limits)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        for limit, checks in found.items():
            self.assertEqual(len({c.assigned_temp_bytes for c in checks}), 1)
            self.assertEqual(checks[0].is_changed, limit is not None)
            if limit:
                one = remat_hlo._options.Options.make(mem_limit=limit)
                self.assertEqual({c.report.mem_limit for c in checks}, {one.mem_limit})

    def test_global_in_threads(self):
        """install() is for all threads."""
        program = reference("mlp")[0]
        live.install("r50%", **QUIET)
        checks = []
        threads = [threading.Thread(target=lambda: checks.append(
            live.check(compile_program(program)))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([c.is_changed for c in checks], [True] * 4)


class BeforeOptimizations(LiveTest):
    """The route for a JAX without hooks, which works with any."""

    def check(self, name, algorithm):
        program, before, expected = reference(name)
        function, arguments, donated = program
        jitted = live.jit(function, "r50%", algorithm=algorithm,
                          jit_options={"donate_argnums": donated}, **QUIET)
        compiled = jitted.lower(*arguments).compile()
        self.assertEqual(run(compiled, program), expected)
        was, now = before.memory_analysis(), compiled.memory_analysis()
        self.assertLessEqual(now.temp_size_in_bytes, was.temp_size_in_bytes)
        self.assertEqual(now.alias_size_in_bytes, was.alias_size_in_bytes)
        report = live.last_reports(with_unchanged=True)[-1]
        if report.is_met:
            self.assertLessEqual(report.after.total_bytes, report.limit_bytes)
        return live.check(compiled).is_changed

    def test_programs(self):
        changed = sum(self.check(name, ("search", "path")[number % 2])
                      for number, name in enumerate(PROGRAMS))
        self.assertGreater(changed, 3)
        self.assertEqual(self.warnings(), [])

    def test_called(self):
        """A function made by jit() is called as one that jax.jit made."""
        function, arguments, _ = PROGRAMS["mlp"]()
        jitted = live.jit(function, "r50%", **QUIET)
        results = jitted(*arguments)
        jitted(*arguments)
        self.assertEqual(len(live.last_reports()), 1)
        self.assertEqual([np.asarray(r).tobytes() for r in results], reference("mlp")[2])
        self.assertIsNone(_hooks.state.context.value)

    def test_failure(self):
        program, before, expected = reference("mlp")
        for name in ("stablehlo", "hlo_text"):
            live.clear_reports()
            self.records.clear()
            with unittest.mock.patch.object(_before, name, side_effect=KeyError("bug")), \
                    live.rematerialize("r50%", stage="BEFORE_OPTIMIZATIONS", **QUIET):
                compiled = compile_program(program)
            self.assertEqual(run(compiled, program), expected)
            self.assertEqual(compiled.memory_analysis().temp_size_in_bytes,
                             before.memory_analysis().temp_size_in_bytes)
            self.assertEqual(len(self.warnings()), 1)

    def test_back_through_stablehlo(self):
        """Meshes are kept, to which shardings refer, and copies are what every plugin takes."""
        mesh = jax.make_mesh((1,), ("data",))
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
        lowered = jax.jit(lambda x: x + x, in_shardings=sharding).lower(np.ones(8, np.float32))
        original = lowered.compiler_ir("stablehlo")
        made = str(_before.stablehlo("""HloModule jit_f

ENTRY %main {
  %p = f32[8]{0} parameter(0), metadata={op_name="x = copy(y)"}
  %c = f32[8]{0} copy(%p), metadata={op_name="copy(x)"}
  ROOT %r = f32[8]{0} add(%c, %c)
}
""", original))
        for part in ("sdy.mesh", "stablehlo.reshape"):
            self.assertIn(part, made)
        self.assertNotIn("mhlo.copy", made)
        self.assertEqual(made.count("sdy.mesh"), str(original).count("sdy.mesh"))

    def search(self, plain, *candidates, limit="r50%", **options):
        """What compile_within makes of a program that takes `plain` bytes as it is, and as many as a candidate says when
        it was rewritten; None: XLA has no memory for it. Returns what was chosen, the report and the warnings."""
        program = PROGRAMS["mlp"]()
        function, arguments, donated = program
        module = jax.jit(function, donate_argnums=donated).lower(*arguments).compiler_ir("stablehlo")
        sizes = iter([plain, *candidates])

        def compile_module(module):
            size = next(sizes)
            if size is None:
                raise RuntimeError("RESOURCE_EXHAUSTED: Ran out of memory, the total memory required for HLO temporaries "
                                   "(64.00M) exceeds available HBM (48.00M)")
            stats = {"temp_size_in_bytes": size, "argument_size_in_bytes": 1 << 20, "output_size_in_bytes": 1 << 20,
                     "alias_size_in_bytes": 0}
            return types.SimpleNamespace(size=size, get_compiled_memory_stats=lambda: types.SimpleNamespace(**stats))
        made = _options.Options.make(mem_limit=limit, stage=_before.STAGE, **options)
        executable, report, warnings = _before.compile_within(compile_module, module, made, limit, "tpu-v5e", "tpu")
        return executable.size, report, warnings, list(sizes)

    def test_the_best_is_kept(self):
        """Which may be the program as it is: no result is worse than that."""
        mib = 1 << 20
        size, report, warnings, _ = self.search(40 * mib, 60 * mib, 50 * mib, 45 * mib, 70 * mib)
        self.assertEqual((size, report.outcome, report.is_met), (40 * mib, _decide.NO_BETTER, False))
        size, report, _, _ = self.search(40 * mib, 60 * mib, 35 * mib, 38 * mib, 39 * mib)
        self.assertEqual((size, report.outcome, report.is_met), (35 * mib, "rematerialized", False))
        size, report, _, left = self.search(40 * mib, 60 * mib, 3 * mib, 2 * mib)
        self.assertEqual((size, report.is_met, left), (3 * mib, True, [2 * mib]), "it ends when the budget is met")
        self.assertEqual(report.after.temp_bytes, 3 * mib)
        self.assertEqual(warnings, [])

    def test_refused_program(self):
        """One that XLA has no memory for fits as it was rewritten; what it needs is in the error's words."""
        mib = 1 << 20
        size, report, warnings, _ = self.search(None, None, 30 * mib, limit="40MiB")
        self.assertEqual((size, report.outcome, report.is_met), (30 * mib, "rematerialized", True))
        self.assertEqual((report.before.total_bytes, warnings), (64 * mib, []))
        with self.assertRaisesRegex(RuntimeError, "RESOURCE_EXHAUSTED"):
            self.search(*[None] * 5, limit="40MiB")
        with self.assertRaisesRegex(RuntimeError, "RESOURCE_EXHAUSTED"):
            self.search(None, limit="70MiB")

    def test_half_of_it_does_not_stay(self):
        """What JAX lacks is found while it is installed."""
        def fail(register):
            raise ImportError("made for the test")
        num_users = _hooks.state.num_users
        with unittest.mock.patch.object(_hooks, "guard_compilations", fail), self.assertRaises(ImportError):
            live.install("r50%")
        self.assertEqual((_hooks.state.num_users, _hooks.state.undo), (num_users, []))

    def test_missing_hooks(self):
        with unittest.mock.patch.object(_hooks, "has_hooks", lambda: False), \
                self.assertRaisesRegex(RuntimeError, "BEFORE_OPTIMIZATIONS"):
            live.install("r50%")
        self.assertIsNone(_hooks.state.context.value)


class Processes(PackageTest):
    """What needs a process of its own: environments, caches on disk, devices, `python -m`."""

    PROGRAM = """
import hashlib, sys
sys.path.insert(0, FOLDER)
import live_programs, jax, numpy as np
program = live_programs.NAME()
compiled = live_programs.compile_program(program)
print(compiled.memory_analysis().temp_size_in_bytes)
print(hashlib.sha256(b"".join(live_programs.run(compiled, program))).hexdigest())
"""

    def program(self, name="mlp", before=""):
        text = before + self.PROGRAM.replace("NAME", name).replace(
            "FOLDER", repr(str(ROOT / "tests/python")))
        return self.write(f"{name}.py", text)

    def test_unmodified_program(self):
        program = self.program(before="import sys; assert __name__ == '__main__'\n"
                               "assert sys.argv[1:] == ['a', '--b'], sys.argv\n")
        plain, _ = self.run_python(program, "a", "--b")
        ours, said = self.run_python("-m", "remat_hlo", "--mem-limit=r50%", program, "a", "--b")
        self.assertLess(int(ours.split()[0]), int(plain.split()[0]))
        self.assertEqual(ours.split()[1], plain.split()[1])
        self.assertRegex(said, r"^remat_hlo: jit_loss: total .*temporaries")
        as_module, _ = self.run_python("-m", "remat_hlo", "-m", "mlp", "a", "--b",
                                       env={"REMAT_HLO_MEM_LIMIT": "r50%"})
        self.assertEqual(as_module, ours)

    def test_backends_are_left_to_the_program(self):
        """Installing makes no backends: the program may still choose how many devices it has."""
        program = self.program(before="import os; os.environ['XLA_FLAGS'] = "
                               "'--xla_force_host_platform_device_count=4'\n"
                               "import jax; assert jax.device_count() == 4\n")
        self.run_python("-m", "remat_hlo", "--mem-limit=r50%", program)

    SHARDED = """
import os, re
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
import remat_hlo.jax as live
from remat_hlo import _before
mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model"))

def spread(*spec):
    return NamedSharding(mesh, P(*spec))

def inner(x, w):
    return jax.lax.psum(x @ w, "model")

def loss(ws, x):
    for wide, narrow in ws:
        h = jax.lax.with_sharding_constraint(x @ wide, spread("data", "model"))
        h = jnp.exp(-jnp.tanh(h)**2) * h
        x = x + jax.shard_map(inner, mesh=mesh, in_specs=(P("data", "model"), P("model")), out_specs=P("data"))(h, narrow)
    return (x**2).mean()

def step(ws, x):
    return jax.tree.map(lambda w, g: w - g, ws, jax.grad(loss)(ws, x))

random = np.random.default_rng(0)
ws = [(jax.device_put(random.normal(0, 0.1, (64, 256)).astype(np.float32), spread(None, "model")),
       jax.device_put(random.normal(0, 0.1, (256, 64)).astype(np.float32), spread("model")))] * 4
x = jax.device_put(random.normal(0, 1, (2048, 64)).astype(np.float32), spread("data"))
lowered = jax.jit(step).lower(ws, x)

def marks(text):
    return sorted(re.findall(r"sharding=\\{[^}]*\\}|#sdy[^\\n]*?>\\]?>|input_output_alias=[^\\n]*?\\) \\}", text))

module = lowered.compiler_ir("stablehlo")
text = _before.hlo_text(module)
again = _before.hlo_text(_before.stablehlo(text, module))
assert marks(text) == marks(again) and len(marks(text)) > 8, (marks(text), marks(again))
plain = lowered.compile()
ours = live.jit(step, "60%", min_peak=0, verbose=False).lower(ws, x).compile()
print(*(one.memory_analysis().temp_size_in_bytes for one in (plain, ours)))
print(max(float(abs(a - b).max()) for a, b in zip(jax.tree.leaves(plain(ws, x)), jax.tree.leaves(ours(ws, x)))))
print(live.last_reports(with_unchanged=True)[-1].outcome)
"""

    def test_shardings_before_optimizations(self):
        """Meshes, constraints, and the bodies of shard_map survive, and several devices are rematerialized for."""
        out, said = self.run_python(self.write("sharded.py", self.SHARDED))
        plain, ours, difference, outcome = out.split(maxsplit=3)
        self.assertEqual(outcome.strip(), "rematerialized", said)
        self.assertLess(int(ours), int(plain))
        self.assertLess(float(difference), 1e-6)

    def test_missing_program(self):
        _, err = self.run_python("-m", "remat_hlo", "--mem-limit=r50%", "no.py", code=2)
        self.assertIn("remat_hlo: error", err)
        program = self.write("exit.py", "import sys; sys.exit(7)")
        self.run_python("-m", "remat_hlo", "--mem-limit=r50%", program, code=7)

    def test_persistent_cache(self):
        """What was compiled without us, with another budget or another option, is not served."""
        cache = {"JAX_COMPILATION_CACHE_DIR": str(self.dir / "cache"),
                 "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                 "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}
        program = self.program(before="import jax; import remat_hlo.jax as live\n")
        program.write_text(program.read_text() + "print(live.check(compiled).is_changed, "
                           "len(live.last_reports()))\n")

        def entries():
            return {p.name for p in (self.dir / "cache").glob("jit_loss*-cache")}

        def go(*options):
            before = entries()
            command = ["-m", "remat_hlo", *options] if options else []
            out, _ = self.run_python(*command, program, env=cache)
            return [*out.split(), len(entries() - before)]

        plain = go()
        self.assertEqual(plain[2:], ["False", "0", 1])
        ours = go("--mem-limit=r50%")
        self.assertEqual(ours[2:], ["True", "1", 1])
        self.assertLess(int(ours[0]), int(plain[0]))
        self.assertEqual(go()[0], plain[0])
        again = go("--mem-limit=r50%")  # from the cache, and known to be ours
        self.assertEqual(again, [*ours[:2], "True", "0", 0])
        self.assertEqual(go("--mem-limit=r50%", "--verbose=0")[4], 0)
        for options in (("--mem-limit=r60%",), ("--mem-limit=r50%", "--algorithm=standard"),
                        ("--mem-limit=r50%", "--stage=PRE_SCHEDULER")):
            self.assertEqual(go(*options)[4], 1, options)

    def test_cache_without_a_key(self):
        """A JAX whose key cannot be extended does not use its cache."""
        program = self.program(before="import jax._src.cache_key as k; del k.custom_hook; k.get = "
                               "None\nimport remat_hlo.jax as live; live.install('r50%')\n")
        _, err = self.run_python(program, env={
            "JAX_COMPILATION_CACHE_DIR": str(self.dir / "cache")})
        self.assertIn("switched off", err)
        self.assertFalse(list(self.dir.glob("cache/*-cache")))

    def test_sharded(self):
        """shard_map over 8 devices: what the text leaves out is put back."""
        devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8 "
                                "--xla_cpu_multi_thread_eigen=false"}
        script = self.program("sharded", before="import remat_hlo.jax as live\n"
                              "import remat_hlo, os\nfrom remat_hlo import _proto, _decide\n"
                              "seen = []; carry = _proto.carry; decide = _decide.decide\n"
                              "def spy(a, b): r = carry(a, b); seen.append((a, r)); return r\n"
                              "def look(text, *a, **k): heads.append(text.split(chr(10))[0]); "
                              "return decide(text, *a, **k)\n"
                              "_proto.carry, _decide.decide, heads = spy, look, []\n"
                              "if os.environ.get('LIMIT'): live.install(os.environ['LIMIT'], "
                              "stage=os.environ['STAGE'])\n")
        script.write_text(script.read_text() + """
if seen:
    before, after = seen[-1]
    fields = lambda b: {n: bytes(c) if isinstance(c, memoryview) else c
                        for n, c, _, _ in _proto.fields(b)}
    before, after = fields(before), fields(after)
    assert not before.keys() - after.keys(), before.keys() - after.keys()
    assert before.get(5, 0) == after[5]
    assert all(before[n] == after[n] for n in (12, 14, 15)), 'carried'
    assert "num_partitions=8" in heads[-1], heads
    head = compiled.as_text().split(chr(10))[0]
    assert "num_partitions=8" in head, head
    print(live.check(compiled).is_changed)
""")
        plain, _ = self.run_python(script, env=devices)
        for stage in ("POST_SCHEDULER", "PRE_SCHEDULER"):
            ours, _ = self.run_python(script, env={**devices, "LIMIT": "r40%", "STAGE": stage})
            self.assertEqual(ours.split()[1:], [plain.split()[1], "True"])
            self.assertLess(int(ours.split()[0]), int(plain.split()[0]))

    def test_least_of_all_processes(self):
        """The processes of a job agree on the least of what they have left."""
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        script = self.write("job.py", """
import sys, jax
from remat_hlo import _limits
jax.distributed.initialize(f"localhost:{sys.argv[1]}", 2, int(sys.argv[2]))
print("least", _limits.least_of_all_processes(100 + int(sys.argv[2]), "5%"))
""")
        with concurrent.futures.ThreadPoolExecutor() as both:
            found = list(both.map(lambda number: self.run_python(script, port, number)[0], range(2)))
        self.assertEqual(found, ["least 100\n"] * 2)

    def test_out_of_memory(self):
        """A program that runs out of memory under a bound of the process, and does not with us."""
        program = ROOT / "tests/python/out_of_memory.py"
        plain, said = self.run_python(program, 700, code=1)
        self.assertNotIn("loss", plain)
        self.assertIn("RESOURCE_EXHAUSTED", said)
        ours, _ = self.run_python("-m", "remat_hlo", "--mem-limit=700MiB", program, 700)
        self.assertIn("loss", ours)


class FlaxTraining(LiveTest):
    """A training loop as people write it, with Flax NNX and optax: the same parameters after it."""

    def train(self):
        import optax
        from flax import nnx

        class Network(nnx.Module):
            def __init__(self, rngs):
                self.layers = nnx.List([nnx.Linear(128, 128, rngs=rngs) for _ in range(6)])
                self.norm = nnx.BatchNorm(128, rngs=rngs)
                self.dropout = nnx.Dropout(0.1, rngs=rngs)
                self.head = nnx.Linear(128, 4, rngs=rngs)

            def __call__(self, x):
                for layer in self.layers:
                    x = self.dropout(nnx.gelu(layer(x)))
                return self.head(self.norm(x))

        model = Network(nnx.Rngs(0))
        optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)

        @nnx.jit
        def train_step(model, optimizer, x, y):
            def loss(model):
                return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()
            value, gradients = nnx.value_and_grad(loss)(model)
            optimizer.update(model, gradients)
            return value

        random = np.random.default_rng(0)
        losses = [np.asarray(train_step(
            model, optimizer, random.standard_normal((2048, 128), np.float32),
            random.integers(0, 4, 2048))).tobytes() for _ in range(3)]
        return losses + [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(
            nnx.state((model, optimizer), nnx.Not(nnx.RngState)))]

    def test_training(self):
        try:
            import flax.nnx  # noqa: F401
            import optax  # noqa: F401
        except ImportError as error:
            self.skipTest(f"{error}: Flax and optax could not be installed")
        plain = self.train()
        self.assertEqual(self.train(), plain)
        live.install("r50%", **QUIET)
        self.assertEqual(self.train(), plain)
        report = next(r for r in live.last_reports() if r.name == "jit_train_step")
        self.assertTrue(report.is_met)
        self.assertLess(report.after.temp_bytes, 0.8 * report.before.temp_bytes)
        self.assertEqual(self.warnings(), [])


if __name__ == "__main__":
    package.main()
