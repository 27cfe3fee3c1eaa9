"""Server-sent events from the real server, as a client reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from tests.patience import LONGEST_S


@dataclass(frozen=True, slots=True)
class Told:
    """One event."""

    event: str
    data: dict[str, Any]
    id: str | None


@dataclass(slots=True)
class Listener:
    """Reads one event after the other."""

    response: httpx.Response
    _lines: Iterator[str] = field(init=False)

    def __post_init__(self) -> None:
        self._lines = self.response.iter_lines()

    def __iter__(self) -> Iterator[Told]:
        """Until the server ends the stream."""
        fields: dict[str, str] = {}
        for line in self._lines:
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "event" in fields:
                yield Told(fields["event"], json.loads(fields.get("data", "{}")), fields.get("id"))
                fields = {}

    def wait_for(self, event: str, *named: str) -> Told:
        """The next event of that kind that names one of these, or anything."""
        return next(told for told in self if told.event == event and (not named or {*named} & {*told.data["ids"]}))


@contextmanager
def listening(address: str, path: str = "/events", **headers: str) -> Iterator[Listener]:
    """A stream that is open."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    url = f"{address}/api/v1{path}"
    with httpx.Client(timeout=LONGEST_S) as client, client.stream("GET", url, headers=named) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Listener(response)
