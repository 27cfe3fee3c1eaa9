"""What changes, told as it happens: server-sent events that name it, for clients that then ask for it anew."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Header, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent

from onthedot.errors import SettingsError
from onthedot.web.places import look
from onthedot.web.routes.router import VIEWER, new_router
from onthedot.web.security import TheCaller
from onthedot.web.snapshot import TOPICS, Message
from onthedot.web.streams import Numbered, Stream
from onthedot.web.watching import TheWatcher, Watcher, holder_of

router = new_router()

_RETRY_MS = 2000
Opened = tuple[Stream, bool]


async def opened_stream(
    caller: TheCaller,
    watcher: TheWatcher,
    topics: Annotated[
        str, Query(description=f"Of what to be told, with commas between: {','.join(TOPICS)}; all, if left out.")
    ] = "",
    after: Annotated[
        str | None, Query(description="The same as Last-Event-ID, which counts more: a page begins with its version.")
    ] = None,
    last_event_id: Annotated[str | None, Header(description="The id of the last event that was heard.")] = None,
) -> AsyncIterator[Opened]:
    """A place among the streams, before the answer begins, and until it is over."""
    wanted = _topics(topics)
    await look(watcher.snapshot)  # from what was before on, all that changes is told
    stream, resumed = watcher.streams.open(wanted, holder_of(caller, watcher.now_ms()), last_event_id or after)
    try:
        yield stream, resumed
    finally:
        watcher.streams.close(stream)


@router.get("/events", response_class=EventSourceResponse, **VIEWER)
async def events(
    watcher: TheWatcher, opened: Annotated[Opened, Depends(opened_stream)]
) -> AsyncIterator[ServerSentEvent]:
    """What changes: events named `runs`, `schedules`, `nodes`, `changes`, `minute`, and `store` when that went away or
    came back. Their data are the `ids` of what changed; `more` says that others did too.

    `Last-Event-ID` goes on after that event. Where that is too long ago `reset` comes first: ask for everything anew.
    At most 200 streams, then 503; who reads too slowly is cut off.
    """
    stream, resumed = opened
    yield ServerSentEvent(event="open" if resumed else "reset", data={}, id=_first_id(watcher, stream), retry=_RETRY_MS)
    async for each in stream:
        yield _event(watcher, each)


def _first_id(watcher: Watcher, stream: Stream) -> str | None:
    """Of where it begins; what it has missed has ids of its own."""
    return None if stream.is_behind else watcher.streams.id_of()


def _event(watcher: Watcher, told: Numbered) -> ServerSentEvent:
    return ServerSentEvent(event=told.message.topic, id=watcher.streams.id_of(told.number), data=_data(told.message))


def _data(message: Message) -> dict[str, object]:
    schedules = {"schedules": message.schedules} if message.topic == "runs" else {}
    return {"ids": message.ids, **schedules, "more": message.more}


def _topics(text: str) -> frozenset[str]:
    wanted = frozenset(each.strip() for each in text.split(",") if each.strip())
    for each in wanted:
        if each not in TOPICS:
            raise SettingsError(f"topics: no topic {each!r}; there are {', '.join(TOPICS)}")
    return wanted or frozenset(TOPICS)
