"""Time-outs and cancellations of plain functions: the task is asked to stop, an exception is raised in its thread, and
if neither helps, somebody is told.

Python raises such an exception between two of its own instructions only: a thread inside a system call, or inside code
written in C, hears of it when that returns. Raised between taking a lock and the `try` that gives it back, it would
leave the lock taken for ever; so it is not raised while the thread is just there, in code that all threads share.
"""

from __future__ import annotations

import ctypes
import sys
import traceback
from collections.abc import Callable
from threading import Lock, get_ident
from types import FrameType

from onthedot.clock import Clock
from onthedot.execution.context import Cancelled, Context, TimedOut
from onthedot.heap import IndexedHeap
from onthedot.loop import Loop

LAST_CHANCE_MS = 5000
"""How long a task may take to end after its time-out."""
COURTESY_MS = 1000
"""How long a task that was asked to stop may take to see that by itself."""
_LOOK_AGAIN_MS = 5

_IMPORTS = frozenset({"importlib", "_frozen_importlib", "_frozen_importlib_external"})
_TAKES_OR_GIVES_A_LOCK = frozenset({"acquire", "handle", "release", "_acquireLock", "_releaseLock"})
"""Of the logging module: they may just have taken a lock, or be about to give one back."""


class Deadline:
    """The end of one call's time, made in the thread of the call. From `begin` to `leave` it may be raised anywhere."""

    def __init__(self, context: Context, on_stuck: Callable[[str], None], *, stops_itself: bool = False) -> None:
        self.context = context
        self._on_stuck = on_stuck
        self._stops_itself = stops_itself
        self._thread = get_ident()
        self._lock = Lock()
        self._inside = False
        self._over = False
        self._raised = False
        self._raise_at_ms = 0
        self._told = False
        self._late_since_ms: int | None = None

    def begin(self) -> None:
        """The call begins; `TimedOut` or `Cancelled` if its time is over already."""
        self._inside = True
        self.context.check()

    def leave(self) -> None:
        """The call is over: from now on nothing is raised in its thread. May be called again."""
        with self._lock:
            self._over = True
        if self._raised:
            _raise_in(self._thread, None)  # what is on its way but has not come is called back

    def pass_by(self, now_ms: int) -> int | None:
        """The time is over, or somebody wants it to stop: ask, and raise; later give up.

        After how long to come again; None: never.
        """
        with self._lock:
            if self._over:
                return None
            if self._late_since_ms is None:
                self._late_since_ms = now_ms
                if not self.context.cancelled:
                    self.context.time_out()
            if self._stops_itself:
                return None
            late_for_ms = now_ms - self._late_since_ms
            if self._inside and late_for_ms >= self._raise_at_ms and self._may_raise(late_for_ms):
                _raise_in(self._thread, TimedOut if self.context.timed_out else Cancelled)
                self._raised = True
                self._raise_at_ms = late_for_ms + LAST_CHANCE_MS // 2  # somebody may have swallowed it
            if late_for_ms < LAST_CHANCE_MS:
                return self._raise_at_ms - late_for_ms if self._raised else _LOOK_AGAIN_MS
            told, self._told = self._told, True
        if not told:
            self._on_stuck(place_of(self._thread))
        return LAST_CHANCE_MS  # it counts as ended, and should not go on for ever

    def _may_raise(self, late_for_ms: int) -> bool:
        """The locks of `threading` are mostly the task's own: after half of its last chance they do not count."""
        frame = sys._current_frames().get(self._thread)
        return frame is not None and not _is_delicate(frame, also_waiting=late_for_ms < LAST_CHANCE_MS // 2)


class LastChance:
    """Of an `async def` task that was cancelled on its loop: it may have swallowed that, or hold up the loop."""

    def __init__(self, on_stuck: Callable[[], None]) -> None:
        self._on_stuck = on_stuck

    def pass_by(self, now_ms: int) -> int | None:
        """It has not ended in time: somebody is told."""
        self._on_stuck()
        return None


class Deadlines:
    """Watches calls; its thread is made with the first one that has a time-out."""

    def __init__(self, clock: Clock, on_error: Callable[[str, BaseException], None]) -> None:
        self._clock = clock
        self._on_error = on_error
        self._lock = Lock()
        self._heap: IndexedHeap[Deadline | LastChance] = IndexedHeap()
        self._loop: Loop | None = None

    def watch(
        self, context: Context, on_stuck: Callable[[str], None], *, stops_itself: bool = False
    ) -> Deadline | None:
        """The end of the time of a call that this thread makes next: its time-out, or when `interrupt` is called.

        A call that stops itself is only asked to; None if it may take as long as it likes.
        """
        timeout_ms = context.run.policy.timeout_ms
        if timeout_ms is None and stops_itself:
            return None
        deadline = Deadline(context, on_stuck, stops_itself=stops_itself)
        if timeout_ms is not None:
            self._push(deadline, timeout_ms)
        return deadline

    def interrupt(self, deadline: Deadline) -> None:
        """Its call was asked to stop: if it does not soon, whatever its time-out, it is raised in it."""
        self.forget(deadline)
        self._push(deadline, COURTESY_MS)

    def give_last_chance(self, after_ms: int, on_stuck: Callable[[], None]) -> LastChance:
        """Tell somebody if it is not forgotten within the usual last chance after so long."""
        chance = LastChance(on_stuck)
        self._push(chance, after_ms + LAST_CHANCE_MS)
        return chance

    def _push(self, deadline: Deadline | LastChance, after_ms: int) -> None:
        with self._lock:
            self._heap.push(deadline, self._clock.monotonic_ms() + after_ms)
            if self._loop is None:
                self._loop = Loop("timeouts", self.run_once, self._clock, self._on_error)
                self._loop.start()
        self._loop.wake()

    def forget(self, deadline: Deadline | LastChance) -> None:
        """The call was left."""
        with self._lock:
            if deadline in self._heap:
                self._heap.remove(deadline)

    def run_once(self) -> int | None:
        """Time out what is late; how long until the next."""
        now_ms = self._clock.monotonic_ms()
        with self._lock:
            late = [deadline for deadline, _ in self._heap.pop_due(now_ms)]
        for deadline in late:
            again_ms = self._pass_by(deadline, now_ms)
            if again_ms is not None:
                with self._lock:
                    self._heap.push(deadline, now_ms + again_ms)
        with self._lock:
            following = self._heap.peek()
        return None if following is None else max(following[1] - self._clock.monotonic_ms(), 0)

    def _pass_by(self, deadline: Deadline | LastChance, now_ms: int) -> int | None:
        """What goes wrong with one must not keep the others from being timed out."""
        try:
            return deadline.pass_by(now_ms)
        except Exception as error:
            self._on_error("timeouts", error)
            return None

    def close(self) -> None:
        """Watch no more."""
        if self._loop is not None:
            self._loop.stop()


def _raise_in(thread: int, kind: type[BaseException] | None) -> None:
    """Have it raised in the thread at its next instruction; None takes back what has not been raised yet."""
    exception = None if kind is None else ctypes.py_object(kind)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)


def _is_delicate(frame: FrameType, *, also_waiting: bool) -> bool:
    """Whether the thread may have taken, in its innermost call, a lock that it would not give back."""
    module = _module(frame)
    if module == "logging":
        return frame.f_code.co_name in _TAKES_OR_GIVES_A_LOCK
    if module == "threading":
        return also_waiting
    return module in _IMPORTS or (module == "onthedot" and _is_called_by_a_task(frame))


def _is_called_by_a_task(frame: FrameType | None) -> bool:
    """Whether it is code that the task has called, and not what calls the task."""
    while frame is not None:
        if _module(frame) not in ("onthedot", "threading"):
            return True
        frame = frame.f_back
    return False


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def place_of(thread: int) -> str:
    """Where the thread is just now."""
    frame = sys._current_frames().get(thread)
    if frame is None:
        return "nowhere"
    last = traceback.extract_stack(frame)[-1]
    return f"{last.filename}:{last.lineno}, in {last.name}"
