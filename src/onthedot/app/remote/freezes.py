"""`app.freezes` over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from onthedot.app.freezes import Freezes, new_freeze
from onthedot.app.remote.connection import Connection
from onthedot.app.remote.values import freeze_of
from onthedot.model.freeze import Freeze
from onthedot.moments import iso


class RemoteFreezes(Freezes):
    """Each call is one request."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._open_store = connection.no_store

    def put(
        self, name: str, start: datetime | str, end: datetime | str, *, where: Mapping[str, str] | None = None
    ) -> Freeze:
        meant = new_freeze(name, start, end, where, now_ms=0)  # whether it is over is judged over there
        body = {
            "start": iso(meant.start_ms),
            "end": iso(meant.end_ms),
            "where": None if where is None else dict(where),
        }
        return freeze_of(self._connection.put("freezes", name, body=body))

    def list(self) -> Sequence[Freeze]:
        return [freeze_of(each) for each in self._connection.get("freezes").all("freezes")]

    def thaw(self, name: str) -> Freeze:
        known = next((each for each in self.list() if each.name == name), None)
        self._connection.delete("freezes", name)
        assert known is not None
        return known
