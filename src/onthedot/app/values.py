"""`app.calendars` and `app.triggers`: what triggers name, kept once, changed in one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from onthedot.app.ends import check_fires
from onthedot.app.names import name_problem
from onthedot.app.options import trigger_of
from onthedot.app.pinning import pinned_triggers, with_the_latest
from onthedot.errors import SettingsError, TriggerError, ValueNotFound
from onthedot.model.change import Author
from onthedot.model.value import Value, value_id
from onthedot.moments import from_ms
from onthedot.node.carrying import carry_new
from onthedot.stores.base import Store
from onthedot.stores.known_values import learn_triggers
from onthedot.triggers.base import Trigger
from onthedot.triggers.calendar_days import CalendarDays, calendar_days, days_from
from onthedot.triggers.codec import decode, encode, without_pins
from onthedot.triggers.pinned import Content, Use, ValueKind, digest_of, direct_pins, remember

DECLARED = "declared"
"""In the content: the digest of what a file or code said, so that an operator's put is not undone by the next start."""
_USERS = 100
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kept:
    """One revision."""

    name: str
    rev: int
    created_ms: int

    @property
    def created_at(self) -> datetime:
        """When this revision was put."""
        return from_ms(self.created_ms)


@dataclass(frozen=True, slots=True)
class KeptCalendar(Kept):
    """A calendar."""

    days: CalendarDays


@dataclass(frozen=True, slots=True)
class KeptTrigger(Kept):
    """A named trigger."""

    trigger: Trigger


class Values(Generic[T]):
    """What calendars and named triggers have in common. All of it may be called from any process."""

    kind: ValueKind

    def __init__(self, open_store: Callable[[], Store], by: Callable[[str], Author], timezone: str) -> None:
        self._open_store = open_store
        self._by = by
        self._timezone = timezone
        self.declares: Callable[[DeclaredValue], None] = lambda declared: None
        """Where what is declared goes."""

    def put(self, name: str, content: Any) -> T:
        """Create it, or write its next revision, and put the schedules that use it anew with that; only their future is
        planned anew. Where it says the same as before, nothing happens."""
        told = self.content_of(name, content)
        declared = self._head_content(name).get(DECLARED)
        return self._read(self.put_content(name, told if declared is None else {**told, DECLARED: declared}))

    @with_the_latest
    def put_content(self, name: str, content: Content) -> Value:
        """The same, of what `content_of` gave."""
        store = self._open_store()
        value = store.put_value(self._use(name), content, self._by(f"put {self.kind}"))
        carry_new(store, self._by(f"follow {self.kind} {name}"))
        return value

    def get(self, name: str, rev: int | None = None) -> T:
        """The latest, or that revision of it; `ValueNotFound`."""
        store, use = self._open_store(), self._use(name)
        found = store.values(use) if rev is None else store.values_at([value_id(use, rev)])
        if not found or not found[0].content:
            raise self._missing(name)
        return self._read(found[0])

    def list(self) -> Sequence[T]:
        """The latest of each, by name."""
        return [self._read(each) for each in self._open_store().values() if each.kind == self.kind]

    def delete(self, name: str) -> bool:
        """Whether there was one; `Conflict` naming them, while schedules use it."""
        if name_problem(name) is not None:
            return False
        try:
            self._open_store().remove_value(self._use(name), self._by(f"delete {self.kind}"))
        except ValueNotFound:
            return False
        return True

    def users(self, name: str, limit: int = _USERS) -> Sequence[str]:
        """The schedules that use it, by name, up to so many; before them named triggers, as "trigger hourly"."""
        use, store = self._use(name), self._open_store()
        named = [each.name for each in store.values() if use in _uses(each)]
        return [*(f"trigger {each}" for each in named), *(each.name for each in store.users(str(use), limit=limit))]

    def declare(self, name: str, content: Any) -> None:
        """Say it in code: `sync` puts it, unless the store has this declaration already. Touches no store."""
        self._use(name)
        self.declares(DeclaredValue(self, name, content, self.said_by(name, content)))

    def content_of(self, name: str, content: Any) -> dict[str, Any]:
        """What is kept of it, checked; `SettingsError` or `TriggerError` else."""
        raise NotImplementedError

    def said_by(self, name: str, content: Any) -> Any:
        """What somebody says by that, as JSON; checked as far as it can be without a store."""
        raise NotImplementedError

    def _read(self, value: Value) -> T:
        raise NotImplementedError

    def _use(self, name: str) -> Use:
        problem = name_problem(name)
        if problem is not None:
            raise SettingsError(f"{self.kind}: {problem}")
        return Use(self.kind, name)

    def _head_content(self, name: str) -> Content:
        found = self._open_store().values(self._use(name))
        return found[0].content if found else {}

    def _missing(self, name: str) -> ValueNotFound:
        known = tuple(each.name for each in self._open_store().values() if each.kind == self.kind)
        return ValueNotFound(self.kind, name, known)


class Calendars(Values[KeptCalendar]):
    """`app.calendars`: days that triggers leave out."""

    kind: ValueKind = "calendar"

    def content_of(self, name: str, content: Any) -> dict[str, Any]:
        """Of `dates(…)`, `ics(…)`, `holidays_of(…)`, or a mapping of dates to names."""
        try:
            return calendar_days(content).content()
        except TriggerError as error:
            raise TriggerError(f"calendar {name}: {error.reason}", hint=error.hint) from None

    def said_by(self, name: str, content: Any) -> Any:
        """Its days."""
        return self.content_of(name, content)

    def _read(self, value: Value) -> KeptCalendar:
        return KeptCalendar(value.name, value.rev, value.created_ms, days_from(value.content))


class NamedTriggers(Values[KeptTrigger]):
    """`app.triggers`: triggers that schedules use by name."""

    kind: ValueKind = "trigger"

    @with_the_latest
    def put(self, name: str, content: Any) -> KeptTrigger:
        """Create it, or write its next revision, and put the schedules that use it anew with that; only their future is
        planned anew. Calendars in it are used at their latest, now and later."""
        return super().put(name, content)

    def content_of(self, name: str, content: Any) -> dict[str, Any]:
        """Of a trigger, in the app's zone where it names none."""
        given = trigger_of(content, f"trigger {name}")
        trigger = given.with_default_zone(self._timezone).with_key("")
        if _has_named(encode(trigger)):
            raise TriggerError(
                f"trigger {name}: a named trigger is made of no other", hint="write out what the other one says"
            )
        pinned = pinned_triggers(self._open_store(), {f"trigger {name}": trigger})[f"trigger {name}"]
        check_fires(f"trigger {name}", pinned.with_key(name))
        return {"trigger": encode(pinned)}

    def said_by(self, name: str, content: Any) -> Any:
        """The trigger, without revisions."""
        trigger = trigger_of(content, f"trigger {name}").with_default_zone(self._timezone)
        return without_pins(encode(trigger.with_key("")))

    def _read(self, value: Value) -> KeptTrigger:
        learn_triggers(self._open_store(), [value.content.get("trigger", {})])
        remember(value.pinned, value.content)
        return KeptTrigger(value.name, value.rev, value.created_ms, decode(value.content.get("trigger")))


@dataclass(frozen=True, slots=True)
class DeclaredValue:
    """A calendar or named trigger as code or a file declares it."""

    values: Values[Any]
    name: str
    content: Any
    said: Any
    """What tells one declaration from another, as JSON."""

    @property
    def use(self) -> Use:
        """What it declares."""
        return Use(self.values.kind, self.name)

    def put_unless(self, head: Value | None) -> None:
        """Put it, unless that was declared already; what an operator has put since stays."""
        digest = digest_of({"said": self.said})
        if head is None or head.content.get(DECLARED) != digest:
            content = self.values.content_of(self.name, self.content)
            self.values.put_content(self.name, {**content, DECLARED: digest})


def _uses(value: Value) -> list[Use]:
    return [pinned.use for pinned in direct_pins(value.content.get("trigger"))]


def _has_named(encoded: Any) -> bool:
    if isinstance(encoded, dict):
        return encoded.get("type") == "named" or any(_has_named(each) for each in encoded.values())
    return isinstance(encoded, list) and any(map(_has_named, encoded))
