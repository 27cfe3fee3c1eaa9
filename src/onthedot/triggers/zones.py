"""Time zones as tables: when the wall clock jumps, and what that does to the times on it.

A *label* is what the wall clock shows, counted in seconds as if it were UTC. A zone is a row of *segments*, numbered
from 0, inside each of which label minus instant is a constant offset. Where two segments meet, the wall clock jumps:
forward over labels that never occur (a gap), or back to labels that occur again (a fold).
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from typing import Any, Literal, NamedTuple, get_args

from onthedot.errors import TriggerError
from onthedot.moments import END_MS

Gap = Literal["shift", "skip"]
Fold = Literal["first", "last", "both"]

GAPS: tuple[Gap, ...] = get_args(Gap)
FOLDS: tuple[Fold, ...] = get_args(Fold)

FAR = 1 << 60
"""Seconds further away than any label or instant."""

_LABELS_END = END_MS // 1000
_TABLE_FROM = -172_800  # two days before 1970, so that every label of 1 January 1970 has its segment

_ABBREVIATIONS = {
    "PST": "America/Los_Angeles", "PDT": "America/Los_Angeles", "MDT": "America/Denver", "CDT": "America/Chicago",
    "EDT": "America/New_York", "BST": "Europe/London", "CEST": "Europe/Berlin", "EEST": "Europe/Athens",
    "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "SGT": "Asia/Singapore", "AEST": "Australia/Sydney",
}  # fmt: skip


class Zone:
    """One time zone, immutable; `get_zone` makes one per name. All values are whole seconds."""

    __slots__ = ("_windows", "instants", "name", "offsets", "whole_minutes")

    def __init__(self, name: str, first_offset: int, transitions: list[tuple[int, int]]) -> None:
        self.name = name
        instants: list[int] = []
        offsets = [first_offset]
        for instant, offset in transitions:
            if instant < _TABLE_FROM:
                offsets[0] = offset
            elif offset != offsets[-1]:
                instants.append(instant)
                offsets.append(offset)
        self.instants = tuple(instants)
        """Where segment k ends and segment k + 1 begins."""
        self.offsets = tuple(offsets)
        """The offset of segment k; one more than there are instants."""
        self.whole_minutes = all(each % 60 == 0 for each in (*offsets, *instants))
        self._windows: dict[Fold, tuple[tuple[int, ...], tuple[int, ...]]] = {}

    def __repr__(self) -> str:
        return f"Zone({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by name: each process reads its own zone data."""
        return get_zone, (self.name,)

    def segment(self, instant: int) -> int:
        """The number of the segment that the instant lies in. O(log transitions)."""
        return bisect_right(self.instants, instant)

    def label(self, instant: int) -> int:
        """What the wall clock shows at the instant."""
        return instant + self.offsets[bisect_right(self.instants, instant)]

    def bounds(self, segment: int) -> tuple[int, int]:
        """The instants [first, end) of a segment."""
        first = self.instants[segment - 1] if segment else -FAR
        end = self.instants[segment] if segment < len(self.instants) else FAR
        return first, end

    def windows(self, fold: Fold) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """For each segment, the labels [start, end) that count there; those that a fold repeats, as `fold` says."""
        if fold not in self._windows:
            self._windows[fold] = self._make_windows(fold)
        return self._windows[fold]

    def _make_windows(self, fold: Fold) -> tuple[tuple[int, ...], tuple[int, ...]]:
        bounds = [self.bounds(k) for k in range(len(self.offsets))]
        # No day before 1970 or after 2199 counts, on any wall clock.
        starts = [max(first + offset, 0) for (first, _), offset in zip(bounds, self.offsets, strict=True)]
        ends = [min(end + offset, _LABELS_END) for (_, end), offset in zip(bounds, self.offsets, strict=True)]
        if fold == "first":
            for k in range(1, len(starts)):
                starts[k] = max(starts[k], starts[k - 1], ends[k - 1])
        elif fold == "last":
            for k in range(len(ends) - 2, -1, -1):
                ends[k] = min(ends[k], ends[k + 1], starts[k + 1])
        return tuple(starts), tuple(ends)

    def resolve(self, label: int, gap: Gap, fold: Fold) -> tuple[int, ...]:
        """The instants at which a label counts, ascending: one, two in a fold with "both", none in a gap skipped."""
        near = range(self.segment(label - 172_800), self.segment(label + 172_800) + 1)
        hits = [
            label - self.offsets[k] for k in near if self.bounds(k)[0] <= label - self.offsets[k] < self.bounds(k)[1]
        ]
        if not hits:
            return tuple(self._jumps_over(label, near)) if gap == "shift" else ()
        match fold:
            case "first":
                return (hits[0],)
            case "last":
                return (hits[-1],)
            case "both":
                return tuple(hits)

    def _jumps_over(self, label: int, near: range) -> list[int]:
        jumps = (
            k for k in near[:-1] if self.instants[k] + self.offsets[k] <= label < self.instants[k] + self.offsets[k + 1]
        )
        return [self.instants[k] for k in jumps][:1]


class WallClock(NamedTuple):
    """A zone, and what happens to the times that its clock jumps over or shows twice."""

    zone: Zone
    gap: Gap
    fold: Fold


@cache
def get_zone(name: str) -> Zone:
    """The zone of that name; `TriggerError` with the nearest names where there is none."""
    if name == "UTC":
        return Zone("UTC", 0, [])
    if name == "localtime":
        raise TriggerError("'localtime' is another zone on every machine", hint="name the zone, such as Europe/Berlin")
    from zoneinfo import ZoneInfo

    from onthedot.triggers.tzfile import read_transitions

    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise TriggerError(f"no time zone {name!r}", hint=_suggestion(name)) from None
    first, transitions = read_transitions(name)
    return Zone(name, first, [(t.at, t.offset) for t in transitions])


def zone_name(tz: str | tzinfo) -> str:
    """The name of a zone given as text, `ZoneInfo` or `timezone.utc`; nothing else has a name to be kept by."""
    if isinstance(tz, str):
        return tz.strip()
    name = getattr(tz, "key", None)
    if isinstance(name, str):
        return name
    if tz is UTC or (isinstance(tz, tzinfo) and tz.utcoffset(None) == timedelta(0)):
        return "UTC"
    raise TriggerError(f"a time zone is given by name, not as {tz!r}", hint='write tz="Europe/Berlin"')


def refuse_unknown_rules(gap: str | None, fold: str | None) -> None:
    """`TriggerError` for a word that is none of ours; None is left to the default rule."""
    for name, value, known in (("gap", gap, GAPS), ("fold", fold, FOLDS)):
        if value is not None and value not in known:
            raise TriggerError(f"{name}={value!r} is not known", hint=f"write one of {', '.join(known)}")


def label_of(naive: datetime) -> int:
    """The label that a naive datetime shows, in whole seconds."""
    delta = naive.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return delta.days * 86_400 + delta.seconds


def _suggestion(name: str) -> str:
    from difflib import get_close_matches
    from zoneinfo import available_timezones

    if name[:1] in "+-" and name[1:2].isdigit():
        return "a fixed offset is written with the sign turned round: Etc/GMT-2 is two hours east of UTC"
    known = {zone.lower(): zone for zone in sorted(available_timezones())}
    wanted = name.lower().replace(" ", "_")
    near = [_ABBREVIATIONS[name.upper()]] if name.upper() in _ABBREVIATIONS else []
    near += [zone for lower, zone in known.items() if wanted and (lower == wanted or lower.endswith(f"/{wanted}"))]
    near += [known[lower] for lower in get_close_matches(wanted, known, n=3, cutoff=0.7)]
    if not near:
        return "zones are named like Europe/Berlin or America/New_York"
    return f"did you mean {' or '.join(dict.fromkeys(near[:3]))}?"
