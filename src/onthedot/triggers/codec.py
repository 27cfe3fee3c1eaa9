"""Triggers as JSON values: what `encode` writes, `decode` reads back as an equal trigger, in every later version too.

Each encoded trigger carries the version of the codec ("v"). A node that meets a newer one raises `TriggerTooNew`, and
leaves it to nodes that know it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from onthedot.durations import MS, format_duration, to_duration_ms
from onthedot.errors import OnthedotError, TriggerError, TriggerTooNew
from onthedot.moments import floor_ms, iso
from onthedot.triggers.at import At
from onthedot.triggers.base import Trigger
from onthedot.triggers.combine import Exclusion, Union, exclude, union
from onthedot.triggers.cron.trigger import Cron, cron
from onthedot.triggers.dates import Calendar, Dates, calendar, dates
from onthedot.triggers.every import Every, every
from onthedot.triggers.every_days import EveryDays, day_text, time_text
from onthedot.triggers.named import Named, named
from onthedot.triggers.pinned import Pin

VERSION = 1

Json = dict[str, Any]
Encodable = Trigger | Dates | Calendar


def encode(trigger: Trigger) -> Json:
    """A dict of JSON values. The content of calendars and named triggers is not part of it: they are kept by their
    name, and by the revision that is pinned, if one is."""
    return {"v": VERSION, **_encode(trigger)}


def without_pins(value: Any) -> Any:
    """An encoded trigger as somebody says it, who names no revisions."""
    if isinstance(value, Mapping):
        names = value.get("type") in ("calendar", "named")
        left_out = ("rev", "digest") if names else ()
        return {key: without_pins(each) for key, each in value.items() if key not in left_out}
    return [without_pins(each) for each in value] if isinstance(value, list) else value


def decode(value: object) -> Trigger:
    """The trigger that was encoded; `TriggerError` if unreadable, `TriggerTooNew` if a newer version wrote it."""
    if not isinstance(value, Mapping):
        raise TriggerError(f"an encoded trigger is a JSON object, not {value!r}")
    fields = dict(value)
    version = fields.pop("v", None)
    if not isinstance(version, int) or version < 1:
        raise TriggerError(f"an encoded trigger carries its version as 'v': {VERSION}, not {version!r}")
    if version > VERSION:
        raise TriggerTooNew(version, VERSION)
    decoded = _decode(fields)
    if not isinstance(decoded, Trigger):
        raise TriggerError(
            "dates and calendars can be excluded from a trigger, but are none", hint="write trigger - dates(…)"
        )
    return decoded


def _encode(item: Encodable) -> Json:
    match item:
        case Cron():
            return _filled(
                type="cron", text=item.text, tz=item.tz, gap=item.gap, fold=item.fold, **_bounds(item), key=item.key
            )
        case Every():
            anchor = iso(item.anchor_ms) if item.anchor_ms else None
            return _filled(
                type="every",
                interval=format_duration(item.interval_ms),
                anchor=anchor,
                spread=item.spread,
                tz=item.tz,
                **_bounds(item),
                key=item.key,
            )
        case EveryDays():
            return _filled(
                type="every",
                interval=format_duration(item.days * MS["d"]),
                at=time_text(item.second),
                anchor=day_text(item.anchor_day) if item.anchor_day else None,
                tz=item.tz,
                gap=item.gap,
                fold=item.fold,
                **_bounds(item),
            )
        case At():
            return _filled(type="at", at=iso(item.at_ms), tz=item.tz)
        case Union():
            return {"type": "union", "parts": [_encode(part) for part in item.parts]}
        case Exclusion():
            return {
                "type": "exclusion",
                "base": _encode(item.base),
                "without": [_encode(each) for each in item.without],
            }
        case Dates():
            return {"type": "dates", "dates": item.texts()}
        case Calendar():
            return {"type": "calendar", "name": item.name, **_pin(item.pin)}
        case Named(without=()):
            return _filled(type="named", name=item.name, **_pin(item.pin), key=item.key)
        case Named():
            return {
                "type": "exclusion",
                "base": _encode(replace(item, without=())),
                "without": [_encode(each) for each in item.without],
            }
        case _:
            raise TriggerError(f"a {type(item).__name__} cannot be encoded")


def _pin(pin: Pin | None) -> Json:
    return {} if pin is None else {"rev": pin.rev, "digest": pin.digest}


def _filled(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value not in (None, "", False)}


def _bounds(item: Cron | Every | EveryDays) -> Json:
    ends = {"starts_at": item.starts_at, "repeat_until": item.repeat_until}
    return {name: iso(ms) for name, ms in ends.items() if ms is not None}


def _decode(value: object) -> Encodable:
    if not isinstance(value, Mapping):
        raise TriggerError(f"an encoded trigger is a JSON object, not {value!r}")
    fields = dict(value)
    kind = fields.pop("type", None)
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise TriggerError(f"no trigger of type {kind!r}", hint=f"there are {', '.join(_READERS)}")
    try:
        return read(**fields)
    except (TypeError, AttributeError) as error:  # a field too many, too few, or of the wrong type
        raise TriggerError(f"a trigger of type {kind!r} cannot be read: {str(error).removeprefix('_read_')}") from None
    except TriggerError:
        raise
    except OnthedotError as error:
        raise TriggerError(f"a trigger of type {kind!r} cannot be read: {error}") from None


def _read_cron(*, text: str, key: str = "", **options: Any) -> Trigger:
    return cron(text, **options).with_key(key)


def _read_every(
    *,
    interval: str,
    anchor: str | None = None,
    spread: bool = False,
    tz: str | None = None,
    starts_at: str | None = None,
    repeat_until: str | None = None,
    key: str = "",
    **wall_clock: Any,
) -> Trigger:
    if wall_clock:  # a time of day, and what becomes of it where the clock jumps
        bounds = {"starts_at": starts_at, "repeat_until": repeat_until}
        return cast(Trigger, every(interval, anchor=anchor, spread=spread, tz=tz, **bounds, **wall_clock))
    return Every(to_duration_ms(interval), _ms(anchor) or 0, spread, tz, _ms(starts_at), _ms(repeat_until), key)


def _read_at(*, at: str, tz: str | None = None) -> Trigger:
    return At(floor_ms(at), tz)


def _read_union(*, parts: list[Json]) -> Trigger:
    return union(*(_trigger(part) for part in parts))


def _read_exclusion(*, base: Json, without: list[Json]) -> Trigger:
    trigger = _trigger(base)
    for item in without:
        trigger = exclude(trigger, _decode(item))
    return trigger


def _read_dates(*, dates: list[str]) -> Dates:
    return _dates(*dates)


def _read_calendar(*, name: str, rev: int | None = None, digest: str = "") -> Calendar:
    return Calendar(calendar(name).name, pin=_read_pin(rev, digest))


def _read_named(*, name: str, rev: int | None = None, digest: str = "", key: str = "") -> Trigger:
    return replace(named(name), key=key, pin=_read_pin(rev, digest))


def _read_pin(rev: object, digest: object) -> Pin | None:
    if rev is None:
        return None
    if not isinstance(rev, int) or isinstance(rev, bool) or not isinstance(digest, str):
        raise TriggerError(f"a revision is a number with the digest of its content, not {rev!r} and {digest!r}")
    return Pin(rev, digest)


def _trigger(value: Json) -> Trigger:
    decoded = _decode(value)
    if not isinstance(decoded, Trigger):
        raise TriggerError(f"a trigger is wanted, not {value.get('type')}")
    return decoded


def _ms(text: str | None) -> int | None:
    return None if text is None else floor_ms(text)


_dates = dates
_READERS: dict[str, Callable[..., Encodable]] = {
    "cron": _read_cron,
    "every": _read_every,
    "at": _read_at,
    "union": _read_union,
    "exclusion": _read_exclusion,
    "dates": _read_dates,
    "calendar": _read_calendar,
    "named": _read_named,
}
