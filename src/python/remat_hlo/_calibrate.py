"""Fits a device profile to measured times of modules: `python -m remat_hlo calibrate`. The library does it,
as it does for `remat-hlo calibrate`."""

import argparse
import ctypes
import dataclasses
import json
import math
import pathlib
import sys

from . import _library as lib
from . import _files, _module


@dataclasses.dataclass(frozen=True)
class ModelError:
    """How far modelled times are off: Spearman's rank correlation, None if one of the two does not vary, and
    the median and the worst of |modelled / measured - 1|; `sum_ratio` is that of all modelled to all measured times."""
    rank_correlation: float
    median: float
    worst: float
    sum_ratio: float

    @classmethod
    def of_struct(cls, struct):
        correlation = struct.rank_correlation
        return cls(None if math.isnan(correlation) else correlation, struct.median_error, struct.worst_error,
                   struct.sum_ratio)

    def __str__(self):
        correlation = "none" if self.rank_correlation is None else f"{self.rank_correlation:.3f}"
        return f"rank correlation {correlation}, median error {100 * self.median:.0f} %, worst {100 * self.worst:.0f} %"


def compare_seconds(modelled, measured):
    """The ModelError of pairs of times."""
    numbers, struct = ctypes.c_double * len(modelled), lib.ModelError()
    lib.call("rh_compare_seconds", numbers(*modelled), numbers(*measured), len(modelled), ctypes.byref(struct))
    return ModelError.of_struct(struct)


@dataclasses.dataclass(frozen=True)
class Calibration:
    """A fitted profile as JSON, and the errors with the profile before, of what it was fitted to, and of
    programs that were held out from the fit; None if there is one program only."""
    profile: str
    before: ModelError
    fitted: ModelError
    held_out: ModelError


def calibrate(modules, seconds, profile, name="calibrated", groups=None, trip_count=1):
    """Fits a profile, from the handle of another one. Measurements of the same group, say of variants of one
    program, are held out together."""
    options = lib.CalibrateOptions(name=lib.encode(name), default_trip_count=trip_count)
    if groups is not None:
        options.groups = (ctypes.c_char_p * len(groups))(*map(lib.encode, groups))
    handles = (ctypes.c_void_p * len(modules))(*(module._handle.pointer for module in modules))
    made = ctypes.POINTER(lib.Calibration)()
    lib.call("rh_calibrate", handles, (ctypes.c_double * len(seconds))(*seconds), len(modules), None,
             profile.pointer, ctypes.byref(options), ctypes.byref(made))
    try:
        found = made.contents
        errors = [ModelError.of_struct(pointer.contents) if pointer else None
                  for pointer in (found.before, found.fitted, found.held_out)]
        return Calibration(lib.collect("rh_profile_print", found.profile).decode(), *errors)
    finally:
        lib.load().rh_calibration_free(made)


def main(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m remat_hlo calibrate",
        description="Fits a device profile to measured times, and says how far the model is off.")
    parser.add_argument("measurements", help="JSON: {\"runs\": [{\"module\": PATH, \"seconds\": S}, …]}, paths "
                        "relative to the file, as scripts/bench/live --json=FILE writes it; \"program\" says "
                        "which modules are variants of one program")
    parser.add_argument("--device", default="cpu", help="the profile to begin with [cpu]")
    parser.add_argument("--name", default="calibrated", help="the name of the new one")
    parser.add_argument("-o", "--output", help="where the profile goes [stdout]")
    given = parser.parse_args(arguments)
    try:
        return _calibrate(given)
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"remat_hlo: error: {error}", file=sys.stderr)
        return 2


def _calibrate(given):
    folder = pathlib.Path(given.measurements).parent
    runs = json.loads(pathlib.Path(given.measurements).read_text(encoding="utf-8"))["runs"]
    modules = [_module.load(folder / run["module"], copies="inserted") for run in runs]
    made = calibrate(modules, [float(run["seconds"]) for run in runs], _files.load_device(given.device),
                     given.name, [str(run.get("program") or run["module"]) for run in runs])
    if given.output:
        _files.write_file(given.output, made.profile)
    else:
        print(made.profile, end="")
    said = sys.stdout if given.output else sys.stderr
    print(f"{given.device}: {made.before}", file=said)
    print(f"{given.name}: {made.fitted}", file=said)
    if made.held_out:
        print(f"{given.name}, of programs that were held out: {made.held_out}", file=said)
    return 0
