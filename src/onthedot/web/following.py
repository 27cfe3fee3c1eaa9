"""A run's log as server-sent events, line by line as it comes, until the run has ended."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import anyio
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event
from starlette.types import Receive, Scope, Send

from onthedot.app.app import App
from onthedot.errors import RunNotFound, StoreError
from onthedot.model.log_line import LogLine
from onthedot.web import models
from onthedot.web.places import look
from onthedot.web.problems import Refused
from onthedot.web.reading import line_model
from onthedot.web.security import Caller
from onthedot.web.streams import Stream
from onthedot.web.watching import Watcher, holder_of

MOST_LINES = 1000
_LOOK_S, _LONGEST_S = 0.5, 3.0
"""How long until the next look: longer and longer, while the run says nothing."""
_QUIET_LOOKS = 5
"""After so many looks without a line a comment shows that the stream still lives."""


async def followed_log(app: App, watcher: Watcher, caller: Caller, run_id: str, after: int) -> EventSourceResponse:
    """Takes one of the places for streams, and gives it back when the client has gone."""
    stream, _ = watcher.streams.open(frozenset(), holder_of(caller, watcher.now_ms()))
    watcher.watch()
    return _Followed(_events(app, stream, run_id, after), lambda: watcher.streams.close(stream))


class _Followed(EventSourceResponse):
    """Lets go of its place whether or not anything of it was sent."""

    def __init__(self, events: AsyncIterator[bytes], let_go: Callable[[], None]) -> None:
        super().__init__(events, headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        self._let_go = let_go

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._let_go()


async def _events(app: App, stream: Stream, run_id: str, after: int) -> AsyncIterator[bytes]:
    quiet, wait_s = 0, _LOOK_S
    while not stream.is_over:
        state, lines = await _looked(app, run_id, after)
        for number, line in enumerate(lines, after + 1):
            yield format_sse_event(event="line", id=str(number), data_str=line_model(line).model_dump_json())
        after, quiet = after + len(lines), 0 if lines else quiet + 1
        if len(lines) == MOST_LINES:
            continue
        if state is not None:
            yield format_sse_event(event="end", data_str=models.LogEnd(state=state, after=after).model_dump_json())
            return
        if quiet % _QUIET_LOOKS == 1:
            yield KEEPALIVE_COMMENT
        wait_s = _LOOK_S if lines else min(wait_s * 1.5, _LONGEST_S)
        await anyio.sleep(wait_s)


async def _looked(app: App, run_id: str, after: int) -> tuple[str | None, list[LogLine]]:
    try:
        return await look(_look, app, run_id, after)
    except Refused:  # too many wait for the store; there will be another look
        return None, []


def _look(app: App, run_id: str, after: int) -> tuple[str | None, list[LogLine]]:
    """How the run ended, if it has, and what it has said since; nothing while the store is away."""
    try:
        run = app.runs.get(run_id)  # asked first: what was said before the end is then all there
        return run.outcome, app.runs.log_page(run_id, after=after, limit=MOST_LINES)
    except RunNotFound:
        return "pruned", []
    except StoreError:
        return None, []
