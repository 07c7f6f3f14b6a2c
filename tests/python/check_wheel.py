"""Checks an installed wheel: what it says of itself, and that nothing but the C library of the system is
needed. usage: check_wheel.py WHEEL, in an environment that has the wheel and nothing else."""

import email
import pathlib
import subprocess
import sys
import zipfile

import remat_hlo

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "hlo_samples"
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "linux-vdso.so.1"}

wheel = zipfile.ZipFile(sys.argv[1])
names = wheel.namelist()
metadata = email.message_from_bytes(wheel.read(next(n for n in names if n.endswith("/METADATA"))))
assert metadata["Name"] == "remat_hlo" and metadata["Version"] == remat_hlo.__version__, metadata
assert metadata["License-Expression"] == "Apache-2.0", metadata["License-Expression"]
assert not [r for r in metadata.get_all("Requires-Dist", []) if "extra" not in r], metadata
assert any(n.endswith("licenses/LICENSE") for n in names), names
for library in "cjson", "protobuf-c":
    assert f"remat_hlo/{library}.copyright" in names or not any(f"lib{library}." in n for n in names), names

package = pathlib.Path(remat_hlo.__file__).parent
assert "site-packages" in package.parts, package
needed = set()
for library in package.glob("*.so*"):
    headers = subprocess.run(["objdump", "-p", library], capture_output=True, text=True,
                             check=True).stdout
    needed |= {line.split()[1] for line in headers.splitlines() if line.split()[:1] == ["NEEDED"]}
outside = {n for n in needed if not (package / n).exists() and not n.startswith("ld-linux")}
assert outside <= SYSTEM, outside

assert "a100-80g" in remat_hlo.devices(), remat_hlo.devices()
module = remat_hlo.load(SAMPLES / "gpt_unrolled.after_optimizations.hlo")
result = module.remat("60%", algorithm="search")
assert result.is_met and result.added_time > 0, result
module.verify(result)
assert "<html" in result.html() and "<svg" in result._repr_html_().replace("&lt;", "<")
try:
    import remat_hlo.jax
except ModuleNotFoundError as error:
    assert error.name == "jax", error
else:
    raise AssertionError("JAX is here, so that nothing is shown about doing without it")
print(f"{pathlib.Path(sys.argv[1]).name}: {len(names)} files, needs {' '.join(sorted(outside))}")
