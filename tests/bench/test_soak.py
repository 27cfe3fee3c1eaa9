"""What a soak calls growth, and what it does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.soak import judging
from bench.soak.judging import Growth, Windows
from bench.soak.page import report_of
from bench.soak.sample import NodeSample, Recording, Sample

MB = 2**20


def sample(at_s: float, *, rss: float = 80 * MB, threads: int = 20, done: int = 200, **rows: int) -> Sample:
    node = NodeSample(int(rss), objects=1000, blocks=2000, handles=15, threads=threads)
    return Sample(
        at_s=at_s,
        seconds=10.0,
        nodes=(node, node),
        ended={"succeeded": done},
        late_p50_ms=5,
        late_p99_ms=20,
        late_max_ms=30,
        rows={"history": 5000} | rows,
        size=10 * MB,
        used=0.1,
        others=0.0,
        load=0.2,
    )


def soaked(make: Callable[[float], Sample], seconds: int = 3600) -> list[Sample]:
    return [make(at_s) for at_s in range(10, seconds + 1, 10)]


def recording(samples: list[Sample], **end: Any) -> Recording:
    about = {
        "store": "sqlite", "name": "SQLite", "how": "WAL", "hours": samples[-1].at_s / 3600, "nodes": 2,
        "schedules": 10,
        "keep_ms": 300_000, "machine": {"date": "2026-11-18"},
    }  # fmt: skip
    return Recording(about, tuple(samples), {"verdict": ["22 schedules judged: no promise broken"]} | end)


def reached(samples: list[Sample], **end: Any) -> dict[str, bool]:
    report = report_of(recording(samples, **end))
    return {goal.text: goal.reached for goal in report.goals}


def test_what_stays_as_it_is_reaches_every_goal() -> None:
    assert all(reached(soaked(sample)).values())


def test_memory_that_grows_is_told_also_where_it_grows_slowly() -> None:
    goals = reached(soaked(lambda at_s: sample(at_s, rss=80 * MB * (1 + at_s / 3600 * 0.2))))
    assert not goals["memory of a node at the end: at most 10 % more"]


def test_what_is_taken_in_the_first_minutes_is_no_growth() -> None:
    goals = reached(soaked(lambda at_s: sample(at_s, rss=(60 + min(at_s, 500) / 10) * MB)))
    assert goals["memory of a node at the end: at most 10 % more"]


def test_a_thread_more_every_quarter_of_an_hour_is_told() -> None:
    goals = reached(soaked(lambda at_s: sample(at_s, threads=20 + int(at_s // 900))))
    assert not goals["threads of a node are no more at the end"]


def test_a_table_that_retention_does_not_hold_is_named() -> None:
    report = report_of(recording(soaked(lambda at_s: sample(at_s, logs=int(at_s)))))
    (goal,) = [goal for goal in report.goals if goal.text.startswith("no table")]
    assert (goal.reached, goal.measured) == (False, "logs grew")


def test_more_rows_of_more_runs_are_no_growth_and_of_as_many_they_are() -> None:
    def busier_and_fuller(at_s: float) -> Sample:
        return sample(at_s, done=100 if at_s < 1800 else 200, history=3000 if at_s < 1800 else 6000)

    assert all(reached(soaked(busier_and_fuller)).values())
    assert not all(reached(soaked(lambda at_s: sample(at_s, history=3000 if at_s < 1800 else 6000))).values())


def test_tables_that_are_kept_for_days_may_grow() -> None:
    assert all(reached(soaked(lambda at_s: sample(at_s, minutes=int(at_s), hours=int(at_s), keys=int(at_s)))).values())


def test_one_odd_moment_is_no_growth() -> None:
    samples = soaked(sample)
    samples[-1] = sample(3600, rss=300 * MB, threads=90)
    assert all(reached(samples).values())


def test_a_broken_promise_is_a_goal_that_was_missed() -> None:
    goals = reached(soaked(sample), verdict=["22 schedules judged: 1 broken promise", "one run per tick: …"])
    assert [text for text, held in goals.items() if not held] == ["`onthedot verify` at the end: no promise broken"]


def test_a_loaded_machine_and_an_early_end_stand_on_the_page() -> None:
    found = recording(soaked(sample, 1900))
    busy = [Sample(**{**asdict(each), "nodes": each.nodes, "others": 1.5}) for each in found.samples]
    page = report_of(Recording({**found.about, "hours": 1.0}, tuple(busy), found.end)).as_markdown("soak")
    assert "**The machine was loaded: others used 1.50 of a core" in page
    assert "**It was stopped after 32 of 60 minutes.**" in page


def test_a_record_that_was_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    found, file = recording(soaked(sample, 600)), tmp_path / "record.jsonl"
    lines = [json.dumps(dict(found.about)), *(each.as_line() for each in found.samples)]
    file.write_text("\n".join(lines) + '\n{"at_s": 61')
    again = Recording.read(file)
    assert again.samples == found.samples
    assert again.end == {}


def test_the_beginning_and_the_end_are_minutes_apart() -> None:
    windows = Windows.of(soaked(sample))
    assert (windows.begin[0].at_s, windows.begin[-1].at_s) == (600, 890)
    assert (windows.end[0].at_s, windows.end[-1].at_s) == (3310, 3600)
    assert judging.is_flat(Growth("rows", 1000, 1100))
    assert not judging.is_flat(Growth("rows", 1000, 1101))
