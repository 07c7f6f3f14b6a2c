"""The devices that programs are compiled for, none of which has to be there: what the plugins ask for to
describe one, and what is expected of figures on it.

GPUs are described by their public data sheets and by CUDA's tables of limits for their compute capability,
as a GpuTargetConfigProto in text. What XLA does not need to compile, such as rates of the units, is left out."""

import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Target:
    name: str
    platform: str                    # as JAX calls it
    topology: str                    # of one device
    topology_of_four: str
    accelerator_type: str = ""       # TPU: what the environment has to say
    description: str = ""            # GPU: GpuTargetConfigProto
    profile: str = ""                # TPU: of which the tool knows the VMEM; dumps do not tell the device
    vmem_bytes: int = 0              # of a core, as jax/_src/tpu_info.py has it
    # Temporaries as the tool says them, beside XLA's, as shares: at most so much more, so much less.
    most_above: float = 0.0
    most_below: float = 0.0
    usual_error: float = 0.0         # of most programs, either way
    slack_bytes: int = 0             # that are no fault anyway: a share of next to nothing says nothing


class Gpu(typing.NamedTuple):
    """What differs between the GPUs that are known here."""
    name: str
    capability: tuple
    is_accelerated: bool             # the architecture has features of its own (sm_90a)
    cores: int
    clock_ghz: float
    memory_bytes: int
    bandwidth: int                   # bytes a second
    l2_bytes: int
    shared_per_core: int
    shared_per_block: int            # with opt-in


GPUS = {
    "a100": Gpu("NVIDIA A100-SXM4-80GB", (8, 0), False, 108, 1.41, 80 << 30, 2_039_000_000_000,
                40 << 20, 164 << 10, 163 << 10),
    "h100": Gpu("NVIDIA H100 80GB HBM3", (9, 0), True, 132, 1.98, 80 << 30, 3_350_000_000_000,
                50 << 20, 228 << 10, 227 << 10),
    "b200": Gpu("NVIDIA B200", (10, 0), True, 148, 1.965, 180 << 30, 7_700_000_000_000,
                126 << 20, 228 << 10, 227 << 10),
}


def describe(gpu):
    """The text of the GpuTargetConfigProto."""
    major, minor = gpu.capability
    features = " feature_extension: ACCELERATED_FEATURES" if gpu.is_accelerated else ""
    return f"""gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  threads_per_core_limit: 2048
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  fpus_per_core: {64 if major == 8 else 128}
  core_count: {gpu.cores}
  clock_rate_ghz: {gpu.clock_ghz}
  memory_bandwidth: {gpu.bandwidth}
  device_memory_size: {gpu.memory_bytes}
  l2_cache_size: {gpu.l2_bytes}
  shared_memory_per_block: 49152
  shared_memory_per_block_optin: {gpu.shared_per_block}
  shared_memory_per_core: {gpu.shared_per_core}
  cuda_compute_capability {{ major: {major} minor: {minor}{features} }}
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 }}
device_description_str: "{gpu.name}"
"""


def _tpu(name, topology, topology_of_four, accelerator_type, vmem_mib, tolerance):
    """The tolerance is that of v5e, on which most is measured, or twice that."""
    profile = name if name == "tpu7x" else f"tpu-{name}"
    return Target(name, "tpu", topology, topology_of_four, accelerator_type, profile=profile,
                  vmem_bytes=vmem_mib << 20, most_above=0.03 * tolerance, most_below=0.01, usual_error=0.01 * tolerance,
                  slack_bytes=1 << 20)


TARGETS = {target.name: target for target in (
    _tpu("v5e", "v5e:2x2", "v5e:2x2", "v5litepod-4", 128, 1),
    _tpu("v5p", "v5p:2x2x1", "v5p:2x2x1", "v5p-8", 64, 2),
    _tpu("v6e", "v6e:2x2", "v6e:2x2", "v6e-4", 128, 2),
    _tpu("tpu7x", "tpu7x:2x2x1", "tpu7x:2x2x1", "tpu7x-8", 64, 2),
    *(Target(name, "cuda", "1x1x1", "1x1x4", description=describe(gpu), most_above=0.005, most_below=0.005,
             usual_error=0)
      for name, gpu in GPUS.items()),
)}
