"""Runs random modules on XLA's CPU before and after --remat-mode=narrow: not a bit may change.

What is narrowed are integers, masks and whole numbers; every value of a module is kept over a peak
and then looked at bit by bit. Run by scripts/check/with-jaxlib.sh.

    run_with_jaxlib.py TOOL

REMAT_HLO_SEEDS is the number of modules."""

import os
import random
import subprocess
import sys
import tempfile

try:
    import jax
    import ml_dtypes
    import numpy as np
    from jax.extend.backend import get_backend
    from jaxlib import _hlo, _jax, xla_client
except ImportError:
    print("left out: random modules are run by jax and jaxlib 0.12 or later only")
    sys.exit(0)

NUM_MODULES = int(os.environ.get("REMAT_HLO_SEEDS", "20"))
SIZE = 64
BITS = {"pred": 8, "u8": 8, "s8": 8, "u16": 16, "s16": 16, "bf16": 16, "f16": 16, "u32": 32,
        "s32": 32, "f32": 32, "s64": 64, "u64": 64, "f64": 64}
INTEGERS = [t for t in BITS if t[0] in "us"]
FLOATS = ["bf16", "f16", "f32", "f64"]
OF_BOTH = ["add", "subtract", "multiply", "maximum", "minimum", "remainder"]
OF_INTEGERS = ["and", "or", "xor", "divide", "shift-right-logical", "shift-right-arithmetic"]


def shape(element_type, size=SIZE):
    return f"{element_type}[{size}]"


class Module:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.values = []  # (name, type)
        for number, element_type in enumerate(("s32", "u8", "f32", "pred", "s64", "bf16")):
            self.add(element_type, f"parameter({number})")
        for _ in range(30):
            self.add_operation()

    def add(self, element_type, text):
        name = f"v{len(self.values)}"
        self.lines.append(f"{name} = {shape(element_type)} {text}")
        self.values.append((name, element_type))

    def pick(self, types):
        found = [v for v in self.values if v[1] in types]
        return self.random.choice(found) if found else None

    def constant(self, element_type):
        number = self.random.choice((0, 1, 2, 7, 255, 256, 100, -1, -5))
        if element_type[0] == "u":
            number = abs(number) % 200
        elif element_type == "s8":
            number = max(number % 100, 0)
        name = f"c{len(self.lines)}"
        self.lines.append(f"{name} = {element_type}[] constant({number})")
        return name

    def add_operation(self):
        kind = self.random.randrange(8)
        if kind == 0:
            element_type = self.random.choice(INTEGERS + FLOATS)
            self.add(element_type, "iota(), iota_dimension=0")
        elif kind == 1:
            a, b = self.pick(["f32"]), self.pick(["f32"])
            self.add("pred", f"compare({a[0]}, {b[0]}), direction=LT")
        elif kind in (2, 3):
            source = self.pick(["pred", "u8", "s8", "u16", "s16"] + self.random.choice(
                [INTEGERS, FLOATS, []]))
            self.add(self.random.choice(INTEGERS + FLOATS), f"convert({source[0]})")
        elif kind == 4:
            name, element_type = self.pick(INTEGERS + FLOATS)
            constant = self.constant(element_type)
            self.add(element_type, f"broadcast({constant}), dimensions={{}}")
            self.two(self.values[-1], (name, element_type))
        elif kind == 5:
            name, element_type = self.pick(INTEGERS + FLOATS)
            self.two((name, element_type), self.pick([element_type]))
        elif kind == 6:
            name, element_type = self.pick(INTEGERS + FLOATS)
            other = self.pick([element_type])[0]
            self.add(element_type, f"select({self.pick(['pred'])[0]}, {name}, {other})")
        else:
            name, element_type = self.pick(["s8", "s16", "s32", "s64"] + FLOATS)
            self.add(element_type, f"{self.random.choice(['negate', 'abs', 'sign'])}({name})")

    def two(self, a, b):
        opcodes = OF_BOTH + (OF_INTEGERS if a[1] in INTEGERS else [])
        if self.random.random() < 0.5:
            a, b = b, a
        self.add(a[1], f"{self.random.choice(opcodes)}({a[0]}, {b[0]})")

    def text(self):
        """All values are needed behind something large that needs all of them, too."""
        head = ("HloModule m, is_scheduled=true\n"
                "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                "ROOT c = f32[] add(a, b) }\nENTRY e {\n")
        tail, results = ["z = f32[] constant(0)", "l = f32[100000] broadcast(z), dimensions={}",
                         "m = f32[100000] exponential(l)",
                         "r = f32[] reduce(m, z), dimensions={0}, to_apply=sum"], []
        for name, element_type in self.values:
            if element_type == "pred":
                tail.append(f"o{name} = u8[{SIZE}] convert({name})")
                results.append(("o" + name, "u8"))
            else:
                bits = f"u{BITS[element_type]}"
                tail.append(f"o{name} = {shape(bits)} bitcast-convert({name})")
                results.append(("o" + name, bits))
        results.append(("r", None))
        kinds = ", ".join(shape(t) if t else "f32[]" for _, t in results)
        names = ", ".join(name for name, _ in results)
        lines = self.lines + tail + [f"ROOT t = ({kinds}) tuple({names})"]
        return head + "\n".join(lines) + "\n}\n"


def arguments(seed):
    values = np.random.default_rng(seed)
    floats = values.normal(size=SIZE).astype(np.float32) * 100
    # No other NaN: what becomes of its payload in a maximum, say, depends on how XLA fuses that.
    special = [0x7FC00000, 0x80000000, 1, 0x80000001, 0x7F800000, 0xFF800000, 0x43800000]
    floats.view(np.uint32)[:len(special)] = special
    halves = (floats.view(np.uint32) >> 16).astype(np.uint16)
    integers = values.integers(-2**31, 2**31, SIZE)
    integers[:4] = (-2**31, 2**31 - 1, 0, -1)
    wide = values.integers(-2**63, 2**63 - 1, SIZE)
    wide[:4] = (-2**63, 2**63 - 1, 0, -1)
    return [integers.astype(np.int32), values.integers(0, 256, SIZE).astype(np.uint8), floats,
            values.integers(0, 2, SIZE).astype(bool), wide, halves.view(ml_dtypes.bfloat16)]


def run(client, text, args):
    proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    stablehlo = _jax.mlir.xla_computation_to_mlir_module(_hlo_computation(proto))
    devices = _jax.DeviceList(tuple(client.local_devices()[:1]))
    program = client.compile_and_load(stablehlo, devices, xla_client.CompileOptions())
    buffers = [jax.device_put(a) for a in args]
    return [np.asarray(result).tobytes() for result in program.execute(buffers)]


def _hlo_computation(proto):
    maker = getattr(_hlo, "XlaComputation", None) or xla_client.XlaComputation
    return maker(proto)


def main():
    tool = os.path.abspath(sys.argv[1])
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    client = get_backend()
    num_narrowed = num_failed = 0
    with tempfile.TemporaryDirectory() as folder:
        before, after = os.path.join(folder, "in.hlo"), os.path.join(folder, "out.hlo")
        for seed in range(NUM_MODULES):
            text = Module(seed).text()
            with open(before, "w", encoding="utf-8") as file:
                file.write(text)
            ran = subprocess.run(
                [tool, before, "--algorithm=standard", "--remat-mode=narrow", "--mem-limit=min",
                 "--memory-model=xla-remat", "--small-node-limit=0", "--copies=pending", "-q", "-o",
                 after], capture_output=True, text=True)
            if ran.returncode not in (0, 1):
                print(f"seed {seed}: exit code {ran.returncode}: {ran.stderr.strip()}")
                num_failed += 1
                continue
            with open(after, encoding="utf-8") as file:
                narrowed = file.read()
            num_narrowed += narrowed.count("remat_uncompressed = ")
            args = arguments(seed)
            results = zip(run(client, text, args), run(client, narrowed, args))
            others = [f"v{i}" for i, (was, is_now) in enumerate(results) if was != is_now]
            if others:
                print(f"seed {seed}: other bits in {', '.join(others)}\n{text}\n{narrowed}")
                num_failed += 1
    print(f"{NUM_MODULES} modules, {num_narrowed} values narrowed, {num_failed} not the same")
    return 1 if num_failed or not num_narrowed else 0


if __name__ == "__main__":
    sys.exit(main())
