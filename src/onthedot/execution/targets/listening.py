"""Listening to a child process until it has ended, and ending it when its run should stop."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections import deque
from contextlib import ExitStack, suppress
from threading import Lock
from typing import IO

from onthedot.clock import Clock, SystemClock
from onthedot.execution.context import Context
from onthedot.execution.targets.secrets import Secrets

LONGEST_LINE = 8192
"""What is longer is kept as several lines."""
_LAST_WORDS = 10
_CHUNK, _MOST_CHUNKS, _TAIL = 65_536, 64, 4096
_LOOK_MS = 50
GIVE_UP_MS = 5000
"""A process that is still there so long after SIGKILL is inside the kernel, and nobody can end it."""


class Child:
    """The leader of a process group, and all that it has started. Belongs to one thread."""

    def __init__(
        self, process: subprocess.Popen[bytes], context: Context, secrets: Secrets, kill_after_ms: int
    ) -> None:
        self._process = process
        self._context = context
        self._streams = [_Stream(process.stdout, "STDOUT", self), _Stream(process.stderr, "STDERR", self)]
        self._secrets = secrets
        self._ending = Ending(process, kill_after_ms)
        self._last_lines = {level: deque[str](maxlen=_LAST_WORDS) for level in ("STDOUT", "STDERR")}

    @property
    def last_words(self) -> list[str]:
        """The last lines of its errors; of its output where it wrote no errors."""
        return [*self._last_lines["STDERR"]] or [*self._last_lines["STDOUT"]]

    @property
    def end(self) -> str:
        """How it ended after it was asked to, for people."""
        return self._ending.said

    def listen(self) -> int:
        """Keep what it says with the run until it has ended, and end it when the run should stop. Its exit code."""
        with ExitStack() as stack:
            selector = stack.enter_context(selectors.DefaultSelector())
            alarm = stack.enter_context(Alarm())
            selector.register(alarm.fd, selectors.EVENT_READ)
            told_of_exit = _watch_exit(selector, stack, self._process.pid)
            for stream in self._streams:
                selector.register(stream.fd, selectors.EVENT_READ, stream)
            self._context.when_stopped(alarm.ring)
            while not self._ending.is_over(asked=self._context.cancelled):
                patient = told_of_exit and not self._context.cancelled
                for key, _ in selector.select(None if patient else _LOOK_MS / 1000):
                    if key.data is None or not key.data.read():
                        selector.unregister(key.fd)
        for stream in self._streams:
            stream.finish()
        exit_code = self._process.poll()
        return -signal.SIGKILL if exit_code is None else exit_code

    @property
    def is_full(self) -> bool:
        """Whether nothing more of what it says is kept."""
        return self._context.log_is_full

    def masked(self, line: bytes) -> bytes:
        """The same without secrets."""
        return self._secrets.masked(line.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def say(self, level: str, line: bytes) -> None:
        """Keep a line."""
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        self._last_lines[level].append(text)
        self._context.keep(level, text)


class Ending:
    """SIGTERM for the whole group, some time, SIGKILL; and whether all of it has gone."""

    def __init__(self, process: subprocess.Popen[bytes], kill_after_ms: int, clock: Clock | None = None) -> None:
        self._process = process
        self._kill_after_ms = kill_after_ms
        self._clock = clock or SystemClock()  # this machine's, as its processes are
        self._asked_ms: int | None = None
        self._killed = False
        self.said = "ended by itself"

    def is_over(self, *, asked: bool) -> bool:
        """Whether nothing is left to wait for. Sends the next signal when it is time for it."""
        exited = self._process.poll() is not None
        if not asked:
            return exited
        now_ms = self._clock.monotonic_ms()
        if exited and not self._signal(0):
            return True
        if self._asked_ms is None:
            self._asked_ms = now_ms
            self.said = "ended on SIGTERM"
            self._signal(signal.SIGTERM)
        late_for_ms = now_ms - self._asked_ms - self._kill_after_ms
        if late_for_ms >= 0 and not self._killed:
            self._killed = True
            self.said = "had to be ended with SIGKILL"
            self._signal(signal.SIGKILL)
        if late_for_ms >= GIVE_UP_MS:
            self.said = f"could not be stopped: process group {self._process.pid} is still there"
            return True
        return False

    def _signal(self, number: int) -> bool:
        """Whether there was anybody to get it."""
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return False
        except PermissionError:  # it runs as somebody else
            return True
        return True


class _Stream:
    """One of the child's outputs, cut into lines. Never blocks."""

    def __init__(self, pipe: IO[bytes] | None, level: str, child: Child) -> None:
        assert pipe is not None
        self.fd = pipe.fileno()
        os.set_blocking(self.fd, False)
        self._level = level
        self._child = child
        self._rest = b""
        self._is_cut = False

    def read(self) -> bool:
        """Take some of what there is; False at its end, or if there is nothing now."""
        try:
            read = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return False
        if self._child.is_full:  # only how it ends is still of interest
            self._rest = (self._rest + read)[-_TAIL:]
            self._is_cut = True
            return bool(read)
        *lines, self._rest = (self._rest + read).split(b"\n")
        for line in lines:
            self._say(line)
        while len(self._rest) > 2 * LONGEST_LINE:  # a secret may be cut where the line is: so it is masked before
            self._rest = self._child.masked(self._rest)
            self._child.say(self._level, self._rest[:LONGEST_LINE])
            self._rest = self._rest[LONGEST_LINE:]
        return bool(read)

    def finish(self) -> None:
        """Take what is there now, up to a bound: what the child left running may hold the pipe open and go on."""
        for _ in range(_MOST_CHUNKS):
            if not self.read():
                break
        lines = self._rest.split(b"\n")
        for line in lines[1 if self._is_cut else 0 :]:  # the first may begin within a secret
            if line:
                self._say(line)
        self._rest = b""

    def _say(self, line: bytes) -> None:
        line = self._child.masked(line)
        for first in range(0, max(len(line), 1), LONGEST_LINE):
            self._child.say(self._level, line[first : first + LONGEST_LINE])


class Alarm:
    """Wakes a selector from any thread."""

    def __init__(self) -> None:
        self.fd, self._ringer = os.pipe()
        self._lock = Lock()
        self._open = True

    def ring(self) -> None:
        with self._lock:
            if self._open:
                os.write(self._ringer, b"!")

    def __enter__(self) -> Alarm:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._open = False
            os.close(self.fd)
            os.close(self._ringer)


def _watch_exit(selector: selectors.BaseSelector, stack: ExitStack, pid: int) -> bool:
    """Have the selector told when the process exits, where the system can."""
    with suppress(AttributeError, OSError):  # not Linux, or an old one
        fd = os.pidfd_open(pid)
        stack.callback(os.close, fd)
        selector.register(fd, selectors.EVENT_READ)
        return True
    return False
