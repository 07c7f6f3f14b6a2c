"""The C library through ctypes: all of _header.py, and calls, with statuses turned into exceptions. Nothing here keeps
state between calls, except that the library is loaded once."""

import contextlib
import ctypes
import functools
import os
import pathlib

from . import _interrupts
from ._header import *  # noqa: F403  constants and structs are called as the functions below, lib.…

# ---- errors ----

class Diagnostic:
    """An error, warning or note of the library. `line` and `column` count from 1; they are None if
    it has no particular place."""

    def __init__(self, severity, code, message, line=None, column=None, rule=None):
        self.severity, self.code, self.message = severity, code, message
        self.line, self.column, self.rule = line, column, rule

    def __str__(self):
        place = f"{self.line}:{self.column}: " if self.line else ""
        return f"{place}{self.severity}: {self.message}"

    def __repr__(self):
        return f"<Diagnostic {self}>"


class Error(Exception):
    """A call of the library failed. `diagnostics` says why."""

    def __init__(self, status, diagnostics=()):
        self.status, self.diagnostics = status, list(diagnostics)
        errors = [d for d in self.diagnostics if d.severity == "error"] or self.diagnostics
        super().__init__("; ".join(map(str, errors)) or status)


class UsageError(Error, ValueError):
    """An argument is unknown or out of range."""


class InputError(Error, ValueError):
    """The text is malformed or contradicts itself."""


class OutOfMemoryError(Error, MemoryError):
    """The library ran out of memory."""


class InternalError(Error, RuntimeError):
    """A bug in the library, which it detected before it did harm."""


class NotEquivalentError(Error):
    """Two modules could not be shown to compute the same results."""


ERRORS = {USAGE: UsageError, INPUT: InputError, MEMORY: OutOfMemoryError, INTERNAL: InternalError,
          NOT_EQUIVALENT: NotEquivalentError}


# ---- loading ----

def path():
    """The shared library: that of $REMAT_HLO_LIBRARY, or else the one beside the package."""
    named = os.environ.get("REMAT_HLO_LIBRARY")
    return pathlib.Path(named) if named else pathlib.Path(__file__).with_name("libremat_hlo.so")


@functools.lru_cache(maxsize=1)
def load():
    """The library. Raises ImportError if it is missing."""
    try:
        library = ctypes.CDLL(str(path()))
    except OSError as error:
        raise ImportError(f"remat_hlo: the C library cannot be loaded: {error}; `pip install .` "
                          "builds it, and REMAT_HLO_LIBRARY names another one") from error
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


# ---- calls ----

def _read_diags(library, diags, text):
    found = []
    for index in range(library.rh_diags_len(diags)):
        diag = library.rh_diags_get(diags, index).contents
        line = column = None
        if text is not None and diag.offset != NO_OFFSET:
            line, column = c_size_t(), c_size_t()
            library.rh_locate(text, len(text), diag.offset, ctypes.byref(line),
                              ctypes.byref(column))
            line, column = line.value, column.value
        severity = SEVERITIES[diag.severity] if diag.severity < len(SEVERITIES) else "note"
        found.append(Diagnostic(severity, diag.code, (diag.message or b"").decode(
            "utf-8", "replace"), line, column, diag.rule.decode() if diag.rule else None))
    return found


def call(name, *arguments, text=None, accept=(OK,)):
    """Calls a function whose last argument is an rh_diags. `text` is what the places of diagnostics
    are in. Returns (status, diagnostics). Raises Error for statuses that are not in `accept`."""
    library = load()
    diags = library.rh_diags_new()
    if not diags:
        raise OutOfMemoryError("RH_ERR_MEMORY")
    try:
        status = getattr(library, name)(*arguments, diags)
        found = _read_diags(library, diags, text)
    finally:
        library.rh_diags_free(diags)
    if status in accept:
        return status, found
    raise ERRORS.get(status, Error)(library.rh_status_name(status).decode(), found)


@contextlib.contextmanager
def called_back(kind, function, on_failure=None):
    """The function as a callback of the library, which is given `on_failure` if it raises. What it raises cannot pass
    through the library, for ctypes prints it and the library gets an undefined number: it is raised at the end of the
    block, instead of what the library made of it. Ctrl-C is handled there, too."""
    caught = []

    def guarded(*arguments):
        try:
            return function(*arguments)
        except BaseException as error:
            caught.append(error)
            return on_failure

    with _interrupts.noted():
        try:
            yield kind(guarded)
        except Error:
            if not caught:
                raise
        if caught:
            raise caught[0]


def collect(name, *arguments):
    """Calls a function whose last arguments are a write function, its context and an rh_diags.
    Returns the bytes that it wrote."""
    parts = []

    def write(_, data, length):
        parts.append(ctypes.string_at(data, length))
        return 0

    with called_back(WRITE_FN, write, on_failure=1) as callback:
        call(name, *arguments, callback, None)
    return b"".join(parts)


class Handle:
    """Owns an object of the library. `keeps` are Python objects that it refers to."""

    def __init__(self, pointer, free, *keeps):
        self.pointer, self._free, self._keeps = pointer, getattr(load(), free), keeps

    def __del__(self):
        if self.pointer:
            self._free(self.pointer)
            self.pointer = None


def entries(registry):
    """(name, summary) of each entry of a registry."""
    library, index, found = load(), 0, []
    while entry := library.rh_list(REGISTRIES[registry], index):
        found.append((entry.contents.name.decode(), entry.contents.summary.decode()))
        index += 1
    return found


def choice(what, value, values):
    """The number of a named value. Raises UsageError."""
    if value not in values:
        raise UsageError("RH_ERR_USAGE", [Diagnostic(
            "error", BAD_OPTION, f"{what}: '{value}' is none of {', '.join(values)}")])
    return values[value]


def flags(what, words, values):
    """The sum of the numbers of some words, in a list or with commas between them. Raises UsageError."""
    words = words.split(",") if isinstance(words, str) else words
    number = 0
    for word in words:
        number |= choice(what, word, values)
    return number


def name_of(number, values):
    """The name of a number, as choice() has it."""
    return next(name for name, value in values.items() if value == number)


def encode(text):
    """Bytes for a C string, None for None. Raises UsageError if there is a NUL in it."""
    if text is None:
        return None
    if "\0" in text:
        raise UsageError("RH_ERR_USAGE", [Diagnostic("error", BAD_OPTION, "a text has a NUL in it")])
    return text.encode()
