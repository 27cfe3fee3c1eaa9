"""One thread that looks, for all who wait, whether their runs have ended. It ends when nobody waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from onthedot.app.aio.calls import Calls, tell, unless_done
from onthedot.durations import to_duration_ms
from onthedot.errors import RunNotFound, StoreError
from onthedot.model.run import Run
from onthedot.storable import can_be_kept

if TYPE_CHECKING:
    from onthedot.app.app import App

_LOOK_MS = 100
_LOOK_OVER_HTTP_MS = 1000
"""There each run is a request of its own."""
_AT_ONCE = 500


@dataclass(slots=True, eq=False)
class Waiter:
    """Somebody on a loop who waits for a run."""

    run_id: str
    until_ms: int
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Run]

    def tell(self, settle: Callable[[Any], object], value: Any) -> None:
        tell(self.loop, unless_done, self.answer, settle, value)


class Waits:
    """May be used from any number of loops at once."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._thread = Calls()
        self._lock = Lock()
        self._waiters: set[Waiter] = set()
        self._is_looking = False

    async def wait(self, run_id: str, *, timeout: timedelta | str = "1m") -> Run:
        """Wait until the run has ended, or the time is over; the run as it is then."""
        loop = asyncio.get_running_loop()
        until_ms = self._app.clock.monotonic_ms() + to_duration_ms(timeout)
        waiter = Waiter(run_id, until_ms, loop, loop.create_future())
        try:
            self._add(waiter)
            return await waiter.answer
        finally:
            self._forget([waiter])

    def close(self) -> None:
        """Nobody waits any more: who did is told."""
        with self._lock:
            waiters, self._waiters = self._waiters, set()
        for each in waiters:
            error = StoreError(f"app.close() was called while run {each.run_id} was waited for")
            each.tell(each.answer.set_exception, error)
        self._thread.close()

    def after_fork(self) -> None:
        """Who waited, waits in the parent."""
        self._thread.after_fork()
        self._lock, self._waiters, self._is_looking = Lock(), set(), False

    def _add(self, waiter: Waiter) -> None:
        with self._lock:
            self._waiters.add(waiter)
            begins, self._is_looking = not self._is_looking, True
        if not begins:
            return
        try:
            self._thread.submit(self._look_until_nobody_waits)
        except RuntimeError:  # the program is ending
            self._is_looking = False
            raise

    def _look_until_nobody_waits(self) -> None:
        """Half of the time at most, however many wait."""
        every_ms = _LOOK_MS if self._app.connection is None else _LOOK_OVER_HTTP_MS
        never = Event()
        while waiters := self._now_waiting():
            began_ms = self._app.clock.monotonic_ms()
            self._look(waiters)
            self._app.clock.wait(never, max(every_ms, self._app.clock.monotonic_ms() - began_ms))

    def _now_waiting(self) -> Sequence[Waiter]:
        with self._lock:
            self._is_looking = bool(self._waiters)
            return list(self._waiters)

    def _forget(self, gone: Sequence[Waiter]) -> None:
        with self._lock:
            self._waiters.difference_update(gone)

    def _look(self, waiters: Sequence[Waiter]) -> None:
        """One pass: whoever need not wait any longer is told, also of a store that cannot be asked."""
        try:
            found = self._read(list(dict.fromkeys(each.run_id for each in waiters)))
        except Exception as error:
            for each in waiters:
                each.tell(each.answer.set_exception, error)
            self._forget(waiters)
            return
        now_ms = self._app.clock.monotonic_ms()
        done = [each for each in waiters if _is_over(found.get(each.run_id), each.until_ms, now_ms)]
        for each in done:
            run = found.get(each.run_id)
            if run is None:
                each.tell(each.answer.set_exception, RunNotFound(each.run_id))
            else:
                each.tell(each.answer.set_result, run)
        self._forget(done)

    def _read(self, ids: Sequence[str]) -> Mapping[str, Run]:
        runs = self._app.runs
        if self._app.connection is not None:
            return {run_id: run for run_id in ids if (run := _or_none(runs.get, run_id)) is not None}
        store, known = self._app.open_store(), [each for each in ids if can_be_kept(each)]
        found: dict[str, Run] = {}
        for start in range(0, len(known), _AT_ONCE):
            found |= {run.id: run for run in store.runs(ids=known[start : start + _AT_ONCE], limit=_AT_ONCE)}
        # of a flow that has ended its steps are told too
        return {key: runs.get(key) if run.graph is not None and run.is_final else run for key, run in found.items()}


def _is_over(run: Run | None, until_ms: int, now_ms: int) -> bool:
    return run is None or run.is_final or now_ms >= until_ms


def _or_none(get: Callable[[str], Run], run_id: str) -> Run | None:
    try:
        return get(run_id)
    except RunNotFound:
        return None
