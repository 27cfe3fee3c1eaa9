"""Herds: minutes in which hundreds of schedules begin at once, and what would spread them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from onthedot.moments import from_ms
from onthedot.triggers.base import Trigger
from onthedot.triggers.cron.parse import MACROS
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.every import Every

HERD = 100
"""So many schedules in one minute are a herd."""
_MOST_NAMED = 3
_AHEAD_MS = 86_400_000
_MINUTE_MS = 60_000
_MOST_MINUTES = 24
"""Of a trigger that ticks in more minutes of a day only the first one counts: so each costs little."""


@dataclass(frozen=True, slots=True)
class Herd:
    """A minute, how many schedules begin in it, and what most of them have for a trigger."""

    at_ms: int
    count: int
    leader: Trigger
    alike: int
    """How many have just that trigger."""

    def __str__(self) -> str:
        """ "212 schedules begin at 00:00 every day, UTC time: write `H H * * *` to spread them"."""
        most = self.alike * 5 >= self.count * 4
        when = self.leader.describe() if most else f"at {from_ms(self.at_ms):%Y-%m-%d %H:%M} UTC"
        return f"{self.count:,} schedules begin {when}: {remedy(self.leader)} to spread them"


def find_herds(triggers: Iterable[Trigger], now_ms: int) -> list[Herd]:
    """The fullest minutes of the coming day, and of later first ticks, with a herd in them; the largest first.

    Of several minutes that one trigger fills, one is named. Fewer schedules than a herd cost nothing.
    """
    kinds = Counter(triggers)
    if kinds.total() < HERD:
        return []
    herds: list[Herd] = []
    for minute, count in _per_minute(kinds, now_ms).most_common():
        if count < HERD or len(herds) == _MOST_NAMED:
            break
        herd = _herd(kinds, minute * _MINUTE_MS)
        if herd.leader not in [each.leader for each in herds]:
            herds.append(herd)
    return herds


def _per_minute(kinds: Mapping[Trigger, int], now_ms: int) -> Counter[int]:
    """About how many begin in each minute; those that a key spreads are left out."""
    counts: Counter[int] = Counter()
    for trigger, count in kinds.items():
        if not _is_spread(trigger):
            for minute in _minutes(trigger, now_ms):
                counts[minute] += count
    return counts


def _minutes(trigger: Trigger, now_ms: int) -> list[int]:
    minutes: list[int] = []
    tick = trigger.next_ms(now_ms)
    while tick is not None and (not minutes or tick < now_ms + _AHEAD_MS):
        minutes.append(tick // _MINUTE_MS)
        if len(minutes) > _MOST_MINUTES:
            return minutes[:1]
        tick = trigger.next_ms((minutes[-1] + 1) * _MINUTE_MS - 1)
    return minutes


def _herd(kinds: Mapping[Trigger, int], at_ms: int) -> Herd:
    """All that begin in that minute, now counted exactly."""
    here = {each: count for each, count in kinds.items() if each.next_before_ms(at_ms - 1, at_ms + _MINUTE_MS)}
    leader = max((each for each in here if not _is_spread(each)), key=here.__getitem__)
    return Herd(at_ms, sum(here.values()), leader, here[leader])


def _is_spread(given: Trigger) -> bool:
    trigger = given.plain()
    return trigger.fields.hashed if isinstance(trigger, Cron) else isinstance(trigger, Every) and trigger.spread


def remedy(trigger: Trigger) -> str:
    """What to write instead: "write `H H * * *`"."""
    match trigger:
        case Cron(text=text):
            spread = _with_hashes(MACROS.get(text, text).split())
            return f"write `{spread}`" if spread else 'give them `jitter="10m"`'
        case Every():
            return f"write `{str(trigger)[:-1]}, spread=True)`"
        case _:
            return 'give them `jitter="10m"`'


def _with_hashes(words: list[str]) -> str | None:
    """The cron text with an `H` for what is fixed: its minute, and its hour; its second, if it ticks every minute."""
    seconds, (minute, hour, *days) = (words[:1], words[1:]) if len(words) > 5 else ([], words)
    if minute == "*":
        return None if seconds not in ([], ["0"]) else " ".join(["H", minute, hour, *days])
    spread = [_hashed(minute), _hashed(hour) if hour != "*" else hour]
    return None if _hashed(minute) == minute else " ".join([*seconds, *spread, *days])


def _hashed(word: str) -> str:
    return "H" if word.isdigit() else word.replace("*/", "H/") if word.startswith("*/") else word
