"""Random training steps whose derivatives are sums of products in all orders and nestings: what a code
generator that contracts a product and a sum rounds in one of several ways. A program is a function of
its specification, which is plain data, so that it can be printed and made smaller; and a specification
is a function of its seed."""

import random

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

DTYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16, "f64": jnp.float64, "c64": jnp.complex64}

# ---- elementary functions ----


def rms_norm(a):
    return a * lax.rsqrt((a * a).mean(-1, keepdims=True) + 1e-5)


def layer_norm(a):
    mean = a.mean(-1, keepdims=True)
    return (a - mean) * lax.rsqrt(((a - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def gelu_written_out(a):
    return 0.5 * a * (1 + jnp.tanh(0.7978845608 * (a + 0.044715 * a * a * a)))


HOLOMORPHIC = {
    "tanh": jnp.tanh, "sin": jnp.sin, "cos": jnp.cos, "square": jnp.square, "neg": jnp.negative,
    "cube": lambda a: a ** 3, "exp_small": lambda a: jnp.exp(a * 0.25), "twice": lambda a: a + a,
    "one_plus": lambda a: 1 + a, "one_minus": lambda a: 1 - a, "half": lambda a: 0.5 * a,
    "polynomial": lambda a: 0.3 * a * a * a - 0.2 * a * a + 0.7 * a + 0.1,
    "horner": lambda a: ((0.3 * a - 0.2) * a + 0.7) * a + 0.1,
    "sin_cos": lambda a: jnp.sin(a) * jnp.cos(a), "x_exp": lambda a: a * jnp.exp(-0.25 * a),
}
REAL = {
    "gelu": lambda a: jax.nn.gelu(a, approximate=True), "gelu_exact": lambda a: jax.nn.gelu(a, approximate=False),
    "gelu_written": gelu_written_out, "quick_gelu": lambda a: a * jax.nn.sigmoid(1.702 * a),
    "silu": jax.nn.silu, "softplus": jax.nn.softplus, "sigmoid": jax.nn.sigmoid,
    "mish": lambda a: a * jnp.tanh(jax.nn.softplus(a)), "elu": jax.nn.elu, "relu": jax.nn.relu,
    "squared_relu": lambda a: jnp.square(jax.nn.relu(a)), "log_sigmoid": jax.nn.log_sigmoid,
    "rational": lambda a: a / (1 + a * a), "root": lambda a: a * lax.rsqrt(1 + a * a),
    "gauss": lambda a: jnp.exp(-a * a), "erf": lax.erf, "atan": jnp.arctan, "log1p": lambda a: jnp.log1p(a * a),
    "rms_norm": rms_norm, "layer_norm": layer_norm, "softmax": jax.nn.softmax,
}
OPERATIONS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "scaled_sub": lambda a, b: a - 0.3 * b, "mean": lambda a, b: 0.5 * (a + b),
}
REAL_OPERATIONS = {
    "max": jnp.maximum, "min": jnp.minimum, "div": lambda a, b: a / (1.5 + b * b),
    "where": lambda a, b: jnp.where(a > 0, a * b, b), "gate": lambda a, b: a * jax.nn.sigmoid(b),
}
FUNCTIONS = {**HOLOMORPHIC, **REAL, **OPERATIONS, **REAL_OPERATIONS}


def evaluate(form, names):
    """A form is a name, a number, or a list of a function's name and forms. What is called `custom` has a
    primal function, a derivative as a form of its argument z and the tangent t, and an argument."""
    if isinstance(form, str):
        return names[form]
    if isinstance(form, (int, float)):
        return form
    if form[0] == "custom":
        return custom(FUNCTIONS[form[1]], form[2])(evaluate(form[3], names))
    function = names.get(form[0]) or FUNCTIONS[form[0]]
    return function(*(evaluate(one, names) for one in form[1:]))


def custom(primal, derivative):
    function = jax.custom_jvp(primal)

    @function.defjvp
    def rule(primals, tangents):
        (z,), (t,) = primals, tangents
        return function(z), evaluate(derivative, {"z": z, "t": t})
    return function


# ---- random forms ----

class Maker:
    def __init__(self, chooser, is_real):
        self.random, self.is_real = chooser, is_real
        self.unary = list(HOLOMORPHIC) + (list(REAL) if is_real else [])
        self.pointwise = [name for name in self.unary if not name.endswith(("norm", "softmax"))]
        self.binary = list(OPERATIONS) + (list(REAL_OPERATIONS) if is_real else [])
        self.bounded = ["tanh", "sin", "cos"]
        if is_real:
            self.bounded += ["sigmoid", "root", "rational", "erf", "gauss", "layer_norm"]

    def one(self, *choices):
        return self.random.choice(choices)

    def gate(self, form):
        return [self.random.choice(self.bounded), form]

    def of(self, names, depth):
        """Any form of these names."""
        kind = self.random.random()
        if depth == 0 or kind < 0.1:
            return self.random.choice(names)
        if kind < 0.45:
            return [self.random.choice(self.unary), self.of(names, depth - 1)]
        if kind < 0.6:
            return self.sum_of_products(names, depth - 1)
        return [self.random.choice(self.binary + ["mul", "mul", "add"]), self.of(names, depth - 1),
                self.of(names, depth - 1)]

    def factor(self, names, depth):
        if self.random.random() < 0.25:
            return self.random.choice(names)
        return [self.random.choice(self.pointwise), self.of(names, max(0, depth - 1))]

    def product(self, names, depth, first=None):
        form = first or self.factor(names, depth)
        for _ in range(self.one(1, 1, 2)):
            other = self.factor(names, depth)
            form = self.one(["mul", form, other], ["mul", other, form])
        return form

    def joined(self, terms):
        """Their sum, in any order and nesting."""
        while len(terms) > 1:
            a = terms.pop(self.random.randrange(len(terms)))
            b = terms.pop(self.random.randrange(len(terms)))
            terms.append([self.one("add", "add", "sub"), a, b])
        return terms[0]

    def sum_of_products(self, names, depth):
        """A summand that is no product is among them here and there."""
        return self.joined([self.product(names, depth) if self.random.random() < 0.8 else
                            self.factor(names, depth) for _ in range(self.one(2, 2, 3, 4))])

    def derivative(self):
        """Linear in the tangent, as derivatives are."""
        return self.joined([self.product(["z"], 1, "t") for _ in range(self.one(1, 2, 2, 3))])

    def activation(self, form):
        kind = self.random.random()
        if kind < 0.25:
            return [self.random.choice(self.unary), form]
        if kind < 0.55:
            return ["custom", self.one("sin", "tanh", "square"), self.derivative(), form]
        names = [form]
        if kind < 0.7:
            return [self.random.choice(self.bounded), self.of(names, 2)]
        return self.sum_of_products(names, 1) if kind < 0.9 else self.of(names, 3)


# How states s0, s1 ... follow from gates g0, g1 ... (projections of s0, and of an input over time) and
# weights w0, w1 of a state's shape: (number of gates, a form for each state).

def residual(make):
    return 1, [["add", "s0", ["project", make.activation("g0")]]]


def plain(make):
    return 1, [make.activation("g0")]


def gated(make):
    inner = ["mul", make.activation("g0"), make.one("g1", make.gate("g1"), make.activation("g1"))]
    return 2, [make.one(["add", "s0", inner], inner, ["add", "s0", ["project", inner]])]


def highway(make):
    t = make.gate("g0")
    return 2, [["add", ["mul", t, make.activation("g1")], ["mul", ["one_minus", t], "s0"]]]


def lstm(make):
    forget, enter = ["mul", make.gate("g0"), "s1"], ["mul", make.gate("g1"), make.gate("g3")]
    carried = make.one(["add", forget, enter], ["add", enter, forget], ["sub", forget, enter])
    return 4, [["mul", make.gate("g2"), make.gate(carried)], carried]


def gru(make):
    t, new = make.gate("g0"), make.gate(["add", "g1", ["mul", make.gate("g2"), "s0"]])
    return 3, [make.one(["add", ["mul", t, "s0"], ["mul", ["one_minus", t], new]],
                        ["add", "s0", ["mul", t, ["sub", new, "s0"]]])]


def products(make):
    return 3, [[make.random.choice(make.bounded), make.sum_of_products(["g0", "g1", "g2", "s0"], 2)]]


def free(make):
    return 2, [make.gate(make.of(["g0", "g1", "s0", "s1"], 3)),
               ["add", "s1", make.product(["g0", "g1", "s0"], 1)]]


def elementwise(make):
    return 0, [["add", "s0", ["mul", "w0", make.of(["s0", "w0", "w1"], 3)]]]


def rotation(make):
    turn = make.gate("g1")
    return 2, [["add", ["mul", "g0", ["half", "s0"]], ["mul", turn, "s1"]],
               ["sub", ["mul", "g0", ["half", "s1"]], ["mul", turn, "s0"]]]


def gpt(make):
    attended = ["add", "s0", ["project", ["attend", "g0", "g1", "g2"]]]
    return 4, [["add", attended, ["project", make.activation(["mul", "g3", [make.one("rms_norm", "layer_norm"),
                                                                          attended]])]]]


CELLS = {"residual": residual, "plain": plain, "gated": gated, "highway": highway, "lstm": lstm, "gru": gru,
         "products": products, "free": free, "elementwise": elementwise, "rotation": rotation, "gpt": gpt}
LOSSES = ("squares", "products", "linear", "entropy")


def specify(seed):
    chooser = random.Random(f"derivatives of {seed}")
    dtype = chooser.choice(("f32",) * 6 + ("bf16", "bf16", "f64", "f64", "c64", "c64"))
    make = Maker(chooser, dtype != "c64")
    kinds = [kind for kind in CELLS if make.is_real or kind != "gpt"]
    kind = chooser.choice(kinds + ["residual", "plain"])
    over = chooser.choice(("time", "time", "layers") if kind in ("lstm", "gru", "rotation") else
                          ("layers", "layers", "time"))
    gates, forms = CELLS[kind](make)
    is_unrolled = chooser.random() < 0.2
    return {"dtype": dtype, "kind": kind, "over": over, "unrolled": is_unrolled, "gates": gates,
            "forms": forms, "steps": chooser.choice((2, 3) if is_unrolled else (4, 6, 8)), "batch": chooser.choice((32, 64, 96)),
            "width": chooser.choice((16, 32, 40)), "scale": chooser.choice((0.3, 1.0)),
            "loss": chooser.choice(LOSSES[:3] if dtype == "c64" else LOSSES), "values": seed % 1000,
            "bias": chooser.random() < 0.4, "tied": gates > 0 and chooser.random() < 0.5,
            "by": chooser.choice(("all", "gates")) if gates else "all"}


# ---- programs ----

def normal(numbers, dtype, *shape, scale=1.0):
    made = numbers.standard_normal(shape) * scale
    if dtype == "c64":
        made = (made + 1j * numbers.standard_normal(shape) * scale) * 0.7
    return np.asarray(made).astype(DTYPES[dtype])


def attend(q, k, v):
    weights = jax.nn.softmax(q @ k.T * (q.shape[-1] ** -0.5), -1)
    return weights @ v


def cell(spec):
    """(states, weights, input or None) -> new states."""
    def run(states, weights, x):
        first = states[0] if x is None else jnp.concatenate([states[0], x], -1)
        gates = [first @ weights["g"][i] + (weights["b"][i] if spec["bias"] else 0)
                 for i in range(spec["gates"])]
        names = {f"s{i}": s for i, s in enumerate(states)}
        names |= {f"g{i}": g for i, g in enumerate(gates)}
        names |= {f"w{i}": w for i, w in enumerate(weights["w"])}
        back = weights["g"][0, :spec["width"]].T if spec["tied"] else weights["p"]
        names |= {"project": lambda a: a @ back, "attend": attend}
        names["s1"] = names.get("s1", states[0])
        made = [evaluate(form, names) for form in spec["forms"]]
        return [jnp.asarray(new).astype(old.dtype) for new, old in zip(made, states)]
    return run


def reduce_to_loss(kind, y):
    def real(a):
        return jnp.real(a).astype(jnp.float32) if a.dtype != jnp.float64 else a
    if kind == "squares":
        return real((y * jnp.conj(y)).mean())
    if kind == "products":
        return real((jnp.sin(y) * y).mean())
    if kind == "linear":
        return real(y.sum()) * 0.01
    return -real(jax.nn.log_softmax(y)[..., 0].mean())


def make(spec):
    """(function, arguments): the loss and its gradients by all that it depends on."""
    dtype, batch, width, steps = spec["dtype"], spec["batch"], spec["width"], spec["steps"]
    numbers = np.random.default_rng(spec["values"])
    in_time, count = spec["over"] == "time", len(spec["forms"])
    rows = 2 * width if in_time else width
    leading = () if in_time else (steps,)
    scale = spec["scale"]
    weights = {"g": normal(numbers, dtype, *leading, spec["gates"], rows, width, scale=scale * rows ** -0.5),
               "b": normal(numbers, dtype, *leading, spec["gates"], width, scale=0.1),
               "w": normal(numbers, dtype, *leading, 2, batch, width, scale=0.3),
               "p": normal(numbers, dtype, *leading, width, width, scale=scale * width ** -0.5)}
    states = [normal(numbers, dtype, batch, width, scale=0.5) for _ in range(count)]
    inputs = normal(numbers, dtype, steps if in_time else 0, batch, width)
    run = cell(spec)

    def forward(weights, states, inputs):
        if spec["unrolled"]:
            outputs = []
            for i in range(steps):
                w = weights if in_time else jax.tree.map(lambda a, i=i: a[i], weights)
                states = run(states, w, inputs[i] if in_time else None)
                outputs.append(states[0])
            return states, jnp.stack(outputs) if in_time else None
        if in_time:
            def step(states, x):
                states = run(states, weights, x)
                return states, states[0]
            return lax.scan(step, states, inputs)
        return lax.scan(lambda states, w: (run(states, w, None), None), states, weights)

    def loss(weights, states, inputs):
        states, outputs = forward(weights, states, inputs)
        y = states[0] if outputs is None else outputs
        return sum((reduce_to_loss(spec["loss"], s) for s in states[1:]), reduce_to_loss(spec["loss"], y))

    if spec["by"] == "all":
        return jax.value_and_grad(loss, (0, 1, 2)), (weights, states, inputs)
    others = {name: w for name, w in weights.items() if name != "g"}
    return jax.value_and_grad(lambda g, others, states, inputs: loss({"g": g, **others}, states, inputs)), (
        weights["g"], others, states, inputs)


# ---- smaller ones ----

def smaller_forms(form):
    """Forms with one part less."""
    if not isinstance(form, list):
        return
    first = 3 if form[0] == "custom" else 1
    for part in form[first:]:
        if not isinstance(part, (int, float)):
            yield part
    if form[0] == "custom":
        for part in smaller_forms(form[2]):
            if count_of(part, "t") == 1 or (part[0] in ("add", "sub") and count_of(part, "t")):
                yield [*form[:2], part, form[3]]
    for i in range(first, len(form)):
        for part in smaller_forms(form[i]):
            yield [*form[:i], part, *form[i + 1:]]


def count_of(form, name):
    return int(form == name) if not isinstance(form, list) else sum(count_of(one, name) for one in form)


def smaller(spec):
    """Specifications that are a little smaller, those that take away most first."""
    if len(spec["forms"]) > 1:
        for i in range(len(spec["forms"])):
            yield {**spec, "forms": spec["forms"][:i] + spec["forms"][i + 1:]}
    for steps in (2, 3, 4):
        if steps < spec["steps"]:
            yield {**spec, "steps": steps}
    for loss in ("linear", "squares"):
        if LOSSES.index(loss) != LOSSES.index(spec["loss"]) and spec["loss"] != "linear":
            yield {**spec, "loss": loss}
    for i, form in enumerate(spec["forms"]):
        for part in smaller_forms(form):
            yield {**spec, "forms": [*spec["forms"][:i], part, *spec["forms"][i + 1:]]}
    used = [i for i in range(spec["gates"]) if any(count_of(form, f"g{i}") for form in spec["forms"])]
    if spec["gates"] > (last := max(used, default=-1) + 1):
        yield {**spec, "gates": last}
    for name, value in (("bias", False), ("by", "gates"), ("tied", True)):
        if spec[name] != value and spec["gates"]:
            yield {**spec, name: value}
    for batch in (16, 32):
        if batch < spec["batch"]:
            yield {**spec, "batch": batch}
