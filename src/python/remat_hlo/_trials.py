"""Measures the first steps of programs that were changed beside those of the programs as they were, and goes on with
the latter where the former turn out slower than allowed (`max_slowdown`). Both compute the same bits, so that steps may
take turns. Private parts of JAX are replaced for it, and nothing is measured where they are missing."""

import copy
import functools
import os
import threading
import time
import weakref

import jax

# Steps of each program that count, after one that does not.
STEPS = 3
# Their attributes are replaced: (module, class or None, name).
NEEDED = (("jax._src.interpreters.pxla", "ExecuteReplicated", "__call__"),
          ("jax._src.interpreters.pxla", "MeshExecutable", "__init__"),
          ("jax._src.interpreters.pxla", None, "MeshExecutableFastpathData"),
          ("jax._src.compiler", None, "_cache_write"))


def find_needed():
    """(where it is, its name, what it is) for each row of NEEDED; None if this JAX lacks one."""
    found = []
    for module, part, name in NEEDED:
        try:
            place = __import__(module, fromlist=["*"])
            place = getattr(place, part) if part else place
            found.append((place, name, getattr(place, name)))
        except (ImportError, AttributeError):
            return None
    return found


class Trial:
    """One program: what it was made to be, and as it was. Its lock is held by the thread that runs a step which
    counts; other threads run the changed program meanwhile, uncounted."""

    def __init__(self, made, plain, max_slowdown, on_end):
        self.made, self.plain, self.max_slowdown, self.on_end = made, plain, max_slowdown, on_end
        self.lock = threading.Lock()
        self.seconds = {"made": [], "plain": []}
        self.meshes = []      # weak references to JAX's executables, which hold `made`

    def next(self):
        """Whose turn it is."""
        return "made" if len(self.seconds["made"]) <= len(self.seconds["plain"]) else "plain"

    def is_over(self):
        return len(self.seconds["plain"]) > STEPS

    def slowdown(self):
        """The shortest step of what was made, as a multiple of that of the program as it was."""
        made, plain = (min(self.seconds[whose][1:]) for whose in ("made", "plain"))
        return made / plain if plain > 0 else 1.0


def has_room(executable):
    """Whether the devices have room for what a program takes beside its arguments; what they do not say is that of
    the host."""
    sizes = executable.get_compiled_memory_stats()
    needed = sizes.temp_size_in_bytes + sizes.output_size_in_bytes - sizes.alias_size_in_bytes
    for device in executable.local_devices():
        stats = device.memory_stats() or {}
        if stats.get("bytes_limit"):
            free = stats["bytes_limit"] - stats.get("bytes_in_use", 0)
        else:
            free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if needed > free:
            return False
    return True


class Trials:
    """All that are under way, by the id of the changed executable, which the trial keeps alive."""

    def __init__(self):
        self.lock = threading.Lock()
        self.of = {}

    def begin(self, made, plain, max_slowdown, on_end):
        """`on_end(slowdown, is_taken_back)` is called once, in the thread that ran the last step; the slowdown is
        None if the program as it was could not be run."""
        with self.lock:
            self.of[id(made)] = Trial(made, plain, max_slowdown, on_end)

    def find(self, executable):
        with self.lock:
            return self.of.get(id(executable))

    def clear(self):
        with self.lock:
            self.of.clear()

    def end(self, trial, slowdown):
        with self.lock:
            if self.of.pop(id(trial.made), None) is None:
                return
        is_taken_back = slowdown is not None and slowdown > trial.max_slowdown
        if is_taken_back:
            for mesh in filter(None, (reference() for reference in trial.meshes)):
                mesh.unsafe_call.xla_executable = trial.plain
                mesh.xla_executable = trial.plain
        _forget_fast_paths()
        trial.on_end(slowdown, is_taken_back)

    # ---- what takes the place of JAX's ----

    def replace(self, replace):
        """replace(place, name, inner, outer) for each part of JAX; false if one is missing."""
        found = find_needed()
        if found is None:
            return False
        makers = (self._call, self._init, self._fast_path, self._cache_write)
        for (place, name, inner), make in zip(found, makers):
            replace(place, name, inner, make(inner))
        return True

    def _call(self, inner):
        @functools.wraps(inner)
        def call(replicated, *arguments):
            trial = self.find(replicated.xla_executable)
            if trial is None or not trial.lock.acquire(blocking=False):
                return inner(replicated, *arguments)
            try:
                return self._step(trial, replicated, inner, arguments)
            finally:
                trial.lock.release()
        return call

    def _init(self, inner):
        @functools.wraps(inner)
        def init(mesh, *arguments, **named):
            inner(mesh, *arguments, **named)
            trial = self.find(mesh.xla_executable)
            if trial is not None:
                trial.meshes.append(weakref.ref(mesh))
        return init

    def _fast_path(self, inner):
        """While a program is measured, JAX calls it by way of Python."""
        def fast_path(executable, *arguments, **named):
            return None if self.find(executable) else inner(executable, *arguments, **named)
        return fast_path

    def _cache_write(self, inner):
        """What may be taken back is not for other processes."""
        @functools.wraps(inner)
        def cache_write(*arguments, **named):
            executables = [one for one in (*arguments, *named.values()) if self.find(one)]
            return None if executables else inner(*arguments, **named)
        return cache_write

    def _step(self, trial, replicated, inner, arguments):
        whose, called = trial.next(), replicated
        if whose == "plain":
            if not has_room(trial.plain):
                self.end(trial, None)
                return inner(replicated, *arguments)
            called = copy.copy(replicated)
            called.xla_executable = trial.plain
        jax.block_until_ready(arguments)
        start = time.perf_counter()
        results = inner(called, *arguments)
        jax.block_until_ready(results)
        trial.seconds[whose].append(time.perf_counter() - start)
        if trial.is_over():
            self.end(trial, trial.slowdown())
        return results


def _forget_fast_paths():
    """JAX takes a program that went by way of Python to be one that always does, until its table of fast paths is
    empty. Nothing is traced or compiled anew for that."""
    from jax._src import pjit
    cache = getattr(pjit, "_cpp_pjit_cache_fun_only", None)
    clear_all = getattr(type(cache), "clear_all", None)
    for one in (cache, getattr(pjit, "_cpp_pjit_cache_explicit_attributes", None)):
        if hasattr(one, "clear"):
            one.clear()
    if clear_all is not None:
        clear_all()
