"""The enqueues of one turn of a loop, written in one transaction."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from itertools import groupby
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from onthedot.app.aio.calls import Calls, tell, unless_done
from onthedot.app.keys import as_given
from onthedot.model.change import Author
from onthedot.model.run import Run
from onthedot.stores.engine.apart import in_parts

if TYPE_CHECKING:
    from onthedot.app.app import App

MOST = 500
"""So many runs are one transaction at most."""


@dataclass(slots=True, eq=False)
class Item:
    """One enqueue, and who waits for its run."""

    answer: asyncio.Future[Run]
    args: Sequence[Any]
    options: Mapping[str, Any]
    context: Context = field(default_factory=copy_context)
    outcome: tuple[Callable[[Any], object], Any] | None = None
    """What is to be told, once it is known."""
    by: Author | None = None
    run: Run | None = None

    def fail(self, error: BaseException) -> None:
        self.outcome = self.answer.set_exception, error

    def succeed(self, run: Run) -> None:
        self.outcome = self.answer.set_result, run


class Batches:
    """Those of each loop are its own. While one is written the next one gathers, so that the busier a program is, the
    fewer transactions it needs for each run."""

    def __init__(self, app: App, calls: Calls) -> None:
        self._app = app
        self._calls = calls
        self._gathering: WeakKeyDictionary[asyncio.AbstractEventLoop, _Gathering] = WeakKeyDictionary()

    async def add(self, *args: Any, **options: Any) -> Run:
        """The run. Who is cancelled while it waits hears no more of it; it is enqueued all the same."""
        loop = asyncio.get_running_loop()
        gathering = self._gathering.get(loop)
        if gathering is None:
            gathering = self._gathering[loop] = _Gathering(self._write, self._calls)
        return await gathering.add(args, options)

    def after_fork(self) -> None:
        """Who waited, waits in the parent."""
        self._gathering = WeakKeyDictionary()

    def _write(self, items: Sequence[Item]) -> None:
        """In a thread. One that is wrong fails alone; while nothing can be written at all, each is told so."""
        if self._app.connection is not None:
            for item in items:
                self._one(item)
            return
        now_ms = self._app.now_ms()
        for item in items:
            self._prepare(item, now_ms)
        ready = [item for item in items if item.run is not None]
        for by, same in groupby(ready, key=lambda item: item.by):
            self._insert(list(same), by)

    def _one(self, item: Item) -> None:
        try:
            item.succeed(item.context.run(self._app.enqueue, *item.args, **item.options))
        except Exception as error:
            item.fail(error)

    def _prepare(self, item: Item, now_ms: int) -> None:
        try:
            item.run, item.by = item.context.run(self._app.prepared, *item.args, now_ms=now_ms, **item.options)
        except Exception as error:
            item.fail(error)

    def _insert(self, items: Sequence[Item], by: Author | None) -> None:
        store = self._app.open_store()

        def insert(some: Sequence[Item]) -> None:
            runs = store.enqueue([item.run for item in some if item.run is not None], by=by)
            for item, run in zip(some, runs, strict=True):
                item.succeed(as_given(run))

        try:
            in_parts(items, insert, lambda item, error: item.fail(error))
        except Exception as error:  # of the store
            for item in items:
                if item.outcome is None:
                    item.fail(error)


class _Gathering:
    """What one loop has asked for and nobody writes yet.

    A turn is handed over whole, when it ends. From then on a thread has it, which goes on until nothing is left: the
    loop may end meanwhile, and what it has asked for is written all the same.
    """

    def __init__(self, write: Callable[[Sequence[Item]], None], calls: Calls) -> None:
        self._write = write
        self._calls = calls
        self._turn: list[Item] = []
        """Only the loop touches it."""
        self._lock = Lock()
        self._turns: deque[list[Item]] = deque()
        self._is_busy = False
        """A thread is at it."""

    def add(self, args: Sequence[Any], options: Mapping[str, Any]) -> asyncio.Future[Run]:
        loop = asyncio.get_running_loop()
        item = Item(loop.create_future(), args, options)
        if not self._turn:
            loop.call_soon(self._end_turn, loop)
        self._turn.append(item)
        return item.answer

    def _end_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        turn, self._turn = self._turn, []
        with self._lock:
            self._turns.append(turn)
            begins, self._is_busy = not self._is_busy, True
        if not begins:
            return
        try:
            self._calls.submit(lambda: self._write_all(loop))
        except RuntimeError as error:  # the program is ending
            while batch := self._next_batch():
                for item in batch:
                    item.fail(error)
                _settle(batch)

    def _write_all(self, loop: asyncio.AbstractEventLoop) -> None:
        while batch := self._next_batch():
            try:
                self._write(batch)
            except BaseException as error:
                for item in batch:
                    if item.outcome is None:
                        item.fail(error)
            tell(loop, _settle, batch)

    def _next_batch(self) -> list[Item]:
        """Whole turns, as many as fit; of a longer one a part."""
        with self._lock:
            batch: list[Item] = []
            while self._turns and len(batch) + len(self._turns[0]) <= MOST:
                batch += self._turns.popleft()
            if self._turns and not batch:
                batch, self._turns[0] = self._turns[0][:MOST], self._turns[0][MOST:]
            self._is_busy = bool(batch)
            return batch


def _settle(batch: Sequence[Item]) -> None:
    for item in batch:
        if item.outcome is not None:
            unless_done(item.answer, *item.outcome)
