"""Keeps an index of the runs to come in the next days, and exchanges it under its readers when schedules change."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from threading import Lock

from onthedot.app.outlook import Planned, StoreOutlook, coming_days, outlook_of, planned_of, read_planned
from onthedot.clock import Clock
from onthedot.errors import OnthedotError
from onthedot.loop import Loop
from onthedot.stores.base import Store

EVERY_MS = 30_000
_SOON_MS = 1000
_MOST_NAMES = 500
"""Of more changes than these all schedules are read again."""
_MOST_TAGGED = 8
_PART = 20
"""Building takes about a twentieth of the time at most, however many schedules there are."""
_BACK_MS = 120_000
"""The index begins before now: what began a minute ago can still be compared with what was to come."""
_log = logging.getLogger("onthedot.web")


class Coming:
    """One per process. Its first reader waits for the index, the others never do."""

    def __init__(
        self,
        open_store: Callable[[], Store],
        clock: Clock,
        is_needed: Callable[[], bool],
        tell: Callable[[Collection[str] | None], None],
    ) -> None:
        self._open_store = open_store
        self._clock = clock
        self._is_needed = is_needed
        self._tell = tell
        """Of which schedules the index has something new, None if of any: who was told of the change before that has
        read the old one."""
        self._building = Lock()
        self._planned: dict[str, Planned] = {}
        self._current: StoreOutlook | None = None
        self._stale: set[str] | None = None
        """Names of schedules that have changed; None: all may have."""
        self._noting = Lock()
        self._tagging = Lock()
        self._tagged: tuple[Mapping[str, Planned], dict[str, StoreOutlook]] = {}, {}
        """What they are made of, and those that were asked for lately, by tag."""
        self._read_ms = 0
        self._built_ms = 0
        self._last_took_ms = 0
        self._took_ms = 0
        """The lesser of the last two builds: one for which the machine stalled, or the first one of a process, which
        loads what it needs, must not put off the next for a minute."""
        self._loop: Loop | None = None

    def current(self) -> StoreOutlook:
        """The index to read from: take it once for all reads that must agree. It is 30 s old at most while somebody
        looks, a little more where there are very many schedules."""
        found = self._current
        if found is None or self._clock.monotonic_ms() - self._built_ms > EVERY_MS + _PART * self._took_ms:
            self.build()
        self._start()
        assert self._current is not None
        return self._current

    def tagged(self, tag: str, first_ms: int, end_ms: int) -> StoreOutlook:
        """Of the schedules with a tag: made once from what is known of all, until that is another."""
        planned = self.planned()
        with self._tagging:
            known = self._tagged[1] if self._tagged[0] is planned else {}
            found = known.get(tag)
            if found is None or not found.covers(first_ms, end_ms):
                found = outlook_of(planned, first_ms, end_ms, tag=tag)
                others = [*known.items()][1 - _MOST_TAGGED :]
                self._tagged = planned, {**dict(others), tag: found}
        return found.within(first_ms, end_ms)

    def planned(self) -> Mapping[str, Planned]:
        """What the index was made of, by name: another mapping after each build, and never changed."""
        self.current()
        return self._planned

    def note(self, names: Iterable[str] | None) -> None:
        """These schedules have changed; None: nobody knows which."""
        with self._noting:
            known = None if names is None or self._stale is None else self._stale | {*names}
            self._stale = None if known is None or len(known) > _MOST_NAMES else known
        loop = self._loop
        if loop is not None:
            loop.wake()

    def build(self) -> None:
        """Read what has changed, or everything where that is not known, and put the new index in place."""
        with self._building:
            begun_ms, is_first = self._clock.monotonic_ms(), self._current is None
            store, (changed, stale) = self._open_store(), self._take_stale()
            try:
                planned = read_planned(store) if stale is None else self._renewed(store, stale)
                index = coming_days(planned, store.now_ms() - _BACK_MS)
            except BaseException:
                self.note(stale)
                raise
            self._planned, self._current = planned, index
            self._built_ms = self._clock.monotonic_ms()
            self._read_ms = begun_ms if stale is None else self._read_ms
            took_ms = self._built_ms - begun_ms
            self._took_ms, self._last_took_ms = min(took_ms, self._last_took_ms), took_ms
        if not is_first and changed != set():
            self._tell(changed)

    def run_once(self) -> int | None:
        """Build anew if something has changed or it is time; how long until that may be."""
        if not self._is_needed():
            self.stop()
            return None
        wait_ms = self._wait_ms()
        if wait_ms > 0:
            return wait_ms
        try:
            self.build()
        except OnthedotError as error:
            _log.warning("what is to come cannot be told: %s", error)
            return EVERY_MS
        return self._wait_ms()

    def stop(self) -> None:
        """Its thread ends; the index stays."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.stop()

    def _start(self) -> None:
        with self._noting:
            if self._loop is None:
                self._loop = Loop("coming", self.run_once, self._clock, _on_error)
                self._loop.start()

    def _take_stale(self) -> tuple[set[str] | None, set[str] | None]:
        """What has changed, and what is to be read: everything if that was long ago, since ends and parkings leave no
        line in the audit."""
        with self._noting:
            changed = stale = self._stale
            if self._current is None or self._clock.monotonic_ms() - self._read_ms >= self._every_ms():
                stale = None
            self._stale = set()
            return changed, stale

    def _renewed(self, store: Store, names: set[str]) -> dict[str, Planned]:
        found = store.schedules(names=sorted(names), limit=len(names)) if names else []
        read = planned_of(found, store.now_ms()) if found else {}
        kept = {name: each for name, each in self._planned.items() if name not in names}
        return {**kept, **{name: each for name, each in read.items() if each is not None}}

    def _every_ms(self) -> int:
        return max(EVERY_MS, _PART * self._took_ms)

    def _wait_ms(self) -> int:
        """Until the next build: soon if something has changed, but never so often that it costs more than its part."""
        changed = self._stale is None or bool(self._stale)
        wanted_ms = max(_SOON_MS, _PART * self._took_ms) if changed else self._every_ms()
        return self._built_ms + wanted_ms - self._clock.monotonic_ms()


def _on_error(_stage: str, error: BaseException) -> None:
    _log.error("what is to come cannot be told", exc_info=error)
