"""Compiles in a process of its own: libtpu takes one kind of TPU in a process, and a compilation is stopped by ending it as
soon as XLA has assigned the buffers. What becomes of it is a file, outcome.json."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
OUTCOME, LOG = "outcome.json", "log.txt"
ENOUGH, LATE = "was stopped when that was enough", "took too long"
# What memory_analysis says of a program.
SIZES = ("temp_size_in_bytes", "argument_size_in_bytes", "output_size_in_bytes", "alias_size_in_bytes")
MOST_ERROR_CHARS = 3000
POLL_SECONDS = 0.05
SETTLED_SECONDS = 1           # after which a file that has not grown is whole


# ---- in that process ----

def sizes_of(compiled, *more):
    """SIZES, and further figures, of what XLA has compiled."""
    sizes = compiled.memory_analysis()
    return {name: getattr(sizes, name) for name in (*SIZES, *more)}


def error_of(error):
    """An outcome of which an exception is the whole."""
    return {"error": f"{type(error).__name__}: {error}"[:MOST_ERROR_CHARS]}


def write_outcome(folder, outcome):
    """As a whole or not at all: the process may be ended at any time."""
    made = folder / f"{OUTCOME}.new"
    made.write_text(json.dumps(outcome, indent=1), encoding="utf-8")
    os.replace(made, folder / OUTCOME)


# ---- around it ----

def environment_for(target, dump):
    """What the process needs to be told before it loads a plugin. libtpu takes no flags for XLA."""
    told = dict(target.environment)
    if "XLA_FLAGS" in told:
        told["XLA_FLAGS"] += f" --xla_dump_to={dump} --xla_dump_hlo_as_text"
    return told


def clean_environment():
    """The environment without what the user has set for XLA, JAX and the plugins."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("JAX_", "XLA_", "TPU_", "LIBTPU_"))}


def run_apart(script, order, target, folder, most_seconds, is_enough=lambda: False):
    """Runs a script of this folder with an order in JSON. Returns how it ended: ENOUGH or LATE if it was stopped because of
    what `is_enough` said, or of the time. Its words are in the folder's log.txt, XLA's dumps in `dump`."""
    with open(folder / LOG, "w", encoding="utf-8") as log:
        process = subprocess.Popen([sys.executable, str(HERE / script), json.dumps(order)], stdout=log, stderr=log,
                                   env={**clean_environment(), **environment_for(target, folder / "dump")},
                                   start_new_session=True)
        begin = time.monotonic()
        try:
            while process.poll() is None:
                if is_enough():
                    return ENOUGH
                if time.monotonic() - begin > most_seconds:
                    return LATE
                time.sleep(POLL_SECONDS)
            return f"ended with {process.returncode}"
        finally:
            _end_group(process)


def _end_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:  # it has ended, and so has all that it began
        pass
    process.wait()


def is_assigned(dump, program, platform):
    """Whether XLA has assigned the buffers of the program's module, and dumped that."""
    if platform == "tpu":
        return any(dump.glob(f"*.jit_{program}.*after_optimizations_after_buffer_assignment.txt"))
    # XLA:GPU writes both files side by side; they are whole when neither grows any more.
    def sizes():
        files = [next(dump.glob(f"*.jit_{program}.*gpu_after_optimizations{end}.txt"), None)
                 for end in ("", "-buffer-assignment")]
        return [path.stat().st_size for path in files if path]
    before = sizes()
    if len(before) < 2 or 0 in before:
        return False
    time.sleep(SETTLED_SECONDS)
    return sizes() == before


def read_outcome(folder):
    """What the process has written; None if it has not come to that."""
    path = folder / OUTCOME
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def last_words(folder, most_chars):
    return (folder / LOG).read_text(encoding="utf-8", errors="replace")[-most_chars:]


def total_of(sizes):
    """The bytes of SIZES in all."""
    temp, arguments, outputs, aliased = (sizes[name] for name in SIZES)
    return temp + arguments + outputs - aliased


def find(folder, pattern):
    """The first file of a pattern, or None."""
    return next(iter(sorted(folder.glob(pattern))), None)
