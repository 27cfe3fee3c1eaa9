"""A hundred million schedules on a thousand nodes: what that would need, from what one of each costs here.

Nobody can run that on one machine. So what one tick, one look, one renewal and one row cost is measured on a real
PostgreSQL; how many ticks there are, and when, is expanded and planned by the code that plans; the rest is arithmetic
(`bench.scaling`), with its assumptions beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import NamedTuple

import numpy as np

from bench import places, scaling, unit_costs
from bench.measure import MICRO
from bench.plots import Axis, Line, Plot
from bench.report import Report
from bench.scaling import Costs, Load, Server
from bench.unit_costs import Measured
from bench.workload import START, realistic
from onthedot import cron
from onthedot.forecast import stream
from onthedot.heap import IndexedHeap
from onthedot.model.node import Node
from onthedot.model.schedule import Schedule
from onthedot.moments import ceil_ms
from onthedot.rules.effects import Before, Situation
from onthedot.rules.plan import Decider
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import encode

Say = Callable[[str], None]
SAMPLE = 5_000
SIZES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
SCHEDULES_A_NODE, MOST_NODES, PLANNERS = 10_000, 1000, 4
KEPT_DAYS = 1.0
_DAY_S = 86_400
_SERVER = Server()


class Shape(NamedTuple):
    """When schedules tick, for each of them."""

    name: str
    ticks: float
    """A second, on the average of a day."""
    herd: float
    """In the busiest instant of the day, of all at once."""


def run(report: Report, say: Say) -> None:
    """Costs, ticks, and what follows from them."""
    say(f"an hour of {SAMPLE:,} crontab lines, planned")
    crontabs = simulate(report)
    with places.opened("postgresql") as place:
        measured = unit_costs.measure(place.fresh(), say)
    _costs(report, measured, place.how)
    shapes = (
        crontabs,
        Shape("one an hour, at any second", 1 / 3600, 1 / 3600),
        Shape("one a day, at any minute", 1 / _DAY_S, 1 / 1440),
    )
    _ticks(report, measured, shapes)
    _one_server(report, measured.costs, shapes[1])
    _planners(report, measured.costs, shapes)
    _judge(report, measured.costs, shapes)


# when ticks come


def simulate(report: Report) -> Shape:
    """A day of what people write into crontabs is expanded; an hour of it is planned, tick by tick, by the rules."""
    texts = realistic(SAMPLE)
    triggers = {name: cron(text) for name, text in texts.items()}
    day, total, busiest = START.replace(hour=0, minute=0), 0, 0
    for index in stream(triggers, day, day + timedelta(days=1)):
        total += len(index)
        busiest = max(busiest, *(busy.runs for busy in index.busiest("1s", 1)))
    expected = sum(
        int(np.sum(index.counts("1h", START, START + timedelta(hours=1))))
        for index in stream(triggers, START, START + timedelta(hours=1))
    )
    planned, seconds = _plan_an_hour({name: _schedule(name, trigger) for name, trigger in triggers.items()})
    section = report.section(
        "When ticks come",
        f"{SAMPLE:,} lines as people write them into crontabs (`bench/workload.py`): a day of them expanded by the "
        "forecast, and an hour planned by the rules that nodes plan with, schedule by schedule and minute by minute, "
        "without a store.",
        *("what", "of all", "for each schedule"),
    )
    section.rows += [
        ("ticks a day", total, total / SAMPLE),
        ("ticks in the busiest second", busiest, busiest / SAMPLE),
        ("ticks planned in the hour", planned, planned / SAMPLE),
        ("µs of processor time to decide one", seconds / planned * MICRO, ""),
    ]
    report.goal(
        "the planner makes the runs that the forecast foretells", f"{planned:,} of {expected:,}", planned == expected
    )
    return Shape("as in crontabs", total / SAMPLE / _DAY_S, busiest / SAMPLE)


def _schedule(name: str, trigger: Trigger) -> Schedule:
    """As it stands when the hour begins."""
    first = trigger.next(START - timedelta(milliseconds=1))
    assert first is not None
    next_ms = ceil_ms(first)
    return Schedule(name, name, task="task", trigger=encode(trigger), next_run_ms=next_ms, settled_ms=next_ms - 1)


def _plan_an_hour(schedules: dict[str, Schedule]) -> tuple[int, float]:
    """How many runs, and how many seconds of processor time the deciding took."""
    last_ms = ceil_ms(START + timedelta(hours=1))
    numbers, node = count(1), Node("node", "node", tasks=("task",))
    decide = Decider(lambda: f"{next(numbers):036}")
    moments: IndexedHeap[str] = IndexedHeap()
    for name, schedule in schedules.items():
        if schedule.next_run_ms is not None:
            moments.push(name, schedule.next_run_ms)
    planned, spent = 0, 0.0
    while (head := moments.peek()) is not None and head[1] < last_ms:
        now_ms = head[1]
        rows = [Before(name, schedules[name], ()) for name, _ in moments.pop_due(now_ms)]
        before = time.process_time()
        effects = decide(rows, Situation(now_ms, node, len(rows), (node,)))
        spent += time.process_time() - before
        for row, each in zip(rows, effects, strict=True):
            assert each.schedule is not None
            planned += len(each.runs)
            schedules[row.name] = each.schedule
            if each.schedule.next_run_ms is not None:
                moments.push(row.name, each.schedule.next_run_ms)
    return planned, spent


# what one of each costs


def _costs(report: Report, measured: Measured, how: str) -> None:
    section = report.section(
        "What one of each costs on PostgreSQL",
        f"{how}. Processor time in µs, of the server and of the node, beside {unit_costs.SCHEDULES:,} schedules, "
        f"{unit_costs.DUE:,} ticks at a time. All nodes that plan read each tick ahead; one of them writes it.",
        *("what", "server, µs", "node, µs"),
    )
    lines = {
        "a tick is read and decided ahead, by each node that plans": measured.read,
        "its moment is read, by every node, five times": measured.moments,
        "it is written at its moment": measured.plan,
        "its outcome is written": measured.finish,
        "a node looks for what is due, once a second": measured.look,
        **{f"a node renews its lease, of {nodes:,} alive": spent for nodes, spent in measured.renewals.items()},
    }
    section.rows += [(name, spent.server_us, spent.node_us) for name, spent in lines.items()]
    rows = report.section("And what it takes", "With indexes; the log from the plan to the outcome.", "what", "bytes")
    rows.rows += [
        ("a schedule", measured.schedule_bytes),
        ("an ended run", measured.run_bytes),
        ("of the server's log, a tick", measured.wal_bytes),
    ]


# what follows


def load_of(shape: Shape, schedules: int, *, all_plan: bool = False) -> Load:
    """A node for so many schedules, two at least. Unless all plan, a few do, and the others come through PgBouncer."""
    nodes = min(max(schedules // SCHEDULES_A_NODE, 2), MOST_NODES)
    planners = nodes if all_plan else min(PLANNERS, nodes)
    return Load(schedules, shape.ticks * schedules, nodes, planners, KEPT_DAYS, pooled=not all_plan)


def _ticks(report: Report, measured: Measured, shapes: tuple[Shape, ...]) -> None:
    core_us = measured.costs.plan_us
    section = report.section(
        "How many ticks that makes",
        "Of schedules that tick as in crontabs, at random seconds, or at random minutes. The busiest instant: how many "
        f"are due at once. To write them: processor time of the server, at {core_us:.0f} µs each, if "
        f"{_SERVER.cores:.0f} cores share it; so late the last of them is at least.",
        *("schedules", "when", "ticks a second", "in the busiest instant", "seconds to write these"),
    )
    for schedules in SIZES:
        for shape in shapes:
            herd = shape.herd * schedules
            late_s = herd * core_us / MICRO / _SERVER.cores
            section.rows.append((f"{schedules:,}", shape.name, shape.ticks * schedules, herd, late_s))


def _one_server(report: Report, costs: Costs, shape: Shape) -> None:
    section = report.section(
        "What one PostgreSQL would need",
        f"Schedules that tick once an hour at any second; a node for {SCHEDULES_A_NODE:,} of them, at most "
        f"{MOST_NODES:,} nodes, {PLANNERS} of which plan; the others only execute (`ONTHEDOT_ROLES`), and come through "
        f"PgBouncer with {scaling.POOLED} connections. Cores of the server, by what for. Ended runs are kept for "
        f"{KEPT_DAYS:g} day.",
        *("schedules", "nodes", *scaling.PARTS, "cores in all", "log, MB/s", "disk, GB", "connections"),
    )
    every_node: list[tuple[float, float]] = []
    lines: dict[str, list[tuple[float, float]]] = {name: [] for name in scaling.PARTS}
    for schedules in SIZES:
        load = load_of(shape, schedules)
        parts, used = scaling.cores_of(costs, load), scaling.used(costs, load, _SERVER)
        section.rows.append(
            (
                *(f"{schedules:,}", load.nodes, *(round(each, 3) for each in parts.values()), sum(parts.values())),
                *(used["log"] * _SERVER.wal_mb, used["disk"] * _SERVER.disk_gb, scaling.connections(load)),
            )
        )
        for name, cores in parts.items():
            lines[name].append((schedules, cores))
        all_plan = scaling.cores_of(costs, load_of(shape, schedules, all_plan=True))
        every_node.append((schedules, all_plan["reading ahead"]))
    section.plots.append(
        Plot(
            "cores",
            "Cores of one PostgreSQL, by what they are needed for",
            Axis("schedules that tick once an hour", is_log=True),
            Axis("cores", is_log=True),
            (
                *(Line(name, tuple(points)) for name, points in lines.items()),
                Line("reading ahead, if all nodes plan", tuple(every_node)),
                Line(
                    f"a server of {_SERVER.cores:.0f} cores",
                    tuple((size, _SERVER.cores) for size in SIZES),
                    is_limit=True,
                ),
            ),
        )
    )


def _planners(report: Report, costs: Costs, shapes: tuple[Shape, ...]) -> None:
    section = report.section(
        "What is used up first, and how many databases share it",
        f"Of a server with {_SERVER.cores:.0f} cores, {_SERVER.connections:.0f} connections, {_SERVER.wal_mb:.0f} MB/s "
        f"of log and {_SERVER.disk_gb / 1000:.0f} TB, none of which shall be used beyond {scaling.FULL:.0%}. These are "
        "assumptions: put in your own. All nodes plan and are connected directly, which is the default; or "
        f"{PLANNERS} plan, and the others come through PgBouncer. Databases: each with a server, schedules and nodes "
        "of its own.",
        *("schedules", "when", "nodes", "planners", "used up first", "of one server", "databases"),
    )
    for schedules in SIZES:
        for shape in shapes:
            for all_plan in (True, False):
                load = load_of(shape, schedules, all_plan=all_plan)
                used = max(scaling.used(costs, load, _SERVER).values())
                stores = scaling.stores_for(costs, load, _SERVER)
                first = scaling.bottleneck(costs, load, _SERVER)
                named = "all" if all_plan else f"{load.planners}"
                row = (f"{schedules:,}", shape.name, load.nodes, named, first, f"{used:.0%}", stores)
                section.rows.append(row)


def _judge(report: Report, costs: Costs, shapes: tuple[Shape, ...]) -> None:
    load = load_of(shapes[1], 1_000_000)
    stores = scaling.stores_for(costs, load, _SERVER)
    report.goal("a million schedules that tick once an hour fit on one PostgreSQL", f"{stores} needed", stores == 1)
