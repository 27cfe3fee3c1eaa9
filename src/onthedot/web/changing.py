"""Changes wait for each other, so that a store which makes them wait does not keep others from looking."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.lowlevel import RunVar

from onthedot.web.problems import Refused

MOST_CHANGES = 20
"""At the same time: half of the threads that wait for the store. The others are for those who look."""
_PATIENCE_S = 10.0
_RETRY_S = 5
_places: RunVar[anyio.CapacityLimiter] = RunVar("onthedot places for changes")


@asynccontextmanager
async def place_for_change() -> AsyncIterator[None]:
    """To be taken when all of the request has come; `Refused` if no place is free for a while."""
    places = _places_here()
    try:
        with anyio.fail_after(_PATIENCE_S):
            await places.acquire_on_behalf_of(owner := object())
    except TimeoutError:
        said = "too many changes wait for the store; try again"
        raise Refused(503, "store-busy", said, headers={"Retry-After": str(_RETRY_S)}) from None
    try:
        yield
    finally:
        places.release_on_behalf_of(owner)


def _places_here() -> anyio.CapacityLimiter:
    try:
        return _places.get()
    except LookupError:
        made = anyio.CapacityLimiter(MOST_CHANGES)
        _places.set(made)
        return made
