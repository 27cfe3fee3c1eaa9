"""What a due tick costs as everything around it grows: schedules, history, waiting runs, nodes; and a node's memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from time import perf_counter

from bench import calm, floors, memory, pgbench, places, workers
from bench.calm import Turns
from bench.filling import fill, multiply_waiting, opened_engine, schedule_at
from bench.measure import MICRO
from bench.places import Place
from bench.planners import Crew, decided_before
from bench.planning import BATCH, Bench, crowd, with_due
from bench.plots import Axis, Line, Plot, Spread
from bench.report import Report
from onthedot.model.ids import new_id
from onthedot.model.run import Run

Say = Callable[[str], None]
Way = Callable[[Bench], float]

DUE, TURNS, FEW_TURNS = 1000, 5, 3
SCHEDULES = (1_000, 10_000, 100_000, 1_000_000)
HISTORY = (0, 10_000, 100_000, int(os.environ.get("BENCH_HISTORY", "1000000")))
WAITING = (0, 1_000, 10_000, 100_000)
NODES = (1, 2, 4, 10)
RUNS, MEMORY_RUNS = 10_000, int(os.environ.get("BENCH_MEMORY_RUNS", "1000000"))
GOAL, WANTED = 1.5, 1.2
_BESIDE = 1_000
_HOUR_MS = 3_600_000


def run(report: Report, say: Say, kind: str) -> None:
    """One table and one plot for each thing that grows."""
    if kind not in ("sqlite", "postgresql"):
        raise SystemExit("error: growth is measured on sqlite and postgresql")
    with places.opened(kind) as place:
        floor = floor_us(place)
        for growing in (schedules_grow, history_grows, waiting_grows):
            growing(report, say, place, floor)
        planners_grow(report, say, place, floor)
        nodes_grow(report, say, place)
        memory_grows(report, say, place)


# what is planned, and how long that takes


def at_its_moment(bench: Bench) -> float:
    """Microseconds for each of a thousand ticks that are due: read, decided and written."""
    planned, taken = bench.plan_all()
    assert planned == DUE, f"{planned} planned, and not {DUE}"
    return taken / DUE * MICRO


def decided_ahead(bench: Bench) -> float:
    """The same of ticks that were read and decided before, which is counted too."""
    start = perf_counter()
    ahead = decided_before(bench.store, bench.node, bench.decide)
    planned = 0
    for first in range(0, len(ahead), BATCH):
        planned += len(bench.store.plan_ahead("node", ahead[first : first + BATCH], bench.make_id).effects)
    taken = perf_counter() - start
    assert planned == DUE, f"{planned} planned, and not {DUE}"
    return taken / DUE * MICRO


WAYS: dict[str, Way] = {"decided at its moment": at_its_moment, "decided ahead": decided_ahead}


def floor_us(place: Place) -> float:
    """The same thousand by the database alone, with one or two statements a batch; the least of some turns."""
    return min(_floor_once(place) for _ in range(FEW_TURNS))


def _floor_once(place: Place) -> float:
    url = with_due(place, DUE)
    if place.programs is not None:
        return DUE / pgbench.plan(place.programs, url, DUE, 1, BATCH).rate / DUE * MICRO
    return floors.sqlite_plan(url, DUE, BATCH) / DUE * MICRO


@dataclass(frozen=True, slots=True)
class Crowd:
    """A store with so much in it, and a node that plans there."""

    size: int
    bench: Bench
    numbers: Iterator[int]

    def measure(self, way: Way) -> float:
        """A thousand schedules that have just become due."""
        fill(self.bench.store, DUE, schedule_at(self.bench.store.now_ms() - 1000), f"due-{next(self.numbers)}")
        return way(self.bench)


def _crowd(place: Place, size: int, schedules: int, history: int, waiting: int) -> Crowd:
    bench = Bench(url := place.fresh())
    crowd(bench, place.kind, url, schedules, history)
    if waiting:
        due_ms = bench.now_ms - 1000
        bench.store.enqueue([Run(new_id(due_ms), "of nobody here", "enqueue", due_ms, due_ms)])
        multiply_waiting(url, waiting - 1)
    return Crowd(size, bench, count())


def _measured(crowds: Sequence[Crowd], say: Say) -> dict[tuple[str, int], Turns]:
    actions = {(name, each.size): partial(each.measure, way) for name, way in WAYS.items() for each in crowds}
    named = {f"{name}, beside {size:,}": action for (name, size), action in actions.items()}
    turns = calm.in_turn(named, TURNS, say)
    return dict(zip(actions, turns.values(), strict=True))


# one thing grows


def schedules_grow(report: Report, say: Say, place: Place, floor: float) -> None:
    """In a store of its own for each number; all of them are asked in turn."""
    _grow(report, say, place, floor, what="schedules", sizes=[(size, size, 0, 0) for size in SCHEDULES])


def history_grows(report: Report, say: Say, place: Place, floor: float) -> None:
    """Of ended runs."""
    _grow(report, say, place, floor, what="ended runs", sizes=[(size, _BESIDE, size, 0) for size in HISTORY])


def waiting_grows(report: Report, say: Say, place: Place, floor: float) -> None:
    """Of runs that are due, and of a task that no node has: whoever looks for what is due must pass them by."""
    _grow(report, say, place, floor, what="waiting runs", sizes=[(size, _BESIDE, 0, size) for size in WAITING])


def _grow(
    report: Report, say: Say, place: Place, floor: float, *, what: str, sizes: Sequence[tuple[int, int, int, int]]
) -> None:
    crowds = []
    for size, schedules, history, waiting in sizes:
        say(f"{place.name}: filling in {size:,} {what}")
        crowds.append(_crowd(place, size, schedules, history, waiting))
    found = _measured(crowds, say)
    for each in crowds:
        each.bench.store.close()
    section = report.section(
        f"{what[0].upper()}{what[1:]} on {place.name}",
        f"{place.how}. Time by the clock in µs for each of {DUE:,} ticks that have just become due, in batches of "
        f"{BATCH}: decided at their moment, or before it and only written then (both are counted). Medians of "
        f"{TURNS} turns, all sizes in turn. The floor: "
        + ("pgbench" if place.programs else "the database alone, two statements a batch")
        + f" on the same rows takes {floor:.0f} µs a tick.",
        *(f"{what}", "way", "µs a tick", "spread", "times the smallest", "times the floor", "others, of a core"),
    )
    smallest = sizes[0][0]
    for (way, size), turns in found.items():
        times = turns.median / found[way, smallest].median
        row = (f"{size:,}", way, turns.median, turns.spread, times, turns.median / floor, turns.busiest)
        section.rows.append(row)
    section.plots.append(_plot(what, found, floor))
    most = sizes[-1][0]
    worst = max(found[way, most].median / found[way, smallest].median for way in WAYS)
    goal = f"a due tick beside {most:,} {what}: at most {GOAL} times that beside {smallest:,} (wanted {WANTED})"
    report.goal(goal, f"{worst:.2f} times", worst <= GOAL)


def _plot(what: str, found: dict[tuple[str, int], Turns], floor: float) -> Plot:
    """None of something is drawn where one would be: logarithms have no nothing."""
    sizes = sorted({size for _, size in found})
    lines = [
        Line(
            way,
            tuple((max(size, 1), found[way, size].median) for size in sizes),
            tuple(Spread(max(size, 1), min(found[way, size].values), max(found[way, size].values)) for size in sizes),
        )
        for way in WAYS
    ]
    under = Line("the database alone", tuple((max(size, 1), floor) for size in sizes), is_limit=True)
    name = what.replace(" ", "-")
    title = f"What planning a due tick costs beside so many {what}"
    return Plot(name, title, Axis(f"{what} (none stands at 1)", is_log=True), Axis("µs a tick"), (*lines, under))


# nodes


def planners_grow(report: Report, say: Say, place: Place, floor: float) -> None:
    """Nodes that plan the same due schedules at once, each with a connection of its own."""
    with Crew() as crew:
        ways: dict[int, Callable[[], float]] = {
            nodes: lambda nodes=nodes: _planned_together(crew, place, nodes)  # type: ignore[misc]
            for nodes in NODES
        }
        found = calm.in_turn({str(nodes): way for nodes, way in ways.items()}, FEW_TURNS, say)
    section = report.section(
        f"Planners on {place.name}",
        f"{place.how}. {10 * DUE:,} schedules due at once, planned by so many nodes in up to five processes on the "
        "same cores as the database, batches of 100, decided ahead. µs a tick: from the common start to the last "
        f"commit. Medians of {FEW_TURNS} turns, all in turn.",
        *("planners", "µs a tick", "spread", "ticks a second", "times one planner", "others, of a core"),
    )
    one = found["1"].median
    for nodes, turns in found.items():
        row = (nodes, turns.median, turns.spread, MICRO / turns.median, turns.median / one, turns.busiest)
        section.rows.append(row)
    section.plots.append(_by_nodes("planners", "What planning a tick costs with so many planners", "µs a tick", found))
    ratio = found[str(NODES[-1])].median / one
    goal = f"a due tick with {NODES[-1]} planners: at most {GOAL} times that with one (wanted {WANTED})"
    report.goal(goal, f"{ratio:.2f} times", ratio <= GOAL)


def _planned_together(crew: Crew, place: Place, nodes: int) -> float:
    return MICRO / crew.plan(with_due(place, 10 * DUE), nodes, 100, ahead=True).rate


def nodes_grow(report: Report, say: Say, place: Place) -> None:
    """Whole nodes that share no-op runs."""
    ways = {str(nodes): partial(_shared, place, nodes) for nodes in NODES}
    found = calm.in_turn(ways, FEW_TURNS, say)
    section = report.section(
        f"Nodes that share {RUNS:,} runs on {place.name}",
        f"{place.how}. `async def` no-ops a second, by so many processes on the same cores as the database: what more "
        f"nodes cost where there are no more machines. Medians of {FEW_TURNS} turns, all in turn.",
        *("nodes", "runs a second", "spread", "times one node", "others, of a core"),
    )
    one = found["1"].median
    section.rows += [(name, each.median, each.spread, each.median / one, each.busiest) for name, each in found.items()]
    section.plots.append(_by_nodes("nodes", "Runs a second of so many nodes together", "runs a second", found))
    if place.kind == "postgresql":
        ratio = found["2"].median / one
        report.goal("two nodes on the same cores: 1.2 times one (wanted 1.4)", f"{ratio:.2f} times", ratio >= 1.2)


def _shared(place: Place, nodes: int) -> float:
    return workers.runs_a_second(place.fresh(), nodes, RUNS)


def _by_nodes(name: str, title: str, unit: str, found: dict[str, Turns]) -> Plot:
    points = tuple((float(nodes), turns.median) for nodes, turns in found.items())
    spreads = tuple(Spread(float(nodes), min(turns.values), max(turns.values)) for nodes, turns in found.items())
    return Plot(name, title, Axis("nodes"), Axis(unit), (Line(unit, points, spreads),))


# memory


def memory_grows(report: Report, say: Say, place: Place) -> None:
    """Of one node, after so many runs."""
    say(f"{MEMORY_RUNS:,} runs by one node")
    opened_engine(beside := place.fresh()).close()
    seen = memory.while_it_runs(place.fresh(), MEMORY_RUNS, say)
    section = report.section(
        f"Memory of a node on {place.name}",
        f"`async def` no-ops, enqueued by another process; what the system counts as present. A bare commit of one row "
        f"takes {floors.commit_ms(place.kind, beside):.2f} ms here.",
        *("runs", "MB"),
    )
    section.rows += [(f"{each.runs:,}", each.rss / 2**20) for each in seen[:: max(len(seen) // 10, 1)]]
    points = tuple((float(each.runs), each.rss / 2**20) for each in seen)
    plot = Plot("memory", "Memory of a node while it runs", Axis("runs"), Axis("MB"), (Line("one node", points),))
    section.plots.append(plot)
    begin, end = seen[max(len(seen) // 10 - 1, 0)].rss, seen[-1].rss
    goal = f"memory of a node after {MEMORY_RUNS:,} runs: at most 10 % more than after a tenth of them (wanted none)"
    report.goal(goal, f"{end / begin - 1:+.1%}", end <= begin * 1.1)
