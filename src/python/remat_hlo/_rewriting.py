"""XLA's hook: which options hold for a module, what becomes of it, and what is kept of that."""

import dataclasses
import hashlib
import os
import _thread
import threading
import time

from . import __version__, _decide, _library as lib, _plugins, _proto, _text
from ._decide import FAILED, LiveReport
from ._limits import device_and_limit
from ._module import patch_proto
from ._state import LOGGER, NAME, first_line, leaves_alone, remember, state, tell, thread, warn_once

MOST_CACHED = 64
MOST_CACHED_BYTES = 256 << 20


def hook(stage, platform, serialized):
    """XLA calls it, in any thread, for each module. Nothing that happens here may end a
    compilation: whatever fails, the module stays as it is."""
    compilations = []
    try:
        serialized = bytes(serialized)
        options, compilations = _find_options(platform, serialized)
        if options is None or options.stage != stage:
            return None
        return transform(options, compilations, platform, serialized)
    except KeyboardInterrupt:
        for compilation in compilations:
            compilation.is_interrupted = True
        if not compilations and threading.current_thread() is threading.main_thread():
            _thread.interrupt_main()
        return None
    except BaseException as error:  # pylint: disable=broad-except
        warn_once(("failed", type(error).__name__), "a module is left as it is: "
                   f"{type(error).__name__}: {first_line(error)}")
        return None


def _find_options(platform, serialized):
    """(options, the compilations that ask for them). Some versions of XLA call the hook in a thread
    of their own, which knows nothing of ours: there the name of the module tells. Within a compilation
    XLA:GPU compiles modules of its own, to try kernels: they are none of the program's."""
    own = getattr(thread, "compilation", None)
    name = next((bytes(content).decode() for number, content, _, _ in _proto.fields(serialized)
                 if number == _proto.NAME), "")
    if own:
        is_own = platform == "cpu" or name == own.name
        return (own.options, [own]) if is_own else (None, [])
    with state.lock:
        found = [c for c in state.compilations if c.name == name]
        is_idle = not state.compilations
    if not found:
        return (state.context.value if platform == "cpu" or is_idle else None), []
    if any((c.options, c.device_kind) != (found[0].options, found[0].device_kind) for c in found):
        warn_once("ambiguous", f"{name} is left as it is: it is compiled under different options "
                   "at the same time, and this version of JAX does not tell which is which")
        return None, []
    return found[0].options, found


def transform(options, compilations, platform, serialized):
    device, limit = device_and_limit(options, platform, compilations[0] if compilations else None)
    if limit is None:
        return None
    is_eager = bool(compilations) and all(c.is_eager for c in compilations)
    if compilations and leaves_alone(options, limit, is_eager, compilations[0].name):
        return None
    sought_bytes = compilations[0].sought_bytes if compilations else None
    key = _key(options, limit, sought_bytes, platform, device, serialized)
    cached = _from_cache(key)
    if cached is None:
        start = time.perf_counter()
        text = _text.text_of(serialized)
        seconds = time.perf_counter() - start
        decision = _decide_on(options, limit, sought_bytes, platform, device, serialized, text)
        report = decision.report
        report.seconds = {"to text": seconds, **report.seconds}
        made = None if decision.text is None else _write(decision, serialized)
        if report.outcome != FAILED:
            _to_cache(key, dataclasses.replace(report), made)  # what XLA says of it later is no part of the cache
    else:
        report = dataclasses.replace(cached[0], from_cache=True, seconds={})
        made = cached[1]
    with state.lock:
        if key in state.refused:
            report = dataclasses.replace(report, outcome=state.refused[key])
            made = None
    report.is_eager = is_eager
    remember(report)
    tell(options, report)
    if made is None:
        return None
    for compilation in compilations:
        compilation.changed.append((key, report))
    return _proto.carry(serialized, made)


def _write(decision, serialized):
    """The serialized module of a decision: the one that XLA gave, with what differs replaced, which takes
    a small part of the time that XLA needs to read the text; or else what XLA reads from the text."""
    mark, phases = _mark(decision.report), _decide.Phases(decision.report.seconds)
    made = patch(decision, serialized, mark)
    phases.end("patch")
    if made is None and not _text.is_read_by_xla(decision.text):
        decision.report.outcome = FAILED
        decision.report.reason = "XLA does not read its own text of an operation that a loop carries"
    elif made is None:
        made = write_text(decision.text, mark)
        phases.end("from text")
    return made


def patch(decision, serialized, mark):
    """None where the library cannot do it: it was built without it, or there is something new."""
    if not decision.modules:
        return None
    try:
        return patch_proto(*decision.modules, serialized, NAME, mark)
    except lib.InternalError as error:  # a fault of ours, which the way by the text may not have
        warn_once(("patch", type(error).__name__), f"{decision.report.name} is read from text: {first_line(error)}")
        return None
    except lib.Error as error:
        LOGGER.debug("remat_hlo: %s is read from text: %s", decision.report.name, error)
        return None


def write_text(text, mark):
    from jaxlib import _hlo
    return _hlo.hlo_module_from_text(
        _decide.add_mark(text, NAME, mark)).as_serialized_hlo_module_proto()


def _decide_on(options, limit, sought_bytes, platform, device, serialized, text):
    """What becomes of a module, also where deciding fails."""
    text = _decide.add_counts(text, *_proto.device_counts(serialized))
    try:
        decision = _decide.decide(
            text, options, mem_limit=limit, sought_bytes=sought_bytes, device=device, scheduler=_scheduler_of(platform),
            target=_plugins.target_of(platform))
    except (Exception, RecursionError) as error:  # a module that fails is no reason to stop others
        name = text[:200].partition("\n")[0].removeprefix("HloModule ").partition(",")[0]
        warn_once(("failed", type(error).__name__), f"{name} is left as it is: "
                   f"{type(error).__name__}: {first_line(error)}")
        return _decide.Decision(LiveReport(
            name, FAILED, options.stage, str(options.mem_limit),
            reason=f"{type(error).__name__}: {first_line(error)}"), None)
    for cause, message in decision.warnings:
        warn_once(cause, message)
    return decision


def _scheduler_of(platform):
    """The order that XLA chooses for what we return at PRE_SCHEDULER, which goes to it as a proto: XLA:CPU's
    is breadth first, or depth first where a flag asks for less memory."""
    if platform != "cpu":
        return "default"
    asks_for_less = "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED" in os.environ.get("XLA_FLAGS", "")
    return "dfs" if asks_for_less else "bfs-proto"


def _mark(report):
    """Stays in the executable, also in JAX's persistent cache, so that `check` finds it."""
    return (f"{__version__} {report.outcome} {report.limit_bytes} {report.before.most_temp_bytes} "
            f"{report.after.most_temp_bytes}")


# ---- the cache ----

def _key(options, limit, sought_bytes, platform, device, serialized):
    """The module but for its id, which XLA gives anew to each, and all that decides."""
    digest = hashlib.sha256()
    for number, _, begin, end in _proto.fields(serialized):
        if number != _proto.ID:
            digest.update(serialized[begin:end])
    return digest.hexdigest(), options.digest(limit, sought_bytes, platform, device, _decide.plan_key(options),
                                              options.plan_dir)


def _from_cache(key):
    with state.lock:
        if key not in state.cache:
            return None
        state.cache.move_to_end(key)
        return state.cache[key]


def _to_cache(key, report, made):
    with state.lock:
        old = state.cache.pop(key, None)
        state.cache[key] = report, made
        state.cached_bytes += len(made or b"") - len(old[1] or b"" if old else b"")
        while state.cache and (len(state.cache) > MOST_CACHED
                                or state.cached_bytes > MOST_CACHED_BYTES):
            _, (_, dropped) = state.cache.popitem(last=False)
            state.cached_bytes -= len(dropped or b"")
