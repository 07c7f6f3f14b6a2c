"""The budget of a module where that depends on the devices, and which devices these are."""

import jax

from . import _plugins
from ._sizes import SHARE, Budget, format_bytes, parse_budget, parse_size
from ._state import LOGGER, say, state, warn_once


def device_of(platform, compilation=None):
    """The profile of the devices that are compiled for, or else of this process's devices."""
    kind = compilation.device_kind if compilation else None
    if kind is None and platform != "cpu":
        try:
            kind = jax.local_devices(backend=platform)[0].device_kind
        except Exception:  # the backend is not asked for more than a name
            kind = ""
    profile, is_known = _plugins.profile_of(platform, kind or "")
    if not is_known:
        warn_once(("device", kind), f"no profile is known for the device {kind or platform}: modelled times "
                   f"are those of {profile}; device= chooses another one")
    return profile


# ---- what auto is ----

def auto_limit(options, warns=True):
    """What the devices of this process, and of the others of its job, have left: found once, so that
    every module is given the same. None where a device does not say, of which `warns` tells."""
    with state.lock:
        if options.headroom not in state.auto_limits:
            state.auto_limits[options.headroom] = _find_auto_limit(options.headroom)
        limit, why_not = state.auto_limits[options.headroom]
    if limit is None and warns:
        warn_once("auto", f"mem_limit=auto does nothing: {why_not}")
    return limit


def limit_of(options, platform, absent_device=None):
    """The budget, also where it is auto: for a device that is not there, what its profile says that it
    offers, and of that what JAX takes. None: there is none."""
    if options.mem_limit != "auto":
        return options.mem_limit
    return limit_of_absent(options, platform, absent_device) if absent_device else auto_limit(options)


def device_and_limit(options, platform, compilation=None):
    """The profile of what is compiled for, and the budget there: see device_of() and limit_of()."""
    device = device_of(platform, compilation)
    is_absent = compilation is not None and compilation.is_for_absent
    return device, limit_of(options, platform, device if is_absent else None)


def limit_of_absent(options, platform, device):
    size = int(_plugins.memory_of(device) * _plugins.share_for_programs(platform))
    return size - _headroom_bytes(options.headroom, size) if size else None


def _headroom_bytes(headroom, size):
    """What auto leaves free of a device's memory."""
    if SHARE.fullmatch(headroom):
        return Budget("share", parse_budget(headroom).amount).bytes(size, 0)
    return parse_size(headroom)


def _find_auto_limit(headroom):
    """(the limit or None, why there is none)."""
    limits = []
    for device in jax.local_devices():
        stats = device.memory_stats() or {}
        if not stats.get("bytes_limit"):
            return None, f"{device.platform} devices do not say how much memory they have"
        size = stats["bytes_limit"]
        limits.append(size - stats.get("bytes_in_use", 0) - _headroom_bytes(headroom, size))
    limit = least_of_all_processes(min(limits), headroom)
    if limit is None:
        return None, "the other processes do not say how much memory they have left"
    if limit <= 0:
        return None, "no memory is left"
    say(f"mem_limit=auto is {format_bytes(limit)}")
    return limit, ""


def least_of_all_processes(limit, headroom):
    """All processes of a job decide alike."""
    if jax.process_count() == 1:
        return limit
    prefix = f"remat_hlo/auto/{headroom}/"
    try:
        from jax._src import distributed
        client = distributed.global_state.client
        client.key_value_set(f"{prefix}{jax.process_index()}", str(limit))
        return min(int(client.blocking_key_value_get(f"{prefix}{number}", 60_000))
                   for number in range(jax.process_count()))
    except Exception as error:
        LOGGER.debug("the limits of other processes: %s", error)
        return None
