"""Running: no-op runs a second and lateness, beside peers on the same database, and what an idle node costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from bench import apscheduler3, calm, lateness, places, workers
from bench.apart import apart
from bench.filling import fill, opened_engine, schedule_at
from bench.lateness import Lateness
from bench.places import Place
from bench.plots import Axis, Line, Plot
from bench.report import Report, Section
from onthedot import App

Say = Callable[[str], None]
Way = Callable[[Place], float]
RUNS = {"sqlite": 100_000}
MOST_RUNS, FEW, LIMITED = 50_000, 4000, 5000
TURNS = 3
TUNED = "tune_gc=True"
ASYNC, PLAIN = "onthedot, async def", "onthedot, plain def"
ONE_ASYNC, ONE_PLAIN = "onthedot, async def, one at a time", "onthedot, plain def, one at a time"
HUEY, PGQUEUER, PROCRASTINATE = "Huey", "pgqueuer", "Procrastinate"
ONE_PROCRASTINATE = "Procrastinate, one at a time"


def run(report: Report, say: Say, kind: str) -> None:
    """All tables, one after the other."""
    with places.opened(kind) as place:
        no_ops(report, say, place)
        if kind == "sqlite":
            beside_apscheduler(report, say, place)
        else:
            herds(report, say, place)
        behind_a_limit(report, say, place)
        if kind == "postgresql":
            two_nodes(report, say, place)
        idle(report, say, place)
    if kind == "postgresql":
        with places.opened("mariadb") as beside:
            herds(report, say, beside)


# no-op runs


def no_ops(report: Report, say: Say, place: Place) -> None:
    runs = RUNS.get(place.kind, MOST_RUNS)
    ways: dict[str, Way] = {
        ASYNC: lambda place: _ours(place.fresh(), "async", runs, 1000),
        PLAIN: lambda place: _ours(place.fresh(), "plain", runs, 1000),
        ONE_ASYNC: lambda place: _ours(place.fresh(), "async", FEW, 1),
        ONE_PLAIN: lambda place: _ours(place.fresh(), "plain", FEW, 1),
        **_PEERS.get(place.kind, {}),
    }
    turns = calm.in_turn({name: partial(way, place) for name, way in ways.items()}, TURNS, say)
    rates = {name: each.median for name, each in turns.items()}
    section = report.section(
        f"No-op runs on {place.name}",
        f"{place.how}. Enqueued before, then executed by one process with everything on ({runs:,} runs in batches, "
        f"{FEW} one at a time); runs a second, the median of {TURNS} turns, all in turn. {_HOW.get(place.kind, '')}",
        *("who", "a second", "spread", "others meanwhile, of a core"),
    )
    section.rows += [(name, each.median, each.spread, each.busiest) for name, each in turns.items()]
    _judge_no_ops(report, place.kind, rates)


def _judge_no_ops(report: Report, kind: str, rates: dict[str, float]) -> None:
    ours, one = max(rates[ASYNC], rates[PLAIN]), max(rates[ONE_ASYNC], rates[ONE_PLAIN])
    batches, alone = _peers_of(rates)
    report.beside("no-op runs a second", batches, ours)
    report.beside("no-op runs a second, one at a time", alone, one)
    if kind == "sqlite":
        ratio = ours / rates[HUEY]
        report.goal("no-op runs in batches: 5 times Huey", f"{ratio:.1f} times", ratio >= 5)
        ratio = one / rates[HUEY]
        report.goal("no-op runs one at a time: 0.4 of Huey", f"{ratio:.2f}", ratio >= 0.4)
    if kind == "postgresql":
        theirs = max(rate for name, rate in rates.items() if name.startswith(PGQUEUER))
        report.goal("no-op runs: 1.2 times pgqueuer", f"{ours / theirs:.2f} times", ours >= 1.2 * theirs)
        ratio = one / rates[ONE_PROCRASTINATE]
        report.goal("one at a time: 2.5 times Procrastinate", f"{ratio:.1f} times", ratio >= 2.5)


def _peers_of(rates: dict[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """The best line of each in batches, and of those that do them one at a time."""
    batches: dict[str, float] = {}
    alone: dict[str, float] = {}
    for line, rate in rates.items():
        name, _, how = line.partition(", ")
        if name != "onthedot":
            kind = alone if how in ("one at a time", "batches of 1") else batches
            kind[name] = max(kind.get(name, 0.0), rate)
    if HUEY in batches:  # it knows no other way
        alone[HUEY] = batches[HUEY]
    return batches, alone


def _ours(url: str, kind: str, runs: int, capacity: int, limit: str | None = None) -> float:
    rate: float = apart("bench.no_ops:ours", url, kind, runs, capacity, limit)
    return rate


def _huey(place: Place) -> float:
    rate: float = apart("bench.no_ops:huey", place.fresh().removeprefix("sqlite:///"))
    return rate


def _pgqueuer(runs: int, batch: int) -> Way:
    return lambda place: float(apart("bench.queues:pgqueuer", place.fresh(), runs, batch))


def _procrastinate(runs: int, concurrency: int) -> Way:
    return lambda place: float(apart("bench.queues:procrastinate", place.fresh(), runs, concurrency))


_PEERS: dict[str, dict[str, Way]] = {
    "sqlite": {HUEY: _huey},
    "postgresql": {
        **{f"{PGQUEUER}, batches of {batch}": _pgqueuer(MOST_RUNS, batch) for batch in (200, 500, 1000)},
        f"{PGQUEUER}, batches of 1": _pgqueuer(FEW, 1),
        **{f"{PROCRASTINATE}, concurrency {number}": _procrastinate(FEW, number) for number in (4, 20)},
        ONE_PROCRASTINATE: _procrastinate(FEW, 1),
    },
}
_HOW = {
    "sqlite": "Huey: 2,000 runs, its consumer's loop called directly, without threads, which is its fastest way.",
    "postgresql": "pgqueuer: asyncpg on uvloop, durable tables, draining. Procrastinate: uvloop, no LISTEN, "
    f"{FEW} jobs. The goals take the best line of each.",
}


# several nodes


def two_nodes(report: Report, say: Say, place: Place) -> None:
    ways = {("1 node" if nodes == 1 else f"{nodes} nodes"): partial(_shared, place, nodes) for nodes in (1, 2)}
    turns = calm.in_turn(ways, TURNS, say)
    section = report.section(
        f"Nodes that share {MOST_RUNS:,} runs on {place.name}",
        f"{place.how}. `async def` no-ops a second, on the same cores as the server. Median of {TURNS} turns, in turn.",
        *("who", "a second", "spread", "others meanwhile, of a core"),
    )
    section.rows += [(name, each.median, each.spread, each.busiest) for name, each in turns.items()]
    ratio = turns["2 nodes"].median / turns["1 node"].median
    report.goal("two nodes on the same cores: 1.2 times one", f"{ratio:.2f} times", ratio >= 1.2)


def _shared(place: Place, nodes: int) -> float:
    return workers.runs_a_second(place.fresh(), nodes, MOST_RUNS)


# behind a limit


def behind_a_limit(report: Report, say: Say, place: Place) -> None:
    ways: dict[str, Way] = {
        "a limit of 5": lambda place: _ours(place.fresh(), "plain", LIMITED, 1000, limit="five:5"),
        "no limit, 5 workers": lambda place: _ours(place.fresh(), "plain", LIMITED, 5),
    }
    turns = calm.in_turn({name: partial(way, place) for name, way in ways.items()}, TURNS, say)
    section = report.section(
        f"{LIMITED:,} runs behind a limit of 5 on {place.name}",
        f"{place.how}. No-op runs a second, five at once: by a limit that all nodes share, or because there are no "
        f"more workers. Median of {TURNS} turns, all in turn.",
        *("who", "a second", "spread", "others meanwhile, of a core"),
    )
    section.rows += [(name, each.median, each.spread, each.busiest) for name, each in turns.items()]
    ratio = turns["no limit, 5 workers"].median / turns["a limit of 5"].median
    report.goal("a run behind a limit costs at most 1.5 times one without", f"{ratio:.2f} times", ratio <= 1.5)


# lateness


def beside_apscheduler(report: Report, say: Say, place: Place, schedules: int = 1000, seconds: int = 30) -> None:
    calm.wait(say)
    say(f"{schedules:,} schedules every second for {seconds} s, twice")
    section = _lateness_section(report, place, f"{schedules:,} schedules every second for {seconds} s")
    ours, theirs = lateness.apart(place.fresh(), schedules, seconds), apscheduler3.apart(schedules, seconds)
    tuned = _tuned(place, schedules, seconds)
    section.rows += [ours.row("onthedot"), tuned.row(f"onthedot, {TUNED}"), theirs.row("APScheduler 3")]
    _judge_lost(report, "1,000 schedules a second", ours)
    report.goal("p99 lateness under 75 ms", f"{ours.at(0.99):.0f} ms", ours.at(0.99) < 75)
    report.goal(f"the same, {TUNED}", f"{tuned.at(0.99):.0f} ms", tuned.at(0.99) < 75)
    report.beside("p99 of lateness, ms", {"APScheduler 3": theirs.at(0.99)}, ours.at(0.99), less_is_better=True)
    ratio = ours.at(0.99) / theirs.at(0.99)
    report.goal("p99 lateness at most a tenth of APScheduler 3's", f"{ratio:.3f} of it", ratio <= 0.1)


HERDS = ((100, 10, 12), (1000, 10, 75), (10_000, 30, 800))
"""How many are due in the same instant of each second, for how many seconds, and below how many ms p99 should be."""


def herds(report: Report, say: Say, place: Place) -> None:
    section = _lateness_section(report, place, f"Schedules due in the same instant of each second, on {place.name}")
    late: list[tuple[int, Lateness]] = []
    for schedules, seconds, most_ms in HERDS:
        calm.wait(say)
        say(f"{place.name}: {schedules:,} schedules every second for {seconds} s")
        found = lateness.apart(place.fresh(), schedules, seconds)
        late.append((schedules, found))
        section.rows.append(found.row(f"{schedules:,} for {seconds} s"))
        if schedules == 1000:
            section.rows.append(_tuned(place, schedules, seconds).row(f"{schedules:,} for {seconds} s, {TUNED}"))
        if place.kind == "postgresql":
            goal = f"{schedules:,} due at once: p99 lateness under {most_ms} ms"
            report.goal(goal, f"{found.at(0.99):.0f} ms", found.at(0.99) < most_ms)
            if schedules == 10_000:
                _judge_lost(report, f"{schedules:,} due at once", found)
        elif schedules == 1000:
            report.goal(
                "MariaDB, 1,000 due at once: p99 under 120 ms", f"{found.at(0.99):.0f} ms", found.at(0.99) < 120
            )
    parts = {"p50": 0.5, "p99": 0.99}
    lines = [Line(name, tuple((due, max(found.at(of), 1)) for due, found in late)) for name, of in parts.items()]
    axes = Axis("due in the same instant", is_log=True), Axis("ms late", is_log=True)
    section.plots.append(Plot(f"herds-{place.kind}", f"How late herds begin on {place.name}", *axes, tuple(lines)))


def _tuned(place: Place, schedules: int, seconds: int) -> Lateness:
    """Where the process is the node's own, as `onthedot run` has it: full collections of garbage are rare."""
    return lateness.apart(place.fresh(), schedules, seconds, tune_gc=True)


def _lateness_section(report: Report, place: Place, title: str) -> Section:
    return report.section(
        title,
        f"{place.how}. Schedules declared in code, with default settings, in one embedded process. By how many ms a "
        f"plain no-op function is called late, as it sees it itself, after {lateness.WARM_S} s that do not count. "
        "Left out: ticks that became a decision instead; lost: neither.",
        *lateness.COLUMNS,
    )


def _judge_lost(report: Report, what: str, found: Lateness) -> None:
    called = f"{len(found.late_ms):,} of {found.expected:,} called, {found.left_out:,} left out, {found.lost:,} lost"
    report.goal(f"{what}: none lost, none left out", called, found.lost == 0 and not found.left_out)


# idling


def idle(report: Report, say: Say, place: Place) -> None:
    say("an idle node with 10,000 schedules for 20 s")
    url = place.fresh()
    store = opened_engine(url)
    fill(store, 10_000, schedule_at(store.now_ms() + 30 * 86_400_000, task="nothing"), "later")
    store.close()
    app = App(url)

    @app.task
    def nothing() -> None: ...

    app.start()
    time.sleep(2)
    cpu, wall = time.process_time(), time.perf_counter()
    time.sleep(20)
    share = (time.process_time() - cpu) / (time.perf_counter() - wall)
    app.stop()
    app.close()
    section = report.section(
        f"An idle node with 10,000 schedules on {place.name}",
        "Processor time of the whole process over 20 s.",
        *("who", "% of a core"),
    )
    section.rows.append(("onthedot", share * 100))
    report.goal("an idle node with 10,000 schedules under 1 % of a core", f"{share * 100:.2f} %", share < 0.01)
