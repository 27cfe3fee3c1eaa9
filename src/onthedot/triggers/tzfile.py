"""Reads the transitions of a time zone out of its TZif file (RFC 9636), the file that `zoneinfo` reads too.

`zoneinfo` can say the offset at a moment but not when it next changes. Probing it for changes costs 15 ms a zone and
may miss a change that is soon taken back; the file has them all, and is read in well under a millisecond.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

_LAST_YEAR = 2200


class Transition(NamedTuple):
    """From the epoch second `at` on, local time is UTC plus `offset` seconds."""

    at: int
    offset: int


def read_transitions(key: str) -> tuple[int, list[Transition]]:
    """The offset before all transitions, and every transition up to the end of 2200, ascending.

    The key must be one that `zoneinfo.ZoneInfo` accepts: that check keeps paths such as "../x" out.
    """
    first, transitions, footer = _parse(_load(key))
    last = transitions[-1].at if transitions else -(2**63)
    if footer:
        transitions.extend(t for t in _posix_transitions(footer, _year_of(last)) if t.at > last)
    return first, transitions


def zones_version() -> str:
    """The version of the zone files that are read here, such as "2025b"; "unknown" where the machine's do not say."""
    from zoneinfo import TZPATH

    for folder in TZPATH:
        if Path(folder, "UTC").is_file():
            return _said_in(Path(folder))
    from importlib import import_module

    return str(import_module("tzdata").IANA_VERSION)


def _said_in(folder: Path) -> str:
    for name in ("tzdata.zi", "+VERSION"):
        path = folder / name
        if path.is_file():
            with path.open(encoding="ascii", errors="replace") as file:
                return file.readline().removeprefix("# version").strip() or "unknown"
    return "unknown"


def _load(key: str) -> bytes:
    from zoneinfo import TZPATH

    for folder in TZPATH:
        path = Path(folder, key)
        if path.is_file():
            return path.read_bytes()
    from importlib.resources import files

    return files("tzdata").joinpath("zoneinfo", *key.split("/")).read_bytes()


class _Header(NamedTuple):
    magic: bytes
    version: bytes
    isutcnt: int
    isstdcnt: int
    leapcnt: int
    timecnt: int
    typecnt: int
    charcnt: int

    @classmethod
    def read(cls, data: bytes, start: int) -> _Header:
        return cls(*struct.unpack_from(">4sc15x6l", data, start))

    def size(self, width: int) -> int:
        return (
            self.timecnt * (width + 1)
            + self.typecnt * 6
            + self.charcnt
            + self.leapcnt * (width + 4)
            + self.isstdcnt
            + self.isutcnt
        )


def _parse(data: bytes) -> tuple[int, list[Transition], str]:
    header, start, width = _Header.read(data, 0), 44, 4
    if header.version >= b"2":
        start += header.size(4)
        header, start, width = _Header.read(data, start), start + 44, 8
    count = header.timecnt
    instants = struct.unpack_from(f">{count}{'q' if width == 8 else 'l'}", data, start)
    kinds = data[start + count * width : start + count * (width + 1)]
    types_at = start + count * (width + 1)
    types = [struct.unpack_from(">lBB", data, types_at + 6 * i) for i in range(header.typecnt)]
    footer = data[start + header.size(width) :].strip(b"\n").decode("ascii") if width == 8 else ""
    return types[0][0], [Transition(at, types[kind][0]) for at, kind in zip(instants, kinds, strict=True)], footer


def _year_of(epoch_second: int) -> int:
    return 1969 if epoch_second < 0 else date.fromordinal(epoch_second // 86_400 + 719_163).year


# The footer is a POSIX TZ text such as CET-1CEST,M3.5.0,M10.5.0/3: the rule for all time after the last transition.
_NAME = r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+\-]+>)"
_CLOCK = r"[+\-]?\d+(?::\d+(?::\d+)?)?"
_FOOTER = re.compile(rf"{_NAME}({_CLOCK})(?:{_NAME}({_CLOCK})?,([^,/]+)(?:/({_CLOCK}))?,([^,/]+)(?:/({_CLOCK}))?)?")


def _posix_transitions(footer: str, from_year: int) -> Iterator[Transition]:
    match = _FOOTER.fullmatch(footer)
    if match is None:
        raise ValueError(f"unreadable rule at the end of the zone file: {footer!r}")
    std = -_seconds(match[1])
    if match[3] is None:
        yield Transition(-(2**62), std)
        return
    dst = -_seconds(match[2]) if match[2] else std + 3600
    for year in range(from_year, _LAST_YEAR + 1):
        to_dst = Transition(_rule_second(match[3], year) + _seconds(match[4] or "2") - std, dst)
        to_std = Transition(_rule_second(match[5], year) + _seconds(match[6] or "2") - dst, std)
        yield from sorted((to_dst, to_std))


def _seconds(clock: str) -> int:
    sign = -1 if clock.startswith("-") else 1
    hours, minutes, seconds = ([int(part) for part in clock.lstrip("+-").split(":")] + [0, 0])[:3]
    return sign * (hours * 3600 + minutes * 60 + seconds)


def _rule_second(rule: str, year: int) -> int:
    """Local midnight, in seconds since 1970, of the day that the rule names in that year."""
    new_year = date(year, 1, 1)
    if rule.startswith("M"):
        month, week, weekday = (int(part) for part in rule[1:].split("."))
        first = date(year, month, 1)
        day = first.toordinal() + (weekday - first.isoweekday()) % 7 + 7 * (week - 1)
        next_month = date(year + month // 12, month % 12 + 1, 1).toordinal()
        return (day - 719_163 - (7 if day >= next_month else 0)) * 86_400
    if rule.startswith("J"):  # 1 to 365, 29 February never counted
        number = int(rule[1:])
        leap = date(year, 3, 1).toordinal() - new_year.toordinal() == 60 and number >= 60
        return (new_year.toordinal() - 719_163 + number - 1 + leap) * 86_400
    return (new_year.toordinal() - 719_163 + int(rule)) * 86_400
