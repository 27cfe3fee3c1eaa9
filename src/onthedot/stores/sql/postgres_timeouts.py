"""Connections to PostgreSQL that give up a server which says nothing.

libpq waits for an answer for ever. Keepalives and `tcp_user_timeout` find out that a machine is gone, and the server
ends statements that take too long; but where the machine lives and the server is stopped, or its disk hangs, the kernel
still acknowledges whatever is sent, and nobody says anything.
"""

from __future__ import annotations

from typing import Any

from psycopg import Connection
from psycopg.abc import RV, PQGen
from psycopg.errors import ConnectionTimeout
from psycopg.pq import TransactionStatus

from onthedot.clock import SystemClock

_clock = SystemClock()
IDLE = TransactionStatus.IDLE


class BoundedConnection(Connection[Any]):
    """Closed, with an error, where an answer does not come, or does not go on, for `read_ms`."""

    read_ms: int

    def commit(self) -> None:
        """Nothing is asked of the driver where there is nothing to commit: that is once for each statement alone."""
        if self.pgconn.transaction_status != IDLE:
            super().commit()

    def rollback(self) -> None:
        """The same; the pool asks for it whenever a connection comes back."""
        if self.pgconn.transaction_status != IDLE:
            super().rollback()

    def wait(self, gen: PQGen[RV], *how: Any, **named: Any) -> RV:
        try:
            return super().wait(_unless_silent(gen, self.read_ms), *how, **named)
        except SilentServer:
            self.close()  # what it may still say would be taken for the answer to another question
            raise


class SilentServer(ConnectionTimeout):
    """The server has said nothing for too long."""


def connect(read_ms: int, options: dict[str, Any]) -> BoundedConnection:
    """Options are those of the driver."""
    connection = BoundedConnection.connect(**options)
    connection.read_ms = read_ms
    return connection


def _unless_silent(gen: PQGen[RV], read_ms: int) -> PQGen[RV]:
    """The same conversation; the driver looks in several times a second, with nothing if nothing has come."""
    heard_ms = _clock.monotonic_ms()
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready:
                heard_ms = _clock.monotonic_ms()
            elif _clock.monotonic_ms() - heard_ms > read_ms:
                raise SilentServer(f"no answer for {read_ms / 1000:g} s")
            wanted = gen.send(ready)
    except StopIteration as end:
        result: RV = end.value
        return result
