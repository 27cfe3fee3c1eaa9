"""Flows: what a step costs beside an enqueued run, in chains and in a map, and what open flows cost an idle node."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from threading import Event
from typing import Any

from bench import calm, lateness, places
from bench.measure import MICRO
from bench.places import Place
from bench.report import Report
from onthedot import App
from onthedot.model.ids import new_id
from onthedot.model.run import Run
from onthedot.node.settings import NodeSettings

Say = Callable[[str], None]
SCHEDULES, SECONDS, MAPS = 100, 8, 20
OPEN, IDLE_S = 1000, 30
STEPS = 10
CHAINS, ITEMS = 300, 10_000
TURNS = 3
ENQUEUED, IN_CHAINS, IN_A_MAP = "enqueued runs", f"steps of {CHAINS} chains of {STEPS}", f"a map of {ITEMS:,}"


def run(report: Report, say: Say, kind: str) -> None:
    """Runs and steps in turn, on one store."""
    with places.opened(kind) as place:
        steps(report, say, place)
        planning_beside(report, say, place)
        idle(report, say, place)


def steps(report: Report, say: Say, place: Place) -> None:
    """No-op runs a second, by what they are part of."""
    runs = CHAINS * STEPS
    fills: dict[str, tuple[int, Callable[[App], None]]] = {
        ENQUEUED: (runs, partial(_enqueue, runs)),
        IN_CHAINS: (runs, _chains),
        IN_A_MAP: (ITEMS, _map),
    }
    spent: dict[str, list[float]] = {name: [] for name in fills}
    turns = calm.in_turn({name: partial(rate, place, *each, spent[name]) for name, each in fills.items()}, TURNS, say)
    each_us = {name: statistics.median(found) * MICRO for name, found in spent.items()}
    section = report.section(
        f"Steps of flows on {place.name}",
        f"{place.how}. No-op runs a second by one process with everything on, all enqueued before; the median of "
        f"{TURNS} turns, all in turn. A chain's steps come one after the other, the chains beside each other; of the "
        "map 100 items are live at once. Processor time is that of the process and its server for each run, from "
        "before it is enqueued: a step is inserted by its flow, a run by who enqueues it, here by the thousand.",
        *("what", "a second", "spread", "processor time each, µs", "others meanwhile, of a core"),
    )
    section.rows += [(name, each.median, each.spread, each_us[name], each.busiest) for name, each in turns.items()]
    costs = turns[ENQUEUED].median / turns[IN_CHAINS].median
    report.goal(
        "a flow of 10 no-op steps takes at most 1.5 times as long as ten runs that are enqueued already",
        f"{costs:.2f} times",
        costs <= 1.5,
    )
    costs = each_us[IN_CHAINS] / each_us[ENQUEUED]
    report.goal(
        "and at most 1.5 times the processor time of ten runs with their enqueueing", f"{costs:.2f} times", costs <= 1.5
    )
    part = turns[IN_A_MAP].median / turns[ENQUEUED].median
    report.goal("a map of 10,000 has at least half the rate of enqueued runs", f"{part:.2f}", part >= 0.5)


def rate(place: Place, runs: int, fill: Callable[[App], None], spent: list[float]) -> float:
    """No-op runs a second, from the start of the node to its end, when all is written. To what is `spent` comes the
    processor time for each of them, from before they are enqueued."""
    app = App(place.fresh(), node=NodeSettings(capacity=1000))
    app.open_store(create=True)
    called, all_called = count(1), Event()

    @app.task(name="nothing")
    async def nothing(number: int = 0) -> None:
        if next(called) >= runs:
            all_called.set()

    before = calm.own()
    fill(app)
    start = time.perf_counter()
    app.start()
    all_called.wait()
    app.stop()
    taken = time.perf_counter() - start
    spent.append((calm.own() - before) / runs)
    app.close()
    return runs / taken


def planning_beside(report: Report, say: Say, place: Place) -> None:
    """How late schedules fire, with and without a map of many items at work in the same process."""
    alone, beside = f"{SCHEDULES} schedules each second, alone", f"the same, beside a map of {ITEMS:,}"
    ways: dict[str, Callable[[], float]] = {
        alone: lambda: lateness.ours(place.fresh(), SCHEDULES, SECONDS).at(0.99),
        beside: lambda: lateness.ours(place.fresh(), SCHEDULES, SECONDS, _maps).at(0.99),
    }
    turns = calm.in_turn(ways, 2, say)
    section = report.section(
        f"Planning beside a map on {place.name}",
        f"{place.how}. How late functions are called, the 99th percentile in ms: {SCHEDULES} schedules are due in the "
        f"same instant of each of {SECONDS} seconds. The maps follow each other, one at a time, each of {ITEMS:,} "
        "no-op items. The median of two turns.",
        *("what", "p99, ms", "spread", "others meanwhile, of a core"),
    )
    section.rows += [(name, each.median, each.spread, each.busiest) for name, each in turns.items()]
    part = turns[beside].median / max(turns[alone].median, 1e-9)
    report.goal("planning beside a map: p99 within 1.5 times", f"{part:.2f} times", part <= 1.5)


def _maps(app: App) -> Callable[[], None]:
    """One map after the other, for longer than is measured."""

    @app.task(name="nothing")
    async def nothing(number: int = 0) -> None: ...

    wide = app.flow("wide")
    source, before = wide.arg("numbers", list(range(ITEMS))), list[Any]()
    for number in range(MAPS):
        before = [wide.map("nothing", source, name=f"map-{number}", after=before)]

    def begin() -> None:
        app.enqueue(wide)

    return begin


def idle(report: Report, say: Say, place: Place) -> None:
    """What flows cost that are open, and of which nothing can begin."""
    shares: dict[int, float] = {}
    for flows in (0, OPEN):
        say(f"an idle node with {flows:,} open flows for {IDLE_S} s")
        calm.wait(say)
        shares[flows] = _idle_share(place, flows)
    section = report.section(
        f"An idle node with open flows on {place.name}",
        f"Processor time over {IDLE_S} s, of the process and of its server. Of each flow one step waits for a node "
        "that is not there.",
        *("open flows", "% of a core"),
    )
    section.rows += [(f"{flows:,}", share * 100) for flows, share in shares.items()]
    more = shares[OPEN] - shares[0]
    report.goal("1,000 open flows cost an idle node less than 0.2 % of a core", f"{more * 100:+.2f} %", more < 0.002)


def _idle_share(place: Place, flows: int) -> float:
    app = App(place.fresh())
    app.open_store(create=True)

    @app.task(name="nothing")
    def nothing() -> None: ...

    stands = app.flow("stands")
    stands.step("nothing", name="waits", group="elsewhere")
    first = app.enqueue(stands)
    _many(app, first, flows)
    if not flows:
        app.runs.cancel(first.id)
    app.start()
    while sum(run.state == "running" for run in app.runs.list(limit=OPEN, steps=False)) < flows:
        time.sleep(0.2)
    time.sleep(3)
    cpu, wall = calm.own(), time.perf_counter()
    time.sleep(IDLE_S)
    share = (calm.own() - cpu) / (time.perf_counter() - wall)
    app.stop()
    app.close()
    return share


def _enqueue(runs: int, app: App) -> None:
    _many(app, app.enqueue("nothing"), runs)


def _chains(app: App) -> None:
    chain = app.flow("chain")
    before: list[Any] = []
    for number in range(STEPS):
        before = [chain.step("nothing", name=f"step-{number}", after=before)]
    _many(app, app.enqueue(chain), CHAINS)


def _map(app: App) -> None:
    wide = app.flow("wide")
    source = wide.arg("numbers", list(range(ITEMS)))
    wide.map("nothing", source)
    app.enqueue(wide)


def _many(app: App, first: Run, runs: int) -> None:
    """So many like the first, which is there."""
    store = app.open_store()
    for begin in range(1, runs, 1000):
        store.enqueue([replace(first, id=new_id(store.now_ms())) for _ in range(min(1000, runs - begin))])
