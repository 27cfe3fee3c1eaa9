"""Triggers of APScheduler 3 as ours. They come as inert objects, as `pickles` reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta, tzinfo
from functools import reduce
from operator import or_
from typing import Any

from onthedot.app.moving.cron_fields import on_days
from onthedot.apscheduler.pickles import Inert
from onthedot.durations import format_duration
from onthedot.errors import TriggerError
from onthedot.moments import floor_ms, from_ms
from onthedot.storable import beginning, brief, shown
from onthedot.triggers import Trigger, at, cron, every
from onthedot.triggers.zones import zone_name

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_LEAST = {"year": 1970, "month": 1, "day": 1, "day_of_week": 0, "hour": 0, "minute": 0, "second": 0}
_MOST = {"year": 2199, "month": 12, "day": 31, "day_of_week": 6, "hour": 23, "minute": 59, "second": 59}


class Refusal(Exception):
    """Why something stays with APScheduler."""


def trigger_of(theirs: Any, now: datetime) -> tuple[Trigger, float]:
    """Our trigger, and the seconds of jitter; `Refusal` where there is none."""
    kind = theirs.path.rpartition(".")[2] if isinstance(theirs, Inert) else type(theirs).__name__
    convert = _CONVERSIONS.get(kind) if _is_theirs(theirs) else None
    if convert is None:
        raise Refusal(
            f"its trigger is {brief(theirs)}, which is no trigger of APScheduler's own; write it as cron(…) or every(…)"
        )
    try:
        return convert(theirs.state, now), _jitter(theirs.state.get("jitter"))
    except TriggerError as error:
        raise Refusal(f"its trigger cannot be had: {error.line}") from None
    except Refusal:
        raise
    except Exception as error:  # a row may hold anything
        said = beginning(shown(error), 200)
        raise Refusal(f"its trigger, {brief(theirs)}, is not written as version 3 writes it: {said}") from None


def _jitter(seconds: Any) -> float:
    if not isinstance(seconds, int | float | None):
        raise Refusal(f"the jitter of its trigger is {brief(seconds)}, which is no number of seconds")
    return seconds or 0


def _is_theirs(theirs: Any) -> bool:
    return isinstance(theirs, Inert) and theirs.path.startswith("apscheduler.triggers.")


# cron


def _cron(state: dict[str, Any], now: datetime) -> Trigger:
    fields = {field.state["name"]: field.state["expressions"] for field in state["fields"]}
    if any(kind != "AllExpression" or each.state.get("step") for kind, each in _expressions(fields.get("week", []))):
        raise Refusal("its trigger goes by the week of the year (week=), which cron cannot say")
    bounds = {"tz": _zone(state["timezone"]), "starts_at": state["start_date"], "repeat_until": state["end_date"]}

    def made(days: str, weekdays: str) -> Trigger:
        texts = [_numbers(name, fields[name]) for name in ("second", "minute", "hour")]
        year = _numbers("year", fields["year"])
        words = [*texts, days, _numbers("month", fields["month"]), weekdays, *([] if year == "*" else [year])]
        return cron(" ".join(words), **bounds)

    allowed = _values("day_of_week", fields["day_of_week"])
    parts = [part for group in _day_groups(fields["day"]) if (part := _on_days(made, group, allowed)) is not None]
    if not parts:
        raise Refusal("its days and days of the week never meet")
    return reduce(or_, parts)


def _day_groups(expressions: Sequence[Inert]) -> Iterator[tuple[str, int | None]]:
    """The days of the month, or a weekday's place in it with the number of that weekday."""
    plain: list[Inert] = []
    for kind, each in _expressions(expressions):
        if kind == "WeekdayPositionExpression":
            place, weekday = each.state["option_num"], each.state["weekday"]
            yield (f"{WEEKDAYS[weekday]}L" if place == 5 else f"{WEEKDAYS[weekday]}#{place + 1}"), weekday
        elif kind == "LastDayOfMonthExpression":
            yield "L", None
        else:
            plain.append(each)
    if plain:
        yield _numbers("day", plain), None


def _on_days(made: Callable[[str, str], Trigger], group: tuple[str, int | None], allowed: set[int]) -> Trigger | None:
    """Their day of the month *and* their day of the week, which begins with Monday."""
    days, weekday = group
    if weekday is not None:
        return made("*", days) if weekday in allowed else None
    return on_days(made, days, {(each + 1) % 7 for each in allowed})


def _expressions(found: Sequence[Inert]) -> Iterator[tuple[str, Inert]]:
    for each in found:
        yield each.path.rpartition(".")[2], each


def _numbers(name: str, expressions: Sequence[Inert]) -> str:
    """A field of numbers as cron writes it."""
    return ",".join(_range(name, kind, each.state) for kind, each in _expressions(expressions))


def _range(name: str, kind: str, state: dict[str, Any]) -> str:
    step = state.get("step")
    if kind == "AllExpression":
        if not step:
            return "*"
        return f"{_LEAST[name]}-{_MOST[name]}/{step}" if name == "year" else f"*/{step}"
    first, last = state["first"], state["last"]
    last = min(_MOST[name] if last is None else last, _MOST[name])
    return (str(first) if first == last else f"{first}-{last}") + (f"/{step}" if step else "")


def _values(name: str, expressions: Sequence[Inert]) -> set[int]:
    """The numbers that a field allows."""
    found: set[int] = set()
    for each in expressions:
        first, last = each.state.get("first", _LEAST[name]), each.state.get("last", _MOST[name])
        found |= set(range(first, (_MOST[name] if last is None else last) + 1, each.state.get("step") or 1))
    return found


# the others


def _interval(state: dict[str, Any], now: datetime) -> Trigger:
    start = from_ms(floor_ms(state["start_date"]))  # the anchor is one of whole milliseconds, and so is its first tick
    begins = start if start > now else None
    zone = _zone(state["timezone"])
    return every(state["interval"], anchor=start, tz=zone, starts_at=begins, repeat_until=state["end_date"])


def _date(state: dict[str, Any], now: datetime) -> Trigger:
    return at(state["run_date"])


def _either(state: dict[str, Any], now: datetime) -> Trigger:
    parts = []
    for reference, inner in state["triggers"]:
        part = _part(reference, inner)
        trigger, jitter = trigger_of(part, now)
        if jitter:
            raise Refusal("a part of its trigger has jitter of its own; give the schedule jitter=")
        parts.append(trigger)
    return reduce(or_, parts)


def _part(reference: str, state: dict[str, Any]) -> Inert:
    from onthedot.apscheduler.pickles import inert

    made = inert(reference.replace(":", "."))()
    made.__setstate__(state)
    return made


def _both(state: dict[str, Any], now: datetime) -> Trigger:
    raise Refusal("it ticks where several triggers agree (and), which no trigger here says; write it as one cron text")


def _calendar(state: dict[str, Any], now: datetime) -> Trigger:
    years, months, weeks, days = state["interval"]
    hour, minute, second = state["time"][:3]
    start: date = state["start_date"]
    zone = _zone(state["timezone"])
    clock = f"{hour:02}:{minute:02}:{second:02}"
    end = None if state["end_date"] is None else state["end_date"].isoformat()
    begins = f"{start} 00:00" if zone else None
    if not years and not months:
        span = timedelta(weeks=weeks, days=days)
        return every(span, at=clock, anchor=start, tz=zone, gap="skip", starts_at=begins, repeat_until=end)
    each = 12 * years + months
    if weeks or days or start.day > 28 or 12 % each:
        span_text = (
            format_duration(int(timedelta(weeks=weeks, days=days).total_seconds() * 1000)) if weeks or days else ""
        )
        raise Refusal(f"cron cannot say every {each} months{f' and {span_text}' if span_text else ''} from {start}")
    month = ",".join(str((start.month - 1 + each * n) % 12 + 1) for n in range(12 // each))
    text = f"{second} {minute} {hour} {start.day} {month} *"
    return cron(text, tz=zone, gap="skip", starts_at=begins, repeat_until=end)


def _zone(zone: tzinfo | None) -> str | None:
    """Its name; a fixed offset has none of its own."""
    if zone is None:
        return None
    offset = zone.utcoffset(None) if getattr(zone, "key", None) is None else None
    if offset is None or not offset:
        return zone_name(zone)
    hours, rest = divmod(int(offset.total_seconds()), 3600)
    if rest:
        raise Refusal(f"its zone is the offset {zone}, which is no zone of a name")
    return f"Etc/GMT{-hours:+d}"


_CONVERSIONS: dict[str, Callable[[dict[str, Any], datetime], Trigger]] = {
    "CronTrigger": _cron,
    "IntervalTrigger": _interval,
    "DateTrigger": _date,
    "OrTrigger": _either,
    "AndTrigger": _both,
    "CalendarIntervalTrigger": _calendar,
}
