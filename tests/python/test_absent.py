#!/usr/bin/env python3
"""The hook in compilations for TPUs and GPUs that are not there. Run in an environment that has the plugins, which
scripts/check/accelerators makes; without them the tests are skipped. REMAT_HLO_LONG_TESTS=1 runs all programs.
usage: test_absent.py [CLASS...]"""

import importlib.util
import json
import os
import pathlib
import unittest

import package
from package import PackageTest

HERE = pathlib.Path(__file__).resolve().parent
IS_LONG = os.environ.get("REMAT_HLO_LONG_TESTS") == "1"


def has(*modules):
    try:
        return any(importlib.util.find_spec(module) for module in modules)
    except ImportError:
        return False


HAS_TPU, HAS_GPU = has("libtpu"), has("jax_plugins.xla_cuda13", "jax_plugins.xla_cuda12")


class AbsentTest(PackageTest):
    def answer(self, script, *arguments):
        """The line of JSON that a script prints."""
        written, said = self.run_python(HERE / script, *arguments)
        lines = [line for line in written.splitlines() if line.startswith("{")]
        self.assertTrue(lines, f"{written}\n{said}")
        self.assertNotIn("remat_hlo:", said)
        return json.loads(lines[-1])

    def check_hook(self, *arguments):
        """It was asked, it took less, and nothing is left of it after uninstall()."""
        answer = self.answer("hook_absent.py", *arguments)
        self.assertTrue(answer["is_changed"], answer)
        self.assertLess(answer["temp_bytes"], answer["plain_bytes"])
        self.assertEqual(answer["num_later"], 0)
        self.assertEqual(answer["outcomes"].count("rematerialized"), 1, answer)
        return answer


@unittest.skipUnless(HAS_GPU, "JAX's plugin for CUDA is not installed")
class Gpu(AbsentTest):
    def check_exactly(self, *arguments):
        answer = self.check_hook("h100", *arguments)
        self.assertEqual(answer["temp_bytes"], answer["predicted_bytes"])
        self.assertEqual(answer["plain_bytes"], answer["before_bytes"])

    def test_installed_before(self):
        self.check_exactly("one", "before")

    def test_installed_after(self):
        self.check_exactly("one", "after")

    def test_fsdp(self):
        self.check_exactly("fsdp", "before")

    def test_tensor_parallel(self):
        self.check_exactly("tensor", "after")

    def test_pipeline(self):
        self.check_exactly("pipeline", "before")


@unittest.skipUnless(HAS_TPU, "libtpu is not installed")
class Tpu(AbsentTest):
    def check_assigned(self, *arguments):
        answer = self.answer("hook_absent.py", "v5e", *arguments)
        self.assertEqual((answer.get("assigned"), answer["outcomes"]), (True, ["rematerialized"]))

    def test_installed_before(self):
        self.check_assigned("one", "before")

    def test_fsdp(self):
        """Products carry parts of all-gathers along there, and are not computed again: only a little is gained."""
        self.check_assigned("fsdp", "after")

    def test_tensor_parallel(self):
        self.check_assigned("tensor", "after")

    def test_pipeline(self):
        self.check_assigned("pipeline", "after")


@unittest.skipUnless(HAS_TPU, "libtpu is not installed")
class Refused(AbsentTest):
    """Programs that XLA:TPU refuses, although it rematerializes by itself, fit with us."""

    def check_program(self, name):
        plain = self.answer("compile_absent.py", "v5e", name)
        self.assertIn("Ran out of memory on HBM", plain.get("error", ""), plain)
        ours = self.answer("compile_absent.py", "v5e", name, "auto")
        self.assertTrue(ours.get("assigned"), ours)
        self.assertRegex(ours["reports"][-1], "met")

    def test_gpt(self):
        self.check_program("gpt")

    def test_deep_mlp(self):
        self.check_program("deep_mlp")

    @unittest.skipUnless(IS_LONG, "REMAT_HLO_LONG_TESTS is not set")
    def test_all(self):
        for name in ("mixer", "vit", "convnet", "unet"):
            with self.subTest(name):
                self.check_program(name)


SHARDED = """
import jax, jax.numpy as jnp
import remat_hlo.jax

def step():
    @remat_hlo.jax.checkpoint
    def loss(ws, x):
        for w in ws:
            x = jnp.exp(-jnp.tanh(x @ w)**2) * x
        return (x**2).mean()
    mesh = jax.sharding.AbstractMesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    def spread(*spec):
        return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))
    ws, x = [jax.ShapeDtypeStruct((512, 512), jnp.float32)] * 6, jax.ShapeDtypeStruct((131072, 512), jnp.float32)
    return jax.jit(jax.grad(loss)), (ws, x), (spread(), spread("data"))
"""
X_BYTES = 131072 * 512 * 4 // 4  # on one device of four


class Fits(AbsentTest):
    """A program for four devices: what it takes on each, and that a plan lowers it."""

    def check_device(self, device):
        self.write("program.py", SHARDED)
        written, _ = self.run_python("-m", "remat_hlo", "fit", "program:step", f"--device={device}", "--json=-",
                                     "--mem-limit=256MiB", "--max-compilations=4", code=1)
        answer = json.loads(written)
        self.assertEqual(answer["is_fitting"], False)
        self.assertEqual(answer["missing_bytes"], answer["total_bytes"] - (256 << 20))
        arguments = X_BYTES + 6 * 512 * 512 * 4
        self.assertTrue(arguments <= answer["argument_bytes"] <= arguments * 1.01, answer["argument_bytes"])
        self.assertGreater(answer["temp_bytes"], 6 * X_BYTES // 2)
        plans = [point["total_bytes"] for point in answer["curve"] if point["way"] == "plan"]
        self.assertLess(min(plans), answer["total_bytes"])
        self.assertTrue(any("program.py" in line["source"] for line in answer["peak"]), answer["peak"])

    @unittest.skipUnless(HAS_TPU, "libtpu is not installed")
    def test_tpu(self):
        self.check_device("v5e:2x2")

    @unittest.skipUnless(HAS_TPU, "libtpu is not installed")
    def test_topology_that_there_is_not(self):
        """That is wrong usage, and no fault of the program's."""
        self.write("program.py", SHARDED)
        _, told = self.run_python("-m", "remat_hlo", "fit", "program:step", "--device=v5e:2x3", code=2)
        self.assertIn("there is no device 'v5e:2x3' to compile for: ", told)

    @unittest.skipUnless(HAS_GPU, "JAX's plugin for CUDA is not installed")
    def test_gpu(self):
        self.check_device("h100:4")


if __name__ == "__main__":
    package.main()
