"""One watcher per process: looks at the store once a second, whoever watches, and tells them what has changed.

Events live in one process, so a dashboard alone hears none: the store is looked at. A look costs five statements at
most, the first one nine. When nobody has looked for a while there are no looks, and no thread.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import Request

from onthedot import events
from onthedot.app.app import App
from onthedot.app.outlook import Planned, StoreOutlook
from onthedot.clock import Clock, StoreClock
from onthedot.errors import StoreError
from onthedot.loop import Loop
from onthedot.model.change import Change
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.token import Token
from onthedot.stores.base import Store
from onthedot.web.coming import Coming
from onthedot.web.security import Caller
from onthedot.web.snapshot import MINUTE_MS, Away, Message, Snapshot, compare, is_followed, new_changes, renewed
from onthedot.web.streams import Holder, Streams

LOOK_MS = 1000
HASTENED_MS = 250
"""Looks are this far apart at least. One that is hastened takes the place of the next."""
UNNEEDED_MS = 30_000
"""So long after the last reader has gone nobody looks any more."""
FORGOTTEN_MS = 5000
"""After so long without a look everything is read anew, and not only what has its turn."""
SILENT_MS = 3000
"""A store that has not answered for so long is away."""
MOST_RUNNING = 200
MOST_RECENT = 1000
MOST_CHANGES = 50
_OVERLAP_MS = 5000
"""Runs that were made so long ago are read again: one may be seen later than another that was made after it."""
_log = logging.getLogger("onthedot.web")


# what a look reads: pure


@dataclass(frozen=True, slots=True)
class Turns:
    """What is not read at every look, and when it was read last; all of it is due at first."""

    read_ms: tuple[tuple[str, int], ...] = ()
    hurried: frozenset[str] = frozenset()

    def next(self, now_ms: int) -> str:
        """The one that has waited longest, for how often it is wanted. What is in a hurry comes first; but counts,
        which change with every run, are one round ahead and no more, or the others would never have their turn."""
        read = dict(self.read_ms)

        def waited(name: str) -> float:
            rounds = (now_ms - read.get(name, -1 << 40)) / _EVERY_MS[name]
            return rounds + (0 if name not in self.hurried else 1 if name in _COUNTED.values() else 1 << 40)

        return max(_EVERY_MS, key=waited)

    def after(self, turn: str, now_ms: int) -> Turns:
        """When this one has been read."""
        others = ((name, ms) for name, ms in self.read_ms if name != turn)
        return Turns((*others, (turn, now_ms)), self.hurried - {turn})

    def at_once(self, turns: Collection[str]) -> Turns:
        """When these should be read soon."""
        return Turns(self.read_ms, self.hurried | frozenset(turns))


_EVERY_MS = {"nodes": 3000, "run counts": 4000, "schedule counts": 5000, "tokens": 10_000, "clock": 10_000}
"""How often each is wanted; together no more than one a second."""


def _all_read(now_ms: int) -> Turns:
    return Turns(tuple((name, now_ms) for name in _EVERY_MS))


def turns_after(messages: Iterable[Message], changes: Iterable[Change]) -> set[str]:
    """What should be read next after such news."""
    turns = {_COUNTED[each.topic] for each in messages if each.topic in _COUNTED}
    return turns | {"tokens" for change in changes if "token" in {**change.before, **change.after}}


_COUNTED = {"runs": "run counts", "schedules": "schedule counts"}


def since_of(before: Snapshot | None, now_ms: int) -> int:
    """From when on runs are read: those of the last minute, but of those that were read already only the newest, and
    whatever was made after the oldest that has not ended."""
    first_ms = now_ms - MINUTE_MS
    if before is None or before.more:
        return first_ms
    unended = [run.created_ms for run in before.recent if not run.is_final]
    return max(first_ms, min([before.now_ms - _OVERLAP_MS, *unended]))


def merged(before: Snapshot | None, read: list[Run], since_ms: int, now_ms: int) -> tuple[Run, ...]:
    """What was read, and what was known before of the rest of the last minute; newest first."""
    known = () if before is None else before.recent
    kept = [run for run in known if now_ms - MINUTE_MS <= run.created_ms < since_ms]
    both = {run.id: run for run in (*kept, *read)}
    return tuple(sorted(both.values(), key=lambda run: run.id, reverse=True)[:MOST_RECENT])


# the watcher


class Watcher:
    """Of one ASGI app; started by the first need. All of it may be called from any thread."""

    def __init__(self, app: App, streams: Streams | None = None) -> None:
        self.streams = streams or Streams()
        self._app = app
        self._clock: Clock = app.clock
        self._store_clock = StoreClock(lambda: self._app.open_store().now_ms(), self._clock)
        self._coming = Coming(app.open_store, self._clock, lambda: self._is_needed, self._tell_renewed)
        self._seen: Snapshot | None = None
        self._away: Away | None = None
        self._turns = Turns()
        self._looking = Lock()
        self._starting = Lock()
        self._loop: Loop | None = None
        self._needed_ms = -UNNEEDED_MS
        self._looked_ms = -LOOK_MS
        self._due_ms = 0
        self._is_hastened = False
        self._begun_ms: int | None = None
        for kind in _HASTENING:
            app.events.subscribe(kind, self._on_event, wants_all=lambda: self._loop is not None)

    # for those who show it

    def snapshot(self) -> Snapshot:
        """The last truth, read now if nobody has looked lately; `StoreError` where the store never answered."""
        began = self._need()
        if began or self._seen is None:
            self._look_unless_looking()
        if self._seen is None:
            raise StoreError(self._away.why if self._away is not None else "the store has not been read yet")
        return replace(self._seen, away=self._away_now())

    @property
    def away(self) -> Away | None:
        """Set while the store does not answer, as far as is known: it is not asked."""
        return self._away_now()

    def outlook(self) -> StoreOutlook:
        """The runs to come in the next days, of all schedules. Take it once for all reads that must agree."""
        self._need()
        return self._coming.current()

    def outlook_tagged(self, tag: str, first_ms: int, end_ms: int) -> StoreOutlook:
        """The runs to come of the schedules with a tag."""
        self._need()
        return self._coming.tagged(tag, first_ms, end_ms)

    def planned(self) -> Mapping[str, Planned]:
        """The triggers and tags of the schedules that the outlook is of, by name."""
        self._need()
        return self._coming.planned()

    def now_ms(self) -> int:
        """The store's time, without asking it."""
        return self._store_clock.now_ms()

    def last_now_ms(self) -> int:
        """The same, also of a store that has never answered: then nothing is known, and it is 0."""
        return 0 if self._seen is None else self._store_clock.now_ms()

    # its life

    def watch(self) -> bool:
        """Somebody needs it: look from now on, until nobody has for a while. Whether it had to be started for that."""
        return self._need()

    def hasten(self) -> None:
        """Something has happened in this process: look now instead of in a while, if somebody looks at all."""
        loop = self._loop
        if loop is not None and not self._is_hastened:
            self._is_hastened = True
            loop.wake()

    def stop(self) -> None:
        """Ends its threads and all streams."""
        with self._starting:
            loop, self._loop = self._loop, None
        self._needed_ms = -UNNEEDED_MS
        if loop is not None:
            loop.stop()
        self._coming.stop()
        self.streams.end_where(lambda _: True)

    def run_once(self) -> int | None:
        """One pass: a look if it is time; how long until the next."""
        if not self._is_needed:
            with self._starting:
                loop, self._loop = self._loop, None
            if loop is not None:
                loop.stop()
            return None
        now_ms = self._clock.monotonic_ms()
        if self._wait_ms(now_ms) > 0:
            return self._wait_ms(now_ms)
        self._due_ms = max(self._due_ms, now_ms) + LOOK_MS
        self._is_hastened = False
        self.look()
        return self._wait_ms(self._clock.monotonic_ms())

    def _wait_ms(self, now_ms: int) -> int:
        """A look that was hastened takes the place of the next: until that one's time there is no other."""
        hastened_ms = max(self._looked_ms + HASTENED_MS, self._due_ms - LOOK_MS)
        return max((hastened_ms if self._is_hastened else self._due_ms) - now_ms, 0)

    @property
    def _is_needed(self) -> bool:
        return len(self.streams) > 0 or self._clock.monotonic_ms() - self._needed_ms < UNNEEDED_MS

    def _need(self) -> bool:
        """Whether it had to be started for that."""
        self._needed_ms = self._clock.monotonic_ms()
        with self._starting:
            if self._loop is not None:
                return False
            self._due_ms = self._clock.monotonic_ms()
            self._loop = Loop("watcher", self.run_once, self._clock, _on_error)
            self._loop.start()
            return True

    def _on_event(self, _event: Any) -> None:
        self.hasten()

    def _away_now(self) -> Away | None:
        """Also while a look waits for an answer that does not come."""
        begun_ms = self._begun_ms
        if self._away is None and begun_ms is not None and self._clock.monotonic_ms() - begun_ms > SILENT_MS:
            silent_ms = self._clock.monotonic_ms() - begun_ms
            return Away(self._clock.now_ms() - silent_ms, "the store does not answer")
        return self._away

    # looking

    def _look_unless_looking(self) -> None:
        """Whoever comes second waits for what the first one sees, but not for a store that says nothing."""
        before = self._seen
        if not self._looking.acquire(timeout=SILENT_MS / 1000):
            return
        try:
            if self._seen is before:
                self._look()
        finally:
            self._looking.release()

    def look(self) -> None:
        """Look at the store, and tell what has changed."""
        with self._looking:
            self._look()

    def _look(self) -> None:
        self._begun_ms = self._looked_ms = self._clock.monotonic_ms()
        before = None if self._seen is None else replace(self._seen, away=self._away)
        try:
            seen = self._read(self._app.open_store(), self._still_known())
        except StoreError as error:
            self._lose(before, error)
            return
        finally:
            self._begun_ms = None
        self._seen, self._away = seen, None
        if before is not None:
            self._tell(before, seen)

    def _lose(self, before: Snapshot | None, error: StoreError) -> None:
        if self._away is None:
            self._away = Away(self._clock.now_ms(), str(error))
            _log.warning("the store is away: %s", error)
        if before is not None:
            self.streams.publish(compare(before, replace(before, away=self._away)))

    def _still_known(self) -> Snapshot | None:
        """What need not be read anew at once; None after a while without a look, when all of it may be wrong."""
        seen = self._seen
        if seen is None or self._clock.monotonic_ms() - seen.read_ms > FORGOTTEN_MS:
            return None
        return seen

    def _read(self, store: Store, before: Snapshot | None) -> Snapshot:
        begun_ms = self._clock.monotonic_ms()
        turn = None if before is None else self._turns.next(begun_ms)
        if turn in (None, "clock"):
            self._store_clock.measure()
        if turn == "tokens" and len(self.streams):
            tokens = store.tokens()
            self.streams.end_where(lambda holder: is_over(holder, tokens, self.now_ms()))
        now_ms = self._store_clock.now_ms()
        since_ms = since_of(before, now_ms)
        recent = store.runs(since_ms=since_ms, limit=MOST_RECENT)
        seen = Snapshot(
            now_ms=now_ms,
            read_ms=begun_ms,
            schedules=store.count_schedules(now_ms=now_ms)
            if before is None or turn == "schedule counts"
            else before.schedules,
            runs=store.count_runs() if before is None or turn == "run counts" else before.runs,
            running=tuple(store.runs(state=State.RUNNING, limit=MOST_RUNNING)),
            recent=merged(before, recent, since_ms, now_ms),
            more=len(recent) == MOST_RECENT,
            nodes=tuple(store.nodes()) if before is None or turn == "nodes" else before.nodes,
            nodes_ms=now_ms if before is None or turn == "nodes" else before.nodes_ms,
            changes=tuple(store.changes(limit=MOST_CHANGES)),
        )
        self._turns = _all_read(begun_ms) if turn is None else self._turns.after(turn, begun_ms)
        return seen

    def _tell(self, before: Snapshot, seen: Snapshot) -> None:
        messages = compare(before, seen)
        new = new_changes(before, seen)
        if not is_followed(before, seen):
            self._coming.note(None)
        elif names := {change.schedule for change in new if change.schedule}:
            self._coming.note(names)
        self._turns = self._turns.at_once(turns_after(messages, new))
        self.streams.publish(messages)

    def _tell_renewed(self, schedules: Collection[str] | None) -> None:
        self.streams.publish([renewed(schedules)])


def is_over(holder: Holder, tokens: Iterable[Token], now_ms: int) -> bool:
    """Whether they may look no longer: their token is revoked or another, or its time or their session's is over. Who
    needed none needs one as soon as there is one."""
    if holder.outside:
        return holder.expires_ms is not None and holder.expires_ms <= now_ms
    if holder.token is None:
        return any(True for _ in tokens)
    known = any(token.name == holder.token and token.digest == holder.digest for token in tokens)
    return not known or (holder.expires_ms is not None and holder.expires_ms <= now_ms)


def holder_of(caller: Caller, now_ms: int) -> Holder:
    """Whose stream it is, and until when at the latest."""
    if caller.outside:
        return Holder(expires_ms=now_ms + OUTSIDE_MS, outside=True)
    if caller.token is None:
        return Holder()
    return Holder(caller.token.name, caller.token.digest, caller.ends_ms, caller.cookie)


OUTSIDE_MS = 15 * 60_000
"""After so long a browser has to open its stream anew, and the app around this one is asked who that is."""
_HASTENING = (events.RunStarted, events.RunEnded, events.Paused, events.NodeStarted, events.NodeStopped)
"""What of this process is worth a look at once."""


def _on_error(_stage: str, error: BaseException) -> None:
    _log.error("the watcher failed, and goes on", exc_info=error)


async def _watcher(request: Request) -> Watcher:
    watcher: Watcher = request.app.state.watcher
    return watcher


TheWatcher = Annotated[Watcher, Depends(_watcher)]
