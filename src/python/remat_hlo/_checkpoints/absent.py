"""Devices that need not be there, as JAX and XLA ask for them: a TPU by the environment and the name of a topology, a GPU
by a GpuTargetConfigProto in text, from public data sheets and from CUDA's tables for the compute capability. What XLA
does not need to compile, such as rates of the units, is left out. Nothing else of the package is needed here, so that a
process that only compiles can read this file alone."""

import tempfile
import typing


class Tpu(typing.NamedTuple):
    """What differs between the TPUs."""
    profile: str
    word: str                # of the accelerator type
    units: int               # that a chip counts as in the accelerator type
    devices: int             # that a chip is for JAX
    topology: str            # of chips, if none is named

    def accelerator_type(self, num_chips):
        """v5litepod-4, say."""
        return f"{self.word}-{num_chips * self.units}"


TPUS = {"v5e": Tpu("tpu-v5e", "v5litepod", 1, 1, "2x2"), "v5p": Tpu("tpu-v5p", "v5p", 2, 1, "2x2x1"),
        "v6e": Tpu("tpu-v6e", "v6e", 1, 1, "2x2"), "tpu7x": Tpu("tpu7x", "tpu7x", 2, 2, "2x2x1")}


def tpu_environment(accelerator_type):
    """What a process has to be told before it loads libtpu, so that it looks for no TPU."""
    return {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "TPU_WORKER_HOSTNAMES": "localhost",
            "TPU_ACCELERATOR_TYPE": accelerator_type, "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
            "TPU_LOG_DIR": tempfile.gettempdir() + "/tpu_logs"}


def gpu_environment():
    """The same for the plugin for CUDA: nothing is timed where there is no device."""
    return {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_gpu_autotune_level=0"}


class Gpu(typing.NamedTuple):
    """What differs between the GPUs."""
    name: str
    profile: str
    capability: tuple
    is_accelerated: bool     # the architecture has features of its own (sm_90a)
    cores: int
    clock_ghz: float
    memory_bytes: int        # what CUDA offers of it, as the profile has it
    bandwidth: int           # bytes a second
    l2_bytes: int
    shared_per_core: int
    shared_per_block: int    # with opt-in


GPUS = {
    "a100": Gpu("NVIDIA A100-SXM4-80GB", "a100-80g", (8, 0), False, 108, 1.41, 85_100_068_864, 2_039_000_000_000, 40 << 20,
                164 << 10, 163 << 10),
    "h100": Gpu("NVIDIA H100 80GB HBM3", "h100-sxm", (9, 0), True, 132, 1.98, 84_942_979_072, 3_350_000_000_000, 50 << 20,
                228 << 10, 227 << 10),
    "h200": Gpu("NVIDIA H200", "h200", (9, 0), True, 132, 1.98, 150_109_106_176, 4_800_000_000_000, 50 << 20,
                228 << 10, 227 << 10),
    "b200": Gpu("NVIDIA B200", "b200", (10, 0), True, 148, 1.965, 191_514_411_008, 7_700_000_000_000, 126 << 20, 228 << 10,
                227 << 10),
}


def describe_gpu(gpu):
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
