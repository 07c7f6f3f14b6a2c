#!/usr/bin/env python3
"""`advise` on the command line. usage: test_advise.py TOOL [CLASS...]"""

import json
import re

import tool
from advise_modules import (
    UPDATE, FUSED_UPDATE, CACHES, MOMENTUM, LOGITS, BATCH_NORM, NARROW, WIDE, GATHERED, unrolled,
    WIDE_BYTES, NARROW_BYTES, RETURNED, ENSEMBLE, PADDED, ONE_HOT, COPIED,
    parts, scans, SOMETIMES, ROWS, NORMED_ROWS, COUNTED_ROWS, RETURNED_FACTORS, NEIGHBOURS, FACTORS, RETURNED_STATES,
    CACHES_OF_ROWS, GRADIENTS_OF_ROWS, PAIRS, DIVIDED, LOSS_LAST, TOGETHER,
)
from tool import GOLDEN, SAMPLES, ToolTest

AFTER = SAMPLES / "gpt_scan.after_optimizations.hlo"
UNROLLED = SAMPLES / "gpt_unrolled.after_optimizations.hlo"
KEYS = {
    "schema": int, "module": str, "framework": str, "target": str, "limit_bytes": (int, type(None)),
    "limit_counts": str, "counted_bytes": int, "total_bytes": int, "temp_bytes": int,
    "parameter_bytes": int, "output_bytes": int, "aliased_bytes": int,
    "peak_instruction": (str, type(None)), "peak_op_name": (str, type(None)),
    "peak_source_file": (str, type(None)), "peak_source_line": (int, type(None)), "is_met": bool,
    "summary": str, "plan": list, "remedies": list,
}  # fmt: skip
REMEDY_KEYS = {
    "kind": str, "confidence": str, "title": str, "code": str, "explanation": str,
    "source_file": (str, type(None)), "source_line": (int, type(None)),
    "function": (str, type(None)), "first_line": (int, type(None)), "last_line": (int, type(None)),
    "is_step": bool, "scope": (str, type(None)), "argument": (str, type(None)),
    "parameters": list, "policy": (str, type(None)), "num_instances": (int, type(None)),
    "every": int, "segment": (int, type(None)), "num_chunks": (int, type(None)),
    "bytes_at_peak": int, "counted_bytes": int, "saved_bytes": int, "temp_bytes": int,
    "peak_instruction": (str, type(None)), "peak_op_name": (str, type(None)),
    "peak_source_file": (str, type(None)), "peak_source_line": (int, type(None)),
    "added_seconds": (int, float), "added_fraction": (int, float), "usual_error": (int, float),
    "is_met": bool,
}  # fmt: skip


class Advise(ToolTest):
    """What is said about samples and small modules."""

    def advise(self, path, *options, code=0):
        return json.loads(self.expect(code, "advise", path, "--json=-", "-q", *options).out)

    def test_schema(self):
        """Each key is there, with a value of its type, and no other."""
        advice = self.advise(AFTER, "--mem-limit=40%")
        self.assertEqual({key: True for key in KEYS},
                         {key: isinstance(advice[key], KEYS.get(key, ())) for key in advice})
        self.assertGreater(len(advice["remedies"]), 2)
        for remedy in advice["plan"] + advice["remedies"]:
            self.assertEqual({key: True for key in REMEDY_KEYS},
                             {key: isinstance(remedy[key], REMEDY_KEYS.get(key, ()))
                              for key in remedy})
            self.assertIn(remedy["confidence"], ("high", "medium", "low"))
            self.assertGreater(remedy["saved_bytes"], 0)

    def test_kinds_are_listed(self):
        listed = self.expect(0, "list", "--names=remedies").out.split()
        for path in (AFTER, UNROLLED):
            for remedy in self.advise(path)["remedies"]:
                self.assertIn(remedy["kind"], [*listed, "chunk-loss", "narrow-state", "host-state", "shard-state"])

    def test_scan(self):
        """The body of the scan is named, at its line, and the figure is that of the rewrite."""
        advice = self.advise(AFTER)
        first = advice["remedies"][0]
        self.assertEqual((first["kind"], first["function"], first["num_instances"]),
                         ("checkpoint-scan", "blocks_in_scan.<locals>.<lambda>", 6))
        self.assertIn("jax.lax.scan(jax.checkpoint(lambda …)", first["code"])
        self.assertIn(f":{first['source_line']}: ", first["title"])
        self.assertLess(first["temp_bytes"], advice["temp_bytes"] / 4)
        self.assertEqual(first["saved_bytes"], advice["counted_bytes"] - first["counted_bytes"])
        self.assertEqual(advice["summary"].split("\n")[1][:3], "1. ")

    def test_repeated_function(self):
        """A function that a loop of the program calls is one proposal about all calls."""
        found = [remedy for remedy in self.advise(UNROLLED)["remedies"]
                 if remedy["function"] == "gpt_block" and not remedy["policy"]]
        self.assertEqual([(r["kind"], r["num_instances"], r["every"]) for r in found],
                         [("checkpoint-scope", 3, 1)])

    def test_limit(self):
        """The plan meets the limit if it can, and the exit status says so."""
        met = self.advise(AFTER, "--mem-limit=50%")
        self.assertTrue(met["is_met"])
        self.assertLessEqual(met["plan"][-1]["counted_bytes"], met["limit_bytes"])
        self.assertEqual(met["limit_bytes"], met["counted_bytes"] // 2)
        self.assertEqual(len(met["plan"]), 1)
        missed = self.advise(AFTER, "--mem-limit=1MiB", code=1)
        self.assertFalse(missed["is_met"])
        self.assertTrue(missed["summary"].startswith("nothing suffices"))
        within = self.advise(AFTER, "--mem-limit=1GiB")
        self.assertEqual((within["is_met"], within["plan"]), (True, []))
        temp = self.advise(AFTER, "--mem-limit=50%", "--limit-counts=temp")
        self.assertEqual(temp["counted_bytes"], temp["temp_bytes"])

    def test_donate(self):
        """The argument is that of the program, and what is no new version of it is not offered for it."""
        (self.dir / "update.hlo").write_text(UPDATE)
        advice = self.advise("update.hlo")
        self.assertEqual([(r["kind"], r["argument"], r["parameters"], r["saved_bytes"], r["confidence"])
                          for r in advice["remedies"]],
                         [("donate", "state", [0], 16384, "high"), ("donate", "batch", [1], 16384, "low")])
        self.assertIn('donate_argnames=("state",)', advice["plan"][0]["code"])
        self.assertEqual([r["usual_error"] for r in advice["remedies"]], [0.05, 0.05])
        donated = UPDATE.replace("is_scheduled=true,", "is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) },")
        (self.dir / "donated.hlo").write_text(donated)
        self.assertEqual(self.advise("donated.hlo")["remedies"], [])

    def test_donate_to_a_fused_update(self):
        """A new version is one beside a product in the same fusion, too; what has new versions is donated together."""
        (self.dir / "fused.hlo").write_text(FUSED_UPDATE)
        remedies = self.advise("fused.hlo")["remedies"]
        self.assertEqual([(r["kind"], r["argument"], r["confidence"]) for r in remedies],
                         [("donate", "weights,moments", "high")])
        self.assertIn('donate_argnames=("weights", "moments")', remedies[0]["code"])

    def test_donate_caches(self):
        """What is written into in place is a new version, and so is what a loop carries on. JAX pairs what is donated with
        outputs in order, so that one of two alike arguments alone would get the memory of the other one's new version."""
        remedies = [r for r in self.advise(self.write("caches.hlo", CACHES))["remedies"] if r["kind"] == "donate"]
        self.assertEqual([(r["argument"], r["parameters"], r["saved_bytes"], r["confidence"]) for r in remedies],
                         [("keys,values", [0, 1], 2 * 4 * 64 * 256, "high")])

    def test_loops_of_one_scan(self):
        """A scan in a function that is called twice is two loops, and a checkpoint at its line changes both."""
        both = self.scan_checkpoints(scans([10, 10]))
        self.assertEqual(len(both), 1)
        self.assertIn("one of 2 from this line", both[0]["title"])
        apart = self.scan_checkpoints(scans([10, 20]))
        self.assertNotIn("from this line", apart[0]["title"])
        self.assertGreater(both[0]["saved_bytes"], 1.8 * apart[0]["saved_bytes"])

    def scan_checkpoints(self, text):
        remedies = self.advise(self.write("scans.hlo", text))["remedies"]
        return sorted((r for r in remedies if r["kind"] == "checkpoint-scan" and not r["policy"]),
                      key=lambda r: r["source_line"])

    def test_parts_in_turn(self):
        """Parts that do not need each other take the memory of one, in turn."""
        remedy = self.remedy("in-turn", parts(4))
        self.assertEqual((remedy["num_instances"], remedy["source_line"]), (4, 7))
        one = self.advise(self.write("one.hlo", parts(1)))["temp_bytes"]
        self.assertLess(remedy["temp_bytes"], one + 4 * 4 * 1024)
        for text in (parts(4, is_chain=True), parts(4, is_one_gradient=True)):
            kinds = [r["kind"] for r in self.advise(self.write("parts.hlo", text))["remedies"]]
            self.assertNotIn("in-turn", kinds)

    def test_donate_what_goes_on_sometimes(self):
        """A conditional hands state on: as it is, or with something added."""
        remedies = [r for r in self.advise(self.write("sometimes.hlo", SOMETIMES))["remedies"] if r["kind"] == "donate"]
        self.assertEqual((remedies[0]["argument"], remedies[0]["parameters"], remedies[0]["confidence"]),
                         ("state", [0, 1, 2], "high"))

    def test_rows_in_parts(self):
        """A program without gradients goes through its rows in parts, if no row needs the others."""
        remedy = self.remedy("microbatches", ROWS)
        self.assertEqual((remedy["argument"], remedy["num_chunks"], remedy["confidence"]), ("rays", 8, "medium"))
        self.assertIn("(rays,)", remedy["code"])
        self.assertIn("r.mean(0)", self.remedy("microbatches", COUNTED_ROWS)["code"])
        for module in (NORMED_ROWS, NEIGHBOURS, FACTORS):
            self.assertEqual(self.advise(self.write("whole.hlo", module))["remedies"], [])
        self.assertNotIn("microbatches", [r["kind"] for r in self.advise(self.write("whole.hlo", RETURNED_FACTORS))["remedies"]])

    def test_library_calls_that_are_no_products(self):
        """What sorts comes after the distances, and is no layer: they are no activation, and no loss either."""
        nearest = LOGITS.replace("  x = f32[512,4096]{1,0} exponential(z)", "  x = f32[512,4096]{1,0} negate(z)").replace(
            "  ROOT r = f32[512]{0} reduce(y, zero), dimensions={1}, to_apply=sum", '  ROOT r = f32[512]{0} custom-call(y), custom_call_target="TopK"')
        self.assertIn("compute this in 8 pieces", self.remedy("chunk", nearest)["title"])

    def test_what_is_not_differentiated(self):
        """A checkpoint around it would do nothing."""
        text = unrolled([f"block_{i}" for i in range(4)])
        self.assertIn("block_*", [r["scope"] for r in self.advise(self.write("layers.hlo", text))["remedies"]])
        text = re.sub(r"jit\(f\)/jvp\((block_\d)\)", r"jit(f)/\1", text).replace(
            "ENTRY e {", 'ENTRY e {\n  k = f32[] constant(2), metadata={op_name="jit(f)/jvp()/mul"}')
        self.assertNotIn("block_*", [r["scope"] for r in self.advise(self.write("layers.hlo", text))["remedies"]])

    def test_states_that_are_returned(self):
        """A checkpoint replaces what both gates stack by what is carried, and leaves states and their gradients."""
        remedy = self.remedy("checkpoint-scan", RETURNED_STATES)
        self.assertAlmostEqual(remedy["saved_bytes"], 64 * 1024 * 4, delta=64)
        self.assertEqual(remedy["confidence"], "medium")

    def test_donated_and_copied(self):
        """The reader that forces the copy is named; read before the update, it needs none."""
        remedy = self.remedy("donated-copy", COPIED)
        self.assertEqual((remedy["argument"], remedy["source_line"], remedy["saved_bytes"]), ("buffer", 5, 4 * 64 * 256))
        self.assertIn("optimization_barrier", remedy["code"])
        before = COPIED.replace("  n = f32[64,256]{1,0} dynamic-update-slice(b,", "  n = f32[64,256]{1,0} dynamic-update-slice(c,")
        before = before.replace("reduce(c, zero)", "reduce(n, zero)")
        self.assertEqual([r["kind"] for r in self.advise(self.write("before.hlo", before))["remedies"]
                          if r["kind"] == "donated-copy"], [])

    def test_state(self):
        """Moments, which only their update reads, and not weights, take half in bf16, nothing on the host but while they
        are updated, and a quarter on each of four devices that sum up their gradients."""
        (self.dir / "momentum.hlo").write_text(MOMENTUM)
        found = {r["kind"]: r for r in self.advise("momentum.hlo")["remedies"]}
        size = 4 * 256 * 256
        for kind, saved in (("narrow-state", size // 2), ("shard-state", 3 * size // 4)):
            self.assertEqual((found[kind]["argument"], found[kind]["parameters"], found[kind]["saved_bytes"]),
                             ("state", [1], saved), kind)
        self.assertEqual((found["shard-state"]["num_chunks"], found["shard-state"]["confidence"]), (4, "medium"))
        self.assertIn("pinned_host", found["host-state"]["code"] if "host-state" in found else "pinned_host")
        remedies = self.advise(self.write("together.hlo", TOGETHER))["remedies"]  # two gradients, summed up at once
        found_there = {r["kind"]: r for r in remedies}
        self.assertEqual(found_there["shard-state"]["parameters"], [1, 4])
        self.assertNotIn("chunk", found_there)
        self.assertNotIn("`weights`", " ".join(r["title"] for r in found.values()))

    def test_logits_in_pieces(self):
        (self.dir / "logits.hlo").write_text(LOGITS)
        advice = self.advise("logits.hlo", "--mem-limit=5%")
        found = {r["num_chunks"]: r for r in advice["remedies"] if r["kind"] == "chunk-loss"}
        self.assertEqual(advice["plan"][0]["num_chunks"], max(found))
        for num_chunks, remedy in found.items():
            self.assertEqual(remedy["temp_bytes"], advice["temp_bytes"] // num_chunks)
            self.assertEqual(remedy["usual_error"], 0.15)
        self.assertEqual({r["usual_error"] for r in advice["remedies"] if r["kind"] == "microbatches"}, {0.25})
        self.assertIn("f32[512,4096]", advice["plan"][0]["title"])
        shown = self.expect(0, "advise", "logits.hlo", "--mem-limit=5%").out.partition("each other change")[2]
        others = sorted(set(found) - {max(found)}, reverse=True)
        self.assertGreater(len(others), 1)
        self.assertEqual(shown.count("compute the logits and their loss in"), 1)
        numbers = re.search(r"    with (\d+) instead: [^,\n]*(.*)", shown)
        self.assertEqual([int(n) for n in (numbers[1], *re.findall(r", (\d+): ", numbers[2]))], others[1:])

    def test_loss_in_pieces(self):
        """Of a piece, the exponentials and what they are divided by are held, and the gradient of the weights is carried;
        not the logits, which only the loss reads behind that."""
        piece = 512 * 4096 * 4 // 8
        gradient = 32 * 4096 * 4
        remedy = self.remedy("chunk-loss", LOSS_LAST)
        self.assertEqual(remedy["num_chunks"], 8)
        self.assertGreaterEqual(remedy["temp_bytes"], 2 * piece)
        self.assertLess(remedy["temp_bytes"], 2 * piece + gradient + piece // 8)

    def remedy(self, kind, text, *options, code=0):
        """The only remedy of this kind."""
        (self.dir / "module.hlo").write_text(text)
        found = [r for r in self.advise("module.hlo", *options, code=code)["remedies"]
                 if r["kind"] == kind]
        self.assertEqual(len(found), 1, kind)
        return found[0]

    def layers(self, *arguments, **named):
        """The remedy about all layers of unrolled(), without a policy."""
        self.write("unrolled.hlo", unrolled(*arguments, **named))
        found = [r for r in self.advise("unrolled.hlo")["remedies"]
                 if r["kind"] == "checkpoint-scope" and not r["policy"]]
        self.assertEqual(len(found), 1)
        return found[0]

    def test_layers(self):
        """Under checkpoints the inputs of layers wait, and one layer is computed again at a time, behind the gradient that
        enters it, as XLA:CPU orders it: z, t and h of a layer with the gradient of h, and the other layers' inputs."""
        remedy = self.layers(["h_0", "h_1", "h_2", "h_3"])
        self.assertEqual((remedy["num_instances"], remedy["scope"]), (4, "h_*"))
        inputs = 3 + 1  # x1 to x3, and the gradient
        self.assertLess(abs(remedy["temp_bytes"] - (4 * WIDE_BYTES + inputs * NARROW_BYTES)), 2 * NARROW_BYTES)

    def test_layers_without_names(self):
        """What XLA gives no metadata goes with what it is computed from."""
        names = ["h_0", "h_1", "h_2", "h_3"]
        self.assertEqual(self.layers(names, nameless=True)["temp_bytes"], self.layers(names)["temp_bytes"])

    def test_constant_in_a_layer(self):
        """What all layers share is of none, though it has the name of one: its layer would be computed again at once
        with the first one that reads it."""
        names = ["h_0", "h_1", "h_2", "h_3"]
        plain = self.layers(names)["temp_bytes"]
        self.assertLessEqual(self.layers(names, constant_in=0)["temp_bytes"], plain + WIDE_BYTES)

    def test_layers_that_save_twice(self):
        """What the backward part reads in another form may stand before what it equals."""
        names = ["h_0", "h_1", "h_2", "h_3"]
        twice = self.layers(names, saved_before=True)["temp_bytes"]
        self.assertLessEqual(abs(twice - self.layers(names)["temp_bytes"]), WIDE_BYTES)

    def test_first_layer_without_number(self):
        """Haiku numbers modules from the second one on."""
        remedy = self.layers(["block", "block_1", "block_2", "block_3"])
        self.assertEqual((remedy["num_instances"], remedy["scope"]), (4, "block_*"))
        self.assertEqual(remedy["temp_bytes"], self.layers(["h_0", "h_1", "h_2", "h_3"])["temp_bytes"])

    def test_libraries(self):
        """Where a scope is that of a class of Flax, its own checkpoint is named; a scope alone has a name without star."""
        names = ["Block_0", "Block_1", "Block_2"]
        self.assertEqual(self.layers(names, files=["/lib/flax/linen/module.py"])["code"], "nn.remat(Block)")
        self.assertEqual(self.layers(names)["code"], "jax.checkpoint(Block)")

    def test_policy_holds_products(self):
        """Under a policy that saves products both what a layer is given and its products wait."""
        self.write("unrolled.hlo", unrolled(["h_0", "h_1", "h_2", "h_3"]))
        found = {r["policy"]: r["temp_bytes"] for r in self.advise("unrolled.hlo")["remedies"]
                 if r["kind"] == "checkpoint-scope"}
        self.assertGreaterEqual(found["dots_saveable"], found[None] + 2 * WIDE_BYTES)

    def test_steps(self):
        """A function that is called once has a loop of layers: the line behind the loop is executed once. Without that
        line, what else is in the line that calls the function tells it."""
        text = (SAMPLES.parent / "tests/golden/checkpoints/steps.hlo").read_text()

        def first(text):
            self.write("steps.hlo", text)
            return next(r for r in self.advise("steps.hlo")["remedies"] if r["kind"] == "checkpoint-scope")
        remedy = first(text)
        self.assertEqual((remedy["function"], remedy["first_line"], remedy["last_line"], remedy["num_instances"]),
                         ("steps", 40, 41, 4))
        self.assertTrue(remedy["is_step"])
        self.assertEqual(remedy["source_line"], 40)
        self.assertIn("x = jax.checkpoint(step)(x, w)", remedy["code"])
        caller = text.replace("function_name_id=5 line=42 end_line=42", "function_name_id=4 line=71 end_line=71")
        self.assertNotEqual(caller, text)
        by_caller = first(caller)
        self.assertEqual((by_caller["is_step"], by_caller["first_line"], by_caller["last_line"]), (True, 40, 41))
        blocks = self.advise(SAMPLES / "mobilenet.after_optimizations.hlo")["remedies"][0]
        self.assertEqual((blocks["is_step"], blocks["first_line"], blocks["last_line"], blocks["num_instances"]),
                         (True, 226, 228, 3))

    def test_differentiated_twice_elsewhere(self):
        """A checkpoint around a function is around all its calls, also around those that are differentiated twice."""
        text = (SAMPLES.parent / "tests/golden/checkpoints/steps.hlo").read_text()
        line = next(line for line in text.split("\n")
                    if " fusion(" in line and "jvp(" in line and "transpose(" not in line)
        again = re.sub(r'op_name="[^"]*"', 'op_name="jit(step)/jvp(vmap(transpose(jvp())))/mul"',
                       line.replace(line.split()[0], line.split()[0] + ".again", 1))
        at = text.rindex("  ROOT ")
        for text, count in ((text, 1), (f"{text[:at]}{again}\n{text[at:]}", 0)):
            self.write("again.hlo", text)
            kinds = {r["kind"] for r in self.advise("again.hlo")["remedies"]}
            self.assertEqual("checkpoint-scope" in kinds, bool(count))

    def test_padding(self):
        """A dimension of one element is padded to 128."""
        remedy = self.remedy("padding", NARROW, "--target=tpu")
        self.assertIn("f32[40000,1] takes 128 times its size, because its dimension 1", remedy["title"])
        self.assertEqual((remedy["source_line"], remedy["confidence"]), (7, "low"))

    def test_wide_copies(self):
        remedy = self.remedy("wide-copies", WIDE)
        self.assertEqual((remedy["source_line"], remedy["bytes_at_peak"]), (9, 4 * 65536))

    def test_logits(self):
        """Logits go into a softmax, and no product comes after them. A hidden layer's activation is none, and a
        checkpoint comes before its pieces; a product with a vector, which XLA writes as a sum, is a product, too."""
        self.assertIn("train.py:30: compute the logits and their loss", self.remedy("chunk-loss", LOGITS)["title"])
        squares = LOGITS.replace("exponential(z)", "multiply(z, z)")
        self.assertIn("the last layer and its loss", self.remedy("chunk-loss", squares)["title"])
        weighted = LOGITS.replace("multiply(x, z)", "multiply(x, b)").replace(
            "  x = ", "  v = f32[4096]{0} parameter(2)\n  b = f32[512,4096]{1,0} broadcast(v), dimensions={1}\n  x = ")
        self.assertIn("this activation and the next layer", self.remedy("chunk", weighted)["title"])
        (self.dir / "hidden.hlo").write_text(unrolled([f"block_{i}" for i in range(4)]))
        remedies = self.advise("hidden.hlo")["remedies"]
        self.assertEqual((remedies[0]["kind"], remedies[0]["scope"]), ("checkpoint-scope", "block_*"))
        self.assertEqual([r["confidence"] for r in remedies if r["kind"] == "chunk"], ["low"])

    def test_names_that_are_saved(self):
        """Where a limit leaves room for some products, those of some lines get names, if that takes less time."""
        def of_block(*options):
            return {r["policy"]: r for r in self.advise(UNROLLED, *options)["remedies"]
                    if r["function"] == "gpt_block" and r["every"] == 1}
        usual = of_block()
        self.assertNotIn("save_only_these_names", usual)
        whole, dots = usual[None], usual["dots_saveable"]
        share = [(whole["counted_bytes"] + dots["counted_bytes"]) // 2, dots["counted_bytes"]]
        found = of_block(f"--mem-limit={share[0]}")
        named = found["save_only_these_names"]
        self.assertTrue(named["is_met"])
        self.assertLess(named["added_seconds"], whole["added_seconds"])
        lines = re.findall(r'x = checkpoint_name\(x, "(gpt_block_\d+)"\)  # x: the product of dump_samples.py:\d+\n',
                           named["code"])
        self.assertTrue(lines)
        self.assertIn(f"save_only_these_names({', '.join(f'{chr(34)}{line}{chr(34)}' for line in lines)})", named["code"])
        self.assertNotIn("save_only_these_names", of_block(f"--mem-limit={share[1]}"))

    def test_present_checkpoint(self):
        """Values that the backward part reads under a checkpoint, as they are or in another form."""
        plain = unrolled([f"block_{i}" for i in range(4)])
        under = re.sub(r"(transpose\(jvp\(block_\d\)\))/", r"\1/checkpoint/", plain)
        forms = re.sub(r"(  \w+ = \S+ )(dot|multiply)\((\w+, )?([tz]\d)(.*/checkpoint/)",
                       lambda m: f"  {m[4]}b = f32[512,256]{{1,0}} bitcast({m[4]})\n{m[1]}{m[2]}({m[3] or ''}{m[4]}b{m[5]}", under)
        self.assertEqual(forms.count("bitcast"), 8)
        for text in (under, forms):
            self.write("under.hlo", text)
            titles = [r["title"] for r in self.advise("under.hlo")["remedies"] if r["kind"] == "checkpoint-scope"]
            self.assertTrue(titles)
            self.assertIn("since the one that is there computes nothing again", titles[0])

    def test_readers_of_other_forms(self):
        """All that the backward part reads it reads in another form: the barrier still finds the gradient."""
        plain = unrolled([f"block_{i}" for i in range(4)])
        forward, backward = plain.split("  g4 = ", 1)
        shapes = {"z": "f32[512,256]{1,0}", "t": "f32[512,256]{1,0}", "h": "f32[512,256]{1,0}", "x": "f32[512,64]{1,0}"}
        used = sorted(set(re.findall(r"\b[zthx]\d\b", backward)))
        lines = "".join(f"  {name}b = {shapes[name[0]]} bitcast({name})\n" for name in used)
        backward = re.sub(r"\b([zthx]\d)\b(?=[,)])", r"\1b", backward)
        figures = []
        for text in (plain, forward + lines + "  g4 = " + backward):
            self.write("forms.hlo", text)
            figures.append([r["temp_bytes"] for r in self.advise("forms.hlo")["remedies"] if r["kind"] == "checkpoint-scope"][:1])
        self.assertEqual(figures[0], figures[1])
        self.assertTrue(figures[0])

    def test_library_calls(self):
        """What XLA has made a call of a library of is computed again as well."""
        plain = unrolled([f"block_{i}" for i in range(4)])
        calls = re.sub(r"dot\((z?[xh]\d, w[uv]\d)\)[^\n]*?(, metadata)", r'custom-call(\1), custom_call_target="__cublas$gemm"\2',
                       plain)
        self.assertEqual(calls.count("custom-call"), 8)
        for text in (plain, calls):
            self.write("calls.hlo", text)
            first = self.advise("calls.hlo")["remedies"][0]
            self.assertEqual((first["kind"], first["num_instances"]), ("checkpoint-scope", 4))
            self.assertLess(first["temp_bytes"], 11 * WIDE_BYTES // 2)

    def test_some_calls(self):
        """Every second call: what to write says which, and that the others stay."""
        self.write("some.hlo", unrolled([f"block_{i}" for i in range(4)]))
        found = [r for r in self.advise("some.hlo", "--mem-limit=70%")["remedies"] if r["every"] == 2]
        self.assertTrue(found)
        self.assertIn(", every 2nd of 4", found[0]["title"])
        self.assertIn("  # at call 0, 2, … of 4; the other calls stay as they are", found[0]["code"])

    def test_padded_weights(self):
        """Weights in another form cannot be computed in pieces."""
        self.write("padded.hlo", """HloModule jit_f, is_scheduled=true

ENTRY e {
  w = f32[1000,256]{1,0} parameter(0), metadata={op_name="w"}
  x = f32[8,1024]{1,0} parameter(1), metadata={op_name="x"}
  zero = f32[] constant(0)
  p = f32[1024,256]{1,0} pad(w, zero), padding=0_24x0_0
  ROOT y = f32[8,256]{1,0} dot(x, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(f)/dot_general"}
}
""")
        self.assertNotIn("chunk", [r["kind"] for r in self.advise("padded.hlo")["remedies"]])

    def test_rows_that_are_returned(self):
        """A program that returns something of each row can be called for fewer rows, with a limit or without."""
        remedy = self.remedy("microbatches", RETURNED)
        self.assertEqual((remedy["argument"], remedy["num_chunks"], remedy["confidence"]), ("x", 8, "medium"))
        self.assertIn("jax.device_get(step(part))", remedy["code"])
        self.assertNotIn("jax.grad", self.remedy("microbatches", RETURNED, "--mem-limit=40%")["code"])

    def test_rows_of_caches(self):
        """A cache that is written in place is no result that could be taken away row by row."""
        self.write("caches.hlo", CACHES_OF_ROWS)
        self.assertEqual(self.advise("caches.hlo")["remedies"], [])

    def test_gradients_of_rows(self):
        """Gradients of each row are one matter, whatever is done with them, and are added up in parts."""
        self.write("rows.hlo", GRADIENTS_OF_ROWS)
        remedies = self.advise("rows.hlo")["remedies"]
        self.assertEqual([(r["kind"], r["confidence"]) for r in remedies], [("microbatches", "medium")])
        self.assertIn("each row has gradients of its own", remedies[0]["title"])

    def test_pairs_of_rows(self):
        """Rows that are compared with each other are no batch whose gradients add up."""
        kinds = [r["kind"] for r in self.advise(self.write("pairs.hlo", PAIRS))["remedies"]]
        self.assertNotIn("microbatches", kinds)
        limited = self.remedy("microbatches", PAIRS, "--mem-limit=40%")
        self.assertIn("do not add up to the same", limited["explanation"])

    def test_what_the_compiler_adds(self):
        """The parts of a product that XLA:GPU divides, and what a library works in, are no arrays of the program."""
        twice = DIVIDED.replace("  q = (f32", """  t = f32[256,256]{1,0} reduce(p, zero), dimensions={0}, to_apply=sum, metadata={op_name="jit(power)/dot_general"}
  q = (f32""").replace("custom-call(s, a)", "custom-call(s, t)")
        for text in (DIVIDED, twice):  # each reader adds the parts up for itself
            self.write("divided.hlo", text)
            self.assertNotIn("chunk", [r["kind"] for r in self.advise("divided.hlo")["remedies"]])

    def test_ensemble(self):
        """The samples of an ensemble come after its members; no weights have a dimension of that size."""
        remedy = self.remedy("microbatches", ENSEMBLE, "--mem-limit=60%")
        self.assertEqual((remedy["argument"], remedy["num_chunks"], remedy["is_met"]), ("x", 2, True))

    def test_padded_pieces(self):
        """A form of the logits that is padded for a product is computed in pieces, too; a one-hot array is none of its
        indices' forms."""
        self.assertEqual(self.remedy("chunk", PADDED)["num_chunks"], 8)
        remedy = self.remedy("chunk", ONE_HOT)
        self.assertIn("table[ids]", remedy["code"])
        self.assertLess(remedy["temp_bytes"], 512 * 1000 * 4 // 50)

    def test_loop_in_a_call(self):
        """XLA:CPU compiles small loops as functions of their own, which a changed program need not have."""
        text = (GOLDEN / "hardly" / "loop_in_call.hlo").read_text()
        kinds = [r["kind"] for r in self.advise(self.write("call.hlo", text))["remedies"]]
        self.assertIn("checkpoint-scan", kinds)

    def test_gathers(self):
        """What is gathered for the forward part need not wait for the backward part."""
        remedy = self.remedy("gathers", GATHERED)
        self.assertEqual((remedy["source_line"], remedy["bytes_at_peak"]), (40, 4 * 256 * 256))

    def test_microbatches(self):
        """The batch becomes smaller by as little as meets the limit; without one only where nothing else helps."""
        remedy = self.remedy("microbatches", LOGITS, "--mem-limit=5%")
        self.assertEqual((remedy["argument"], remedy["is_met"]), ("h", True))
        self.assertEqual(remedy["num_chunks"], 32)
        (self.dir / "module.hlo").write_text(LOGITS)
        self.assertNotIn("microbatches", [r["kind"] for r in self.advise("module.hlo")["remedies"]])

    def test_many_arguments(self):
        """The largest ones are tried, and a report on a large module points to advice."""
        count = 3000
        lines = [f"  p{i} = f32[{262144 if i == 7 else 2}]{{0}} parameter({i})" for i in range(count)]
        lines += [f"  n{i}.{k} = f32[{262144 if i == 7 else 2}]{{0}} negate({f'n{i}.{k - 1}' if k else f'p{i}'})"
                  for i in range(count) for k in range(17)]
        shapes = ", ".join(f"f32[{262144 if i == 7 else 2}]{{0}}" for i in range(count))
        results = ", ".join(f"n{i}.16" for i in range(count))
        self.write("many.hlo", "HloModule many, is_scheduled=true\n\nENTRY e {\n" + "\n".join(lines) +
                   f"\n  ROOT r = ({shapes}) tuple({results})\n}}\n")
        found = json.loads(self.run_tool("advise", "many.hlo", "--json=-", "-q").out)
        self.assertEqual(found["remedies"][0]["argument"], "p7")
        self.assertIn("remat-hlo advise says it", self.expect(0, "report", "many.hlo").out)

    def test_nothing_to_gain(self):
        """What is computed from all rows is not offered in pieces, and small things are left alone."""
        (self.dir / "norm.hlo").write_text(BATCH_NORM)
        advice = self.advise("norm.hlo")
        self.assertEqual((advice["remedies"], advice["plan"], advice["is_met"]), ([], [], True))
        self.assertTrue(advice["summary"].startswith("no change of the program"))
        under_limit = self.advise(SAMPLES / "mobilenet.after_optimizations.hlo", "--mem-limit=50%")
        self.assertEqual([(r["kind"], r["confidence"]) for r in under_limit["plan"]],
                         [("checkpoint-scope", "high"), ("microbatches", "low")])
        self.advise(SAMPLES / "mobilenet.after_optimizations.hlo", "--mem-limit=1KiB", code=1)

    def test_frameworks(self):
        """The words are those of the framework."""
        texts = {"pytorch": LOGITS.replace("op_name=", 'op_type="aten__mm" op_name='),
                 "tensorflow": LOGITS.replace("jit(loss)/", "model/").replace(
                     "op_name=", 'op_type="MatMul" op_name=')}
        for framework, text in texts.items():
            (self.dir / f"{framework}.hlo").write_text(text)
            advice = self.advise(f"{framework}.hlo")
            self.assertEqual(advice["framework"], framework)
            self.assertNotIn("jax", advice["remedies"][0]["code"])
        mark = {"pytorch": ("aten__mm", ("torch_xla.sync()", "torch.bfloat16", "ZeroRedundancyOptimizer", "x.float()")),
                "tensorflow": ("MatMul", ("gradient_accumulation_steps", "tf.map_fn(model", "tf.bfloat16", "dtensor", "tf.cast"))}
        for framework, (kind, words) in mark.items():
            codes = ""
            for text, options in ((LOGITS, ("--mem-limit=5%",)), (MOMENTUM, ()), (WIDE, ()), (NARROW, ()), (GATHERED, ()),
                                  (unrolled(["a_0", "a_1", "a_2"]), ("--mem-limit=1%",))):
                text = text.replace("jit(", "graph(").replace("op_name=", f'op_type="{kind}" op_name=')
                (self.dir / "module.hlo").write_text(text)
                advice = json.loads(self.run_tool("advise", "module.hlo", "--json=-", "-q", *options).out)
                self.assertEqual(advice["framework"], framework)
                codes += "".join(r["code"] + r["explanation"] for r in advice["remedies"])
            for word in ("jax.", "jnp.", "optax"):
                self.assertNotIn(word, codes)
            for word in words:
                self.assertIn(word, codes)

    def test_folder(self):
        """Of a folder the module with the largest peak is taken."""
        folder = self.dir / "dumps"
        folder.mkdir()
        (folder / "module_0001.jit_step.cpu_after_optimizations.txt").write_text(UPDATE)
        (folder / "module_0002.jit_loss.cpu_after_optimizations.txt").write_text(LOGITS)
        self.assertEqual(self.advise("dumps")["module"], "jit_loss")
        self.assertEqual(self.advise("dumps", "--module=jit_step")["module"], "jit_step")

    def test_page(self):
        """The page of a report has the same figures: its times are those of the same device and trip counts."""
        for options in ([], ["--device=tpu-v5e"], ["--trip-count=40"]):
            advice = self.advise(AFTER, *options)
            self.expect(0, "report", AFTER, "--html=page.html", "-q", *options)
            data = re.search(r'id="data">(.*?)</script>', (self.dir / "page.html").read_text(), re.S)
            self.assertEqual([(r["title"], r["counted_bytes"], round(1000 * r["added_fraction"])) for r in advice["remedies"]],
                             [(r["title"], r["bytes"], r["permille"]) for r in json.loads(data[1])["advice"]["others"]])

    def test_text(self):
        (self.dir / "update.hlo").write_text(UPDATE)
        out = self.expect(0, "advise", "update.hlo").out
        self.assertIn("one change leads from 48.02 KiB to 32.02 KiB", out)
        self.assertIn("donate the argument `state`", out)
        self.assertEqual(self.expect(0, "advise", "update.hlo", "-q").out, "")

    def test_bad_usage(self):
        (self.dir / "update.hlo").write_text(UPDATE)
        (self.dir / "empty.hlo").write_text("")
        for code, arguments, message in (
            (2, ["update.hlo", "update.hlo"], "advise takes one file"),
            (2, [], "advise takes one file"),
            (2, ["update.hlo", "--mem-limit=much"], "much"),
            (2, ["update.hlo", "--algorithm=path"], "there is no option"),
            (2, ["update.hlo", "--module=x"], "--module chooses"),
            (2, ["update.hlo", "--device=abacus"], "abacus"),
            (3, ["empty.hlo"], "empty"),
            (3, ["missing.hlo"], "missing.hlo"),
            (4, ["update.hlo", "--json=/nonexistent/x"], "/nonexistent"),
        ):
            with self.subTest(arguments):
                self.assertIn(message, self.expect(code, "advise", *arguments).err)


if __name__ == "__main__":
    tool.main()
