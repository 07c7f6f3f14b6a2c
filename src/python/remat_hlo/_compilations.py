"""JAX's compilations: what a program was made to be beside the program as it was, of which the latter is
compiled where the former fails, takes more memory or takes too long."""

import contextlib
import functools
import os
import sys

import jax

from . import _assigned, _before, _plugins, _trials
from ._decide import NO_BETTER, REFUSED, SLOWER, WITHIN
from ._interrupts import wakeups
from ._limits import auto_limit, device_and_limit, device_of
from ._refusals import is_out_of_memory
from ._sizes import format_bytes
from ._state import LOGGER, Compilation, first_line, leaves_alone, remember, replace, say, state, tell, thread, warn_once

# The function of JAX that calls a compiled one, and the folder of its own functions.
CALLING_FRAME = "_pjit_call_impl_python"
JAX_FOLDER = os.path.dirname(jax.__file__)


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
    outer = getattr(thread, "compilation", None)
    made = Compilation(name, options, *devices, is_eager=_is_eager())
    with state.lock:
        state.compilations.append(made)
    thread.compilation = made
    try:
        with wakeups.heard():
            yield made
    finally:
        thread.compilation = outer
        with state.lock:
            state.compilations.remove(made)
            state.no_compilation.notify_all()
    if made.is_interrupted:
        raise KeyboardInterrupt


def _compile_before(inner, compilation, backend, module, *arguments, **named):
    """Compiles a program that is rematerialized before XLA optimizes it."""
    def compile_module(module):
        return inner(backend, module, *arguments, **named)

    options = compilation.options
    device, limit = device_and_limit(options, backend.platform, compilation)
    if limit is None or leaves_alone(options, limit, compilation.is_eager, compilation.name):
        return compile_module(module)
    executable, report, warnings = _before.compile_within(
        compile_module, module, options, limit, device, backend.platform)
    for cause, message in warnings:
        warn_once(cause, message)
    report.is_eager = compilation.is_eager
    remember(report)
    tell(options, report)
    return executable


def _changed_name(compilation):
    return compilation.changed[0][1].name


def _take_back(compilation, outcome):
    """From now on, what was made of these modules is not made again."""
    with state.lock:
        for key, report in compilation.changed:
            state.refused[key] = report.outcome = outcome
    compilation.changed.clear()


def _refuse(compilation, why, outcome=REFUSED):
    _take_back(compilation, outcome)
    warn_once("refused", f"{why}; it is compiled as it was")


def _meets(executable, report):
    """Whether a program that is one module meets the limit of the report on it, by what XLA has assigned."""
    return _assigned.counted_bytes(executable, report.limit_counts) <= report.limit_bytes


def _needless(compilation, made, plain):
    """The outcome where the program as it was is as good as what was made, which takes more time; None where it is not.
    XLA:TPU may put into VMEM what is predicted to take memory."""
    reports = [report for _, report in compilation.changed]
    if all((report.added_time or 0) <= 0 for report in reports):
        return None
    if _assigned.temp_bytes(made) >= _assigned.temp_bytes(plain):
        return NO_BETTER
    return WITHIN if len(reports) == 1 and _meets(plain, reports[0]) else None


def _may_be_worse(options, platform, compilation, executable):
    """Whether the program as it was may take less than what it was made to be: where XLA has assigned more than
    it can be expected to come down to by itself. `check` may ask for more, or for nothing."""
    if not compilation.changed or options.check == "never":
        return False
    try:
        device = device_of(platform, compilation)
        least = sum(_plugins.least_temp_bytes(platform, report.before, device)
                    for _, report in compilation.changed)
        return options.check == "always" or _assigned.temp_bytes(executable) > least
    except RuntimeError:  # an executable that says nothing about its memory
        return False


def _after_failure(compilation, compile_again, error):
    """XLA does not compile a program as it was rewritten, so it is compiled as it was. Where there is no
    room for either, the error is that of the one which we expect to be smaller."""
    if not is_out_of_memory(error):
        _refuse(compilation, f"XLA does not compile {_changed_name(compilation)} as it was rewritten: "
                f"{first_line(error)}")
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
        warn_once("processes", "max_slowdown does nothing in a job of several processes, which have to run the same "
                   "program")
    elif not state.has_trials:
        warn_once("trials", "max_slowdown does nothing: this version of JAX does not let steps be measured")
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
        LOGGER.debug("remat_hlo: %s as it was does not compile: %s", compilation.name, first_line(error))
        return made
    if is_sized and _assigned.temp_bytes(made) > _assigned.temp_bytes(plain):
        _refuse(compilation, f"XLA assigns more temporaries to {_changed_name(compilation)} as it was rewritten "
                "than without that", NO_BETTER)
        return plain
    outcome = _needless(compilation, made, plain) if is_sized else None
    if outcome:
        if options.verbose:
            say(f"{_changed_name(compilation)} is compiled as it was: XLA assigns {format_bytes(_assigned.temp_bytes(plain))} of "
                f"temporaries to it then, and {format_bytes(_assigned.temp_bytes(made))} as it was rewritten")
        _take_back(compilation, outcome)
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
        warn_once(("room", name), f"{name} is not measured: as it was, it has no room")
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
        warn_once(("slower", name), f"{said}: it is taken back")
    elif options.verbose:
        say(said)


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


def guard_compilations(register):
    """If XLA does not compile what a module was made to be, it compiles the module as it was. Before that,
    `register(platforms)` has XLA call our hooks."""
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
                return _compile_before(inner, compilation, backend, module, *arguments, **named)
            made, error = _assigned.compile_within_limit(options, backend.platform, compilation, compile_it)
            if error is not None:
                if not compilation.changed:
                    raise error
                return _after_failure(compilation, compile_it, error)
            return _beside_as_it_was(options, backend.platform, compilation, compile_it, made)

    replace(compiler, "backend_compile_and_load", inner, backend_compile_and_load)
