"""Storms drawn from seeds, played one after the other, and shortened where they break a promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple

from tests.chaos.kinds import KINDS
from tests.chaos.virtual.world import LASTS_MS, NODES, Act, Storm, StormWorld

from onthedot.testing.history import Broken, Verdict

_AWAY_MS = (500, 3000, 9000, 20_000)
_FROZEN_MS = (800, 5000, 11_000, 14_000, 30_000)
_CUT_MS = (300, 2000, 6000, 11_000, 20_000)
_SLOW_MS = (40, 400, 2500)
_SKEW_MS = (-600_000, -45_000, -900, 900, 70_000, 600_000)


def _node(dice: Random) -> int:
    return dice.randrange(NODES)


def _which(dice: Random) -> int:
    return dice.randrange(60)


DRAWN: dict[str, tuple[float, Callable[[Random], tuple[int, ...]]]] = {
    "kill": (5, lambda dice: (_node(dice), dice.randrange(3), dice.choice(_AWAY_MS))),
    "freeze": (5, lambda dice: (_node(dice), dice.randrange(3), dice.choice(_FROZEN_MS))),
    "cut": (5, lambda dice: (_node(dice), dice.randrange(2), dice.choice(_CUT_MS))),
    "outage": (2, lambda dice: (dice.choice((6000, 13_000, 30_000, 45_000)),)),
    "slow": (3, lambda dice: (_node(dice), dice.choice(_SLOW_MS), dice.choice(_CUT_MS))),
    "deaf": (1, lambda dice: (_node(dice), dice.randrange(2))),
    "clock": (2, lambda dice: (_node(dice), dice.choice(_SKEW_MS))),
    "drain": (2, lambda dice: (_node(dice), dice.choice(_AWAY_MS), dice.randrange(5))),
    "pause": (2, lambda dice: (_which(dice),)),
    "resume": (3, lambda dice: (_which(dice),)),
    "put": (1, lambda dice: (_which(dice), dice.randrange(3, 20))),
    "overlap": (1, lambda dice: (_which(dice), dice.randrange(4))),
    "delete": (0.5, lambda dice: (_which(dice),)),
    "sync": (1, lambda dice: ()),
    "reschedule": (1, lambda dice: (_which(dice), dice.choice((3000, 11_000, 24_000)))),
    "skip": (0.5, lambda dice: (_which(dice), dice.randrange(4))),
    "freeze_all": (0.5, lambda dice: (dice.choice((-5000, 0, 4000)), dice.choice((3000, 15_000, 25_000)))),
    "trigger": (3, lambda dice: (_which(dice),)),
    "enqueue": (1, lambda dice: (dice.choice((0, 3000)), dice.choice((1000, 5000)))),
    "backfill": (0.5, lambda dice: (_which(dice), dice.choice((10_000, 25_000)))),
    "cancel": (2, lambda dice: (_which(dice),)),
    "retry": (3, lambda dice: (_which(dice),)),
}
"""How often each happens, and with what."""
_HABITS = (0.2, 1.0, 1.0, 3.0)


class Theme(NamedTuple):
    """What goes together: kinds of schedules, and what shows most of them."""

    kinds: tuple[str, ...]
    acts: tuple[str, ...]
    alone: bool = False
    """Nothing else happens."""


THEMES: tuple[Theme, ...] = (
    Theme(("no-late", "latest", "all-late", "just-late", "expiring"), ("outage", "freeze", "enqueue")),
    Theme(("some-4", "some-6", "some-9", "stale-soon", "all-late"), ("outage", "freeze", "enqueue")),
    Theme(("fragile", "crashing", "at-most-once", "once-serial", "long", "serial"), ("kill", "freeze", "drain", "cut")),
    Theme(
        ("hasty", "flaky", "limited-too", "followed", "serial", "timed", "plain"), ("cut", "slow", "freeze", "retry")
    ),
    Theme(("two", "long", "serial", "cover", "limited", "plain"), ("overlap", "trigger", "backfill", "kill")),
    Theme(("all-late", "just-late", "no-late", "plain", "serial", "latest"), ("freeze_all", "outage")),
    Theme(
        ("long", "fragile", "at-most-once", "once-serial", "two", "cover"),
        ("drain", "clock", "pause", "resume", "overlap", "delete", "sync", "trigger"),
        alone=True,
    ),
)
"""Two of three storms have one."""
_FAVOURED = 20


def draw(seed: int) -> Storm:
    """The storm of a seed: a few kinds of schedules, and habits of its own, so that rare things meet."""
    dice = Random(seed)
    theme = dice.choice((None, None, None, *THEMES))
    kinds = tuple(dice.sample(theme.kinds if theme else [kind.name for kind in KINDS], dice.randint(3, 5)))
    names = list(theme.acts if theme is not None and theme.alone else DRAWN)
    favoured = theme.acts if theme is not None and not theme.alone else ()
    weights = [_FAVOURED if name in favoured else DRAWN[name][0] * dice.choice(_HABITS) for name in names]
    moments = sorted(dice.randrange(2000, LASTS_MS) for _ in range(dice.randint(6, 22)))
    acts = []
    for at_ms in moments:
        (what,) = dice.choices(names, weights)
        acts.append(Act(at_ms, what, DRAWN[what][1](dice)))
    return Storm(seed, kinds, tuple(acts), ahead=dice.randrange(8))


def play(storm: Storm) -> Verdict:
    """What came of it."""
    return StormWorld(storm).play()


@dataclass(frozen=True, slots=True)
class Found:
    """A storm that breaks a promise, as short as it can be made, and the promise."""

    storm: Storm
    broken: Broken


def find(seeds: Sequence[int], *, shorten: bool = True) -> Iterator[Found | None]:
    """One after the other; None where every promise was kept."""
    for seed in seeds:
        storm = draw(seed)
        verdict = play(storm)
        if verdict.holds:
            yield None
        else:
            shortest = shortened(storm, verdict.broken[0].promise) if shorten else storm
            yield Found(shortest, _first(play(shortest), verdict.broken[0].promise) or verdict.broken[0])


def found_in(seeds: Sequence[int]) -> list[Found | None]:
    """The same, for another process."""
    return list(find(seeds))


def shortened(storm: Storm, promise: str) -> Storm:
    """A storm that still breaks the same promise, from which no act and no kind of schedule can be left out."""
    storm = _with_fewer_acts(storm, promise)
    for kind in storm.kinds:
        fewer = replace(storm, kinds=tuple(each for each in storm.kinds if each != kind))
        if fewer.kinds and _first(play(fewer), promise) is not None:
            storm = fewer
    return _with_fewer_acts(storm, promise)


def _with_fewer_acts(storm: Storm, promise: str) -> Storm:
    size = max(len(storm.acts) // 2, 1)
    while True:
        at, removed = 0, False
        while at < len(storm.acts):
            fewer = replace(storm, acts=storm.acts[:at] + storm.acts[at + size :])
            if _first(play(fewer), promise) is not None:
                storm, removed = fewer, True
            else:
                at += size
        if size == 1 and not removed:
            return storm
        size = max(size // 2, 1)


def _first(verdict: Verdict, promise: str) -> Broken | None:
    return next((each for each in verdict.broken if each.promise == promise), None)
