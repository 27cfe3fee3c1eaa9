"""Knowing when: triggers, the forecast and the heap, against croniter, cronsim, APScheduler 3 and np.sort."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import cycle
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import numpy as np
from apscheduler.jobstores.memory import MemoryJobStore
from croniter import croniter
from cronsim import CronSim

from bench.measure import MICRO, MILLI, best, interleaved
from bench.report import Report
from bench.workload import AWKWARD, EVERYDAY, HOUR, START, TEN_ZONES, apscheduler_trigger, realistic
from onthedot import Trigger, cron, dates, every
from onthedot.forecast import IndexHolder, RunIndex, forecast
from onthedot.heap import IndexedHeap
from onthedot.moments import floor_ms
from onthedot.triggers.combine import union
from onthedot.triggers.cron import days, parse, times, trigger
from onthedot.triggers.exclusions import clock_days, day_masks, day_search, search

Say = Callable[[str], None]
PEERS = ("cronsim", "croniter", "APScheduler 3")
MILLION = 1_000_000


def run(report: Report, say: Say) -> None:
    """All tables, one after the other."""
    say("next()")
    next_tick(report)
    say("29 February, cold")
    leap_day(report)
    say("exclusions, cold")
    exclusions(report)
    say("10,000 schedules over an hour, cold; the peers take some seconds")
    an_hour_cold(report)
    say("a million runs")
    million(report)
    say("reading a million")
    reading(report)
    say("100,000 entries in a queue")
    queue(report)


def forget() -> None:
    """Empties every cache, so that the next call is a first one."""
    parse._plain_masks.clear()
    for cached in (
        parse._parse,
        trigger._read,
        trigger._compile,
        days.day_table,
        times.minutes_of_day,
        times.ceil_table,
        times.floor_table,
        times.seconds_of_day,
        clock_days.kinds_of_days,
        clock_days.comb,
        day_masks.wall_times,
        day_search.day_sets,
        search.search_of,
    ):
        cached.cache_clear()


# one trigger


def next_tick(report: Report) -> None:
    for tz in ("UTC", "Europe/Berlin"):
        section = report.section(
            f"next() in {tz}",
            "µs per call, walking from tick to tick: a parsed expression, aware datetimes in and out. Best of 9 turns.",
            *("expression", "onthedot", *PEERS),
        )
        totals = dict.fromkeys(("onthedot", *PEERS), 0.0)
        for text in (*EVERYDAY, *AWKWARD):
            steps = 40 if "29 2" in text else 200
            taken = interleaved({name: walk(text, tz, steps) for name, walk in WALKS.items()}, 9)
            section.rows.append((text, *(taken[name] / steps * MICRO for name in totals)))
            for name in totals:
                totals[name] += taken[name] / steps
        means = {name: total / 16 * MICRO for name, total in totals.items()}
        section.rows.append(("mean of all", *means.values()))
        ours = means.pop("onthedot")
        report.beside(f"next() in {tz}, µs", means, ours, less_is_better=True)
        for peer, times_as_fast in (("cronsim", 12), ("croniter", 35)):
            ratio = totals[peer] / totals["onthedot"]
            report.goal(
                f"next() in {tz}: {times_as_fast} times as fast as {peer}", f"{ratio:.1f} times", ratio >= times_as_fast
            )


def _walk_onthedot(text: str, tz: str, steps: int) -> Callable[[], None]:
    following, start = cron(text, tz=tz).next, START.astimezone(UTC)

    def walk() -> None:
        moment = start
        for _ in range(steps):
            moment = following(moment)  # type: ignore[assignment]  # there is always a next one here

    return walk


def _walk_cronsim(text: str, tz: str, steps: int) -> Callable[[], None]:
    iterator = CronSim(text, START.astimezone(ZoneInfo(tz)))

    def walk() -> None:
        for _ in range(steps):
            next(iterator)

    return walk


def _walk_croniter(text: str, tz: str, steps: int) -> Callable[[], None]:
    following = croniter(text, START.astimezone(ZoneInfo(tz))).get_next

    def walk() -> None:
        for _ in range(steps):
            following(datetime)

    return walk


def _walk_apscheduler(text: str, tz: str, steps: int) -> Callable[[], None]:
    following, start = apscheduler_trigger(text, tz).get_next_fire_time, START.astimezone(ZoneInfo(tz))

    def walk() -> None:
        moment = start
        for _ in range(steps):
            moment = following(moment, moment + timedelta(microseconds=1))

    return walk


WALKS = {
    "onthedot": _walk_onthedot,
    "cronsim": _walk_cronsim,
    "croniter": _walk_croniter,
    "APScheduler 3": _walk_apscheduler,
}


def leap_day(report: Report) -> None:
    section = report.section(
        "29 February", "µs, parsing included, every cache emptied before. Best of 20.", "search", "onthedot"
    )
    for after in ("2026-11-15T00:00Z", "2096-03-01T00:00Z"):
        found = cron("0 0 29 2 *").next(after)
        taken = best(lambda after=after: cron("0 0 29 2 *").next(after), 20, before=forget)  # type: ignore[misc]
        section.rows.append((f"0 0 29 2 * after {after[:10]}: {found:%Y-%m-%d}", taken * MICRO))
        report.goal(f"29 February after {after[:4]} in under a millisecond", f"{taken * MICRO:.0f} µs", taken < 0.001)


def exclusions(report: Report) -> None:
    section = report.section(
        "Exclusions",
        "ms for one answer after 2026-11-15, every cache emptied before; what is left is often nothing. Best of 5.",
        *("trigger", "next", "prev", "count of a year"),
    )
    slowest = 0.0
    for name, make in EXCLUSIONS.items():
        combined = make()
        year = (floor_ms(START), floor_ms(START + timedelta(days=365)))
        questions: list[Callable[[], object]] = [
            lambda combined=combined: combined.next(START),  # type: ignore[misc]
            lambda combined=combined: combined.prev(START),  # type: ignore[misc]
            lambda combined=combined, year=year: combined.count_ms(*year),  # type: ignore[misc]
        ]
        taken = [best(question, 5, before=forget) for question in questions]
        section.rows.append((name, *(seconds * MILLI for seconds in taken)))
        slowest = max(slowest, *taken)
    report.goal("any answer about an exclusion in under 50 ms", f"{slowest * MILLI:.0f} ms", slowest < 0.05)


def _fifty(tz: str) -> Trigger:
    return union(*(cron(f"{n} {n % 24} * * {n % 7}", tz=tz) for n in range(50)))


def _halves() -> Trigger:
    texts = ("0-29 * * * * *", "30-59 * * * * *")
    return every("1s") - union(*(cron(text, repeat_until="2027-02-01T00:00Z") for text in texts))


EXCLUSIONS: dict[str, Callable[[], Trigger]] = {
    "@daily without three dates": lambda: cron("@daily") - dates("2026-11-16", "2026-12-24..2026-12-26"),
    "every minute without itself": lambda: cron("* * * * *") - cron("* * * * *"),
    "every second without two halves of each minute": _halves,
    "fifty without every minute": lambda: _fifty("UTC") - cron("* * * * *"),
    "fifty in Berlin without every minute there": lambda: (
        _fifty("Europe/Berlin") - cron("* * * * *", tz="Europe/Berlin")
    ),
    "09:00 in New York without all weekdays in Berlin": lambda: (
        cron("0 9 * * *", tz="America/New_York") - union(*(cron(f"* * * * {n}", tz="Europe/Berlin") for n in range(7)))
    ),
    'every("97m") without office hours until 2100': lambda: (
        every("97m") - cron("* 8-17 * * *") - cron("* * * * *", repeat_until="2100-01-01T00:00Z")
    ),
    'every("1500ms") without every whole second': lambda: every("1500ms") - cron("* * * * * *"),
}


# many schedules


def an_hour_cold(report: Report) -> None:
    texts = realistic(10_000)
    end = START + HOUR
    just_before = START - timedelta(seconds=1)
    counts: dict[str, int] = {}

    def with_forecast() -> None:
        counts["onthedot, forecast"] = len(forecast({name: cron(text) for name, text in texts.items()}, START, end))

    def with_between() -> None:
        counts["onthedot, without numpy"] = sum(len(cron(text).between(START, end)) for text in texts.values())

    def with_cronsim() -> None:
        counts["cronsim"] = sum(_count(CronSim(text, just_before), end) for text in texts.values())

    def with_croniter() -> None:
        counts["croniter"] = sum(_count(croniter(text, just_before, ret_type=datetime), end) for text in texts.values())

    taken = {
        "onthedot, forecast": best(with_forecast, 3, before=forget),
        "onthedot, without numpy": best(with_between, 3, before=forget),
        "cronsim": best(with_cronsim, 3),
        "croniter": best(with_croniter, 3),
    }
    section = report.section(
        "10,000 schedules over one hour, cold",
        "From texts to all their runs: parsing included, every cache emptied before. "
        "The forecast gives a sorted index, the others lists. Best of 3 for each.",
        *("way", "ms", "runs"),
    )
    section.rows += [(name, seconds * MILLI, counts[name]) for name, seconds in taken.items()]
    millis = {name: seconds * MILLI for name, seconds in taken.items() if name in PEERS}
    report.beside(
        "an hour of 10,000 schedules, cold, ms", millis, taken["onthedot, forecast"] * MILLI, less_is_better=True
    )
    for peer, times_as_fast in (("croniter", 50), ("cronsim", 8)):
        ratio = taken[peer] / taken["onthedot, forecast"]
        report.goal(
            f"an hour of 10,000 schedules, cold: {times_as_fast} times as fast as {peer}",
            f"{ratio:.0f} times",
            ratio >= times_as_fast,
        )


def _count(ticks: CronSim | croniter, end: datetime) -> int:
    count = 0
    for tick in ticks:
        if tick >= end:
            break
        count += 1
    return count


def million(report: Report) -> None:
    section = report.section(
        "A million runs",
        "ms from parsed triggers to a swapped index, and from unsorted arrays. "
        "np.sort: a million random uint64. Best of 9, in turn.",
        *("way", "runs", "ms", "of np.sort"),
    )
    keys = np.random.default_rng(1).integers(0, 2**63, MILLION, dtype=np.uint64)
    holder = IndexHolder(RunIndex.from_arrays([], [], []))
    cases = {
        "1,000 schedules, UTC": (1_000, ("UTC",)),
        "10,000 schedules, UTC": (10_000, ("UTC",)),
        "10,000 schedules, ten zones": (10_000, TEN_ZONES),
    }
    actions: dict[str, Callable[[], object]] = {"np.sort": lambda: np.sort(keys)}
    runs: dict[str, int] = {"np.sort": MILLION}
    for name, (count, zones) in cases.items():
        triggers = {
            each: cron(text, tz=tz) for (each, text), tz in zip(realistic(count).items(), cycle(zones), strict=False)
        }
        end = START + HOUR
        while len(forecast(triggers, START, end)) < MILLION:
            end += HOUR
        runs[name] = len(forecast(triggers, START, end))
        actions[name] = partial(_rebuild, holder, triggers, end)
    for count in (10_000, 100_000, MILLION):
        name = f"{count:,} from unsorted arrays"
        runs[name] = count
        actions[name] = _from_unsorted(count)
    taken = interleaved(actions, 9)
    section.rows += [(name, runs[name], taken[name] * MILLI, taken[name] / taken["np.sort"]) for name in actions]
    for name in ("1,000 schedules, UTC", "10,000 schedules, UTC"):
        per_million = taken[name] / runs[name] * MILLION / taken["np.sort"]
        report.goal(f"a million runs of {name} in the time of np.sort", f"{per_million:.2f} of it", per_million <= 1)
    for count, limit in ((10_000, 5), (100_000, 30), (MILLION, 150)):
        ms = taken[f"{count:,} from unsorted arrays"] * MILLI
        report.goal(f"{count:,} runs from unsorted arrays in under {limit} ms", f"{ms:.1f} ms", ms < limit)


def _rebuild(holder: IndexHolder, triggers: Mapping[str, Trigger], end: datetime) -> None:
    holder.swap(forecast(triggers, START, end))


def _from_unsorted(count: int) -> Callable[[], object]:
    dice = np.random.default_rng(2)
    seconds = dice.integers(1_800_000_000, 1_800_086_400, count)
    numbers = dice.integers(0, 10_000, count)
    names = [f"job-{number:06}" for number in range(10_000)]
    return lambda: RunIndex.from_arrays(seconds, numbers, names)


def reading(report: Report) -> None:
    triggers = {name: cron(text) for name, text in realistic(10_000).items()}
    index = forecast(triggers, START, START + 14 * HOUR)
    first = index.query(START + HOUR, START + 2 * HOUR)[0].at
    sparse = forecast({f"job-{i:06}": cron(f"{i % 60} * * * *") for i in range(100)}, START, START + 10_000 * HOUR)
    hundred = (START + 5_000 * HOUR, START + 5_001 * HOUR)
    assert len(sparse.query(*hundred)) == 100
    section = report.section("Reading a million runs", "Best of 50 turns.", "question", "onthedot", "unit")
    query = best(lambda: list(sparse.query(*hundred)), 50)
    peek = best(lambda: [index.peek() for _ in range(1000)], 50) / 1000
    ten_thousand = (START + 5_000 * HOUR, START + 5_100 * HOUR)
    assert len(sparse.query(*ten_thousand)) == 10_000
    view = best(lambda: sparse.query(*ten_thousand), 50)
    section.rows += [
        (f"100 results out of {len(sparse):,}, made", query * MICRO, "µs"),
        (f"10,000 results out of {len(sparse):,}, as a view", view * MICRO, "µs"),
        ("the same, each of them read", best(lambda: list(sparse.query(*ten_thousand)), 50) * MICRO, "µs"),
        ("the first run (peek)", peek * 1e9, "ns"),
        (f"memory a run, of {len(index):,}", index.nbytes / len(index), "bytes"),
        (
            f"the ten busiest minutes of {len(index):,} runs from {first:%H:%M}",
            best(lambda: index.busiest("1m", 10), 9) * MILLI,
            "ms",
        ),
    ]
    report.goal("100 results out of a million, made, in under 100 µs", f"{query * MICRO:.0f} µs", query < 100e-6)
    report.goal("10,000 results out of a million in under 100 µs", f"{view * MICRO:.0f} µs", view < 100e-6)
    report.goal("peek in under 1 µs", f"{peek * 1e9:.0f} ns", peek < 1e-6)
    report.goal("at most 16 bytes a run", f"{index.nbytes / len(index):.0f} bytes", index.nbytes <= 16 * len(index))


# the queue


def queue(report: Report) -> None:
    ours, theirs = _our_queue(), _their_queue()
    section = report.section(
        "A queue of 100,000 entries",
        "µs per operation on the full queue, best of 5. The peer is APScheduler 3's memory job store, "
        "with bare objects for its jobs. next: find what is due first and put it back for later.",
        *("operation", "onthedot IndexedHeap", "APScheduler 3", "times as fast"),
    )
    for name in ours:
        per_operation = {"ours": best(ours[name], 5) / 1000 * MICRO, "theirs": best(theirs[name], 3) / 100 * MICRO}
        ratio = per_operation["theirs"] / per_operation["ours"]
        section.rows.append((name, per_operation["ours"], per_operation["theirs"], ratio))
        peer = {"APScheduler 3": per_operation["theirs"]}
        report.beside(f"heap at 100,000 entries, {name}, µs", peer, per_operation["ours"], less_is_better=True)
        report.goal(f"heap at 100,000 entries, {name}: 10 times APScheduler 3", f"{ratio:.0f} times", ratio >= 10)


ENTRIES = 100_000


def _our_queue() -> dict[str, Callable[[], None]]:
    dice = random.Random(3)
    heap: IndexedHeap[str] = IndexedHeap()
    for number in range(ENTRIES):
        heap.push(f"job-{number}", dice.randrange(10**9))
    fresh = iter(range(10**9))
    added: list[str] = []

    def add() -> None:
        for _ in range(1000):
            added.append(f"new-{next(fresh)}")
            heap.push(added[-1], dice.randrange(10**9))

    def reschedule() -> None:
        for _ in range(1000):
            heap.update(f"job-{dice.randrange(ENTRIES)}", dice.randrange(10**9))

    def remove() -> None:
        for _ in range(1000):
            heap.remove(added.pop())

    def fire() -> None:
        for _ in range(1000):
            first = heap.peek()
            assert first is not None
            heap.update(first[0], first[1] + 60_000)

    return {"add": add, "reschedule": reschedule, "remove": remove, "next": fire}


def _their_queue() -> dict[str, Callable[[], None]]:
    dice = random.Random(3)
    store = MemoryJobStore()

    def moment() -> datetime:
        return datetime.fromtimestamp(dice.randrange(10**9) / 1000, UTC)

    def job(name: str) -> SimpleNamespace:
        return SimpleNamespace(id=name, next_run_time=moment())

    for number in range(ENTRIES):
        store.add_job(job(f"job-{number}"))
    fresh = iter(range(10**9))
    added: list[str] = []

    def add() -> None:
        for _ in range(100):
            added.append(f"new-{next(fresh)}")
            store.add_job(job(added[-1]))

    def reschedule() -> None:
        for _ in range(100):
            store.update_job(job(f"job-{dice.randrange(ENTRIES)}"))

    def remove() -> None:
        for _ in range(100):
            store.remove_job(added.pop())

    def fire() -> None:
        for _ in range(100):
            first = store.get_next_run_time()
            due = store.get_due_jobs(first)[0]
            store.update_job(SimpleNamespace(id=due.id, next_run_time=first + timedelta(minutes=1)))

    return {"add": add, "reschedule": reschedule, "remove": remove, "next": fire}
