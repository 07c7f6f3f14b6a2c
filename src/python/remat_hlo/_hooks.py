"""What joins our decisions with JAX: XLA's hooks, the caches, and compilations that fail. A process has
one list of hooks, so that this has state of the process (_state.py); everything that changes is guarded by its lock.
Private parts of JAX are used where no public one does it, and done without where they are missing."""

import contextlib
import functools

import jax
from jax import monitoring

from . import __version__, _before, _decide, _plugins
from ._compilations import guard_compilations
from ._limits import auto_limit
from ._rewriting import hook
from ._state import LOGGER, NAME, first_line, replace, state, thread, warn_once

# Lowering ends before a compilation begins, and after the program has chosen its devices.
LOWERED_EVENT = "/jax/core/compile/jaxpr_to_mlir_module_duration"


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
        warn_once("cache", "JAX's persistent compilation cache is switched off: this version of JAX "
                   "does not let its key be extended")
        return

    @functools.wraps(inner)
    def custom_hook():
        return inner() + _persistent_key()

    replace(cache_key, "custom_hook", inner, custom_hook)


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
            getattr(thread, "compilation", None):
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
                _plugins.register(platform, NAME, stage, functools.partial(hook, stage, platform))
                state.registered.add((stage, platform))
            except Exception as error:
                state.failed_platforms.add(platform)
                warn_once(("platform", platform), f"modules for {platform} are left as they "
                           f"are: {first_line(error)}")


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
                guard_compilations(register)
            if options.max_slowdown is not None and not state.has_trials:
                state.has_trials = state.trials.replace(replace)
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
