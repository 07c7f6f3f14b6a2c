"""Ctrl-C while the library works, or XLA does. Python handles signals in its main thread alone, between two of its
instructions: while that thread is within XLA, or anywhere else outside of Python, nobody is told."""

import contextlib
import os
import signal
import sys
import threading
import time


class Wakeups:
    """Signals that arrive while the main thread is within XLA. Python writes them to a file descriptor at once, from
    which other threads can read them; the main thread itself raises KeyboardInterrupt when XLA returns."""

    def __init__(self):
        self.lock = threading.Lock()
        self.reader, self.is_found = None, False

    @contextlib.contextmanager
    def heard(self):
        """Within the block of the main thread, `is_pressed` knows of them, unless the program has a file descriptor of
        its own (as asyncio does), or handles Ctrl-C in its own way."""
        if (threading.current_thread() is not threading.main_thread() or self.reader is not None
                or signal.getsignal(signal.SIGINT) is not signal.default_int_handler):
            yield
            return
        reader, writer = os.pipe()
        is_heard = False
        try:
            is_heard = self._begin(reader, writer)
            yield
        finally:
            if is_heard:
                signal.set_wakeup_fd(-1)
            with self.lock:
                self.reader, self.is_found = None, False
            os.close(reader)
            os.close(writer)

    def _begin(self, reader, writer):
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        try:
            old = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        except ValueError:  # this is not the main interpreter
            return False
        if old != -1:
            signal.set_wakeup_fd(old)
            return False
        self.reader = reader
        return True

    @property
    def is_pressed(self):
        with self.lock:
            if self.reader is not None and not self.is_found:
                with contextlib.suppress(BlockingIOError):
                    self.is_found = signal.SIGINT in os.read(self.reader, 4096)
            return self.is_found


wakeups = Wakeups()


class Noted:
    """Whether Ctrl-C was pressed while the library ran. A program that handles it in its own way may go on, and
    needs what the library does for it: there it ends nothing."""

    def __init__(self, handler):
        self.handler, self.arguments = handler, None

    def note(self, *arguments):
        self.arguments = arguments

    @property
    def is_pressed(self):
        return self.arguments is not None and self.handler is signal.default_int_handler


class NotedElsewhere:
    """The same beside the main thread, which alone is told of Ctrl-C: whether it will raise a KeyboardInterrupt when
    XLA returns, or has got one meanwhile, which it handles (it may wait for this thread) or which has ended the
    program."""

    SECONDS = 0.05  # between two looks

    def __init__(self):
        self.known, self.next, self.is_found = self._interrupts(), 0.0, False

    @staticmethod
    def _interrupts():
        active = getattr(sys, "_current_exceptions", dict)().get(threading.main_thread().ident)
        if isinstance(active, tuple):  # Python 3.11 and before
            active = active[1]
        return [e for e in (active, getattr(sys, "last_value", None)) if isinstance(e, KeyboardInterrupt)]

    @property
    def is_pressed(self):
        if not self.is_found and time.monotonic() >= self.next:
            self.is_found = (wakeups.is_pressed
                             or any(all(e is not known for known in self.known) for e in self._interrupts()))
            self.next = time.monotonic() + self.SECONDS
        return self.is_found


@contextlib.contextmanager
def noted():
    """Ctrl-C is noted within the block, and handled after it. Python handles it in its main thread between
    two of its instructions; within a function that the library calls, it could raise nothing."""
    if threading.current_thread() is not threading.main_thread():
        elsewhere = NotedElsewhere()
        try:
            yield elsewhere
        finally:
            if elsewhere.is_found:
                raise KeyboardInterrupt
        return
    old = signal.getsignal(signal.SIGINT)
    here = Noted(old)
    try:
        if callable(old):
            signal.signal(signal.SIGINT, here.note)
    except ValueError:  # this is not the main interpreter
        old = None
    try:
        yield here
    finally:
        if callable(old):
            signal.signal(signal.SIGINT, old)
            if here.arguments is not None:
                old(*here.arguments)
