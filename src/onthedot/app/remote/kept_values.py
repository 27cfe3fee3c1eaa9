"""`app.calendars` and `app.triggers` over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from onthedot.app.options import trigger_of
from onthedot.app.remote.connection import Connection, Document
from onthedot.app.values import Calendars, KeptCalendar, KeptTrigger, NamedTriggers
from onthedot.errors import StoreError, ValueNotFound
from onthedot.moments import ceil_ms
from onthedot.triggers.calendar_days import calendar_days, days_named
from onthedot.triggers.codec import decode, encode, without_pins


class RemoteCalendars(Calendars):
    """Each call is one request. Files and holidays are read here, and their days sent."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection.no_store, _nobody, "UTC")
        self._connection = connection

    def put(self, name: str, content: Any) -> KeptCalendar:
        self._use(name)
        days = calendar_days(content).content()
        listed = [{"date": each[0], "name": each[1] if len(each) > 1 else None} for each in days["days"]]
        body = {"days": listed, "source": days["source"], "until": days.get("until")}
        return _calendar(self._connection.put("calendars", name, body=body))

    def get(self, name: str, rev: int | None = None) -> KeptCalendar:
        return _calendar(self._connection.get("calendars", name, **_of(rev)))

    def list(self) -> Sequence[KeptCalendar]:
        return [_calendar(each) for each in self._connection.get("calendars").all("calendars")]

    def delete(self, name: str) -> bool:
        return _deleted(self._connection, "calendars", name)

    def users(self, name: str, limit: int = 100) -> Sequence[str]:
        return list(self._connection.get("calendars", name)["users"] or ())[:limit]


class RemoteNamedTriggers(NamedTriggers):
    """Each call is one request."""

    def __init__(self, connection: Connection, timezone: str) -> None:
        super().__init__(connection.no_store, _nobody, timezone)
        self._connection = connection

    def put(self, name: str, content: Any) -> KeptTrigger:
        self._use(name)
        trigger = trigger_of(content, f"trigger {name}").with_default_zone(self._timezone)
        body = {"trigger": without_pins(encode(trigger))}
        return _trigger(self._connection.put("triggers", name, body=body))

    def get(self, name: str, rev: int | None = None) -> KeptTrigger:
        return _trigger(self._connection.get("triggers", name, **_of(rev)))

    def list(self) -> Sequence[KeptTrigger]:
        return [_trigger(each) for each in self._connection.get("triggers").all("triggers")]

    def delete(self, name: str) -> bool:
        return _deleted(self._connection, "triggers", name)

    def users(self, name: str, limit: int = 100) -> Sequence[str]:
        return list(self._connection.get("triggers", name)["users"] or ())[:limit]


def _nobody(what: str) -> Any:
    raise StoreError(f"{what}: this is asked over HTTP")


def _of(rev: int | None) -> dict[str, int]:
    return {} if rev is None else {"rev": rev}


def _deleted(connection: Connection, kind: str, name: str) -> bool:
    try:
        connection.delete(kind, name)
    except ValueNotFound:
        return False
    return True


def _calendar(told: Document) -> KeptCalendar:
    until = told["until"]
    entries = [(each["date"], each["name"] or "") for each in told["days"]]
    days = days_named(entries, source=told["source"], until=None if until is None else date.fromisoformat(until))
    return KeptCalendar(told["name"], told["rev"], ceil_ms(told["created_at"]), days)


def _trigger(told: Document) -> KeptTrigger:
    return KeptTrigger(told["name"], told["rev"], ceil_ms(told["created_at"]), decode(told["trigger"]))
