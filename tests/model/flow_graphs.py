"""Random graphs of flows: small, and with everything that a graph may have."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from onthedot.model.graph import Graph, On, Step

NAMES = "abcdef"
ONS: tuple[On, ...] = ("success", "any", "failure", "end")


@dataclass(frozen=True)
class Profile:
    """How likely is what."""

    handlers: tuple[int, int, int, int] = (8, 1, 1, 1)
    may_fail: float = 0.1
    maps: float = 0.4
    subs: float = 0.15
    closing: float = 0.35
    retries: tuple[int, ...] = (0, 0, 1)


CALM = Profile()
HEAVY = Profile(handlers=(4, 1, 3, 3), may_fail=0.25)
FLAT = Profile(subs=0.0)


@dataclass(frozen=True)
class Drawn:
    """A graph, and those that its steps stand for."""

    graph: Graph
    inner: tuple[Graph, ...] = field(default=())

    @property
    def all(self) -> tuple[Graph, ...]:
        return (self.graph, *self.inner)


def random_graph(random: Random, profile: Profile = CALM, *, depth: int = 0) -> Drawn:
    """A graph of one to five steps, closing steps besides."""
    count = random.choice([1, 2, 3, 3, 4, 5] if depth == 0 else [1, 2])
    inner: list[Graph] = []
    steps: list[Step] = []
    for number, name in enumerate(NAMES[:count]):
        after = tuple(each for each in NAMES[:number] if random.random() < 0.5)
        sub = None
        if depth == 0 and random.random() < profile.subs:
            sub = random_graph(random, profile, depth=1).graph
            inner.append(sub)
        steps.append(_step(random, profile, name, after, sub))
    for name, on in (("x", "failure"), ("z", "end")):
        if random.random() < profile.closing:
            steps.append(_closing(random, profile, name, "failure" if on == "failure" else "end"))
    return Drawn(Graph("flow" if depth == 0 else f"sub{random.randrange(1000)}", tuple(steps)), tuple(inner))


def _step(random: Random, profile: Profile, name: str, after: tuple[str, ...], sub: Graph | None) -> Step:
    over: Any = None
    if after and random.random() < profile.maps:
        over = {"$result": random.choice(after)}
    elif random.random() < 0.1:
        over = list(range(random.choice([0, 1, 3])))
    return Step(
        name,
        task="work" if sub is None else f"@{sub.name}",
        after=after,
        on=random.choices(ONS, profile.handlers)[0] if after else "success",
        may_fail=random.random() < profile.may_fail,
        over=over,
        parallel=random.choice([1, 2, 3]),
        policy={"retries": random.choice(profile.retries), "backoff_ms": 2000},
        graph=None if sub is None else sub.hash,
    )


def _closing(random: Random, profile: Profile, name: str, on: On) -> Step:
    may_fail = random.random() < 0.3
    policy = {"retries": random.choice(profile.retries), "backoff_ms": 2000}
    return Step(name, "work", on=on, closing=True, may_fail=may_fail, policy=policy)
