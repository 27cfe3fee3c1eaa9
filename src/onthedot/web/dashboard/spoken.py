"""Texts that hold moments in ISO and UTC, told in the zone of the page; and moments of charts."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import tzinfo

from markupsafe import Markup, escape

from onthedot.errors import MomentError
from onthedot.moments import ceil_ms, from_ms, iso
from onthedot.web.dashboard.moments import second_time, told

_ISO = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z")
_TWO_DAYS_MS = 2 * 86_400_000


def spoken(text: str, now_ms: int, zone: tzinfo) -> Markup:
    """The text, escaped, with a `time` in place of each moment."""
    parts: list[str] = []
    end = 0
    for found in _ISO.finditer(text):
        parts += [escape(text[end : found.start()]), _moment(found[0], now_ms, zone)]
        end = found.end()
    return Markup("").join([*parts, escape(text[end:])])


def _moment(text: str, now_ms: int, zone: tzinfo) -> str:
    try:
        ms = ceil_ms(text)
    except MomentError:
        return escape(text)
    said = told(ms, now_ms, zone)
    return Markup('<time datetime="{0}" title="{0}" data-ms="{1}">{2}</time>').format(iso(ms), ms, said)


def in_full(zone: tzinfo) -> Callable[[int], str]:
    """ "Fri 13 Mar 02:30", with seconds where there are some."""

    def say(ms: int) -> str:
        moment = from_ms(ms).astimezone(zone)
        clock = f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"
        return f"{moment:%a} {moment.day} {moment:%b} {clock}{second_time(moment)}"

    return say


def under_axis(zone: tzinfo, first_ms: int, last_ms: int) -> Callable[[int], str]:
    """Days where the axis spans days, else the clock."""
    by_day, seconds = last_ms - first_ms > _TWO_DAYS_MS, last_ms - first_ms < 600_000

    def say(ms: int) -> str:
        moment = from_ms(ms).astimezone(zone)
        if by_day:
            return f"{moment.day} {moment:%b}"
        return f"{moment:%H:%M:%S}" if seconds else f"{moment:%H:%M}"

    return say
