"""Files that are read, modules, device profiles, measured times and plans, and files that are written."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gzip
import hashlib
import os
import pathlib
import shutil
import typing
import uuid

from . import _library as lib

PROFILES = pathlib.Path(os.environ.get("REMAT_HLO_PROFILE_DIR")
                        or pathlib.Path(__file__).with_name("profiles"))

Path = str | os.PathLike[str]


# ---- device profiles ----

def profile_text(name: str) -> bytes:
    """The JSON text of a device profile: a name of `devices()`, or the path of a JSON file."""
    path = pathlib.Path(name) if "/" in name or name.endswith(".json") else PROFILES / f"{name}.json"
    try:
        return path.read_bytes()
    except FileNotFoundError:
        known = ", ".join(devices()) or f"no profiles are in {PROFILES} ($REMAT_HLO_PROFILE_DIR names another folder)"
        raise ValueError(f"there is no device '{name}': {known}, or the path of a profile") from None


def load_device(name):
    """The handle of a device profile, by what names it. A file may have changed since it was read."""
    return parse_profile(profile_text(name))


@functools.lru_cache(maxsize=32)
def parse_profile(text):
    """The handle of a device profile, given as JSON."""
    out = ctypes.c_void_p()
    lib.call("rh_profile_parse", text, len(text), None, ctypes.byref(out), text=text)
    return lib.Handle(out.value, "rh_profile_free")


@functools.lru_cache(maxsize=4)
def _parse_times(path, digest):
    data = _decompress(pathlib.Path(path).read_bytes())
    out = ctypes.c_void_p()
    lib.call("rh_times_parse", data, len(data), ctypes.byref(out))
    return lib.Handle(out.value, "rh_times_free")


def times_digest(path: Path) -> str:
    """What a profile with measured times is known by, besides its path."""
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def load_times(path):
    """The handle of a profile with measured times: xplane.pb or trace.json of jax.profiler."""
    return _parse_times(os.fspath(path), times_digest(path))


def devices() -> list[str]:
    """The names of the device profiles that come with the package."""
    return sorted(path.stem for path in PROFILES.glob("*.json"))


# ---- modules ----

def _decompress(data):
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        try:
            from compression import zstd  # Python 3.14
        except ImportError:
            try:
                import zstandard
            except ImportError:
                raise ValueError("the file is compressed with zstd, which needs Python 3.14 or the "
                                 "package zstandard") from None
            return zstandard.ZstdDecompressor().decompressobj().decompress(data)
        return zstd.decompress(data)
    return data


def _text_of_jax(thing):
    """The HLO text of what jax.jit(f).lower(…) or its .compile() returns, with all constants."""
    if hasattr(thing, "runtime_executable"):  # jax.stages.Compiled
        modules = thing.runtime_executable().hlo_modules()
        if len(modules) != 1:
            raise ValueError(f"the program has {len(modules)} modules, not one")
        return print_hlo(modules[0])
    if hasattr(thing, "compiler_ir"):  # jax.stages.Lowered
        return print_hlo(thing.compiler_ir("hlo").get_hlo_module())
    return print_hlo(thing)


def print_hlo(module: typing.Any) -> str:
    """The text of jaxlib's HloModule, constants included: without them XLA makes values up."""
    try:
        from jaxlib._hlo import HloPrintOptions
    except ImportError:
        from jaxlib.xla_extension import HloPrintOptions
    options = HloPrintOptions()
    options.print_large_constants = True
    return module.to_string(options)


def read_source(source):
    """(bytes of text, a name for messages)"""
    if isinstance(source, bytes):
        return _decompress(source), None
    if isinstance(source, os.PathLike):
        return _decompress(pathlib.Path(source).read_bytes()), os.fspath(source)
    if isinstance(source, str):
        if "\n" in source or source.lstrip().startswith("HloModule"):
            return source.encode(), None
        return _decompress(pathlib.Path(source).read_bytes()), source
    if hasattr(source, "runtime_executable") or hasattr(source, "compiler_ir") or \
            hasattr(source, "to_string"):
        return _text_of_jax(source).encode(), None
    raise TypeError(f"a module is HLO text, a path, or what jax.jit(f).lower(…) or its .compile() "
                    f"returns, not {type(source).__name__}")


# ---- plans ----

def parse_plan(plan):
    """The handle of a plan: JSON text, or the path of it."""
    if isinstance(plan, os.PathLike) or not plan.lstrip().startswith("{"):
        plan = pathlib.Path(plan).read_text(encoding="utf-8")
    text, out = plan.encode(), ctypes.c_void_p()
    lib.call("rh_plan_parse", text, len(text), ctypes.byref(out), text=text)
    return lib.Handle(out.value, "rh_plan_free")


# ---- what is written ----

@contextlib.contextmanager
def written_as_a_whole(path):
    """The path to write to instead: what is written takes the place of the file at the end of the block, or none of it
    does. As with the tool, links are followed, modes are kept, and what is no file, such as /dev/stdout, is written to."""
    path = pathlib.Path(os.path.realpath(path))
    is_there = path.exists()
    if is_there and not path.is_file():
        yield path
        return
    part = path.with_name(f".{uuid.uuid4().hex}")  # others may write the same file at this time
    try:
        yield part
        if is_there:
            shutil.copymode(path, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_file(path, text):
    """Writes a file, if there is a path. Returns the text."""
    if path is not None:
        with written_as_a_whole(path) as part:
            part.write_text(text, encoding="utf-8")
    return text
