"""The devices that programs are compiled for, none of which has to be there: what the plugins ask for to
describe one, and what is expected of figures on it."""

import dataclasses
import pathlib
import runpy

# The package's table, without the package, whose library a process need not have that only compiles.
_PATH = pathlib.Path(__file__).resolve().parents[2] / "src/python/remat_hlo/_checkpoints/gpus.py"
_TABLE = runpy.run_path(str(_PATH))
GPUS, describe = _TABLE["GPUS"], _TABLE["describe"]


@dataclasses.dataclass(frozen=True)
class Target:
    name: str
    platform: str                    # as JAX calls it
    topology: str                    # of one device
    topology_of_four: str
    accelerator_type: str = ""       # TPU: what the environment has to say
    description: str = ""            # GPU: GpuTargetConfigProto
    profile: str = ""                # of the device; dumps do not tell which it is
    vmem_bytes: int = 0              # of a core, as jax/_src/tpu_info.py has it
    # Temporaries as the tool says them, beside XLA's, as shares: at most so much more, so much less.
    most_above: float = 0.0
    most_below: float = 0.0
    usual_error: float = 0.0         # of most programs, either way
    slack_bytes: int = 0             # that are no fault anyway: a share of next to nothing says nothing


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
    *(Target(name, "cuda", "1x1x1", "1x1x4", description=describe(gpu), profile=gpu.profile, most_above=0.005, most_below=0.005,
             usual_error=0)
      for name, gpu in GPUS.items() if name != "h200"),
)}

# The processor that is there, which is no target of check_accelerators.py.
CPU = Target("cpu", "cpu", "", "")
