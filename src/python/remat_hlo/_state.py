"""What a process has of us while its programs are compiled, and what it is told. XLA's hooks are the process's, too."""

import collections
import dataclasses
import logging
import sys
import threading
import typing

import jax

from . import _trials
from ._decide import EAGER, LiveReport
from ._options import Options
from ._sizes import parse_budget

NAME = "remat_hlo"
LOGGER = logging.getLogger(NAME)
MOST_REPORTS = 1000


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
thread = threading.local()  # .compilation: the innermost one of this thread


@dataclasses.dataclass(eq=False)
class Compilation:
    """A compilation that is under way. `changed` has the keys and reports of what was rewritten."""
    name: str
    options: Options
    device_kind: str = None    # None: that of this process's devices
    is_for_absent: bool = False  # whether the devices are not there
    is_eager: bool = False       # an operation that the program calls outside of any jit of its own
    changed: list = dataclasses.field(default_factory=list)
    is_interrupted: bool = False  # whether Ctrl-C has ended a decision, so that nobody gets what is compiled
    sought_bytes: typing.Optional[int] = None  # a lower limit to search under than that of the options


# ---- words ----

def warn_once(cause, message):
    with state.lock:
        if cause in state.warned:
            return
        state.warned.add(cause)
    LOGGER.warning("remat_hlo: %s", message)


def say(line):
    """Through logging where the program has set that up, else on stderr."""
    if LOGGER.hasHandlers():
        LOGGER.info("%s", line)
    else:
        print(f"remat_hlo: {line}", file=sys.stderr, flush=True)


def tell(options, report):
    """A line on a module, if it is asked for."""
    if options.verbose == "all" or (options.verbose and report.is_worth_a_line):
        say(report)


def first_line(error):
    return (str(error).strip().splitlines() or [""])[0][:300] or type(error).__name__


def remember(report):
    with state.lock:
        state.reports.append(report)


def leaves_alone(options, limit, is_eager, name):
    """Whether a module is an operation outside of any jit, and the budget a part of what each module takes, which says
    nothing of what the program takes. Then that is noted."""
    if not is_eager or not parse_budget(limit).is_relative:
        return False
    report = LiveReport(name, EAGER, options.stage, str(options.mem_limit), is_eager=True)
    remember(report)
    tell(options, report)
    return True


# ---- what is replaced in JAX ----

def replace(module, name, inner, outer):
    """Until the last one is done with us. What somebody else has put over ours meanwhile stays: it calls
    ours, which then does nothing but call JAX's."""
    def put_back():
        if getattr(module, name, None) is outer:
            setattr(module, name, inner)

    setattr(module, name, outer)
    state.undo.append(put_back)
