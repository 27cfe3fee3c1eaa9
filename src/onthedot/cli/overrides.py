"""What is typed for a schedule: arguments, options, a trigger, a moment."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NoReturn, cast

import click

from onthedot.app.clock_notes import zone_of
from onthedot.app.options import checked, taken_back
from onthedot.app.trigger_text import read_exceptions
from onthedot.durations import to_duration_ms
from onthedot.errors import DurationError
from onthedot.moments import from_ms
from onthedot.triggers import Trigger, at, cron, every, named
from onthedot.triggers.bounds import to_instant_ms
from onthedot.triggers.zones import Fold, Gap, Zone

_DAY = 86_400
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")


def read_pairs(texts: Sequence[str] | None, option: str) -> dict[str, Any] | None:
    """`name=value` each; the value is JSON, or else the text as it stands. None where nothing was given."""
    if not texts:
        return None
    pairs: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=f"'{option}'")
        if name.strip() in pairs:
            raise click.BadParameter(f"{name.strip()} is given twice", param_hint=f"'{option}'")
        pairs[name.strip()] = _value(value, name.strip(), option)
    return pairs


def read_options(texts: Sequence[str] | None, schedule: str) -> dict[str, Any]:
    """The policies that were given for a schedule; `SettingsError` for what is none, or has a value that it cannot."""
    return checked(read_pairs(texts, "--option") or {}, schedule)


def read_changes(texts: Sequence[str] | None, schedule: str) -> dict[str, Any]:
    """The same for a change: what is null is taken back, and follows the task again."""
    pairs = read_pairs(texts, "--option") or {}
    return {**checked(pairs, schedule), **dict.fromkeys(taken_back(pairs, schedule))}


def read_schedule_trigger(
    *,
    cron_text: str | None,
    interval: str | None,
    moment: str | None,
    name: str | None,
    without: Sequence[str] | None,
    tz: str | None,
    gap: str | None,
    fold: str | None,
) -> Trigger | None:
    """The one trigger that was given, without what it leaves out; None where none was."""
    given = [each for each in (cron_text, interval, moment, name) if each is not None]
    wall_clock = interval is not None and moment is not None and len(given) == 2
    if len(given) > 1 and not wall_clock:
        _refuse("only one of them can be given", "--cron", "--every", "--at", "--trigger")
    if (gap or fold) and cron_text is None and not wall_clock:
        _refuse("they belong to a cron text, or to --every with --at", "--gap", "--fold")
    if tz is not None and (not given or name is not None):
        _refuse("it belongs to a trigger: add --cron, --every or --at", "--tz")
    if without and not given:
        _refuse("it belongs to a trigger: add --cron, --every, --at or --trigger", "--except")
    trigger = _one_trigger(
        cron_text=cron_text,
        interval=interval,
        moment=moment,
        name=name,
        tz=tz,
        gap=cast(Gap | None, gap),
        fold=cast(Fold | None, fold),
    )
    for item in read_exceptions(list(without or ())):
        trigger = None if trigger is None else trigger - item
    return trigger


def _refuse(why: str, *options: str) -> NoReturn:
    raise click.BadParameter(why, param_hint=" / ".join(f"'{each}'" for each in options))


def _one_trigger(
    *,
    cron_text: str | None,
    interval: str | None,
    moment: str | None,
    name: str | None,
    tz: str | None,
    gap: Gap | None,
    fold: Fold | None,
) -> Trigger | None:
    """Of those that were given; an interval and a moment are one that keeps to the wall clock."""
    if name is not None:
        return named(name)
    if cron_text is not None:
        return cron(cron_text, tz=tz, gap=gap, fold=fold)
    if interval is not None and moment is not None:
        return every(interval, at=moment, tz=tz, gap=gap, fold=fold)
    if interval is not None:
        return every(interval, tz=tz)
    return None if moment is None else at(moment, tz=tz)


def past_moment_ms(text: str | None, trigger: Trigger | None, now_ms: int) -> int:
    """The moment that is asked about: "03:00" is the latest such time up to now, nothing the latest tick up to now,
    "now" is now.

    Without a trigger, that is where it cannot be read, times are those of UTC, and nothing is now.
    """
    if text is not None and text.strip().lower() == "now":
        return now_ms
    if text is None:
        tick = None if trigger is None else trigger.prev_ms(now_ms + 1)
        return now_ms if tick is None else tick
    zone, time = zone_of(trigger), _TIME.fullmatch(text.strip())
    if time is None:
        return to_instant_ms(text, zone.name, round_up=True)
    hour, minute, second = (int(part or 0) for part in time.groups())
    if hour > 23 or minute > 59 or second > 59:
        raise click.BadParameter(f"{text!r} is no time of day", param_hint="'MOMENT'")
    return _latest_time_ms(zone, trigger, now_ms, hour * 3600 + minute * 60 + second)


def some_moment(text: str | None, now_ms: int) -> datetime | None:
    """A moment as text, in UTC where it names no zone, or how long ago it was: "2h"."""
    if text is None:
        return None
    with suppress(DurationError):
        return from_ms(now_ms - to_duration_ms(text))
    return from_ms(to_instant_ms(text, "UTC", round_up=True))


def _latest_time_ms(zone: Zone, trigger: Trigger | None, now_ms: int, time: int) -> int:
    """Where a clock shows the time twice, the one that is a tick is meant."""
    now_label = zone.label(now_ms // 1000)
    label = now_label - now_label % _DAY + time
    while not (found := _instants_ms(zone, label, now_ms)):
        label -= _DAY
    return next((each for each in found if trigger is not None and trigger.ticks_at(each)), found[-1])


def _instants_ms(zone: Zone, label: int, now_ms: int) -> list[int]:
    return [each * 1000 for each in zone.resolve(label, "shift", "both") if each * 1000 <= now_ms]


def _value(text: str, name: str, option: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if text.lstrip()[:1] not in ("{", "[", '"'):
            return text
        said = f"{name} begins as JSON and is none, at column {error.colno}: {error.msg}; a text stands in quotes"
        raise click.BadParameter(said, param_hint=f"'{option}'") from None
    except (ValueError, RecursionError):  # a number of more digits, or levels, than Python reads
        return text
