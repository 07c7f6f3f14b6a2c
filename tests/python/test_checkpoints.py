#!/usr/bin/env python3
"""Checkpoints that a plan places, and fit, within XLA:CPU. Run by scripts/check/live, in an environment that has JAX and
the package. usage: test_checkpoints.py [CLASS...]"""

import json
import math
import os
import unittest
import unittest.mock

import package
from package import PackageTest

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4 --xla_cpu_multi_thread_eigen=false"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from checkpoint_programs import PROGRAMS, array, clipped, layer, weights  # noqa: E402

import remat_hlo  # noqa: E402
import remat_hlo.jax as live  # noqa: E402
from remat_hlo._checkpoints import analysis, compiling, costs, cut, driver, file, levels, mark, targets  # noqa: E402
from remat_hlo._checkpoints.equations import flatten  # noqa: E402

RATES = costs.Rates(targets.find_target("cpu").profile_data())
ROUNDING = 2e-5  # of the largest number of a result: XLA fuses what is computed again otherwise


def trial_of(recorder, most_cost, parts):
    """A layout at a level of each function that was recorded."""
    blocks = {}
    for key, (_, program, _) in recorder.found.items():
        found = analysis.analyse(program, RATES)
        blocks[key], _ = levels.lay_out(found, levels.Level(most_cost, max(1, sum(found.residual_bytes) // parts)))
    return driver.Trial(blocks)


def difference(wanted, got):
    """The largest difference of two trees, as a part of the largest number of each array."""
    def one(a, b):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        return float(np.abs(a - b).max() / (np.abs(a).max() + 1e-6)) if a.size else 0.0
    return max(jax.tree.leaves(jax.tree.map(one, wanted, got)))


class CheckpointTest(PackageTest):
    def recorded(self, run):
        """(what run() gives, a Recorder of the functions that are marked in it)."""
        recorder = driver.Recorder()
        with mark.active(recorder):
            wanted = run()
        self.assertTrue(recorder.found)
        return wanted, recorder

    def check_run(self, run, most_cost=3.0, parts=3):
        """run() gives the same with checkpoints, of which there are some."""
        wanted, recorder = self.recorded(run)
        trial = trial_of(recorder, most_cost, parts)
        self.assertTrue(any(is_wrapped(block) for block in trial.blocks.values()))
        with mark.active(trial):
            got = run()
        self.assertLess(difference(wanted, got), ROUNDING)
        return trial


def is_wrapped(block):
    return any(segment.is_wrapped for segment in block.segments) or any(map(is_wrapped, block.bodies.values()))


class Programs(CheckpointTest):
    """Programs of each kind have the same value and gradient, whatever is saved."""

    def test_all(self):
        for name, make in PROGRAMS.items():
            function, arguments = make(live.checkpoint)
            step = jax.jit(jax.value_and_grad(function))
            for most_cost in (math.inf, 3.0):
                with self.subTest(name, most_cost=most_cost):
                    self.check_run(lambda: step(*arguments), most_cost)

    def test_hessian(self):
        loss = live.checkpoint(lambda x: (jnp.exp(-x) * jnp.tanh(x * x)).sum())
        step = jax.jit(jax.hessian(loss))
        self.check_run(lambda: step(array(5)), math.inf, 2)

    def test_forward(self):
        function, arguments = PROGRAMS["own_results"](live.checkpoint)
        ones = jax.tree.map(jnp.ones_like, arguments)
        step = jax.jit(lambda: jax.jvp(function, arguments, ones))
        self.check_run(step)

    def test_without_jit(self):
        function, arguments = PROGRAMS["unrolled"](live.checkpoint)
        self.check_run(lambda: jax.value_and_grad(function)(*arguments))

    def test_donation(self):
        function, arguments = PROGRAMS["unrolled"](live.checkpoint)

        def step(ws, x):
            value, gradients = jax.value_and_grad(function)(ws, x)
            return value, jax.tree.map(lambda w, g: w - 0.1 * g, ws, gradients)
        donating = jax.jit(step, donate_argnums=0)
        self.check_run(lambda: donating(jax.tree.map(jnp.copy, arguments[0]), arguments[1]))

    def test_random_layouts(self):
        """Any segments with any saved values are right, not only those that a level gives."""
        function, arguments = PROGRAMS["own_results"](live.checkpoint)
        step = jax.jit(jax.value_and_grad(function))
        wanted, recorder = self.recorded(lambda: step(*arguments))
        (key, (_, program, _)), = recorder.found.items()
        count = len(program.equations)
        for seed in range(2):
            random = np.random.default_rng(seed)
            borders = sorted({0, count, *random.integers(1, count, 6).tolist()})
            makers = program.makers()
            segments = tuple(levels.Segment(
                begin, end, True, tuple(value for value, maker in enumerate(makers)
                                        if begin <= maker < end and random.integers(3) == 0))
                for begin, end in zip(borders, borders[1:]))
            with mark.active(driver.Trial({key: levels.Block(segments, {})})):
                self.assertLess(difference(wanted, step(*arguments)), ROUNDING, f"seed {seed}")


class Parts(CheckpointTest):
    """Segments that are computed again part by part."""

    def test_all(self):
        for name in ("unrolled", "scanned", "own_results", "custom_rules", "dropout", "own_checkpoints"):
            function, arguments = PROGRAMS[name](live.checkpoint)
            step = jax.jit(jax.value_and_grad(function))
            with self.subTest(name):
                wanted, recorder = self.recorded(lambda: step(*arguments))
                blocks = {}
                for key, (_, program, _) in recorder.found.items():
                    found = analysis.analyse(program, RATES)
                    blocks[key], _ = levels.lay_out(found, levels.Level(math.inf, sum(found.residual_bytes) * 2 // 3, parts=2))
                self.assertTrue(any(map(self.has_parts, blocks.values())))
                with mark.active(driver.Trial(blocks)):
                    self.assertLess(difference(wanted, step(*arguments)), ROUNDING)

    def has_parts(self, block):
        return any(segment.parts for segment in block.segments) or any(map(self.has_parts, block.bodies.values()))

    def test_body_is_lower(self):
        """In the body of a scan, too, what is computed again in parts takes less at once."""
        def loss(ws, x):
            def body(x, w):
                for _ in range(6):
                    x = jnp.sin(jnp.concatenate([x, x, x, x], -1) @ jnp.concatenate([w, w, w, w])) @ w
                return x, None
            return (jax.lax.scan(body, x, ws)[0]**2).mean()
        function = live.checkpoint(loss)
        step = jax.jit(jax.value_and_grad(function))
        shapes = jax.ShapeDtypeStruct((3, 32, 32), jnp.float32), jax.ShapeDtypeStruct((4096, 32), jnp.float32)
        search = driver.Search(*compiling.prepare(step, shapes, {}), targets.find_target("cpu"), 9)
        sizes = [search.measure(search.candidate(levels.Level(math.inf, 1 << 40, parts=parts))).temp_bytes
                 for parts in (1, 3)]
        self.assertLess(sizes[1], sizes[0])

    def test_file(self):
        part = levels.Segment(0, 2, True, (3,))
        block = levels.Block((levels.Segment(0, 5, True, (3,), (), (part, levels.Segment(2, 5, True))),), {})
        function, arguments = PROGRAMS["unrolled"](live.checkpoint)
        _, recorder = self.recorded(lambda: jax.make_jaxpr(jax.grad(function))(*arguments))
        (_, (_, program, _)), = recorder.found.items()
        shown = file._shown(analysis.analyse(program, RATES), block)
        self.assertEqual(file._parse_block(json.loads(json.dumps(shown))), block)


class Bodies(CheckpointTest):
    def test_what_is_carried_is_no_name(self):
        """The new carry of an iteration is the next one's input, which is stacked: to save it by a name, too, because the
        derivative of tanh needs it, would stack it twice."""
        def loss(ws, x):
            return (jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[0]**2).mean()
        _, recorder = self.recorded(lambda: jax.make_jaxpr(jax.grad(live.checkpoint(loss)))(jnp.stack(weights(3)),
                                                                                           array(8, 32)))
        (_, (_, program, _)), = recorder.found.items()
        block, _ = levels.lay_out(analysis.analyse(program, RATES), levels.Level(math.inf, 1 << 40))
        (body,) = block.bodies.values()
        self.assertEqual([segment.saved for segment in body.segments], [()])


class Sharded(CheckpointTest):
    def check_mesh(self, axis_type):
        mesh = jax.make_mesh((4,), ("data",), axis_types=(axis_type,))

        def place(value, *spec):
            return jax.device_put(value, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec)))
        ws, x = [place(w, "data") for w in weights(3)], place(array(8, 32), "data")
        with jax.set_mesh(mesh):
            function, _ = PROGRAMS["unrolled"](live.checkpoint)
            step = jax.jit(jax.value_and_grad(function))
            if axis_type == jax.sharding.AxisType.Explicit:
                ws = [place(w) for w in ws]  # JAX asks for the sharding of a product of two that are spread alike
            self.check_run(lambda: step(ws, x))

    def test_by_the_compiler(self):
        self.check_mesh(jax.sharding.AxisType.Auto)

    def test_explicitly(self):
        self.check_mesh(jax.sharding.AxisType.Explicit)

    def test_shard_map(self):
        mesh = jax.make_mesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
        spec = jax.sharding.PartitionSpec

        def loss(ws, x):
            def local(ws, x):
                for w in ws:
                    x = layer(x, w)
                return jax.lax.pmean((x**2).mean(), "data")
            return jax.shard_map(local, mesh=mesh, in_specs=(spec(), spec("data")), out_specs=spec())(ws, x)
        marked = live.checkpoint(lambda ws, x: loss(ws, x) * jnp.tanh(ws[0]).sum())
        step = jax.jit(jax.value_and_grad(marked))
        self.check_run(lambda: step(weights(3), array(8, 32)), math.inf)

    def test_bytes_of_one_device(self):
        """What a value takes is what one device has of it, the same by constraint and by propagation."""
        program = flatten(jax.make_jaxpr(lambda w, x: jnp.tanh(x @ w).reshape(4, 2, 32).sum())(
            array(32, 32), array(8, 32)))
        spread = frozenset({"data"})
        found = analysis.analyse(program, RATES, [None, (spread, frozenset())], {"data": 4})
        product = next(one for one in program.equations if one.name == "dot_general")
        self.assertEqual(found.bytes[product.outputs[0]], 8 * 32 * 4 // 4)
        shaped = next(one for one in program.equations if one.name == "reshape")
        self.assertEqual(found.bytes[shaped.outputs[0]], 8 * 32 * 4 // 4)


def equations_of(jaxpr):
    """The names of all equations, those within others included."""
    names, rest = [], [jaxpr]
    while rest:
        one = rest.pop()
        one = getattr(one, "jaxpr", one)
        for equation in one.eqns:
            names.append(equation.primitive.name)
            for value in equation.params.values():
                rest += [inner for inner in (value if isinstance(value, (list, tuple)) else [value])
                         if hasattr(inner, "eqns") or hasattr(inner, "jaxpr")]
    return names


class Saved(CheckpointTest):
    """What is said to be saved is not computed again, and what is not said is."""

    def count(self, function, name, saved=(), hidden=()):
        """How often an equation is computed in value and gradient with all in one segment."""
        x = array(4, 4)
        _, recorder = self.recorded(lambda: jax.make_jaxpr(jax.grad(live.checkpoint(function)))(x))
        (key, (_, program, _)), = recorder.found.items()
        values = tuple(output for equation in program.equations if equation.name in saved for output in equation.outputs)
        indices = tuple(index for index, equation in enumerate(program.equations) if equation.name in hidden)
        block = levels.Block((levels.Segment(0, len(program.equations), True, values, indices),), {})
        with mark.active(driver.Trial({key: block})):
            return equations_of(jax.make_jaxpr(jax.grad(live.checkpoint(function)))(x)).count(name)

    def test_rules_that_use_their_results(self):
        for name, function in (("exp", jnp.exp), ("tanh", jnp.tanh), ("logistic", jax.nn.sigmoid), ("sqrt", jnp.sqrt),
                               ("rsqrt", jax.lax.rsqrt)):
            with self.subTest(name):
                def loss(x):
                    return jnp.sin(function(1 + x * x)).sum()
                self.assertEqual(self.count(loss, name), 2)
                self.assertEqual(self.count(loss, name, saved=(name,)), 1)

    def test_custom_rule_that_uses_its_result(self):
        from checkpoint_programs import steep

        def loss(x):
            return jnp.sin(steep(x)).sum()
        self.assertEqual(self.count(loss, "exp"), 2)
        self.assertEqual(self.count(loss, "exp", saved=("custom_jvp_call",)), 1)

    def test_residuals_of_a_custom_rule(self):
        def loss(x):
            return (clipped(x) ** 3).sum()
        self.assertEqual(self.count(loss, "cos"), 1)
        again = self.count(loss, "sin")
        self.assertEqual(self.count(loss, "sin", saved=("custom_vjp_call",), hidden=("custom_vjp_call",)), again - 1)


class Cuts(CheckpointTest):
    def test_minimum(self):
        """The cut that is nearest to the sink, of least capacity."""
        network = cut.Network()
        source, a, b, c, sink = (network.add_node() for _ in range(5))
        for begin, end, capacity in ((source, a, 5), (a, b, 3), (b, sink, 7), (source, c, 2), (c, sink, 2)):
            network.add_edge(begin, end, capacity)
        self.assertEqual(network.cut(source, sink), [True, True, False, True, False])

    def test_against_all_cuts(self):
        for seed in range(20):
            random = np.random.default_rng(seed)
            count = 7
            edges = [(int(a), int(b), int(c)) for a, b, c in
                     zip(random.integers(0, count, 14), random.integers(0, count, 14), random.integers(0, 9, 14))
                     if a != b]
            network = cut.Network()
            for _ in range(count):
                network.add_node()
            for edge in edges:
                network.add_edge(*edge)

            def weight(side):
                return sum(c for a, b, c in edges if side[a] and not side[b])
            sides = ([True, *(bool(bits >> i & 1) for i in range(count - 2)), False] for bits in range(1 << (count - 2)))
            least = min(weight(side) for side in sides)
            self.assertEqual(weight(network.cut(0, count - 1)), least, f"seed {seed}")


# XLA:CPU of JAX 0.10 merges what jax.checkpoint computes again with what it was, except in loops.
IS_MERGED = jax.__version_info__ < (0, 11)


def wide_loss(power=2):
    """A function with much to save."""
    def layer(x, w):
        return jnp.tanh(x @ w) * jnp.exp(-x * x), None

    def loss(ws, x):
        if IS_MERGED:
            x, _ = jax.lax.scan(layer, x, jnp.stack(ws))
        else:
            for w in ws:
                x, _ = layer(x, w)
        return (x**power).mean()
    return loss


def wide_step(count=6, width=64, batch=512, mark_of=live.checkpoint):
    """A step, and its shapes."""
    loss = mark_of(wide_loss())

    def step(ws, x):
        value, gradients = jax.value_and_grad(loss)(ws, x)
        return value, jax.tree.map(lambda w, g: w - 0.1 * g, ws, gradients)
    shapes = [jax.ShapeDtypeStruct((width, width), jnp.float32)] * count, jax.ShapeDtypeStruct((batch, width), jnp.float32)
    return jax.jit(step, donate_argnums=0), shapes


class Plans(CheckpointTest):
    @classmethod
    def setUpClass(cls):
        step, cls.shapes = wide_step()
        cls.step = staticmethod(step)
        cls.plan = live.plan(step, *cls.shapes, mem_limit="70%", device="cpu", max_compilations=6)

    def arguments(self):
        return [array(64, 64, seed=number) for number in range(6)], array(512, 64)

    def test_budget_is_met(self):
        self.assertTrue(self.plan.is_met)
        self.assertLessEqual(self.plan.after["total_bytes"], self.plan.limit_bytes)
        self.assertEqual(self.plan.limit_bytes, self.plan.before["total_bytes"] * 7 // 10)
        self.assertLessEqual(len(self.plan.measured), 6)

    def test_what_is_said_is_what_is_compiled(self):
        with self.plan:
            sizes = self.step.lower(*self.shapes).compile().memory_analysis()
        self.assertEqual(sizes.temp_size_in_bytes, self.plan.after["temp_bytes"])
        sizes = self.step.lower(*self.shapes).compile().memory_analysis()
        self.assertEqual(sizes.temp_size_in_bytes, self.plan.before["temp_bytes"])

    def test_same_results(self):
        ws, x = self.arguments()
        wanted = self.step(jax.tree.map(jnp.copy, ws), x)
        with self.plan:
            got = self.step(jax.tree.map(jnp.copy, ws), x)
        self.assertLess(difference(wanted, got), ROUNDING)

    def test_round_trip(self):
        path = self.dir / "plan.json"
        self.plan.save(path)
        read = live.load_plan(path)
        self.assertEqual((read, hash(read), read.to_json()), (self.plan, hash(self.plan), self.plan.to_json()))
        data = json.loads(path.read_text())
        blocks = [data["functions"][0]["checkpoints"]]
        blocks += blocks[0]["scans"].values()
        segments = [one for block in blocks for one in block["segments"] if one["is_checkpoint"]]
        self.assertTrue(any(value["source"].startswith("test_checkpoints.py:") for one in segments
                            for value in one["saved"] + one["passed_on"]))
        self.assertTrue(any(source.startswith("test_checkpoints.py:") for one in segments
                            for source in one["computed_again"]))
        self.assertIn("computes again test_checkpoints.py:", str(read))
        self.assertIn("test_checkpoints.py:", read._repr_html_())

    def test_same_again(self):
        again = live.plan(self.step, *self.shapes, mem_limit="70%", device="cpu", max_compilations=6)
        self.assertEqual(again.to_json(), self.plan.to_json())

    def test_another_program(self):
        other, shapes = wide_step(batch=256)
        with self.assertRaisesRegex(live.PlanError, "the plan is for another 'wide_loss.<locals>.loss'"), self.plan:
            other.lower(*shapes)

    def test_which_equation_differs(self):
        loss = live.checkpoint(wide_loss(3))
        with self.assertRaisesRegex(live.PlanError, r"test_checkpoints.py:\d+ \(loss\) is now `.* = integer_pow .*y=3`, "
                                                    r"the plan has `.*`"), self.plan:
            jax.make_jaxpr(jax.grad(loss))(*self.shapes)

    def test_a_function_that_the_plan_does_not_have(self):
        with self.assertRaisesRegex(live.PlanError, "the plan has no function 'other', which is marked in .*; it has wide"):
            with self.plan:
                jax.make_jaxpr(live.checkpoint(jnp.sin, name="other"))(1.0)

    def test_what_is_no_plan(self):
        text = self.plan.to_json()
        for wrong, said in (("{}", "this is no plan"), (text.replace('"version": 2', '"version": 3'), "has version 3"),
                            (text[:1000], "cannot be read"), (text.replace("= tanh ", "= sinh ", 1), "are not those")):
            with self.subTest(said), self.assertRaisesRegex(live.PlanError, said):
                live.load_plan(wrong)

    def test_nothing_to_do(self):
        plan = live.plan(self.step, *self.shapes, mem_limit="1GiB", device="cpu")
        self.assertEqual((len(plan.measured), plan.is_met, plan.functions[0].block), (1, True, None))
        with plan:
            sizes = self.step.lower(*self.shapes).compile().memory_analysis()
        self.assertEqual(sizes.temp_size_in_bytes, plan.before["temp_bytes"])
        self.assertIn("as it is", str(plan))

    def test_nothing_is_marked(self):
        step, shapes = wide_step(mark_of=lambda function: function)
        with self.assertRaisesRegex(live.PlanError, "no function of the program is marked"):
            live.plan(step, *shapes, mem_limit="50%", device="cpu")

    def test_wrong_words(self):
        with self.assertRaisesRegex(ValueError, "there is no device 'v99' to compile for: cpu, v5e"):
            live.plan(self.step, *self.shapes, mem_limit="50%", device="v99")
        with self.assertRaisesRegex(ValueError, "nothing says what cpu offers"):
            live.plan(self.step, *self.shapes, mem_limit="auto", device="cpu")
        with self.assertRaisesRegex(ValueError, "the budget of a plan is"):
            live.plan(self.step, *self.shapes, mem_limit="r50%", device="cpu")


class Marks(CheckpointTest):
    def test_without_a_plan(self):
        calls = []

        @live.checkpoint
        def function(*arguments, **named):
            calls.append((arguments, named))
            return "something"
        self.assertEqual(function(1, "two", three=object), "something")
        self.assertEqual(calls, [((1, "two"), {"three": object})])

    def test_within_another(self):
        inner = live.checkpoint(layer)
        outer = live.checkpoint(lambda w, x: inner(inner(x, w), w).sum())
        _, recorder = self.recorded(lambda: jax.make_jaxpr(jax.grad(outer))(array(32, 32), array(8, 32)))
        self.assertEqual([found.name for found, _, _ in recorder.found.values()],
                         ["Marks.test_within_another.<locals>.<lambda>"])

    def test_digest_has_no_shardings(self):
        mesh = jax.make_mesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))

        def program_on(count):
            part = jax.sharding.Mesh(mesh.devices[:count], ("data",))
            sharding = jax.sharding.NamedSharding(part, jax.sharding.PartitionSpec("data"))

            def loss(w, x):
                return jnp.tanh(jax.lax.with_sharding_constraint(x @ w, sharding)).sum()
            return self.recorded(lambda: jax.make_jaxpr(live.checkpoint(loss))(array(32, 32), array(8, 32)))[1]
        self.assertEqual(set(program_on(2).found), set(program_on(4).found))


class Frameworks(CheckpointTest):
    """Libraries of networks, where they are installed."""

    def setUp(self):
        super().setUp()
        self.x = array(4, 16, scale=1.0)

    def needs(self, name):
        try:
            return __import__(name)
        except ImportError:
            return self.skipTest(f"{name} is not installed")

    def test_nnx(self):
        """Modules that the loss changes: statistics of a batch norm, and counts of random streams."""
        self.needs("flax")
        from flax import nnx

        class Net(nnx.Module):
            def __init__(self, rngs):
                self.first, self.norm = nnx.Linear(16, 32, use_bias=False, rngs=rngs), nnx.BatchNorm(32, rngs=rngs)
                self.drop, self.second = nnx.Dropout(0.3, rngs=rngs), nnx.Linear(32, 16, rngs=rngs)

            def __call__(self, x):
                return self.second(self.drop(nnx.gelu(self.norm(self.first(x)))))

        def run():
            net = Net(nnx.Rngs(0))

            @nnx.jit
            def step(net, x):
                return nnx.value_and_grad(live.checkpoint(lambda net, x: (net(x)**2).mean()))(net, x)
            first, second = step(net, self.x), step(net, self.x)
            self.assertNotEqual(float(first[0]), float(second[0]))  # another mask
            return jax.tree.leaves((first, second, nnx.state(net, nnx.BatchStat)))
        self.check_run(run)

    def test_linen(self):
        self.needs("flax")
        from flax import linen

        class Net(linen.Module):
            @linen.compact
            def __call__(self, x):
                for _ in range(2):
                    x = linen.LayerNorm()(linen.Dense(16)(x))
                    x = linen.Dropout(0.2, deterministic=False)(linen.gelu(x))
                return x
        net = Net()
        parameters = net.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, self.x)
        loss = live.checkpoint(lambda p, x, key: (net.apply(p, x, rngs={"dropout": key})**2).mean())
        step = jax.jit(jax.value_and_grad(loss))
        self.check_run(lambda: step(parameters, self.x, jax.random.key(2)))

    def test_linen_scan(self):
        self.needs("flax")
        from flax import linen

        class Layer(linen.Module):
            @linen.compact
            def __call__(self, x, _):
                return x + linen.tanh(linen.Dense(16)(x)), None

        class Net(linen.Module):
            @linen.compact
            def __call__(self, x):
                body = linen.scan(linen.remat(Layer, prevent_cse=False), variable_axes={"params": 0},
                                  split_rngs={"params": True}, length=3)
                return body()(x, None)[0]
        net = Net()
        parameters = net.init(jax.random.key(0), self.x)
        step = jax.jit(jax.value_and_grad(live.checkpoint(lambda p, x: (net.apply(p, x)**2).mean())))
        self.check_run(lambda: step(parameters, self.x))

    def test_haiku(self):
        haiku = self.needs("haiku")

        def network(x):
            return (haiku.nets.MLP([32, 16], activation=jax.nn.gelu)(haiku.LayerNorm(-1, True, True)(x))**2).mean()
        made = haiku.transform(network)
        parameters = made.init(jax.random.key(0), self.x)
        step = jax.jit(jax.value_and_grad(live.checkpoint(made.apply)))
        self.check_run(lambda: step(parameters, jax.random.key(1), self.x))

    def test_equinox(self):
        """A module is a tree whose leaves are functions, too."""
        equinox = self.needs("equinox")
        net = equinox.nn.MLP(16, 16, 32, 2, activation=jax.nn.silu, key=jax.random.key(0))

        @equinox.filter_jit
        def step(net, x):
            return equinox.filter_value_and_grad(live.checkpoint(lambda net, x: (jax.vmap(net)(x)**2).mean()))(net, x)
        self.check_run(lambda: jax.tree.leaves(equinox.filter(step(net, self.x), equinox.is_array)))


FITTING = """
import jax, jax.numpy as jnp
import remat_hlo.jax

def small(n=512):
    def loss(ws, x):
        for w in ws:
            x = jnp.tanh(x @ w)
        return (x**2).mean()
    def step(ws, x):
        return jax.grad(remat_hlo.jax.checkpoint(loss))(ws, x)
    ws = [jax.ShapeDtypeStruct((64, 64), jnp.float32)] * 4
    return jax.jit(step), (ws, jax.ShapeDtypeStruct((n, 64), jnp.float32))
"""


class Fitting(CheckpointTest):
    def test_fits(self):
        step, shapes = wide_step()
        answer = live.fit(step, *shapes, device="cpu", mem_limit="1GiB", max_compilations=1)
        self.assertEqual((answer.is_fitting, answer.exit_code, answer.missing_bytes), (True, 0, 0))
        self.assertEqual(answer.total_bytes, answer.measured.argument_bytes + answer.measured.output_bytes
                         - answer.measured.alias_bytes + answer.measured.temp_bytes)
        self.assertTrue(any("test_checkpoints.py" in source for source, _ in answer.peak), answer.peak)
        self.assertTrue(any(point.way == "hook" for point in answer.curve))
        self.assertIn("fits", str(answer))
        self.assertEqual(answer.advice["limit_bytes"], 1 << 30)
        self.assertIn("<svg", answer._repr_html_())
        json.dumps(answer.to_dict())

    def test_does_not_fit(self):
        step, shapes = wide_step()
        whole = live.fit(step, *shapes, device="cpu", max_compilations=1)
        self.assertIsNone(whole.is_fitting)  # nothing says what a processor offers
        limit = whole.total_bytes * 3 // 4
        answer = live.fit(step, *shapes, device="cpu", mem_limit=limit, max_compilations=4)
        self.assertEqual((answer.is_fitting, answer.exit_code, answer.missing_bytes),
                         (False, 1, whole.total_bytes - limit))
        self.assertTrue(answer.plan.is_met)
        self.assertTrue(any(point.way == "plan" and point.total_bytes <= limit for point in answer.curve))
        self.assertIn("does not fit", str(answer))

    def test_how_far_it_grows(self):
        step, _ = wide_step(batch=1)

        def args_of(n):
            return wide_step(batch=n)[1]
        one, two = (live.fit(step, args_of=args_of, n=n, device="cpu", max_compilations=1).total_bytes for n in (64, 128))
        limit = one + (two - one) * 3 // 2  # 160 in between
        answer = live.fit(step, args_of=args_of, n=64, device="cpu", mem_limit=limit, max_compilations=1)
        self.assertLessEqual(abs(answer.largest - 160), 6)
        by_size = {size.n: size for size in answer.sizes}
        self.assertTrue(by_size[answer.largest].is_fitting)
        self.assertTrue(any(not size.is_fitting for size in answer.sizes))

    def test_out_of_memory_is_an_answer(self):
        step, shapes = wide_step()
        said = ("RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for "
                "HLO temporaries (18.60G) exceeds available HBM (15.75G)")
        with unittest.mock.patch.object(jax.stages.Lowered, "compile", side_effect=RuntimeError(said)):
            answer = live.fit(step, *shapes, device="cpu", mem_limit="15.75GiB", max_compilations=1)
        self.assertEqual((answer.is_fitting, answer.exit_code), (False, 1))
        self.assertAlmostEqual(answer.missing_bytes / 2**30, 2.85, places=2)
        self.assertIn("Ran out of memory", str(answer))

    def test_a_fault_of_the_library_is_said(self):
        """XLA's figures are an answer all the same."""
        step, shapes = wide_step()
        fault = remat_hlo.InternalError("RH_ERR_INTERNAL", [])
        with unittest.mock.patch.object(compiling, "load_module", side_effect=fault), \
                self.assertWarnsRegex(UserWarning, "RH_ERR_INTERNAL"):
            answer = live.fit(step, *shapes, device="cpu", max_compilations=1)
        self.assertGreater(answer.total_bytes, 0)
        self.assertIsNone(answer.measured.seconds)

    def test_other_errors_are_errors(self):
        step, shapes = wide_step()
        with unittest.mock.patch.object(jax.stages.Lowered, "compile", side_effect=RuntimeError("INTERNAL: no")), \
                self.assertRaisesRegex(RuntimeError, "INTERNAL"):
            live.fit(step, *shapes, device="cpu")

    def test_missing_plugin(self):
        step, shapes = wide_step()
        with unittest.mock.patch.object(targets, "_has", return_value=False):
            for device, package_name in (("v5e:2x2", "libtpu"), ("h100", "jax-cuda13-plugin")):
                with self.assertRaisesRegex(live.MissingPlugin, f"pip install {package_name}"):
                    live.fit(step, *shapes, device=device)

    def test_command(self):
        self.write("program.py", FITTING)
        command = ("-m", "remat_hlo", "fit", "program:small", "--device=cpu", "--max-compilations=1")
        written, _ = self.run_python(*command, "--mem-limit=1GiB", "--html=fit.html")
        self.assertIn("fits", written)
        self.assertIn("<svg", (self.dir / "fit.html").read_text())
        written, _ = self.run_python(*command, "--mem-limit=512KiB", "--json=-", code=1)
        self.assertFalse(json.loads(written)["is_fitting"])
        written, _ = self.run_python(*command, "--mem-limit=4MiB", "--grow=512")
        self.assertIn("largest n that fits", written)

    def test_arguments_that_are_no_arrays(self):
        """A step that nobody has jitted: what is no array is a constant, in results, too."""
        def step(ws, x, activation, *, scale):
            return {"loss": (activation(x @ ws[0]) * scale).sum(), "name": "step"}
        answer = live.fit(step, [array(8, 8)], array(4, 8), jnp.tanh, scale=2.0, device="cpu", max_compilations=1)
        self.assertEqual((answer.name, answer.measured.argument_bytes), ("step", 8 * 8 * 4 + 4 * 8 * 4))
        self.assertIn("ws", dict(answer.peak))  # as the step calls it

    def test_wrong_command(self):
        self.write("program.py", FITTING)
        for words, said in ((("program",), "is not PACKAGE.MODULE:FUNCTION"), (("program:none",), "cannot be loaded"),
                            (("program:small", "--device=v99"), "there is no device 'v99'"),
                            (("program:small", "--device=cpu:x"), "'cpu:x': a topology is as 2x2"),
                            (("program:small", "--device=h100:0"), "'h100:0': a topology is as 2x2"),
                            (("program:small", "--device=cpu", "--grow=0"), "the first size is at least 1"),
                            (("program:small", "--max-compilations=0"), "the program itself is the first")):
            _, told = self.run_python("-m", "remat_hlo", "fit", *words, code=2)
            self.assertIn(said, told)

    def test_failing_program(self):
        """1 would say that it does not fit."""
        self.write("program.py", FITTING + """
def broken():
    raise ValueError("no data here")

def wrong():
    return 3

def misshapen():
    return lambda x: x @ x, (jax.ShapeDtypeStruct((2, 3), "float32"),)
""")
        for name, code, said in (("broken", 3, "no data here"), ("misshapen", 3, "program:misshapen fails"),
                                 ("wrong", 2, "it returns int, not (step, arguments)")):
            _, told = self.run_python("-m", "remat_hlo", "fit", f"program:{name}", "--device=cpu", code=code)
            self.assertIn(said, told)


if __name__ == "__main__":
    package.main()
