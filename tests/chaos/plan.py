"""The plan of a storm: what goes wrong when, and what an operator does. A seed, and what a place can suffer, fix it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from random import Random

OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Act:
    """Something that happens so many seconds after the beginning."""

    at_s: float
    who: str
    """`nodeN`, `server`, `net`, `disk`, or the operator."""
    what: str
    values: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.at_s:7.1f} s  {self.who:8} {self.what} {' '.join(map(str, self.values))}".rstrip()


Draw = Callable[[Random, int], tuple[str, tuple[int, ...]]]


def _node(*values: Callable[[Random], int]) -> Draw:
    return lambda dice, nodes: (f"node{dice.randrange(nodes)}", tuple(value(dice) for value in values))


def _of(who: str, *values: Callable[[Random], int]) -> Draw:
    return lambda dice, nodes: (who, tuple(value(dice) for value in values))


def _net(*values: Callable[[Random], int]) -> Draw:
    """Of the connections of one node."""
    return lambda dice, nodes: ("net", (dice.randrange(nodes), *(value(dice) for value in values)))


def _ms(*choices: int) -> Callable[[Random], int]:
    return lambda dice: dice.choice(choices)


def _any(dice: Random) -> int:
    return dice.randrange(10_000)


FAULTS: dict[str, tuple[float, Draw]] = {
    "kill": (4, _node(_ms(200, 1500, 8000))),
    "freeze": (3, _node(_ms(1000, 4000, 8000, 11_000))),
    "restart": (1.5, _node(_ms(200, 2000), lambda dice: dice.randrange(5))),
    "clock": (1.5, _node(_ms(-600_000, -40_000, 2000, 600_000))),
    "cut-before": (2, _net()),
    "cut-after": (3, _net()),
    "late": (2, _net(_ms(30, 200, 900), _ms(3000, 8000))),
    "silent": (1, _net(_ms(2000, 7000))),
    "disk-full": (1, _of("disk", _ms(3000, 6000))),
    "server-kill": (1, _of("server", _ms(500, 3000))),
    "server-freeze": (1, _of("server", _ms(1500, 5000))),
    "fail-over": (1, _of("server", _ms(500, 2000), _any)),
}
"""How often each comes where a place can suffer it, and with what."""
PEOPLE: dict[str, float] = {
    "pause": 3,
    "resume": 4,
    "trigger": 4,
    "cancel": 3,
    "retry": 4,
    "every": 2,
    "overlap": 2,
    "reschedule": 2,
    "skip": 1,
    "delete": 1,
    "sync": 1,
    "freeze": 0.5,
    "backfill": 1,
    "enqueue": 2,
}
EVERYWHERE = frozenset({"kill", "freeze", "restart"})
"""What every place suffers: it is done to the nodes."""
_FAULT_EVERY_S, _ACT_EVERY_S = 4.0, 1.5
_RARE = frozenset({"fail-over", "server-kill", "server-freeze", "disk-full"})
_BETWEEN_RARE_S = 20.0
"""What takes the store away comes no more often, so that there is something to be broken."""


def plan(seed: int, seconds: float, nodes: int, can: Collection[str]) -> tuple[Act, ...]:
    """Everything that will happen, in its order: the same for the same seed, length, number of nodes and place."""
    dice = Random(seed)
    acts = [*_faults(dice, seconds, nodes, can), *_people(dice, seconds)]
    return tuple(sorted(acts, key=lambda act: act.at_s))


def _faults(dice: Random, seconds: float, nodes: int, can: Collection[str]) -> Iterable[Act]:
    names = [name for name in FAULTS if name in can or name in EVERYWHERE]
    at_s, rare_s = 2.0, 0.0
    while (at_s := round(at_s + dice.uniform(0.3, 2 * _FAULT_EVERY_S - 0.3), 1)) < seconds:
        often = [name for name in names if name not in _RARE or at_s >= rare_s]
        (what,) = dice.choices(often, [FAULTS[name][0] * (4 if name in _RARE else 1) for name in often])
        who, values = FAULTS[what][1](dice, nodes)
        if what in _RARE:
            rare_s = at_s + _BETWEEN_RARE_S
        yield Act(at_s, who, what, values)


def _people(dice: Random, seconds: float) -> Iterable[Act]:
    at_s = 1.0
    while (at_s := round(at_s + dice.uniform(0.1, 2 * _ACT_EVERY_S), 1)) < seconds:
        (what,) = dice.choices([*PEOPLE], [*PEOPLE.values()])
        yield Act(at_s, OPERATOR, what, (dice.randrange(10_000), dice.randrange(10_000)))
