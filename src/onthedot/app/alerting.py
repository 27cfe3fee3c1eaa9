"""Alerts as users write them: on a schedule, on the app, in files and documents alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from onthedot.app.remedies import did_you_mean
from onthedot.durations import to_duration_ms
from onthedot.errors import DurationError, SettingsError
from onthedot.model.alert import KINDS, PING_KINDS, Alert
from onthedot.storable import brief, label_problem

if TYPE_CHECKING:
    from onthedot.app.tasks import Task

ALERT_KEYS = ("name", "task", "on", "after", "every", "overdue")
TOLD = ("alert", "on", "schedule", "moment", "run_id", "error", "in_a_row", "held_back", "missed", "text")
"""What an alert tells its task."""
_MOST_ALERTS = 20
_MOST_AFTER = 1000
PING_POLICY: Mapping[str, Any] = MappingProxyType({"timeout": "10s", "retries": 5})


def alert(
    name: str,
    *,
    task: str | Task[..., Any],
    on: Sequence[str] | str = "failure",
    after: int = 1,
    every: timedelta | str = "1h",
    overdue: timedelta | str | None = None,
) -> Alert:
    """A run of the task when something happens to a schedule: `alerts=[alert("ops", task="hook", after=3)]`.

    `on` is one or several of failure (so many bad ends in a row as `after` says), recovery, misfire and overdue (no
    success for as long as `overdue` says). It is sent no more often than `every`; the next tells how many were held
    back.
    """
    given = {"task": getattr(task, "name", task), "on": on, "after": after, "every": every, "overdue": overdue}
    return read_alert({"name": name, **given})


def read_alert(said: Mapping[str, Any]) -> Alert:
    """What a document says; `SettingsError` in one line."""
    unknown = next((key for key in said if key not in ALERT_KEYS), None)
    if unknown is not None:
        raise SettingsError(f"alert: no key {brief(unknown)}; {did_you_mean(str(unknown), ALERT_KEYS)}")
    name, task = said.get("name"), said.get("task")
    problem = label_problem(name) if name is not None else "it has no name"
    if problem is not None:
        raise SettingsError(f"alert: name: {problem}")
    where = f"alert {name!r}"
    problem = label_problem(task) if task is not None else "name the task that tells of it, task='hook'"
    if problem is not None:
        raise SettingsError(f"{where}: task: {problem}")
    overdue_ms = None if said.get("overdue") is None else _duration(said["overdue"], f"{where}: overdue")
    on = _kinds(said.get("on", "failure"), where, overdue=overdue_ms is not None)
    after = said.get("after", 1)
    if isinstance(after, bool) or not isinstance(after, int) or not 1 <= after <= _MOST_AFTER:
        raise SettingsError(f"{where}: after: {brief(after)} is not a whole number from 1 to {_MOST_AFTER:,}")
    return Alert(str(name), str(task), on, after, _duration(said.get("every", "1h"), f"{where}: every"), overdue_ms)


def _kinds(value: object, where: str, *, overdue: bool) -> tuple[Any, ...]:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not words:
        raise SettingsError(f"{where}: on: {brief(value)} is none of {', '.join(KINDS)}")
    for word in words:
        if word not in KINDS:
            raise SettingsError(f"{where}: on: {brief(word)} is not known; {did_you_mean(str(word), KINDS)}")
    if "overdue" in words and not overdue:
        raise SettingsError(f"{where}: overdue: say how long after the latest success, overdue='26h'")
    return tuple(kind for kind in KINDS if kind in words or (kind == "overdue" and overdue))


def _duration(value: object, where: str) -> int:
    try:
        return to_duration_ms(value if isinstance(value, timedelta) else str(value))
    except DurationError as error:
        raise SettingsError(f"{where}: {error}") from None


def alerts_problem(value: object) -> str | None:
    """What is wrong with the option `alerts`, in one line; names are looked up later."""
    if not isinstance(value, list | tuple):
        return f"{brief(value)} is no list; write [alert('ops', task='hook')], or ['ops'] for one of the app's"
    if len(value) > _MOST_ALERTS:
        return f"a schedule has at most {_MOST_ALERTS} alerts, not {len(value)}"
    try:
        names = [each.name for each in map(_of, value)]
    except SettingsError as error:
        return str(error)
    twice = next((name for name in names if names.count(name) > 1), None)
    return None if twice is None else f"two alerts are named {twice!r}; give one of them another name"


def _of(value: object) -> Alert:
    if isinstance(value, Alert):
        return value
    if isinstance(value, str):
        return Alert(value, "")
    if isinstance(value, Mapping):
        return read_alert(value)
    raise SettingsError(f"{brief(value)} is no alert; write alert('ops', task='hook'), or the name of one of the app's")


def ping_problem(value: object) -> str | None:
    """What is wrong with the option `ping`, in one line: kinds with urls; or kinds, where others know the urls."""
    if not isinstance(value, Mapping | list):
        return f"{brief(value)} does not map start, success or fail to urls; write {{'success': 'https://…'}}"
    for kind in value:
        if kind not in PING_KINDS:
            return f"{brief(kind)} is not known; {did_you_mean(str(kind), PING_KINDS)}"
    for kind, url in value.items() if isinstance(value, Mapping) else ():
        if not isinstance(url, str) or not url.lower().startswith(("http://", "https://", "env:")):
            return f"{kind}: a url begins with https:// or http://, or is env:NAME, unlike {brief(url)}"
    return None


class AppAlerts:
    """The alerts of an app, by name: those of all its schedules, and those that schedules may name."""

    def __init__(self) -> None:
        self._by_name: dict[str, tuple[Alert, bool]] = {}

    def add(self, made: Alert, *, default: bool) -> None:
        """Declare it, or declare it anew."""
        self._by_name[made.name] = made, default

    def replace(self, names: Iterable[str], alerts: Iterable[tuple[Alert, bool]]) -> None:
        """What a file says now instead of before."""
        gone = set(names)
        kept = {name: each for name, each in self._by_name.items() if name not in gone}
        self._by_name = kept | {made.name: (made, default) for made, default in alerts}

    def copy(self) -> dict[str, tuple[Alert, bool]]:
        """What there is, for `restore`."""
        return dict(self._by_name)

    def restore(self, before: dict[str, tuple[Alert, bool]]) -> None:
        """As it was."""
        self._by_name = before

    @property
    def defaults(self) -> tuple[Alert, ...]:
        """Those of schedules that name none of their own."""
        return tuple(made for made, default in self._by_name.values() if default)

    def all(self) -> tuple[Alert, ...]:
        """All that were declared."""
        return tuple(made for made, _ in self._by_name.values())

    def resolved(self, given: Sequence[object], where: str) -> tuple[Alert, ...]:
        """Those that a schedule names or says itself; `SettingsError` for a name that the app has not."""
        return tuple(self._named(each, where) if isinstance(each, str) else _of(each) for each in given)

    def _named(self, name: str, where: str) -> Alert:
        if name not in self._by_name:
            known = f"the app has {', '.join(self._by_name)}" if self._by_name else "the app has none"
            raise SettingsError(f"{where}: no alert {name!r}, {known}; declare it: app.alert({name!r}, task='hook')")
        return self._by_name[name][0]
