"""The other side of a process for tasks: calls what it is sent, says what came of it, and ends with its parent."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread, get_ident
from types import FrameType
from typing import TYPE_CHECKING, Any

from onthedot.errors import OnthedotError
from onthedot.execution.capture import capture_logging
from onthedot.execution.context import Context
from onthedot.execution.engines import engine as engines
from onthedot.execution.execute import execute, outcome_of
from onthedot.execution.results import ANYTHING, Expected
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.states import State

if TYPE_CHECKING:
    from onthedot.execution.targets import Target


INTERRUPT = signal.SIGUSR1
"""From the listening thread to the main one."""


@dataclass(frozen=True, slots=True)
class Call:
    """To the child: do this. The target is unpickled where an error of it can be told."""

    run: Run
    target: bytes
    expected: Expected = ANYTHING


@dataclass(frozen=True, slots=True)
class Stop:
    """To the child: the run should stop."""

    timed_out: bool


@dataclass(frozen=True, slots=True)
class Ask:
    """From the child: what does the store say?"""

    name: str
    about: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """To the child."""

    value: Any


@dataclass(frozen=True, slots=True)
class Done:
    """From the child: how the run ended, and how much memory the process has."""

    outcome: Outcome
    used_bytes: int
    timed_out: bool


def serve(pipe: Connection, first: Sequence[Callable[[], object]] = ()) -> None:
    """The life of a child; what it does first."""
    os.setsid()  # Ctrl-C is the parent's affair; and all that a task starts can be ended with it
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]  # tasks may have children
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    capture_logging()
    for act in first:
        act()
    child = _Child(pipe)
    signal.signal(INTERRUPT, child.interrupt)
    Thread(target=child.listen, name="onthedot-parent", daemon=True).start()
    child.run()


class _Child:
    """Calls tasks in the main thread, where a signal can interrupt them; listens to the parent in another."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._sending = Lock()
        self._tasks: SimpleQueue[Call] = SimpleQueue()
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._main = get_ident()
        self._pid = os.getpid()
        self._context: Context | None = None
        self._inside = False
        self._sends = False
        self._interrupted = False

    def listen(self) -> None:
        """Take what the parent sends; when it is gone, so is this process."""
        while True:
            try:
                message = self._pipe.recv()
            except (EOFError, OSError):
                os._exit(1)
            match message:
                case Stop(timed_out):
                    self._stop(timed_out)
                case Answer(value):
                    self._answers.put(value)
                case Call():
                    self._tasks.put(message)

    def _stop(self, timed_out: bool) -> None:
        context = self._context
        if context is None:
            return
        if timed_out:
            context.time_out()
        else:
            context.stop()
        signal.pthread_kill(self._main, INTERRUPT)

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """In the main thread: raised inside the task, also where it waits for the system; but not inside a message."""
        if self._inside and self._context is not None:
            if self._sends:
                self._interrupted = True
            else:
                self._context.check()

    def run(self) -> None:
        """One task after the other."""
        while True:
            done = self._done(self._tasks.get())
            if os.getpid() != self._pid:  # the task has forked, and its fork has come here
                os._exit(0)
            _flush()
            self._send(done)

    def _done(self, call: Call) -> Done:
        context = Context(call.run, on_line=self._send, facts=_Remote(self), expected=call.expected)
        self._context = context
        try:
            self._inside = True
            outcome = execute(_Called(call.target), context)
            self._inside = False
        except BaseException as error:  # an interruption that came when the task was just over
            self._inside = False
            outcome = outcome_of(context, error)
        self._context = None
        return Done(outcome, _used_bytes(), context.timed_out)

    def ask(self, name: str, *about: Any) -> Any:
        """Ask the parent, which has the store."""
        self._send(Ask(name, about))
        return self._answers.get()

    def _send(self, message: object) -> None:
        if os.getpid() != self._pid:
            return  # two that write into one pipe would be understood by nobody
        if get_ident() != self._main:
            with self._sending:
                self._pipe.send(message)
            return
        self._sends = True
        with self._sending:
            self._pipe.send(message)
        self._sends = False
        if self._interrupted and self._context is not None:
            self._interrupted = False
            self._context.check()


class _Called:
    """A target as it was sent: found where it is called, and called to its end, `async def` or not."""

    is_async = False
    stops_itself = False
    pool = "process"
    engine = None

    def __init__(self, pickled: bytes) -> None:
        self._pickled = pickled

    def elsewhere(self, context: Context) -> engines.Call:
        raise NotImplementedError  # it is here

    def call(self, context: Context, args: Any) -> Any:
        target: Target = pickle.loads(self._pickled)  # our own parent's: no store has had it in its hands
        called = target.call(context, args)
        return asyncio.run(_awaited(called)) if isinstance(called, Awaitable) else called


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


class _Remote:
    """What the store says, by way of the parent."""

    def __init__(self, child: _Child) -> None:
        self._child = child

    def previous_ms(self, run: Run) -> int | None:
        found: int | None = self._child.ask("previous")
        return found

    def last_success_ms(self, run: Run) -> int | None:
        found: int | None = self._child.ask("last_success")
        return found

    def results(self, run: Run, step: str, first: int, limit: int) -> list[tuple[int, State, Any]]:
        found: list[tuple[int, State, Any]] = self._child.ask("results", step, first, limit)
        return found

    def complete(self, run: Run, outcome: Outcome, connection: Any) -> None:
        raise OnthedotError("ctx.complete() works in threads and on event loops, not with pool='process'")


def _flush() -> None:
    """What a task has printed is out before its run has ended: this process may be ended at any time then."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # a task may have closed it, or put anything in its place
            stream.flush()


def _used_bytes() -> int:
    """What this process has in memory; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
