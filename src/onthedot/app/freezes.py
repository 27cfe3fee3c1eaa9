"""`app.freezes`: windows in which no tick of certain schedules becomes a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from onthedot.app.names import name_problem
from onthedot.app.remedies import did_you_mean
from onthedot.errors import FreezeNotFound, MomentError, SettingsError
from onthedot.model.change import Author
from onthedot.model.freeze import Freeze
from onthedot.moments import ceil_ms, iso
from onthedot.storable import brief, can_be_kept, label_problem
from onthedot.stores.base import Store

_WHERE = ("tag", "name")


class Freezes:
    """May be called from any process that can reach the store."""

    def __init__(self, open_store: Callable[[], Store], by: Callable[[str], Author]) -> None:
        self._open_store = open_store
        self._by = by

    def put(
        self, name: str, start: datetime | str, end: datetime | str, *, where: Mapping[str, str] | None = None
    ) -> Freeze:
        """From `start` up to `end` no tick of these schedules becomes a run, nor starts one that waits; only what is
        asked for by hand runs. All schedules, or `where={"tag": …}` or `where={"name": "etl-*"}`, also both.

        When it returns it is written into all of them, and those that are put later get it. The same name again is
        another window instead.
        """
        store = self._open_store()
        freeze = new_freeze(name, start, end, where, store.now_ms())
        kept = store.put_freeze(freeze, self._by("freeze"))
        self._carry_out(store)
        return kept

    def list(self) -> Sequence[Freeze]:
        """Those to come, those that last, and for a month those that are over; by name."""
        return [each for each in self._open_store().freezes() if not each.thawed]

    def get(self, name: str) -> Freeze:
        """The one of that name; `FreezeNotFound`."""
        known = self.list()
        found = next((each for each in known if each.name == name), None)
        if found is None:
            raise FreezeNotFound(name, tuple(each.name for each in known))
        return found

    def thaw(self, name: str) -> Freeze:
        """End it now, or take it back before it begins. What it left out is not caught up."""
        if not isinstance(name, str) or not can_be_kept(name):
            raise FreezeNotFound(brief(name))
        store = self._open_store()
        thawed = store.thaw(name, self._by("thaw"))
        self._carry_out(store)
        return thawed

    def _carry_out(self, store: Store) -> None:
        """Should this process die meanwhile, any node goes on."""
        while store.carry_out_freezes():
            pass


def new_freeze(
    name: str, start: datetime | str, end: datetime | str, where: Mapping[str, str] | None, now_ms: int
) -> Freeze:
    """The freeze that is meant; `SettingsError` or `MomentError` in one line."""
    problem = name_problem(name)
    if problem is not None:
        raise SettingsError(f"freeze: {problem}")
    start_ms, end_ms = _moment(start, "start", name), _moment(end, "end", name)
    if end_ms <= start_ms:
        raise SettingsError(f"freeze {name}: its end {iso(end_ms)} is not after its start {iso(start_ms)}")
    if end_ms <= now_ms:
        raise SettingsError(f"freeze {name}: it is over already, at {iso(end_ms)}; nothing that ran can be frozen")
    tag, pattern = _whom(where, name)
    return Freeze(name, start_ms, end_ms, tag, pattern)


def _moment(moment: datetime | str, what: str, name: str) -> int:
    try:
        return ceil_ms(moment)
    except MomentError as error:
        raise MomentError(f"freeze {name}: {what}: {error}") from None


def _whom(where: Mapping[str, str] | None, name: str) -> tuple[str | None, str | None]:
    if where is None:
        return None, None
    if not isinstance(where, Mapping) or not where:
        raise SettingsError(
            f"freeze {name}: where takes {{'tag': …}} or {{'name': 'etl-*'}}; leave it out to freeze all schedules"
        )
    for key, value in where.items():
        if key not in _WHERE:
            raise SettingsError(f"freeze {name}: where knows no {key!r}; {did_you_mean(str(key), _WHERE)}")
        problem = label_problem(value)
        if problem is not None:
            raise SettingsError(f"freeze {name}: where: {key}: {problem}")
    return where.get("tag"), where.get("name")
