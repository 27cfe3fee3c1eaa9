"""The connection of an AsyncSession or AsyncConnection, lent to the store for one enqueue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onthedot.errors import StoreError
from onthedot.model.run import Run


async def lent(connection: Any, insert: Callable[[Any], Run]) -> Run:
    """What `insert` gives with SQLAlchemy's own Connection inside, which it has for as long as that takes."""
    kinds = _kinds()
    if kinds is None or not isinstance(connection, kinds):
        raise StoreError(
            "app.aio.enqueue: connection= takes an AsyncSession or AsyncConnection of SQLAlchemy,"
            f" not {connection!r}; with a plain one call app.enqueue"
        )
    of_session = isinstance(connection, kinds[0])
    run: Run = await connection.run_sync(lambda plain: insert(plain.connection() if of_session else plain))
    return run


def _kinds() -> tuple[Any, Any] | None:
    try:
        from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
    except ImportError:  # no greenlet
        return None
    return AsyncSession, AsyncConnection
