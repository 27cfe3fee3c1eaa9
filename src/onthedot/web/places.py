"""Places before the store: so many changes, and so many looks, wait for it at the same time.

A store that hangs keeps whoever asks it. What it keeps is bounded, so that threads are left for what needs no store
(style, the way in, the last truth), and connections for a node that works in the same process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar
from starlette.concurrency import run_in_threadpool

from onthedot.web.problems import Refused

PATIENCE_S = 10.0
"""So long one waits for a place."""
_RETRY_S = 5
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Places:
    """Of each event loop its own, as its threads are."""

    most: int
    what: str
    _limiter: RunVar[anyio.CapacityLimiter]

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """`Refused` if no place is free for a while."""
        limiter = self._here()
        try:
            with anyio.fail_after(PATIENCE_S):
                await limiter.acquire_on_behalf_of(owner := object())
        except TimeoutError:
            said = f"the store is slow: {self.most} {self.what} wait for it; try again"
            raise Refused(503, "store-busy", said, headers={"Retry-After": str(_RETRY_S)}) from None
        try:
            yield
        finally:
            limiter.release_on_behalf_of(owner)

    def _here(self) -> anyio.CapacityLimiter:
        try:
            return self._limiter.get()
        except LookupError:
            made = anyio.CapacityLimiter(self.most)
            self._limiter.set(made)
            return made

    async def in_time(self, function: Callable[[], T]) -> T | None:
        """What it gives, in a thread of these places; None if that takes longer: then it holds its place until it
        ends, and nobody else waits for it."""
        limiter, owner = self._here(), object()
        with anyio.move_on_after(PATIENCE_S):
            await limiter.acquire_on_behalf_of(owner)
            return await asyncio.shield(asyncio.ensure_future(_holding(limiter, owner, function)))
        return None


async def _holding(limiter: anyio.CapacityLimiter, owner: object, function: Callable[[], T]) -> T:
    """A task of its own: a thread that nobody waits for any longer would else have given its place back."""
    try:
        return await anyio.to_thread.run_sync(function, limiter=anyio.CapacityLimiter(1))
    finally:
        limiter.release_on_behalf_of(owner)


CHANGES = Places(6, "changes", RunVar("onthedot places for changes"))
"""To be taken when all of a request has come."""
LOOKS = Places(7, "looks", RunVar("onthedot places for looks"))
"""With the changes, `HEALTH`, the watcher, its index and a keeper 17 of the 20 connections that a store on a server
has: a node beside them plans, writes outcomes and renews its lease. And less than the 40 threads that FastAPI has."""
HEALTH = Places(1, "looks", RunVar("onthedot places for health"))


async def look(function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Ask the store something, in a place among the looks, and in a thread."""
    async with LOOKS.taken():
        return await run_in_threadpool(function, *args, **named)
