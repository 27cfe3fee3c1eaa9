"""Python functions in processes that can be killed: kept for the next run, renewed after many runs or much memory."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from threading import Lock
from typing import TYPE_CHECKING, Any

from onthedot.clock import Clock
from onthedot.execution.capture import in_children
from onthedot.execution.context import Context, WorkFailed
from onthedot.execution.execute import outcome_of
from onthedot.execution.targets.child import Answer, Ask, Call, Done, Stop, serve
from onthedot.execution.targets.listening import Alarm
from onthedot.forks import tell_of_forks
from onthedot.model.log_line import LogLine
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from onthedot.execution.targets import Target

MOST_RUNS = 1000
MOST_BYTES = 512 * 1024 * 1024
"""After so many runs, or grown to so much memory, a process is replaced."""
_LOOK_S = 1.0
"""How often it is looked at whether the process lives."""
KILL_AFTER_MS = 5000
"""How long a task may take to end after it was asked to."""


class Processes:
    """The processes of one worker. `execute` is called by as many threads as there may be processes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()

    def execute(self, target: Target, context: Context) -> Outcome:
        """Call the target in a process, and wait for its outcome."""
        process = self._take()
        try:
            return process.execute(target, context, self._clock)
        except BaseException:
            process.end()  # nobody knows what it is doing
            raise
        finally:
            self._put_back(process)

    def close(self) -> None:
        """End all of them, also those that are inside a task."""
        with self._lock:
            processes, self._all, self._idle = self._all, set(), []
        for process in processes:
            process.end()

    def _put_back(self, process: _Process) -> None:
        if process.is_worn_out:
            process.end()
        with self._lock:
            if process.is_alive:
                self._idle.append(process)
            else:
                self._all.discard(process)

    def _take(self) -> _Process:
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.is_alive:
                    return process
                self._all.discard(process)
        process = _Process()
        with self._lock:
            self._all.add(process)
        return process


class _Process:
    """One child, and the pipe to it. Executes one run at a time."""

    def __init__(self) -> None:
        # A fresh interpreter: a fork of a process with threads inherits locks that nobody will ever release.
        spawn = get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process: SpawnProcess = spawn.Process(
            target=serve, args=(theirs, tuple(in_children)), name="onthedot-process", daemon=True
        )
        self._process.start()
        theirs.close()
        self._runs = 0
        self._bytes = 0
        self._ended = False
        tell_of_forks(self)

    def after_fork(self) -> None:
        """It is a child of this process's parent: `multiprocessing`, which thinks it is ours, would kill it at exit."""
        self._ended = True
        popen = getattr(self._process, "_popen", None)
        if popen is not None and popen.returncode is None:
            popen.returncode = 0
        self._pipe.close()  # or it would not notice when its own parent dies

    @property
    def is_alive(self) -> bool:
        return not self._ended and self._process.is_alive()

    @property
    def is_worn_out(self) -> bool:
        """Whether it has done enough, or has grown too much."""
        return self._runs >= MOST_RUNS or self._bytes >= MOST_BYTES

    def execute(self, target: Target, context: Context, clock: Clock) -> Outcome:
        self._runs += 1
        with Alarm() as alarm:
            context.when_stopped(alarm.ring)
            try:
                self._pipe.send(Call(context.run, pickle.dumps(target), context.expected))
            except OSError:
                return outcome_of(context, WorkFailed(self._end_of()))
            return self._listen(context, clock, alarm)

    def _listen(self, context: Context, clock: Clock, alarm: Alarm) -> Outcome:
        kill_at_ms: int | None = None
        sources: list[Connection | int] = [self._pipe, alarm.fd, self._process.sentinel]
        while True:
            if context.cancelled and kill_at_ms is None:
                kill_at_ms = clock.monotonic_ms() + KILL_AFTER_MS
                sources.remove(alarm.fd)
                self._send(Stop(timed_out=context.timed_out))
            if kill_at_ms is not None and clock.monotonic_ms() >= kill_at_ms:
                self.end()
                why = "took longer than its time-out" if context.timed_out else "was asked to stop"
                return outcome_of(context, WorkFailed(f"it {why}, did not stop, and its process was killed"))
            ready = wait(sources, _LOOK_S if kill_at_ms is None else 0.05)
            # What it has forked keeps its pipe and its sentinel open after its death.
            if self._pipe in ready or self._process.sentinel in ready or not self._process.is_alive():
                outcome = self._hear(context)
                if outcome is not None:
                    return outcome

    def _hear(self, context: Context) -> Outcome | None:
        """What the child says; the outcome, if it was that."""
        try:
            if not self._pipe.poll():  # it has died, and said nothing before
                return outcome_of(context, WorkFailed(self._end_of()))
            said = self._pipe.recv()
        except (EOFError, OSError):
            return outcome_of(context, WorkFailed(self._end_of()))
        match said:
            case LogLine():
                context.on_line(said)
            case Ask(name, about):
                self._send(Answer(_answer(context, name, about)))
            case Done(outcome, used_bytes, timed_out) if _is_of(outcome, context.run):
                self._bytes = used_bytes
                context.timed_out = context.timed_out or timed_out
                return outcome
        return None

    def _send(self, message: object) -> None:
        with suppress(OSError):  # it has died: that will be heard
            self._pipe.send(message)

    def _end_of(self) -> str:
        self._process.join(KILL_AFTER_MS / 1000)
        self._end_group()  # at once: nobody else can have its number yet
        code = self._process.exitcode
        self.end()
        if code is not None and code < 0:
            return f"its process was ended by signal {-code} in the midst of it"
        return f"its process exited with code {code} in the midst of it"

    def end(self) -> None:
        """Kill it, and all that it has started. May be called again."""
        if self._ended:
            return
        self._ended = True
        if self._process.is_alive():
            self._end_group()
        with suppress(ProcessLookupError):  # before it became the leader of a group of its own
            self._process.kill()
        self._process.join(KILL_AFTER_MS / 1000)
        self._pipe.close()

    def _end_group(self) -> None:
        """All that it has started, and that has not left its group."""
        assert self._process.pid is not None
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _is_of(outcome: Outcome, run: Run) -> bool:
    """Whether it is the outcome of this run, and not what a fork of its process said of an earlier one."""
    return (outcome.run_id, outcome.claim_no) == (run.id, run.claim_no)


def _answer(context: Context, name: str, about: tuple[Any, ...]) -> Any:
    ask: dict[str, Callable[..., Any]] = {
        "previous": context.facts.previous_ms,
        "last_success": context.facts.last_success_ms,
        "results": context.facts.results,
    }
    return ask[name](context.run, *about)
