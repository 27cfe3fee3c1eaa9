"""What a crowded stretch would look like if its schedules were written with `H`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from onthedot.errors import TriggerError
from onthedot.forecast.expand import forecast
from onthedot.moments import from_ms
from onthedot.triggers.base import Trigger
from onthedot.triggers.cron.parse import MACROS
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.every import Every


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A schedule's trigger as it is and as it would be."""

    name: str
    before: Trigger
    after: Trigger


@dataclass(frozen=True, slots=True)
class Spread:
    """Both pictures of one window."""

    lines: tuple[Rewritten, ...]
    as_written: tuple[int, ...]
    """How many begin in each stretch."""
    with_h: tuple[int, ...]

    @property
    def peaks(self) -> tuple[int, int]:
        """The most that begin in one stretch: as written, and with `H`."""
        return max(self.as_written, default=0), max(self.with_h, default=0)

    @property
    def helps(self) -> bool:
        """Whether the peak would be lower."""
        before, after = self.peaks
        return after < before


def rewrite(triggers: Mapping[str, Trigger]) -> tuple[Rewritten, ...]:
    """Those that stand at a fixed minute, with `H` in its place; the hour stays, since people mean that."""
    found = ((name, each, with_h(each, name)) for name, each in sorted(triggers.items()))
    return tuple(Rewritten(name, before, after) for name, before, after in found if after is not None)


def with_h(trigger: Trigger, name: str) -> Trigger | None:
    """The trigger with a minute that follows from the name; None where nothing is fixed, or it is spread already."""
    match trigger:
        case Cron(text=text) if not trigger.fields.hashed:
            hashed = _with_hash(MACROS.get(text, text).split())
            return None if hashed is None else _cron(trigger, hashed, name)
        case Every(spread=False) if trigger.interval_ms >= 120_000:
            return replace(trigger, spread=True).with_key(name)
        case _:
            return None


def spread(counts: Sequence[int], triggers: Mapping[str, Trigger], first_ms: int, step_ms: int) -> Spread:
    """`counts`: what begins in each stretch of the window as it is, of all schedules; `triggers`: those to rewrite."""
    lines = rewrite(triggers)
    end_ms = first_ms + step_ms * len(counts)
    before = _counts({each.name: each.before for each in lines}, first_ms, end_ms, step_ms)
    after = _counts({each.name: each.after for each in lines}, first_ms, end_ms, step_ms)
    moved = tuple(now - was + will for now, was, will in zip(counts, before, after, strict=True))
    return Spread(lines, tuple(counts), moved)


def _counts(triggers: Mapping[str, Trigger], first_ms: int, end_ms: int, step_ms: int) -> list[int]:
    index = forecast(triggers, from_ms(first_ms), from_ms(end_ms))
    step = from_ms(step_ms) - from_ms(0)
    found: list[int] = index.counts(step, from_ms(first_ms), from_ms(end_ms)).tolist()
    return found


def _with_hash(words: list[str]) -> str | None:
    place = 0 if len(words) == 5 else 1
    minute = words[place]
    if minute.isdigit():
        words[place] = "H"
    elif minute.startswith("*/") and minute[2:].isdigit() and int(minute[2:]) > 1:
        words[place] = f"H/{minute[2:]}"
    else:
        return None
    return " ".join(words)


def _cron(trigger: Cron, text: str, name: str) -> Cron | None:
    try:
        return replace(trigger, text=text, key=name)
    except TriggerError:  # within its bounds it would never fire
        return None
