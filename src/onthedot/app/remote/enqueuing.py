"""`app.enqueue` over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from onthedot.app.options import checked_for_runs
from onthedot.app.remote.connection import Connection
from onthedot.app.remote.values import arguments, plain, run_of
from onthedot.model.run import Run


def enqueue(
    connection: Connection,
    task: Any,
    *,
    args: Mapping[str, Any] | None,
    delay: timedelta | str | None,
    at: datetime | str | None,
    key: str | None,
    options: Mapping[str, Any],
) -> Run:
    """A run of the task, now or later. Without a key an answer that got lost leaves open whether it was taken."""
    body = {
        "task": plain(task),
        "args": arguments(task, args),
        "delay": plain(delay),
        "at": plain(at),
        "key": key,
        "options": plain(checked_for_runs(options, "enqueue")),
    }
    return run_of(connection.post("runs", body=body))
