"""Planning: how many schedules a second, how long a claim takes, and what a million others cost."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from bench import calm, pgbench, places
from bench.filling import (
    NUMBERS,
    fill,
    fill_history,
    multiply_history,
    multiply_schedules,
    opened_engine,
    schedule_at,
)
from bench.measure import part
from bench.places import Place
from bench.planners import Claims, Crew, decided_before
from bench.plots import Axis, Line, Plot
from bench.report import Cell, Report
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.rules.plan import Decider

BATCH = 500
DUE, FEW_DUE = 10_000, 1000
LATER_MS = 3_600_000
"""When what surrounds them is due."""
PLANNERS = (1, 4, 10)
TURNS, GROWTH_TURNS = 3, 5

Say = Callable[[str], None]


def run(report: Report, say: Say, kind: str) -> None:
    """All tables, one after the other."""
    if kind == "sqlite":
        throughput(report, say)
    with places.opened(kind) as place:
        if kind != "sqlite":
            with Crew() as crew:
                claims(report, say, place, crew)
        growth(report, say, place)


class Bench:
    """A store with a node that plans."""

    def __init__(self, url: str) -> None:
        self.store = opened_engine(url)
        self.now_ms = self.store.now_ms()
        self.node = self.store.join(Node("node", "bench", tasks=("task",)), [])
        self.make_id = lambda: new_id(self.now_ms)
        self.decide = Decider(self.make_id)

    def plan_all(self) -> tuple[int, float]:
        """Plan until nothing is due; how many runs that gave, and how long it took."""
        planned, start = 0, perf_counter()
        while True:
            done = self.store.plan_due("node", BATCH, 0, self.decide)
            planned += sum(len(effects.runs) for effects in done.effects)
            if not done.more:
                return planned, perf_counter() - start

    def plan_decided(self) -> tuple[int, float]:
        """The same of what was decided before its moment, which is not counted."""
        ahead = decided_before(self.store, self.node, self.decide)
        planned, start = 0, perf_counter()
        for first in range(0, len(ahead), BATCH):
            done = self.store.plan_ahead("node", ahead[first : first + BATCH], self.make_id)
            planned += len(done.effects)
        return planned, perf_counter() - start

    def plan_thousand(self, turn: int) -> float:
        """Seconds for a thousand that have just become due."""
        fill(self.store, FEW_DUE, schedule_at(self.store.now_ms() - 1000), f"due-{turn}")
        planned, taken = self.plan_all()
        assert planned == FEW_DUE
        return taken


# one process on SQLite


def throughput(report: Report, say: Say) -> None:
    ways = {"decided before its moment": Bench.plan_decided, "decided at its moment": Bench.plan_all}
    found = calm.in_turn({name: partial(_planned_a_second, way) for name, way in ways.items()}, TURNS, say)
    section = report.section(
        "Planning on SQLite",
        f"{DUE:,} schedules due at one moment, batches of {BATCH}, synchronous FULL, WAL; each gives a run. What is "
        f"decided before its moment is only written at it, already running. Median of {TURNS} turns.",
        *("the tick is", "a second", "spread", "others meanwhile, of a core"),
    )
    section.rows += [(name, each.median, each.spread, each.busiest) for name, each in found.items()]
    rate = found["decided before its moment"].median
    report.goal("35,000 schedules planned a second on SQLite", f"{rate:,.0f}", rate >= 35_000)


def _planned_a_second(plan: Callable[[Bench], tuple[int, float]]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(f"sqlite:///{Path(folder) / 'bench.db'}")
        fill(bench.store, DUE, schedule_at(bench.now_ms - 1000), "due", each=10_000)
        planned, taken = plan(bench)
        bench.store.close()
    assert planned == DUE
    return planned / taken


# many planners on a server


class Shape(NamedTuple):
    """How many are due, how many planners there are, how many a claim takes, and when they were decided."""

    due: int
    planners: int
    batch: int
    ahead: bool


def _shapes(ahead: bool) -> tuple[Shape, ...]:
    return (*(Shape(FEW_DUE, planners, 100, ahead) for planners in PLANNERS), Shape(DUE, 4, 500, ahead))


def claims(report: Report, say: Say, place: Place, crew: Crew) -> None:
    ours: dict[Shape, list[Claims]] = {}
    theirs: dict[Shape, list[Claims]] = {}
    for _ in range(TURNS):
        for shape in (*(_shapes(True) if _plans_ahead(place) else ()), *_shapes(False)):
            say(f"{place.name}: {shape.due:,} due, {shape.planners} planners, batches of {shape.batch}")
            calm.wait(say)
            claimed = crew.plan(with_due(place, shape.due), shape.planners, shape.batch, ahead=shape.ahead)
            ours.setdefault(shape, []).append(claimed)
            if place.programs is not None and shape.ahead:
                url = with_due(place, shape.due)
                bench = pgbench.plan(place.programs, url, shape.due, shape.planners, shape.batch)
                theirs.setdefault(shape, []).append(bench)
    _show(report, place, ours, theirs)
    if place.kind == "postgresql":
        _judge(report, ours, theirs)


def _plans_ahead(place: Place) -> bool:
    """Whether what was decided before its moment costs less there."""
    store = opened_engine(place.fresh())
    store.close()
    return store.plans_ahead


def with_due(place: Place, count: int) -> str:
    """The URL of a store in which so many are due."""
    url = place.fresh()
    store = opened_engine(url)
    due = schedule_at(store.now_ms() - 1000)
    if place.kind in ("postgresql", "mariadb"):
        fill(store, 1, due, "due")
        multiply_schedules(url, count - 1, "due")
    else:
        fill(store, count, due, "due")
    store.close()
    return url


def _show(report: Report, place: Place, ours: dict[Shape, list[Claims]], theirs: dict[Shape, list[Claims]]) -> None:
    beside = ("pgbench a second", "its p99 ms", "of pgbench") if theirs else ()
    section = report.section(
        f"Planners on {place.name}",
        f"{place.how}. Planners are nodes with a connection each, in up to five processes; all plan until nothing is "
        "due. A claim is one call that got something; ahead: what was decided before its moment is only written at it. "
        f"Schedules a second: the median of {TURNS} turns, all in turn; p50 and p99 over the claims of all turns. "
        "Failed: claims that the server cut off or that clashed too often, and that another claim made good. "
        + ("pgbench: one statement a claim on the same tables, in turn with ours." if theirs else ""),
        *("due, planners, batch", "a second", "p50 ms a claim", "p99 ms a claim", "failed", *beside),
    )
    for shape, turns in ours.items():
        failed = sum(each.failed for each in turns)
        name = f"{shape.due:,}, {shape.planners}, {shape.batch}{', ahead' if shape.ahead else ''}"
        row: list[Cell] = [name, _rate(turns), _late(turns, 0.5), _late(turns, 0.99), failed]
        if theirs:
            bench = theirs[shape._replace(ahead=True)]
            row += [_rate(bench), _late(bench, 0.99), _rate(turns) / _rate(bench)]
        section.rows.append(tuple(row))
    section.plots.append(_by_planners(place, ours, theirs))
    for shape, turns in ours.items():
        assert all(each.planned == shape.due for each in turns), f"{shape}: a schedule was planned twice or not at all"


def _by_planners(place: Place, ours: dict[Shape, list[Claims]], theirs: dict[Shape, list[Claims]]) -> Plot:
    """Of a thousand that are due, in the way that nodes take."""
    most = max(shape.ahead for shape in ours)
    few = [shape for shape in ours if shape.due == FEW_DUE and shape.ahead == most]
    lines = [Line("onthedot", tuple((shape.planners, _rate(ours[shape])) for shape in few))]
    if theirs:
        lines.append(Line("pgbench", tuple((shape.planners, _rate(theirs[shape])) for shape in few), is_limit=True))
    title = f"Claims of {FEW_DUE:,} due schedules on {place.name}"
    return Plot("planners", title, Axis("planners"), Axis("schedules a second"), tuple(lines))


def _judge(report: Report, ours: dict[Shape, list[Claims]], theirs: dict[Shape, list[Claims]]) -> None:
    few = [shape for shape in ours if shape.due == FEW_DUE and shape.ahead]
    best = max(few, key=lambda shape: _rate(ours[shape]))
    rate = _rate(ours[best])
    report.goal("1,000 due on PostgreSQL: 20,000 a second (best of 1, 4, 10 planners)", f"{rate:,.0f}", rate >= 20_000)
    slowest = _late(ours[Shape(FEW_DUE, 10, 100, True)], 0.99)
    report.goal("p99 of a claim under 70 ms with 10 planners", f"{slowest:.0f} ms", slowest < 70)
    ratio = rate / max(_rate(theirs[shape]) for shape in few)
    report.goal("wanted: 0.85 of pgbench's statement (best of each)", f"{ratio:.2f} of it", ratio >= 0.85)


def _rate(turns: Sequence[Claims]) -> float:
    return statistics.median(each.rate for each in turns)


def _late(turns: Sequence[Claims], of: float) -> float:
    return part(sorted(ms for each in turns for ms in each.claims_ms), of)


# what others cost


SIZES = {
    "sqlite": (1_000_000, 1_000_000),
    "postgresql": (1_000_000, 1_000_000),
    "mariadb": (1_000_000, 1_000_000),
    "mongodb": (100_000, 100_000),
    "redis": (100_000, 100_000),
}
"""Schedules and finished runs: as many as can be filled in within minutes. MongoDB and Redis are filled through us."""


def growth(report: Report, say: Say, place: Place) -> None:
    schedules, history = SIZES[place.kind]
    section = report.section(
        f"What others cost on {place.name}",
        f"{place.how}. ms to plan 1,000 due schedules in batches of {BATCH}, best of {GROWTH_TURNS} fresh thousands. "
        "As many others as can be filled in within minutes.",
        "beside them",
        "ms",
        "times",
    )
    taken: dict[str, float] = {}
    for name, others, finished in (
        ("9,000 schedules", 9_000, 0),
        (f"{schedules - 1000:,} schedules", schedules - 1000, 0),
        (f"{history:,} runs of history", 9_000, history),
    ):
        say(f"{place.name}: 1,000 due beside {name}")
        bench = Bench(url := place.fresh())
        crowd(bench, place.kind, url, others, finished)
        taken[name] = min(bench.plan_thousand(turn) for turn in range(GROWTH_TURNS))
        bench.store.close()
        ratio = taken[name] / taken["9,000 schedules"]
        section.rows.append((name, taken[name] * 1000, ratio))
        if len(taken) > 1:
            goal = f"planning on {place.name} beside {name}: at most 1.5 times as long"
            report.goal(goal, f"{ratio:.2f} times", ratio <= 1.5)


def crowd(bench: Bench, kind: str, url: str, schedules: int, history: int) -> None:
    later = schedule_at(bench.now_ms + LATER_MS)
    if kind in NUMBERS:
        fill(bench.store, 1, later, "later")
        multiply_schedules(url, schedules - 1, "later")
        if history:
            fill_history(bench.store, 1)
            multiply_history(url, history - 1)
    else:
        fill(bench.store, schedules, later, "later")
        fill_history(bench.store, history)
