"""What depends on the platform: how its plugin is told of a hook, which device profile and target its
modules are decided with, and what a program takes there at least if it is left as it is.

A plugin can be told as soon as it is loaded. That is so for each program that is compiled, also for devices
that are not there (jax.experimental.topologies), for which JAX has no backend."""

import json
import os

from ._files import profile_text

# How JAX calls a plugin, and how the clients of some plugins call their platform.
PLUGINS = {"tpu": ("tpu",), "cuda": ("cuda",), "rocm": ("rocm",), "gpu": ("cuda", "rocm")}
# XLA rematerializes by itself, after the hook, where a module does not fit, and stops where it does. On TPU the
# limit is the device's memory. On GPU, parameters and results are taken off a part of it, and the limit is a part of
# what is left (xla/service/gpu/gpu_hlo_schedule.cc; the second part is xla_gpu_memory_limit_slop_factor).
GPU_MEMORY_SHARE, GPU_SLOP = 0.80, 0.95
# JAX takes this part of a GPU's memory for programs, unless XLA_PYTHON_CLIENT_MEM_FRACTION says otherwise.
GPU_SHARE = 0.75
# XLA:TPU puts temporaries into VMEM, of which a chip has this much. At the hook that has not happened yet.
MOST_VMEM_BYTES = 128 << 20
# Words of a device kind, and the profile; the first row that fits is taken.
PROFILES = (
    (("tpu", "v5", "lite"), "tpu-v5e"), (("tpu", "v5e"), "tpu-v5e"), (("tpu", "v5p"), "tpu-v5p"),
    (("tpu", "v5"), "tpu-v5p"), (("tpu", "v6", "lite"), "tpu-v6e"), (("tpu", "v6e"), "tpu-v6e"),
    (("tpu7x",), "tpu7x"), (("tpu", "v7"), "tpu7x"), (("h100",), "h100-sxm"), (("h200",), "h200"),
    (("b200",), "b200"), (("mi300x",), "mi300x"), (("a100", "40g"), "a100-40g"), (("a100",), "a100-80g"))
# What is assumed of a device that is not known.
ASSUMED = {"cpu": "cpu", "tpu": "tpu-v5e", "rocm": "mi300x"}
ASSUMED_GPU = "h100-sxm"


def plugin_of(platform):
    """The plugin of a platform, or None if none is loaded."""
    from jax._src.lib import xla_client
    for name in PLUGINS.get(platform, (platform,)):
        try:
            if xla_client.pjrt_plugin_loaded(name):
                return name
        except Exception:  # a version without plugins
            return None
    return None


def hook_platform(platform):
    """What the hooks of a platform are registered by: cpu, or the name of its plugin."""
    return platform if platform == "cpu" else plugin_of(platform) or platform


def register(platform, name, stage, callback):
    """Has XLA call the hook. `platform` comes from hook_platform. Makes no backends where the plugin is there."""
    from jax.extend import xla
    number = xla.PipelineStage[stage].value
    tell = _interface("register_xla_transform", platform)
    if tell is None:
        xla.register_hlo_module_transformation(callback, name=name, stage=xla.PipelineStage[stage],
                                               platforms=platform)
    else:
        tell(name, number, callback)


def clear(platform, name, stage):
    """Takes back what register has done."""
    from jax.extend import xla
    tell = _interface("clear_xla_transform", platform)
    if tell is None:
        xla.clear_hlo_module_transformation(name, stage=xla.PipelineStage[stage], platforms=platform)
    else:
        tell(name, xla.PipelineStage[stage].value)


def _interface(function, platform):
    """jaxlib's function for a platform, which JAX's public ones call after they have made all backends. None where
    this version has it otherwise."""
    try:
        from jaxlib import _jax, _xla
        if platform == "cpu":
            return getattr(_xla, function)
        inner, plugin = getattr(_xla, f"{function}_c_api"), _jax.get_pjrt_plugin(platform)
    except (ImportError, AttributeError, RuntimeError):
        return None
    return lambda *arguments: inner(plugin, *arguments)


# ---- what is decided by the platform ----

def target_of(platform):
    """The target of a module that the hook of this platform is given."""
    return platform if platform in ("cpu", "tpu") else "gpu" if platform in PLUGINS else "auto"


def profile_of(platform, kind):
    """(the profile of a device, whether its kind is known). `kind` is the device_kind of JAX."""
    if platform == "cpu":
        return "cpu", True
    kind = kind.lower()
    for words, profile in PROFILES:
        if all(word in kind for word in words):
            return profile, True
    return ASSUMED.get(platform, ASSUMED_GPU), False


def memory_of(device):
    """What a device offers by its profile, or 0 if that does not say."""
    return int(json.loads(profile_text(device)).get("memory_bytes", 0))


def share_for_programs(platform):
    """The part of a device's memory that JAX takes for programs."""
    if platform == "cpu" or platform not in PLUGINS or platform == "tpu":
        return 1.0
    try:
        return float(os.environ.get("XLA_PYTHON_CLIENT_MEM_FRACTION") or GPU_SHARE)
    except ValueError:
        return GPU_SHARE


def least_temp_bytes(platform, before, device):
    """What XLA may come down to with a module that is left as it is, by what is predicted of it. `before` is its
    Memory. Where it assigns no more than this to a result, the result is no worse than without us."""
    memory_bytes = memory_of(device)
    if platform == "cpu" or not memory_bytes:
        return before.temp_bytes
    given = before.parameter_bytes + before.output_bytes - before.aliased_bytes
    if platform == "tpu":
        return max(0, min(before.temp_bytes, memory_bytes - given) - MOST_VMEM_BYTES)
    return max(0, min(before.temp_bytes, int(GPU_SLOP * (GPU_MEMORY_SHARE * memory_bytes - given))))
