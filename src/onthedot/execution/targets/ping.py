"""Pings: a request to a watchman somewhere else when a run begins, succeeds or fails (healthchecks.io and its like)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onthedot.execution.context import Context, WorkFailed
from onthedot.execution.targets.http import HttpCall
from onthedot.execution.targets.secrets import Secrets

_log = logging.getLogger("onthedot.pings")
_START_S = 5


@dataclass(frozen=True, slots=True)
class Ping:
    """Where to, by kind: start, success, fail. Declared in code or a file, never read from a store."""

    urls: Mapping[str, str]

    def __str__(self) -> str:
        return "pings " + ", ".join(self.urls)

    async def __call__(self, context: Context) -> dict[str, Any]:
        """Tell the one that the run is about."""
        kind = str(context.run.args.get("kind"))
        if kind not in self.urls:
            raise WorkFailed(f"this node knows no url for the ping {kind!r}; it knows {', '.join(self.urls)}")
        return await HttpCall("GET", self.urls[kind])(context)

    def tell_of_start(self) -> None:
        """Once, and as well as it goes: who is not there is logged."""
        import httpx

        if "start" not in self.urls:
            return
        secrets = Secrets()
        try:
            url = secrets.read(self.urls["start"], "the ping of a start", in_url=True)
            httpx.get(url, timeout=_START_S).raise_for_status()
        except (httpx.HTTPError, httpx.InvalidURL, WorkFailed) as error:
            _log.warning("a ping of a start was not heard: %s", secrets.masked(str(error) or type(error).__name__))
