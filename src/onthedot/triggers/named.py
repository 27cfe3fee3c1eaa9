"""A trigger that is kept under a name, and changed in one place for all schedules that use it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from onthedot.errors import TriggerError
from onthedot.triggers.base import Trigger
from onthedot.triggers.dates import Calendar, Dates, Excluded
from onthedot.triggers.pinned import Pin, Pinned, Use, read_as


def named(name: str) -> Named:
    """The trigger that `app.triggers` keeps under this name."""
    if not isinstance(name, str) or not name.strip():
        raise TriggerError(f"a named trigger is named by text, not {name!r}", hint='write named("hourly")')
    if "/" in name:
        raise TriggerError(f"the name of a trigger has no slash: {name!r}")
    return Named(name)


@dataclass(frozen=True)  # no slots: what it stands for is worked out once
class Named(Trigger):
    """Made by `named()`. Equal by name and by what is left out: what it stands for is no part of the definition."""

    name: str
    without: tuple[Trigger | Excluded, ...] = ()
    key: str = ""
    pin: Pin | None = field(default=None, compare=False)
    """The revision that a schedule goes by."""

    @property
    def use(self) -> Use:
        """What it names."""
        return Use("trigger", self.name)

    @cached_property
    def _plain(self) -> Trigger:
        from onthedot.triggers.combine import exclude

        if self.pin is None:
            raise TriggerError(f"trigger {self.name!r} has no content", hint="only a store knows what it stands for")
        trigger = _trigger_of(Pinned(self.use, self.pin)).with_key(self.key)
        for item in self.without:
            trigger = exclude(trigger, item)
        return trigger.plain()

    def plain(self) -> Trigger:
        return self._plain

    def next_ms(self, after_ms: int) -> int | None:
        return self._plain.next_ms(after_ms)

    def prev_ms(self, before_ms: int) -> int | None:
        return self._plain.prev_ms(before_ms)

    def next_before_ms(self, after_ms: int, end_ms: int) -> int | None:
        return self._plain.next_before_ms(after_ms, end_ms)

    def prev_after_ms(self, before_ms: int, start_ms: int) -> int | None:
        return self._plain.prev_after_ms(before_ms, start_ms)

    def ticks_at(self, ms: int) -> bool:
        return self._plain.ticks_at(ms)

    def between_ms(self, start_ms: int, end_ms: int) -> Iterator[int]:
        return self._plain.between_ms(start_ms, end_ms)

    def count_ms(self, start_ms: int, end_ms: int) -> int | None:
        return self._plain.count_ms(start_ms, end_ms)

    @property
    def end_ms(self) -> int | None:
        return self._plain.end_ms

    def with_key(self, key: str) -> Named:
        without = tuple(item.with_key(key) if isinstance(item, Trigger) else item for item in self.without)
        return replace(self, key=key, without=without)

    def with_default_zone(self, tz: str) -> Named:
        """What it stands for has its zone: that of the app that put it, where it named none."""
        without = (item.with_default_zone(tz) if isinstance(item, Trigger) else item for item in self.without)
        return replace(self, without=tuple(without))

    def with_calendars(self, calendars: Mapping[str, Dates]) -> Named:
        return replace(self, without=tuple(_filled(item, calendars) for item in self.without))

    def with_pins(self, pins: Mapping[Use, Pin]) -> Named:
        without = tuple(item.with_pins(pins) for item in self.without)
        return replace(self, without=without, pin=pins.get(self.use, self.pin))

    def describe(self) -> str:
        """With what it stands for, where that is known here."""
        items = [f"({item.describe()})" if isinstance(item, Trigger) else item.describe() for item in self.without]
        rest = f", except {' and '.join(items)}" if items else ""
        try:
            if self.pin is not None:
                stands_for = _trigger_of(Pinned(self.use, self.pin)).with_key(self.key).describe()
                return f"{stands_for} (trigger {self.name}){rest}"
        except TriggerError:
            pass
        return f"as trigger {self.name} says{rest}"

    def __str__(self) -> str:
        return " - ".join([f"named({self.name!r})", *map(_in_brackets, self.without)])


def _trigger_of(pinned: Pinned) -> Trigger:
    from onthedot.triggers.codec import decode

    return read_as(pinned, lambda content: decode(content.get("trigger")))


def _filled(item: Trigger | Excluded, calendars: Mapping[str, Dates]) -> Trigger | Excluded:
    if isinstance(item, Calendar):
        return item.filled(calendars)
    return item.with_calendars(calendars) if isinstance(item, Trigger) else item


def _in_brackets(item: Trigger | Excluded) -> str:
    text = str(item)
    return f"({text})" if isinstance(item, Trigger) and (" - " in text or " | " in text) else text
