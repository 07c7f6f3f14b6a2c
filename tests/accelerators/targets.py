"""The devices that programs are compiled for, none of which has to be there: what the plugins ask for to
describe one, and what is expected of figures on it."""

import dataclasses
import importlib.util
import pathlib


def _load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The package's table, without the package, whose library a process need not have that only compiles.
ABSENT = _load(pathlib.Path(__file__).resolve().parents[2] / "src/python/remat_hlo/_checkpoints/absent.py")


@dataclasses.dataclass(frozen=True)
class Target:
    name: str
    platform: str                    # as JAX calls it
    topology: str                    # of one device
    topology_of_four: str
    environment: dict = dataclasses.field(default_factory=dict)  # what the process has to be told first
    description: str = ""            # GPU: GpuTargetConfigProto
    profile: str = ""                # of the device; dumps do not tell which it is
    vmem_bytes: int = 0              # of a core, as jax/_src/tpu_info.py has it
    # Temporaries as the tool says them, beside XLA's, as shares: at most so much more, so much less.
    most_above: float = 0.0
    most_below: float = 0.0
    usual_error: float = 0.0         # of most programs, either way
    slack_bytes: int = 0             # that are no fault anyway: a share of next to nothing says nothing


def _tpu(name, vmem_mib, tolerance):
    """The usual topology, which has four chips. The tolerance is that of v5e, on which most is measured, or twice that."""
    tpu = ABSENT.TPUS[name]
    topology = f"{name}:{tpu.topology}"
    return Target(name, "tpu", topology, topology, ABSENT.tpu_environment(tpu.accelerator_type(4)), profile=tpu.profile,
                  vmem_bytes=vmem_mib << 20, most_above=0.03 * tolerance, most_below=0.01, usual_error=0.01 * tolerance,
                  slack_bytes=1 << 20)


def _gpu(name):
    gpu = ABSENT.GPUS[name]
    return Target(name, "cuda", "1x1x1", "1x1x4", ABSENT.gpu_environment(), ABSENT.describe_gpu(gpu), gpu.profile,
                  most_above=0.005, most_below=0.005)


TARGETS = {target.name: target for target in (
    _tpu("v5e", 128, 1), _tpu("v5p", 64, 2), _tpu("v6e", 128, 2), _tpu("tpu7x", 64, 2),
    _gpu("a100"), _gpu("h100"), _gpu("b200"))}

# The processor that is there, which is no target of check_accelerators.py.
CPU = Target("cpu", "cpu", "", "", {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=4"})


def devices_of(target, count):
    """So many of them, as JAX has them."""
    if target.platform == "cpu":
        import jax
        return jax.devices()[:count]
    from jax.experimental import topologies
    name = target.topology if count == 1 else target.topology_of_four
    if target.platform == "tpu":
        found = topologies.get_topology_desc(platform="tpu", topology_name=name)
    else:
        found = topologies.get_topology_desc("", platform="cuda", topology=name, target_config=target.description)
    return found.devices[:count]
