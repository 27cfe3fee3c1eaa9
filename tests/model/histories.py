"""Random histories: drawn from a seed, replayed, and shortened when they break a promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.model.tables import MakeStore
from tests.model.watch import Violation
from tests.model.world import VARIANTS, World

from onthedot.model.ids import seeded
from onthedot.stores.memory import MemoryStore

Step = tuple[str, tuple[int, ...]]

_PASS_MS = (100, 1000, 3000, 10_000, 20_000, 20_000, 31_000, 65_000)
_STARVE_MS = (5000, 10_000, 20_000, 20_000, 20_000, 35_000)
_CLOCK_MS = (-600_000, -45_000, -12_000, -1000, 1000, 15_000, 70_000, 600_000)
_AHEAD_MS = (-1000, 5000, 15_000, 33_000, 50_000, 120_000)


class Dice(Random):
    """Draws what a step needs. It tends to stay with one node: what follows from one thing then happens more often."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._node = 0
        self._stays = False

    def node(self) -> tuple[int]:
        """One of three, mostly the same as before."""
        if not self._stays and self.random() < 0.4:
            self._node = self.randrange(3)
        return (self._node,)

    def stay_with(self, node: int) -> None:
        """Draw only this node, until told otherwise."""
        self._node, self._stays = node, True

    def leave(self) -> None:
        """Draw any node again."""
        self._stays = False

    def schedule(self) -> tuple[int]:
        """One of two."""
        return (self.randrange(2),)

    def up_to(self, most: int) -> tuple[int]:
        """A small number."""
        return (self.randrange(most + 1),)


STEPS: dict[str, tuple[int, Callable[[Dice], tuple[int, ...]]]] = {
    "pass": (20, lambda dice: (dice.choice(_PASS_MS), int(dice.random() < 0.7))),
    "tick": (8, lambda dice: (dice.choice((0, 0, 700)),)),
    "clock": (4, lambda dice: (dice.choice(_CLOCK_MS),)),
    "plan": (24, Dice.node),
    "whole": (12, Dice.node),
    "work": (8, Dice.node),
    "beat": (8, Dice.node),
    "write": (16, Dice.node),
    "sweep": (3, Dice.node),
    "go_on": (24, Dice.node),
    "lose": (6, Dice.node),
    "wake": (5, Dice.node),
    "enter": (16, Dice.node),
    "end": (12, lambda dice: dice.node() + dice.up_to(4)),
    "hand_back": (4, Dice.node),
    "look": (3, Dice.node),
    "local": (4, lambda dice: dice.node() + dice.schedule()),
    "starve": (4, lambda dice: (*dice.node(), dice.choice(_STARVE_MS))),
    "freeze": (4, Dice.node),
    "thaw": (6, Dice.node),
    "crash": (2, Dice.node),
    "restart": (6, Dice.node),
    "stop": (1, Dice.node),
    "prune": (3, lambda dice: (dice.choice((0, 20_000)),)),
    "put": (4, lambda dice: dice.schedule() + dice.up_to(2)),
    "pause": (3, Dice.schedule),
    "resume": (6, Dice.schedule),
    "reschedule": (3, lambda dice: (*dice.schedule(), dice.choice(_AHEAD_MS))),
    "delete": (1, Dice.schedule),
    "trigger": (4, Dice.schedule),
    "cancel": (3, lambda dice: dice.up_to(4)),
    "retry": (3, lambda dice: dice.up_to(7)),
}
_NAMES = tuple(STEPS)
_WEIGHTS = tuple(weight for weight, _ in STEPS.values())
_WORK = (
    "tick whole work tick whole work tick whole work",
    "tick whole work tick plan lose beat go_on go_on enter end write go_on",
    "tick whole work trigger tick plan go_on plan go_on go_on",
    "tick whole work whole+1 tick plan+1 plan go_on go_on+1",
    "tick whole work put pause resume tick plan go_on go_on",
    "tick whole enter tick whole end write go_on tick whole",
    "pass plan go_on go_on enter end write go_on go_on",
    "plan go_on go_on enter end write go_on go_on",
    "pass plan go_on enter beat go_on go_on",
    "pass plan lose beat go_on go_on enter",
    "end write lose pass plan go_on write go_on",
    "hand_back write lose plan go_on write go_on",
    "beat end write go_on plan go_on enter go_on go_on",
    "freeze pass pass beat+1 go_on+1 go_on+1 plan+1 go_on+1 enter+1 thaw plan write go_on",
    "pass plan go_on go_on enter beat starve go_on starve beat+1 go_on+1 enter",
    "pass plan go_on go_on enter starve beat go_on go_on starve go_on plan go_on",
    "pass beat go_on clock beat go_on",
    "pause clock resume",
)
"""What often happens in a row, on one node; with `+1` on the next one."""
_HABITS = (0.2, 1.0, 1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True)
class History:
    """What happened, in the order in which it did."""

    variant: int
    steps: tuple[Step, ...]
    ahead: int = 0b111
    """By bit, which of the three nodes decide ahead."""
    short: int = 0b111
    """By bit, which of them take the short way of what is plain."""

    def __str__(self) -> str:
        lines = (f"    {name} {' '.join(map(str, values))}" for name, values in self.steps)
        return "\n".join((f"  variant {self.variant}, ahead {self.ahead:03b}, short {self.short:03b}", *lines))


def draw(seed: int, length: int = 70, work: float = 0.2) -> History:
    """The history of a seed: the usual work of nodes, some of its steps left out, and others in between.

    Each has its own habits (some steps often, some seldom), so that rare things meet.
    """
    dice = Dice(seed)
    weights = [weight * dice.choice(_HABITS) for weight in _WEIGHTS]
    steps: list[Step] = []
    while len(steps) < length:
        if dice.random() < work:
            steps += _work(dice, weights)
        else:
            steps.append(_step(dice, weights))
    ahead, short = seed // len(VARIANTS) % 8, Random(f"short {seed}").randrange(8)
    return History(seed % len(VARIANTS), tuple(steps), ahead=ahead, short=short)


def _step(dice: Dice, weights: Sequence[float]) -> Step:
    name = dice.choices(_NAMES, weights)[0]
    return name, STEPS[name][1](dice)


def _work(dice: Dice, weights: Sequence[float]) -> Iterator[Step]:
    (node,) = dice.node()
    for text in dice.choice(_WORK).split():
        name, _, other = text.partition("+")
        if dice.random() < 0.1:
            yield _step(dice, weights)
        else:
            dice.stay_with((node + int(other or 0)) % 3)
            yield name, STEPS[name][1](dice)
        dice.leave()


def with_windows(history: History, seed: int) -> History:
    """The same, with freezes, thaws and skips among its steps."""
    dice = Dice(seed)
    steps = list(history.steps)
    for _ in range(dice.randrange(4, 12)):
        (schedule,) = dice.schedule()
        window = ("window", (schedule, dice.choice((-20_000, 0, 0, 15_000)), dice.choice((5000, 40_000, 200_000))))
        step: Step = dice.choice((window, window, ("open", (schedule,)), ("skip", (schedule, dice.randrange(3)))))
        steps.insert(dice.randrange(len(steps) + 1), step)
    return replace(history, steps=tuple(steps))


def with_enqueued(history: History, seed: int) -> History:
    """The same, with runs of no schedule among its steps, most of them plain."""
    dice = Dice(seed)
    steps = list(history.steps)
    for _ in range(dice.randrange(6, 20)):
        steps.insert(
            dice.randrange(len(steps) + 1), ("enqueue", (dice.choice((0, 0, 0, 0, 1, 2, 3)), dice.choice((0, 0, 4000))))
        )
    return replace(history, steps=tuple(steps))


ONE_OF_EACH = (21, 50, 9, 31, 39, 47, 20)
"""Seeds of one short history of each variant, in which ever other nodes decide ahead: stores take seconds for one."""
OTHERS = tuple(seed for seed in range(8 * len(VARIANTS)) if seed not in ONE_OF_EACH)
"""Seeds of each variant with every other choice of such nodes."""

_FAULTS = ("lose", "freeze", "crash", "clock", "sweep")


def without_faults(history: History) -> History:
    """Only what happens while all processes live and hear the store, whoever goes on when: nobody needs to sweep."""
    return replace(history, steps=tuple(step for step in history.steps if step[0] not in _FAULTS))


def violation(history: History, make_store: MakeStore = MemoryStore, *, swept: bool = True) -> str | None:
    """What the history breaks; None where every promise is kept to the end."""
    world: World | None = None
    with seeded(0):
        try:
            world = World(history.variant, make_store, ahead=history.ahead, short=history.short)
            for name, values in history.steps:
                world.step(name, *values)
            world.settle(swept=swept)
        except Violation as broken:
            return str(broken)
        finally:
            for node in [] if world is None else world.nodes:
                node.die()
    return None


def shortened(history: History, *, swept: bool = True) -> History:
    """A history that still breaks the same promise, from which no single step can be left out."""

    def breaks(steps: Sequence[Step]) -> bool:
        return _kind(violation(replace(history, steps=tuple(steps)), swept=swept)) == kind

    kind = _kind(violation(history, swept=swept))
    steps = list(history.steps)
    size = max(len(steps) // 2, 1)
    while True:
        at, removed = 0, False
        while at < len(steps):
            fewer = steps[:at] + steps[at + size :]
            if breaks(fewer):
                steps, removed = fewer, True
            else:
                at += size
        if size == 1 and not removed:
            return replace(history, steps=tuple(steps))
        size = max(size // 2, 1)


def _kind(broken: str | None) -> str | None:
    return None if broken is None else broken.partition(":")[0]
