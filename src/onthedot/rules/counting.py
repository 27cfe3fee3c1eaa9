"""Counting ends: from what is known of each run that ended to the hours that they fall into."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from onthedot.model.histogram import added, bucket_of
from onthedot.model.hour import EVERYTHING, HOUR_MS, Hour, grouped, masked, summed
from onthedot.model.states import State

End = Sequence[Any]
"""Of whom, step, state, due_ms, started_ms, finished_ms, and where it went wrong its error or reason. Plain values in a
row, since there are tens of thousands of them in a second."""
FINISHED = 5
"""Where among them the moment of the end is."""

WRONG = (State.FAILED, State.TIMED_OUT, State.LOST)
"""How a run ends that counts as bad; one that was cancelled or skipped is neither good nor bad."""

_WRONG = frozenset(state.value for state in WRONG)
_bucket = lru_cache(maxsize=1 << 16)(bucket_of)
_masked = lru_cache(maxsize=4096)(masked)
_Counts = tuple[dict[str, int], dict[int, int], dict[int, int], dict[str, int]]


def counted(ends: Sequence[End]) -> list[Hour]:
    """The hours of these ends; among them those of everything. Steps are counted for themselves alone."""
    try:
        hours = _of_places(ends)
    except TypeError:  # a row that somebody has spoilt: what can be read of it is counted, and it may be forgotten
        hours = _of_places(map(_mended, ends))
    return [*hours, *_of_everything(hours)]


def _mended(end: End) -> End:
    of, step, state, due_ms, started_ms, finished_ms, error = end
    begun = isinstance(due_ms, int) and isinstance(started_ms, int)
    text = error if isinstance(error, str | None) else f"{error}"
    return f"{of}", f"{step}", f"{state}", due_ms, started_ms if begun else None, finished_ms, text


def _of_places(ends: Iterable[End]) -> list[Hour]:
    counts: dict[tuple[str, str, int], _Counts] = {}
    for of, step, state, due_ms, started_ms, finished_ms, error in ends:
        place = (of, step, finished_ms // HOUR_MS)
        found = counts.get(place)
        if found is None:
            found = counts[place] = ({}, {}, {}, {})
        ended, lateness, duration, errors = found
        ended[state] = ended.get(state, 0) + 1
        if started_ms is not None:
            bucket = _bucket(started_ms - due_ms)
            lateness[bucket] = lateness.get(bucket, 0) + 1
            bucket = _bucket(finished_ms - started_ms)
            duration[bucket] = duration.get(bucket, 0) + 1
        if state in _WRONG:
            text = _masked(error)
            errors[text] = errors.get(text, 0) + 1
    return [
        Hour(of, step, hour * HOUR_MS, ended, lateness, duration, grouped((errors,)) if errors else errors)
        for (of, step, hour), (ended, lateness, duration, errors) in counts.items()
    ]


def _of_everything(hours: Iterable[Hour]) -> list[Hour]:
    by_hour: dict[int, list[Hour]] = {}
    for each in hours:
        if not each.step:
            by_hour.setdefault(each.hour_ms, []).append(each)
    return [together(EVERYTHING, "", hour_ms, of_hour) for hour_ms, of_hour in by_hour.items()]


def together(of: str, step: str, hour_ms: int, hours: Sequence[Hour]) -> Hour:
    """All of them as one."""
    return Hour(
        of,
        step,
        hour_ms,
        summed(each.ended for each in hours),
        added(each.lateness for each in hours),
        added(each.duration for each in hours),
        grouped(each.errors for each in hours),
    )
