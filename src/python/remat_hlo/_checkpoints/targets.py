"""Devices that programs are compiled for, none of which has to be there: v5e:2x2, h100, cpu."""

import dataclasses
import importlib.util
import json
import math
import typing

from .._files import profile_text
from .._plugins import share_for_programs
from .absent import GPUS, TPUS, describe_gpu, gpu_environment, tpu_environment


class MissingPlugin(RuntimeError):
    """The compiler of the device is not installed. The message says what to install."""


@dataclasses.dataclass(frozen=True)
class Target:
    """`topology` and `description` are what JAX asks for; `memory_bytes` is what the device offers to a program, None
    where nothing says so."""
    name: str
    platform: str
    profile: str
    topology: str = ""
    num_devices: int = 1
    accelerator_type: str = ""
    description: str = ""
    memory_bytes: typing.Optional[int] = None

    @property
    def is_absent(self):
        """Whether a process of its own compiles for it."""
        return self.platform in ("tpu", "cuda")

    def profile_data(self):
        return json.loads(profile_text(self.profile))

    def need_plugin(self):
        """Raises MissingPlugin."""
        if self.platform == "tpu" and not _has("libtpu"):
            raise MissingPlugin(f"{self.name} needs XLA's compiler for TPU, without a TPU: pip install libtpu")
        if self.platform == "cuda" and not (_has("jax_plugins.xla_cuda13") or _has("jax_plugins.xla_cuda12")):
            raise MissingPlugin(f"{self.name} needs XLA's compiler for CUDA, without a GPU: "
                                "pip install jax-cuda13-plugin jax-cuda13-pjrt")

    def environment(self):
        """What the process has to be told before it loads a plugin."""
        return gpu_environment() if self.platform == "cuda" else tpu_environment(self.accelerator_type)


def _has(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def find_target(device):
    """The Target that a name says: cpu, v5e, v5e:4x4, h100, h100:4, or None for what JAX computes on here."""
    if device is None:
        return _own_target()
    name, _, topology = str(device).partition(":")
    if name == "cpu":
        return Target(str(device), "cpu", "cpu", num_devices=_product_of(topology or "1", device))
    if name in TPUS:
        tpu, topology = TPUS[name], topology or TPUS[name].topology
        chips = _product_of(topology, device)
        memory = json.loads(profile_text(tpu.profile))["memory_bytes"]
        return Target(str(device), "tpu", tpu.profile, f"{name}:{topology}", chips * tpu.devices,
                      tpu.accelerator_type(chips), memory_bytes=memory)
    if name in GPUS:
        count = _product_of(topology or "1", device)
        gpu = GPUS[name]
        return Target(str(device), "cuda", gpu.profile, f"1x1x{count}", count, description=describe_gpu(gpu),
                      memory_bytes=int(gpu.memory_bytes * share_for_programs("cuda")))
    known = ", ".join(("cpu", *(f"{one}[:TOPOLOGY]" for one in TPUS), *(f"{one}[:COUNT]" for one in GPUS)))
    raise ValueError(f"there is no device '{device}' to compile for: {known}")


def _product_of(topology, device):
    """The number of devices; of a topology that the device does not come in, XLA says so (worker.py)."""
    parts = topology.split("x")
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise ValueError(f"'{device}': a topology is as 2x2, a number of GPUs or processors as 4")
    return math.prod(int(part) for part in parts)


def _own_target():
    import jax
    from .. import _plugins
    device = jax.devices()[0]
    profile, _ = _plugins.profile_of(device.platform, device.device_kind)
    stats = device.memory_stats() if device.platform != "cpu" else None
    return Target(device.device_kind, device.platform if device.platform == "cpu" else "own", profile,
                  num_devices=jax.device_count(), memory_bytes=(stats or {}).get("bytes_limit"))
