"""Single keys from a terminal, without Enter, and the terminal as it was afterwards."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

_PARTS = re.compile(r"\x1b[O\[][0-9;]*[A-Za-z~]|.", re.DOTALL)
_NAMED = {"\x1b[A": "up", "\x1b[B": "down", "\x1bOA": "up", "\x1bOB": "down", "\x03": "q", "\x1b": "q"}


@contextmanager
def ending_on_signals() -> Iterator[None]:
    """A terminal that is closed, and SIGTERM, are Ctrl-C: neither the terminal nor anything else may stay as it is."""

    def interrupt(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # once is enough: what follows is the way out
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def key_by_key() -> Iterator[None]:
    """Inside, keys come at once and are not shown."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def next_keys(within_s: float) -> list[str]:
    """The keys that were pressed, at once when there are any; letters as they are, arrows by name."""
    terminal = sys.stdin.fileno()
    if not select.select([terminal], [], [], within_s)[0]:
        return []
    text = os.read(terminal, 1024).decode("utf-8", "replace")
    if not text:  # the terminal is gone
        return ["q"]
    return [_NAMED.get(part, part) for part in _PARTS.findall(text)]
