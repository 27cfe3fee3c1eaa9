"""Streams of messages to those who watch: any number of topics, a bounded number of streams, a bounded queue each."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from secrets import token_hex
from threading import Lock

from onthedot.web.problems import Refused
from onthedot.web.snapshot import Message

MOST_STREAMS = 200
MOST_WAITING = 200
"""Who lets so many messages lie is too slow, and is dropped: it resumes, or begins anew."""
REMEMBERED = 1000
_RETRY_S = 10


@dataclass(frozen=True, slots=True)
class Numbered:
    """A message and its place in the order of all."""

    number: int
    message: Message


@dataclass(frozen=True, slots=True)
class Holder:
    """Who a stream is for; `token` and `digest` are those of their token, None for who needs none."""

    token: str | None = None
    digest: str | None = None
    expires_ms: int | None = None
    """When it ends at the latest, by the store's time."""
    session: str | None = None
    """The secret of their session, if they came by one."""
    outside: bool = False
    """Whether the app in which this one is mounted knows them: that is asked again after a while."""


class Stream:
    """What one client still has to be told. Filled by the watcher's thread, emptied in the loop that made it."""

    def __init__(self, topics: frozenset[str], holder: Holder, most_waiting: int) -> None:
        self._topics = topics and topics | {"store"}
        self.holder = holder
        self._most = most_waiting
        self._loop = asyncio.get_running_loop()
        self._lock = Lock()
        self._waiting: deque[Numbered] = deque()
        self._filled = asyncio.Event()
        self._ended = False

    def can_hear(self, numbered: Sequence[Numbered]) -> bool:
        """Whether these are so few of its topics that it would not be too slow from the beginning."""
        return sum(each.message.topic in self._topics for each in numbered) <= self._most

    def put(self, numbered: Iterable[Numbered]) -> None:
        """Tell it later what it asked for; ends it if it has too much to hear already."""
        wanted = [each for each in numbered if each.message.topic in self._topics]
        if not wanted:
            return
        with self._lock:
            self._waiting.extend(wanted)
            self._ended = self._ended or len(self._waiting) > self._most
        self._wake()

    def end(self) -> None:
        """It is told nothing more, not even what it waits for."""
        self._ended = True
        self._wake()

    @property
    def is_over(self) -> bool:
        """Whether it was ended: it was too slow, or may look no longer."""
        return self._ended

    @property
    def is_behind(self) -> bool:
        """Whether something waits to be told."""
        return bool(self._waiting)

    def _wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._filled.set)
        except RuntimeError:  # its loop is closed, and so is the connection
            self._ended = True

    async def __aiter__(self) -> AsyncIterator[Numbered]:
        while True:
            await self._filled.wait()
            self._filled.clear()
            with self._lock:
                waiting, self._waiting = self._waiting, deque()
            if self._ended:
                return
            for each in waiting:
                yield each


class Streams:
    """All streams of one process. May be used from any thread."""

    def __init__(self, most: int = MOST_STREAMS, most_waiting: int = MOST_WAITING) -> None:
        self._most = most
        self._most_waiting = most_waiting
        self._lock = Lock()
        self._open: set[Stream] = set()
        self._memory: deque[Numbered] = deque(maxlen=REMEMBERED)
        self._signed_out: deque[str] = deque(maxlen=REMEMBERED)
        """Sessions that ended lately: who was let in just before that may open a stream just after it."""
        self._number = 0
        self._epoch = token_hex(4)
        """Numbers of another process, or of another start of this one, mean nothing here."""

    def __len__(self) -> int:
        return len(self._open)

    def open(self, topics: frozenset[str], holder: Holder, last_id: str | None = None) -> tuple[Stream, bool]:
        """A stream, from the message after `last_id` on; False if that is too long ago, or more than it can hear.

        `Refused` if there are enough. Without topics it only has a place, and is ended as all others. To be called
        inside the loop that reads it.
        """
        stream = Stream(topics, holder, self._most_waiting)
        with self._lock:
            self._refuse_more()
            missed = self._since(last_id)
            resumed = missed is not None and stream.can_hear(missed)
            if missed is not None and resumed:
                stream.put(missed)
            self._open.add(stream)
            if holder.session in self._signed_out:
                stream.end()
        return stream, resumed

    def close(self, stream: Stream) -> None:
        """Its place is free again."""
        stream.end()
        with self._lock:
            self._open.discard(stream)

    def publish(self, messages: Iterable[Message]) -> None:
        """Tell them to all that asked for them."""
        with self._lock:
            numbered = [Numbered(number, each) for number, each in enumerate(messages, self._number + 1)]
            self._number += len(numbered)
            self._memory.extend(numbered)
            streams = [*self._open]
        for stream in streams:
            stream.put(numbered)

    def end_where(self, over: Callable[[Holder], bool]) -> None:
        """End the streams of those who may look no longer."""
        with self._lock:
            ended = [stream for stream in self._open if over(stream.holder)]
        for stream in ended:
            stream.end()

    def end_session(self, session: str) -> None:
        """End the streams of a session that is over, also one that is about to be opened."""
        with self._lock:
            self._signed_out.append(session)
        self.end_where(lambda holder: holder.session == session)

    def id_of(self, number: int | None = None) -> str:
        """How a message is named to clients; the newest of all, if none is given."""
        return f"{self._epoch}-{self._number if number is None else number}"

    def _refuse_more(self) -> None:
        if len(self) >= self._most:
            said = f"{self._most:,} streams are open, and no more are kept; ask again later, or look without one"
            raise Refused(503, "too-many-streams", said, headers={"Retry-After": str(_RETRY_S)})

    def _since(self, last_id: str | None) -> list[Numbered] | None:
        """What came after that message; None if it is not known any more what that was."""
        if last_id is None:
            return []
        epoch, _, text = last_id.partition("-")
        if epoch != self._epoch or not (text.isascii() and text.isdecimal() and len(text) < 16):
            return None
        number = int(text)
        if number > self._number or number < self._number - len(self._memory):
            return None
        return [each for each in self._memory if each.number > number]
