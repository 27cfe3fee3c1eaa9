"""Dispatch: what routing costs, how late routed runs are, and what `serial` costs over `concurrent`."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from bench import nodes, places
from bench.filling import fill, opened_engine, schedule_at
from bench.lateness import COLUMNS
from bench.measure import MICRO, MILLI, best
from bench.places import Place
from bench.report import Report
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Overlap, Policy
from onthedot.model.run import Run
from onthedot.rules.plan import Decider
from onthedot.rules.routing import ROUTES, Router

Say = Callable[[str], None]
RUNS, NODES, BATCH = 10_000, 100, 500
TURNS = 3
SCHEDULES, SECONDS, PROCESSES = 100, 10, 3


def run(report: Report, say: Say) -> None:
    """All tables, one after the other."""
    with places.opened("sqlite") as sqlite, places.opened("postgresql") as postgresql:
        say(f"routing {RUNS:,} runs over {NODES} nodes")
        routing(report, sqlite)
        late(report, say, (sqlite, postgresql))
        overlap(report, say, (sqlite, postgresql))


# what routing costs


def routing(report: Report, place: Place) -> None:
    planning = min(_plan(place.fresh()) for _ in range(TURNS))
    section = report.section(
        f"Routing {RUNS:,} runs over {NODES} nodes",
        f"ms to choose a node for each, best of {TURNS}; beside what planning them costs on SQLite ({place.how}) in "
        f"batches of {BATCH} with as many nodes alive and the route any.",
        *("route", "ms", "µs a run", "of planning"),
    )
    section.rows.append(("planning, any", planning * MILLI, planning / RUNS * MICRO, 1.0))
    taken = {route: best(_routed(route), TURNS) for route in ROUTES}
    for route, seconds in taken.items():
        section.rows.append((route, seconds * MILLI, seconds / RUNS * MICRO, seconds / planning))
    slowest = max(taken, key=lambda route: taken[route])
    ratio = taken[slowest] / planning
    report.goal("routing costs less than planning, by every route", f"{slowest}: {ratio:.2f} of it", ratio < 1)


def _nodes() -> list[Node]:
    return [Node(new_id(1), f"node-{number}", capacity=100, tasks=("task",), renewed_ms=1) for number in range(NODES)]


def _routed(route: str) -> Callable[[], None]:
    alive = _nodes()
    policy = Policy.from_json({"route": route})
    runs = [
        Run(new_id(1), "task", "tick", 1, 1, policy=policy, schedule=f"schedule-{number}") for number in range(RUNS)
    ]
    busy = {node.id: number % 7 for number, node in enumerate(alive)}

    def work() -> None:
        router = Router(alive, busy, 1)
        for turn, each in enumerate(runs):
            assert router.choose(each, turn, {})

    return work


def _plan(url: str) -> float:
    store = opened_engine(url)
    alive = [store.join(node, []) for node in _nodes()]
    fill(store, RUNS, schedule_at(store.now_ms() - 1000), "due")
    now_ms = store.now_ms()
    decide = Decider(lambda: new_id(now_ms))
    start = perf_counter()
    while store.plan_due(alive[0].id, BATCH, 0, decide).more:
        pass
    taken = perf_counter() - start
    store.close()
    return taken


# how late routed runs are


def late(report: Report, say: Say, on: tuple[Place, ...]) -> None:
    section = report.section(
        f"{SCHEDULES} routed schedules every second on {PROCESSES} nodes",
        f"Nodes are processes; every schedule is due in the same instant of each of {SECONDS} seconds. By how many ms "
        "a no-op function is called late, as it sees it itself; the busiest node's part of all calls.",
        *(*COLUMNS, "busiest"),
    )
    routes = ("any", "round", "hash")
    for place in on:
        for route in routes:
            say(f"{place.name}: {SCHEDULES} schedules every second, route {route}, {PROCESSES} nodes")
            policy = Policy(overlap="concurrent", route=route)
            found, calls = nodes.lateness(place.fresh(), policy, nodes=PROCESSES, schedules=SCHEDULES, seconds=SECONDS)
            busiest = f"{max(calls) / max(sum(calls), 1):.0%}"
            section.rows.append((*found.row(f"{place.name}, {route}"), busiest))
            if route != "any":
                report.goal(f"{place.name}, route {route}: none lost", f"{found.lost:,} lost", found.lost == 0)


# what serial costs


def overlap(report: Report, say: Say, on: tuple[Place, ...]) -> None:
    section = report.section(
        f"{RUNS:,} runs, serial and concurrent",
        f"Planned as running and finished, in batches of {BATCH}; ms, best of {TURNS}, taken in turn.",
        *("where", "concurrent", "serial", "times"),
    )
    kinds: tuple[Overlap, ...] = ("concurrent", "serial")
    for place in on:
        say(f"{place.name}: {RUNS:,} runs, serial and concurrent")
        taken = dict.fromkeys(kinds, float("inf"))
        for _ in range(TURNS):
            for kind in kinds:
                taken[kind] = min(taken[kind], _plan_and_finish(place.fresh(), kind))
        ratio = taken["serial"] / taken["concurrent"]
        section.rows.append((place.name, taken["concurrent"] * MILLI, taken["serial"] * MILLI, ratio))
        goal = f"{place.name}: serial costs at most 1.3 times concurrent"
        report.goal(goal, f"{ratio:.2f} times", ratio <= 1.3)


def _plan_and_finish(url: str, kind: Overlap) -> float:
    store = opened_engine(url)
    node = store.join(Node(new_id(store.now_ms()), "bench", capacity=BATCH, tasks=("task",)), [])
    fill(store, RUNS, schedule_at(store.now_ms() - 1000, policy=Policy(overlap=kind)), "due")
    now_ms = store.now_ms()
    decide = Decider(lambda: new_id(now_ms))
    more, start = True, perf_counter()
    while more:
        planned = store.plan_due(node.id, BATCH, BATCH, decide)
        runs = [each for effects in planned.effects for each in effects.runs]
        store.finish(node.id, [Outcome(each.id, each.claim_no, "succeeded") for each in runs])
        more = planned.more
    taken = perf_counter() - start
    store.close()
    return taken
