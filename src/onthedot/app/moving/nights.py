"""The nights on which the clocks change, and a schedule may be due at another time than it was elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from onthedot.app.moving.report import Move
from onthedot.triggers.base import Trigger
from onthedot.triggers.combine import Exclusion, Union
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.zones import Fold

_DAY_MS = 86_400_000
_YEAR_MS = 366 * _DAY_MS


def night_notes(moves: Iterable[Move], now_ms: int, their_fold: Fold) -> Iterator[str]:
    """A line for each of them that may run at another time on such a night, with what they do about times that come
    twice; what they do about times that are skipped is not what we do, either way."""
    for move in moves:
        nights = nights_that_differ(move.trigger, now_ms, their_fold)
        if nights:
            yield f"{move.name}: when the clocks change it may run at another time than before: {', '.join(nights)}"


def nights_that_differ(trigger: Trigger, now_ms: int, their_fold: Fold) -> list[str]:
    """The dates of the coming year on which one of its times is skipped, or comes twice where that matters."""
    found = {night for cron in _crons(trigger) for night in _nights_of(cron, now_ms, their_fold)}
    return sorted(found)


def _crons(trigger: Trigger) -> Iterator[Cron]:
    """All that tick in it."""
    match trigger:
        case Cron():
            yield trigger
        case Union():
            for part in trigger.parts:
                yield from _crons(part)
        case Exclusion():
            yield from _crons(trigger.base)
        case _:
            pass


def _nights_of(trigger: Cron, now_ms: int, their_fold: Fold) -> Iterator[str]:
    if (trigger.effective_gap, trigger.effective_fold) == ("skip", their_fold):
        return
    plain = replace(trigger, gap="skip", fold=their_fold)
    instants = [1000 * each for each in trigger.zone.instants if now_ms <= 1000 * each < now_ms + _YEAR_MS]
    for instant in instants:
        window = (instant - _DAY_MS, instant + _DAY_MS)
        if [*trigger.between_ms(*window)] != [*plain.between_ms(*window)]:
            yield datetime.fromtimestamp(trigger.zone.label(instant // 1000 - 1), tz=UTC).date().isoformat()
