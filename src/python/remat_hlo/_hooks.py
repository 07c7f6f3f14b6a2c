"""What joins our decisions with JAX: XLA's hooks, the caches, and compilations that fail. A process has
one list of hooks, so that this has state of the process; everything that changes is guarded by its lock.
Private parts of JAX are used where no public one does it, and done without where they are missing."""

import collections
import contextlib
import dataclasses
import functools
import hashlib
import logging
import os
import sys
import threading
import time
import _thread as _thread_module

import jax
from jax import monitoring

from . import __version__, _before, _decide, _library as lib, _plugins, _proto, _text, _trials
from ._decide import FAILED, REFUSED, SLOWER, LiveReport
from ._module import patch_proto
from ._options import Options
from ._refusals import is_out_of_memory
from ._sizes import SHARE, Budget, format_bytes, parse_budget, parse_size

NAME = "remat_hlo"
LOGGER = logging.getLogger(NAME)
MOST_REPORTS = 1000
MOST_CACHED = 64
MOST_CACHED_BYTES = 256 << 20
# The function of JAX that calls a compiled one, and the folder of its own functions.
CALLING_FRAME = "_pjit_call_impl_python"
JAX_FOLDER = os.path.dirname(jax.__file__)
# Lowering ends before a compilation begins, and after the program has chosen its devices.
LOWERED_EVENT = "/jax/core/compile/jaxpr_to_mlir_module_duration"


class State:
    """What the process has of this: XLA's hooks are the process's, too. Everything that is
    changed is guarded by the lock."""

    def __init__(self):
        self.lock = threading.RLock()
        self.no_compilation = threading.Condition(self.lock)
        self.compilations = []     # that are under way
        # A part of the key of jax.jit's caches: None, or the Options.
        self.context = jax.make_user_context(default_value=None)
        self.num_users = 0         # installations and open context managers
        self.registered = set()    # (stage, platform)
        self.failed_platforms = set()
        self.is_listening = False
        self.undo = []             # puts back what was replaced in JAX, the last one first
        self.warned = set()        # causes
        self.reports = collections.deque(maxlen=MOST_REPORTS)
        self.cache = collections.OrderedDict()  # key: (report, serialized module or None)
        self.cached_bytes = 0
        self.auto_limits = {}      # headroom: (bytes or None, why there are none)
        self.refused = {}          # key of a result that is not made again: the outcome of its report
        self.trials = _trials.Trials()
        self.has_trials = False    # whether what they need of JAX has been replaced


state = State()
_thread = threading.local()  # .compilation: the innermost one of this thread


@dataclasses.dataclass(eq=False)
class _Compilation:
    """A compilation that is under way. `changed` has the keys and reports of what was rewritten."""
    name: str
    options: Options
    device_kind: str = None    # None: that of this process's devices
    is_for_absent: bool = False  # whether the devices are not there
    is_eager: bool = False       # an operation that the program calls outside of any jit of its own
    changed: list = dataclasses.field(default_factory=list)


# ---- words ----

def _warn_once(cause, message):
    with state.lock:
        if cause in state.warned:
            return
        state.warned.add(cause)
    LOGGER.warning("remat_hlo: %s", message)


def _say(line):
    """Through logging where the program has set that up, else on stderr."""
    if LOGGER.hasHandlers():
        LOGGER.info("%s", line)
    else:
        print(f"remat_hlo: {line}", file=sys.stderr, flush=True)


def _tell(options, report):
    """A line on a module, if it is asked for."""
    if options.verbose == "all" or (options.verbose and report.is_worth_a_line):
        _say(report)


def _first_line(error):
    return (str(error).strip().splitlines() or [""])[0][:300] or type(error).__name__


# ---- the hook ----

def _hook(stage, platform, serialized):
    """XLA calls it, in any thread, for each module. Nothing that happens here may end a
    compilation: whatever fails, the module stays as it is."""
    try:
        serialized = bytes(serialized)
        options, compilations = _find_options(platform, serialized)
        if options is None or options.stage != stage:
            return None
        return _transform(options, compilations, platform, serialized)
    except KeyboardInterrupt:
        _thread_module.interrupt_main()
        return None
    except BaseException as error:  # pylint: disable=broad-except
        _warn_once(("failed", type(error).__name__), "a module is left as it is: "
                   f"{type(error).__name__}: {_first_line(error)}")
        return None


def _find_options(platform, serialized):
    """(options, the compilations that ask for them). Some versions of XLA call the hook in a thread
    of their own, which knows nothing of ours: there the name of the module tells. Within a compilation
    XLA:GPU compiles modules of its own, to try kernels: they are none of the program's."""
    own = getattr(_thread, "compilation", None)
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
        _warn_once("ambiguous", f"{name} is left as it is: it is compiled under different options "
                   "at the same time, and this version of JAX does not tell which is which")
        return None, []
    return found[0].options, found


def _remember(report):
    with state.lock:
        state.reports.append(report)


def _transform(options, compilations, platform, serialized):
    device = _device_of(platform, compilations[0] if compilations else None)
    limit = _limit_of(options, platform, device if compilations and compilations[0].is_for_absent else None)
    if limit is None:
        return None
    key = _key(options, limit, platform, device, serialized)
    cached = _from_cache(key)
    if cached is None:
        start = time.perf_counter()
        text = _text.text_of(serialized)
        seconds = time.perf_counter() - start
        decision = _decide_on(options, limit, platform, device, serialized, text)
        report = decision.report
        report.seconds = {"to text": seconds, **report.seconds}
        made = None if decision.text is None else _write(decision, serialized)
        if report.outcome != FAILED:
            _to_cache(key, report, made)
    else:
        report = dataclasses.replace(cached[0], from_cache=True, seconds={})
        made = cached[1]
    with state.lock:
        if key in state.refused:
            report = dataclasses.replace(report, outcome=state.refused[key])
            made = None
    report.is_eager = bool(compilations) and all(c.is_eager for c in compilations)
    _remember(report)
    _tell(options, report)
    if made is None:
        return None
    for compilation in compilations:
        compilation.changed.append((key, report))
    return _proto.carry(serialized, made)


def _write(decision, serialized):
    """The serialized module of a decision: the one that XLA gave, with what differs replaced, which takes
    a small part of the time that XLA needs to read the text; or else what XLA reads from the text."""
    mark, phases = _mark(decision.report), _decide.Phases(decision.report.seconds)
    made = _patch(decision, serialized, mark)
    phases.end("patch")
    if made is None and not _text.is_read_by_xla(decision.text):
        decision.report.outcome = FAILED
        decision.report.reason = "XLA does not read its own text of an operation that a loop carries"
    elif made is None:
        made = _write_text(decision.text, mark)
        phases.end("from text")
    return made


def _patch(decision, serialized, mark):
    """None where the library cannot do it: it was built without it, or there is something new."""
    if not decision.modules:
        return None
    try:
        return patch_proto(*decision.modules, serialized, NAME, mark)
    except lib.InternalError as error:  # a fault of ours, which the way by the text may not have
        _warn_once(("patch", type(error).__name__), f"{decision.report.name} is read from text: {_first_line(error)}")
        return None
    except lib.Error as error:
        LOGGER.debug("remat_hlo: %s is read from text: %s", decision.report.name, error)
        return None


def _write_text(text, mark):
    from jaxlib import _hlo
    return _hlo.hlo_module_from_text(
        _decide.add_mark(text, NAME, mark)).as_serialized_hlo_module_proto()


def _decide_on(options, limit, platform, device, serialized, text):
    """What becomes of a module, also where deciding fails."""
    text = _decide.add_counts(text, *_proto.device_counts(serialized))
    try:
        decision = _decide.decide(
            text, options, mem_limit=limit, device=device, scheduler=_scheduler_of(platform),
            target=_plugins.target_of(platform))
    except (Exception, RecursionError) as error:  # a module that fails is no reason to stop others
        name = text[:200].partition("\n")[0].removeprefix("HloModule ").partition(",")[0]
        _warn_once(("failed", type(error).__name__), f"{name} is left as it is: "
                   f"{type(error).__name__}: {_first_line(error)}")
        return _decide.Decision(LiveReport(
            name, FAILED, options.stage, str(options.mem_limit),
            reason=f"{type(error).__name__}: {_first_line(error)}"), None)
    for cause, message in decision.warnings:
        _warn_once(cause, message)
    return decision


def _device_of(platform, compilation=None):
    """The profile of the devices that are compiled for, or else of this process's devices."""
    kind = compilation.device_kind if compilation else None
    if kind is None and platform != "cpu":
        try:
            kind = jax.local_devices(backend=platform)[0].device_kind
        except Exception:  # the backend is not asked for more than a name
            kind = ""
    profile, is_known = _plugins.profile_of(platform, kind or "")
    if not is_known:
        _warn_once(("device", kind), f"no profile is known for the device {kind or platform}: modelled times "
                   f"are those of {profile}; device= chooses another one")
    return profile


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

def _key(options, limit, platform, device, serialized):
    """The module but for its id, which XLA gives anew to each, and all that decides."""
    digest = hashlib.sha256()
    for number, _, begin, end in _proto.fields(serialized):
        if number != _proto.ID:
            digest.update(serialized[begin:end])
    return digest.hexdigest(), options.digest(limit, platform, device, _decide.plan_key(options),
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


# ---- what auto is ----

def auto_limit(options, warns=True):
    """What the devices of this process, and of the others of its job, have left: found once, so that
    every module is given the same. None where a device does not say, of which `warns` tells."""
    with state.lock:
        if options.headroom not in state.auto_limits:
            state.auto_limits[options.headroom] = _find_auto_limit(options.headroom)
        limit, why_not = state.auto_limits[options.headroom]
    if limit is None and warns:
        _warn_once("auto", f"mem_limit=auto does nothing: {why_not}")
    return limit


def _limit_of(options, platform, absent_device=None):
    """The budget, also where it is auto: for a device that is not there, what its profile says that it
    offers, and of that what JAX takes. None: there is none."""
    if options.mem_limit != "auto":
        return options.mem_limit
    return _limit_of_absent(options, platform, absent_device) if absent_device else auto_limit(options)


def _limit_of_absent(options, platform, device):
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
    limit = _least_of_all_processes(min(limits), headroom)
    if limit is None:
        return None, "the other processes do not say how much memory they have left"
    if limit <= 0:
        return None, "no memory is left"
    _say(f"mem_limit=auto is {format_bytes(limit)}")
    return limit, ""


def _least_of_all_processes(limit, headroom):
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


# ---- what is replaced in JAX ----

def _replace(module, name, inner, outer):
    """Until the last one is done with us. What somebody else has put over ours meanwhile stays: it calls
    ours, which then does nothing but call JAX's."""
    def put_back():
        if getattr(module, name, None) is outer:
            setattr(module, name, inner)

    setattr(module, name, outer)
    state.undo.append(put_back)


def _listen():
    monitoring.register_event_duration_secs_listener(_on_event)
    state.is_listening = True


def _stop_listening():
    """Where JAX has a function for that; else _on_event() finds that there is nobody to tell."""
    try:
        from jax._src import monitoring as inner
        unregister = getattr(inner, "unregister_event_duration_listener", None) or \
            inner._unregister_event_duration_listener_by_callback
        unregister(_on_event)
    except Exception as error:
        LOGGER.debug("remat_hlo goes on listening to JAX: %s", error)
        return
    state.is_listening = False


# ---- JAX's persistent cache ----

def _persistent_key():
    """What a program is compiled by, beside what JAX knows of."""
    options = state.context.value
    if options is None:
        return ""
    # JAX's own key has the devices, on which the limit for absent ones depends.
    limit = auto_limit(options, warns=False) if options.mem_limit == "auto" else options.mem_limit
    return f" {NAME} {__version__} {options.digest(limit, _decide.plan_key(options))}"


def _guard_persistent_cache():
    """Makes our options a part of the persistent cache's key, or else the cache is not used."""
    from jax._src import cache_key
    inner = getattr(cache_key, "custom_hook", None)
    if inner is None:
        was_enabled = jax.config.jax_enable_compilation_cache
        jax.config.update("jax_enable_compilation_cache", False)
        state.undo.append(functools.partial(jax.config.update, "jax_enable_compilation_cache", was_enabled))
        _warn_once("cache", "JAX's persistent compilation cache is switched off: this version of JAX "
                   "does not let its key be extended")
        return

    @functools.wraps(inner)
    def custom_hook():
        return inner() + _persistent_key()

    _replace(cache_key, "custom_hook", inner, custom_hook)


# ---- compilations ----

def _is_eager():
    """Whether what this thread compiles is an operation that the program calls outside of any jit of its
    own: a primitive, or a function of JAX that JAX compiles, such as jax.random.normal. JAX knows where the
    function was written, in a frame between the program and the compiler."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == CALLING_FRAME:
            jaxpr = frame.f_locals.get("jaxpr")
            where = getattr(getattr(jaxpr, "jaxpr", jaxpr), "debug_info", None)
            return f" at {JAX_FOLDER}{os.sep}" in str(getattr(where, "func_src_info", ""))
        frame = frame.f_back
    return False


@contextlib.contextmanager
def _compilation(name, options, *devices):
    """XLA reads its list of hooks without a lock: nothing is registered while it compiles."""
    outer = getattr(_thread, "compilation", None)
    made = _Compilation(name, options, *devices, is_eager=_is_eager())
    with state.lock:
        state.compilations.append(made)
    _thread.compilation = made
    try:
        yield made
    finally:
        _thread.compilation = outer
        with state.lock:
            state.compilations.remove(made)
            state.no_compilation.notify_all()


def _compile_before(inner, options, backend, module, *arguments, **named):
    """Compiles a program that is rematerialized before XLA optimizes it."""
    def compile_module(module):
        return inner(backend, module, *arguments, **named)

    kind, is_absent = _devices_of(backend)
    device = _device_of(backend.platform, _Compilation("", options, kind, is_absent))
    limit = _limit_of(options, backend.platform, device if is_absent else None)
    if limit is None:
        return compile_module(module)
    executable, report, warnings = _before.compile_within(
        compile_module, module, options, limit, device, backend.platform)
    for cause, message in warnings:
        _warn_once(cause, message)
    report.is_eager = _is_eager()
    _remember(report)
    _tell(options, report)
    return executable


def _changed_name(compilation):
    return compilation.changed[0][1].name


def _refuse(compilation, why):
    """From now on, what was made of these modules is not made again."""
    with state.lock:
        for key, report in compilation.changed:
            state.refused[key] = report.outcome = REFUSED
    _warn_once("refused", f"{why}; it is compiled as it was")
    compilation.changed.clear()


def _temp_bytes(executable):
    return executable.get_compiled_memory_stats().temp_size_in_bytes


def _may_be_worse(options, platform, compilation, executable):
    """Whether the program as it was may take less than what it was made to be: where XLA has assigned more than
    it can be expected to come down to by itself. `check` may ask for more, or for nothing."""
    if not compilation.changed or options.check == "never":
        return False
    try:
        device = _device_of(platform, compilation)
        least = sum(_plugins.least_temp_bytes(platform, report.before, device)
                    for _, report in compilation.changed)
        return options.check == "always" or _temp_bytes(executable) > least
    except Exception:  # an executable that says nothing about its memory
        return False


def _after_failure(compilation, compile_again, error):
    """XLA does not compile a program as it was rewritten, so it is compiled as it was. Where there is no
    room for either, the error is that of the one which we expect to be smaller."""
    if not is_out_of_memory(error):
        _refuse(compilation, f"XLA does not compile {_changed_name(compilation)} as it was rewritten: "
                f"{_first_line(error)}")
        return compile_again()
    compilation.options = None  # what follows is compiled as it is
    try:
        plain = compile_again()
    except Exception as second:
        raise error if is_out_of_memory(second) else second
    _refuse(compilation, f"XLA has no memory for {_changed_name(compilation)} as it was rewritten, and has "
            "enough without that")
    return plain


def _is_to_be_timed(options, compilation):
    """Whether the first steps of what was made are to be measured beside those of the program as it was."""
    if not compilation.changed or options.max_slowdown is None or compilation.is_for_absent:
        return False
    if jax.process_count() > 1:
        _warn_once("processes", "max_slowdown does nothing in a job of several processes, which have to run the same "
                   "program")
    elif not state.has_trials:
        _warn_once("trials", "max_slowdown does nothing: this version of JAX does not let steps be measured")
    else:
        return True
    return False


def _beside_as_it_was(options, platform, compilation, compile_again, made):
    """What goes on: what was made, or the program as it was where that takes less. Both are compiled only where
    there is something to compare; the program as it was may not compile, for want of memory say."""
    is_sized = _may_be_worse(options, platform, compilation, made)
    is_timed = _is_to_be_timed(options, compilation)
    if not is_sized and not is_timed:
        return made
    compilation.options = None  # what follows is compiled as it is
    try:
        plain = compile_again()
    except Exception as error:
        LOGGER.debug("remat_hlo: %s as it was does not compile: %s", compilation.name, _first_line(error))
        return made
    if is_sized and _temp_bytes(made) > _temp_bytes(plain):
        _refuse(compilation, f"XLA assigns more temporaries to {_changed_name(compilation)} as it was rewritten "
                "than without that")
        return plain
    if is_timed:
        _begin_trial(options, compilation, plain, made)
    return made


def _begin_trial(options, compilation, plain, made):
    changed = list(compilation.changed)
    state.trials.begin(made, plain, options.max_slowdown,
                       lambda slowdown, is_taken_back: _end_trial(options, changed, slowdown, is_taken_back))


def _end_trial(options, changed, slowdown, is_taken_back):
    name = changed[0][1].name
    if slowdown is None:
        _warn_once(("room", name), f"{name} is not measured: as it was, it has no room")
        return
    said = (f"{name}: {slowdown:.2f} times its time as it was, measured over {_trials.STEPS} steps, "
            f"{options.max_slowdown:g} allowed")
    with state.lock:
        for key, report in changed:
            report.measured_slowdown = slowdown
            if is_taken_back:
                state.refused[key] = report.outcome = SLOWER
                report.reason = said.partition(": ")[2]
    if is_taken_back:
        _warn_once(("slower", name), f"{said}: it is taken back")
    elif options.verbose:
        _say(said)


def _devices_of(backend):
    """(their kind, whether they are not there). One client has devices of one kind."""
    try:
        from jaxlib import _jax
        is_absent = isinstance(backend, _jax.CompileOnlyPyClient)
    except (ImportError, AttributeError):
        is_absent = False
    try:
        return backend.devices()[0].device_kind, is_absent
    except Exception:  # a client that says nothing of its devices
        return None, is_absent


def _guard_compilations():
    """If XLA does not compile what a module was made to be, it compiles the module as it was."""
    from jax._src import compiler
    inner = getattr(compiler, "backend_compile_and_load", None)
    if inner is None:
        return

    @functools.wraps(inner)
    def backend_compile_and_load(backend, module, *arguments, **named):
        options = state.context.value
        if options is None:
            devices = ()
        else:
            register([backend.platform])
            devices = _devices_of(backend)
            if options.mem_limit == "auto" and not devices[1]:
                auto_limit(options)  # before this program takes memory

        def compile_it():
            return inner(backend, module, *arguments, **named)

        name = module.operation.attributes["sym_name"].value
        with _compilation(name, options, *devices) as compilation:
            if options is not None and options.stage == _before.STAGE:
                return _compile_before(inner, options, backend, module, *arguments, **named)
            try:
                made = compile_it()
            except Exception as error:
                if not compilation.changed:
                    raise
                return _after_failure(compilation, compile_it, error)
            return _beside_as_it_was(options, backend.platform, compilation, compile_it, made)

    _replace(compiler, "backend_compile_and_load", inner, backend_compile_and_load)


# ---- installing ----

def backends_exist():
    try:
        from jax._src import xla_bridge
        return xla_bridge.backends_are_initialized()
    except (ImportError, AttributeError):
        return False


def _on_event(event, duration, **_):
    """JAX tells that it has lowered a program, and is about to compile. Where JAX has backends, they are
    for that; what is compiled for devices that are not there needs none."""
    del duration
    if event == LOWERED_EVENT and state.num_users and backends_exist():
        register()


def register(platforms=None):
    """Has XLA call the hooks, on all backends or on some platforms. It waits until the program has its own
    reasons to have them: it may still choose platforms, or join a job of several processes."""
    options = state.context.value
    if options is None or options.stage == _before.STAGE or \
            getattr(_thread, "compilation", None):
        return
    if platforms is None:
        from jax.extend import backend
        platforms = sorted(backend.backends())
    stage, platforms = options.stage, [_plugins.hook_platform(platform) for platform in platforms]
    with state.lock:
        for platform in platforms:
            if (stage, platform) in state.registered or platform in state.failed_platforms:
                continue
            state.no_compilation.wait_for(lambda: not state.compilations)
            if (stage, platform) in state.registered:  # by another thread meanwhile
                continue
            try:
                _plugins.register(platform, NAME, stage, functools.partial(_hook, stage, platform))
                state.registered.add((stage, platform))
            except Exception as error:
                state.failed_platforms.add(platform)
                _warn_once(("platform", platform), f"modules for {platform} are left as they "
                           f"are: {_first_line(error)}")


def has_hooks():
    try:
        from jax.extend.xla import register_hlo_module_transformation
    except ImportError:
        return False
    return callable(register_hlo_module_transformation)


def begin(options):
    if options.stage != _before.STAGE and not has_hooks():
        raise RuntimeError(f"this JAX has no place for {options.stage}: JAX 0.11 or later has, and "
                           f"stage='{_before.STAGE}' does without")
    with state.lock:
        state.num_users += 1
        try:
            if not state.undo:
                _guard_persistent_cache()
                _guard_compilations()
            if options.max_slowdown is not None and not state.has_trials:
                state.has_trials = state.trials.replace(_replace)
            if not state.is_listening:
                _listen()
        except BaseException:  # a JAX that lacks something, or Ctrl-C: half of it must not stay
            end()
            raise


def end():
    """The last one puts back what was replaced in JAX, and clears the hooks, so that nobody is asked about
    programs that stay as they are, unless XLA is compiling: then the hooks stay, and have nothing to
    say."""
    with state.lock:
        state.num_users -= 1
        if state.num_users:
            return
        while state.undo:
            state.undo.pop()()
        state.has_trials = False
        state.trials.clear()
        if state.is_listening:
            _stop_listening()
        if state.compilations or not state.registered:
            return
        for stage, platform in sorted(state.registered):
            _plugins.clear(platform, NAME, stage)
        state.registered.clear()


@contextlib.contextmanager
def installed(options):
    begin(options)
    try:
        with state.context(options):
            if backends_exist():
                register()
            yield options
    finally:
        end()
