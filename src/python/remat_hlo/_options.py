"""What can be asked of the live half, from arguments, from the environment and from a command
line. One row for each option."""

import dataclasses
import hashlib
import os
import re

from ._files import devices, times_digest
from ._library import COUNTS, EFFORT_BY_SIZE, PROTECTS
from ._request import remat_options
from ._sizes import SHARE, parse_budget, parse_part, parse_size

STAGES = ("POST_SCHEDULER", "PRE_SCHEDULER", "BEFORE_OPTIMIZATIONS")
PREFIX = "REMAT_HLO_"


def _option(default, text, **more):
    """`decides`: whether it has a part in what becomes of a module."""
    decides = more.pop("decides", True)
    return dataclasses.field(default=default, compare=decides,
                             metadata={"help": text, "decides": decides, **more})


@dataclasses.dataclass(frozen=True)
class Options:
    """All options, checked and hashable. Two that are equal decide alike about every module."""
    mem_limit: str = _option(None, "the budget of each module: 12GiB, 80% of its peak, r50% of the "
                             "reducible part of that, min, or auto: what the device has left")
    algorithm: str = _option("auto", "what decides which values are recomputed")
    stage: str = _option("POST_SCHEDULER", "where in XLA's pipeline: POST_SCHEDULER, "
                         "PRE_SCHEDULER or BEFORE_OPTIMIZATIONS")
    min_peak: int = _option("1MiB", "modules whose peak is lower are left alone", parse=parse_size)
    min_reducible: str = _option("5%", "under 80%, r50% and min, modules with less than this above their "
                                 "lower bound are left alone without a search: a size, or a share of "
                                 "what the budget counts")
    limit_counts: str = _option("total", "what the budget bounds: total, temp+outputs or temp",
                                choices=tuple(COUNTS))
    headroom: str = _option("5%", "what auto leaves free: a size, or a share of the device's memory")
    effort: int = _option(None, "how long algorithms may search, 0 to 9, in steps [steps that follow "
                          "from the size of the module, by search instead of auto]", parse=int)
    check: str = _option("auto", "whether a changed program is compiled as it was, too, and the smaller one kept: "
                         "auto, where XLA assigns more than it may come down to without us; always; never",
                         choices=("auto", "always", "never"))
    max_slowdown: float = _option(None, "a changed program that takes more than so many times what it took as it was, "
                                  "measured over the first steps, which take turns, is taken back: 1.3",
                                  parse=float)
    small_node_limit: int = _option(None, "results of at most this size are not recomputed "
                                    "[1MiB, or a 256th of the peak]",
                                    parse=parse_size)
    modes: str = _option("recompute", "what may become of a value: recompute, compress, offload, "
                         "narrow, with commas")
    remat_collectives: bool = _option(False, "collectives may be recomputed, by all devices")
    block_size_limit: int = _option(1, "most instructions that XLA's algorithms recompute together",
                                    parse=int)
    pin: tuple = _option((), "expressions: these values stay in memory", is_list=True)
    never: tuple = _option((), "expressions: these instructions are not computed twice",
                           is_list=True)
    parameters: tuple = _option((), "parameters of algorithms, name=value", is_list=True)
    scheduler: str = _option("auto", "at PRE_SCHEDULER: the order that XLA is expected to choose")
    protect: str = _option("auto", "before XLA's scheduler: what keeps XLA from undoing a result",
                           choices=tuple(PROTECTS))
    device: str = _option("auto", "the device profile for modelled seconds, or the path of one")
    times: str = _option(None, "a profile of jax.profiler with measured times, xplane.pb or trace.json.gz: "
                         "they replace modelled ones, in the modules that it has")
    trip_count: int = _option(1, "iterations of loops whose trip count is unknown", parse=int)
    modules: str = _option(None, "an expression: only modules whose names it matches")
    plan_dir: str = _option(None, "a folder of plans: those that fit are applied without a search, "
                            "others are saved there")
    report_dir: str = _option(None, "a folder that gets a page and a plan of each changed module",
                              decides=False)
    verbose: bool = _option(True, "1: a line on each module that is changed or cannot meet its "
                              "budget, but for those of operations outside of any jit; all: on each "
                              "module; 0: none", decides=False)
    num_threads: int = _option(1, "threads that algorithms may use", parse=int, decides=False)

    @classmethod
    def make(cls, **given):
        """Arguments that are not None, then the environment, then defaults. Raises ValueError, or
        TypeError for an argument that does not exist."""
        unknown = given.keys() - {field.name for field in dataclasses.fields(cls)}
        if unknown:
            raise TypeError(f"there is no option '{min(unknown)}'")
        values = {}
        for field in dataclasses.fields(cls):
            value, origin = given.get(field.name), field.name
            name = PREFIX + field.name.upper()
            if value is None and os.environ.get(name):
                value, origin = os.environ[name], name
            if value is None:
                value = field.default
            try:
                values[field.name] = _parse(field, value)
            except ValueError as error:
                raise ValueError(f"{origin}: {error}") from None
        options = cls(**values)
        options._check()
        return options

    def _check(self):
        if self.mem_limit is None:
            raise ValueError("mem_limit: there is no budget: 12GiB, 80%, r50%, min or auto, as an "
                             f"argument or in {PREFIX}MEM_LIMIT")
        if self.mem_limit != "auto":
            parse_budget(self.mem_limit)
        if self.stage not in STAGES:
            raise ValueError(f"stage: '{self.stage}' is none of {', '.join(STAGES)}")
        if not SHARE.fullmatch(self.headroom) or self.headroom.startswith("r"):
            parse_size(self.headroom)
        parse_part(self.min_reducible, 0)
        if self.max_slowdown is not None and not 0 < self.max_slowdown < float("inf"):
            raise ValueError(f"max_slowdown: {self.max_slowdown} is no number above 0")
        if self.max_slowdown is not None and self.stage == "BEFORE_OPTIMIZATIONS":
            raise ValueError("max_slowdown: stage='BEFORE_OPTIMIZATIONS' measures no steps")
        if self.effort is not None and not 0 <= self.effort <= 9:
            raise ValueError(f"effort: {self.effort} is none of 0 to 9")
        if self.device != "auto" and self.device not in devices() and \
                "/" not in self.device and not self.device.endswith(".json"):
            raise ValueError(f"device: '{self.device}' is none of {', '.join(devices())}")
        if self.times is not None and not os.path.isfile(self.times):
            raise ValueError(f"times: there is no file '{self.times}'")
        if self.modules is not None:
            try:
                re.compile(self.modules)
            except re.error as error:
                raise ValueError(f"modules: {error}") from None
        self.remat_options()  # algorithm, modes, expressions

    def is_for(self, name):
        """Whether modules of this name are to be rematerialized."""
        return self.modules is None or re.search(self.modules, name) is not None

    def remat_options(self):
        """(options of rh_remat, what they refer to)"""
        pairs = dict(one.partition("=")[::2] for one in self.parameters)
        is_scheduled = self.stage == "POST_SCHEDULER"
        return remat_options(
            algorithm=self.algorithm, limit_counts=self.limit_counts,
            emit="scheduled" if is_scheduled else "unscheduled", protect=self.protect,
            small_node_limit=self.small_node_limit, modes=self.modes,
            remat_collectives=self.remat_collectives, block_size_limit=self.block_size_limit,
            pin=self.pin, never=self.never, parameters=pairs,
            effort=EFFORT_BY_SIZE if self.effort is None else self.effort,
            num_threads=self.num_threads)

    def digest(self, *more):
        """A name for all that decides, so that what was decided otherwise is not mistaken for it."""
        parts = [f"{field.name}={getattr(self, field.name)!r}" for field in
                 dataclasses.fields(self) if field.metadata["decides"]
                 and field.name != "plan_dir"]
        if self.times:
            parts.append(times_digest(self.times))
        return hashlib.sha256("\n".join([*parts, *map(str, more)]).encode()).hexdigest()


def _parse(field, value):
    if value is None:
        return None
    data = field.metadata
    if data.get("is_list"):
        if isinstance(value, dict):
            value = [f"{key}={one}" for key, one in value.items()]
        return tuple([one for one in value.split("\n") if one] if isinstance(value, str) else value)
    if field.name == "verbose" and value == "all":
        return value
    if field.type in (bool, "bool"):
        if isinstance(value, str):
            known = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
            if value.lower() not in known:
                raise ValueError(f"'{value}' is neither 1 nor 0")
            return known[value.lower()]
        return bool(value)
    if "parse" in data:
        return data["parse"](value)
    if "choices" in data and value not in data["choices"]:
        raise ValueError(f"'{value}' is none of {', '.join(data['choices'])}")
    if field.name == "modes" and not isinstance(value, str):
        value = ",".join(value)
    return os.fspath(value) if field.name.endswith("_dir") else str(value)
