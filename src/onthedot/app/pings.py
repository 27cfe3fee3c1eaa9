"""Where pings go is kept in memory, as a task of the process that declares the schedule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onthedot.app.alerting import PING_POLICY
from onthedot.app.tasks import Task, Tasks
from onthedot.execution.targets.http import require_httpx
from onthedot.execution.targets.ping import Ping
from onthedot.model.alert import ping_task


def pings_of(name: str, urls: object, declared_in: str) -> list[Task[..., Any]]:
    """The task that sends the pings of a schedule, where it has some."""
    if not isinstance(urls, Mapping) or not urls:
        return []
    require_httpx(name)
    return [Task(ping_task(name), Ping(dict(urls)), (), PING_POLICY, declared_in=declared_in)]


def with_pings(tasks: Tasks, name: str, options: dict[str, Any], declared_in: str) -> dict[str, Any]:
    """The options with the kinds of pings alone; where they go is registered here."""
    if "ping" not in options:
        return options
    for task in pings_of(name, options["ping"], declared_in):
        tasks.add(task)
    return {**options, "ping": [*options["ping"]]}
