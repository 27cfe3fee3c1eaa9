"""Stores that were written by somebody else, or half: each row is read or named, whatever stands in it."""

from __future__ import annotations

import pickle
import struct
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger
from pymongo import MongoClient

from onthedot import StoreUnavailable
from onthedot.app.moving.report import Refused
from onthedot.apscheduler import Report, read_store
from onthedot.apscheduler.jobs import Job, pickled_jobs
from onthedot.apscheduler.moves import report_of
from onthedot.apscheduler.pickles import Unreadable, load

NOW = datetime(2026, 11, 18, tzinfo=UTC)
HOURLY = IntervalTrigger(hours=1, timezone="UTC")


def state(**changes: Any) -> dict[str, Any]:
    """What APScheduler keeps of a job, but for these."""
    kept = {"version": 1, "id": "j", "func": "shop.jobs:tick", "trigger": HOURLY, "executor": "default", "args": ()}
    kept |= {"kwargs": {}, "name": "tick", "misfire_grace_time": 1, "coalesce": True, "max_instances": 1}
    return {**kept, "next_run_time": NOW, **changes}


def read(*states: Any) -> Report:
    data = ((f"row {number}", pickle.dumps(each)) for number, each in enumerate(states))
    return report_of("a store", pickled_jobs(data), NOW, None)


def endless(levels: int = 60) -> list[Any]:
    """A list of lists: a few hundred bytes as a pickle, more than there is memory as a text."""
    value: list[Any] = []
    for _ in range(levels):
        value = [value, value]
    return value


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def bent_trigger(**changes: Any) -> CronTrigger:
    trigger = CronTrigger(hour=3, timezone="UTC")
    for name, value in changes.items():
        setattr(trigger, name, value)
    return trigger


@pytest.mark.parametrize(
    "changes",
    [
        {"args": None},
        {"kwargs": [1]},
        {"kwargs": {1: 2}, "max_instances": None},
        {"max_instances": "many"},
        {"misfire_grace_time": "soon"},
        {"name": endless()},
        {"func": None},
        {"func": endless()},
        {"executor": 7},
        {"next_run_time": "tomorrow"},
        {"next_run_time": datetime(2026, 1, 1)},  # noqa: DTZ001 - that is what is wrong with it
        {"trigger": None},
        {"trigger": endless()},
        {"trigger": "hourly"},
        {"trigger": bent_trigger(fields=[])},
        {"trigger": bent_trigger(fields=None)},
        {"trigger": bent_trigger(timezone="Mars/Olympus")},
        {"trigger": bent_trigger(jitter="a bit")},
        {"kwargs": {"x": endless()}},
        {"kwargs": {"x": ["y" * 1000] * 10_000}},
        {"kwargs": {"x": itself()}},
        {"kwargs": {"x": 1 << 100_000}},
        {"kwargs": {"x": float("nan")}},
        {"args": (1,) * 3},
    ],
    ids="-".join,
)
def test_a_job_of_which_a_part_is_none_leaves_the_others(changes: dict[str, Any]) -> None:
    report = read(state(id="before"), state(**changes), state(id="after"))
    assert [move.name for move in report.moves] == ["before", "after"]
    (refused,) = report.refused
    assert refused.reason
    assert len(refused.reason) < 600


def test_an_argument_may_be_nested_deeper_than_anybody_can_write() -> None:
    job = Job("j", "j", "shop.jobs:tick", load(pickle.dumps(HOURLY)), named={"x": deep(50_000)})
    (refused,) = report_of("a store", [job], NOW, None).refused
    assert "its argument 'x' is [" in refused.reason


@pytest.mark.parametrize(
    "reference",
    [
        "shop.jobs:tick\nimport os",
        "shop.jobs:tick) or __import__('os').system('x'",
        "shop jobs:tick",
        "shop.jobs",
        "a:b:c",
        ":tick",
        "shop.:tick",
        "shop.class:tick",
    ],
)
def test_what_is_no_name_of_a_function_is_no_line_of_a_program(reference: str) -> None:
    report = read(state(func=reference))
    assert report.moves == ()
    assert report.refused[0].reason.startswith("its function ")
    lines = report.as_code().splitlines()
    assert not [line for line in lines if reference.splitlines()[0] in line and not line.startswith("# left out: ")]


def test_texts_of_a_store_stay_texts_in_the_program() -> None:
    nasty = 'a"""\nraise SystemExit # \\'
    found = read(state(name=nasty, id="0" * 32, kwargs={"x": nasty}))
    assert len(found.moves) == 1
    report = replace(found, source=nasty, refused=(Refused(nasty, nasty),))
    compile(report.as_code(nasty), "jobs.py", "exec")
    (moved,) = read(state(id="quoted", kwargs={"x": nasty})).moves
    assert moved.args == {"x": nasty}


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04Nr" + struct.pack("<I", 0x7FFFFFFF) + b".",  # a place of memory far beyond
        b"\x80\x04Np99999999999\n.",
        b"\x80\x04\x8c\x04pytz\x8c\x02_p\x93N}\x8c\x0c__defaults__)s\x86b.",  # attributes onto a function of ours
        b"\x80\x04\x8c\x08builtins\x8c\x07getattr\x93N}\x8c\x05_makeNs\x86b.",
        pickle.dumps(["x"])[:-1],
        b"\x80\x04" + b"(" * 1000,
    ],
)
def test_a_pickle_does_nothing_to_who_reads_it(data: bytes) -> None:
    with pytest.raises(Unreadable):
        load(data)
    assert load(pickle.dumps(NOW.replace(tzinfo=UTC))) == NOW


def test_jobs_without_an_id_are_told_apart_however_many_there_are() -> None:
    count = 10_000
    report = read(*(state(id=f"{number:032x}") for number in range(count)))
    names = [move.name for move in report.moves]
    assert names[:3] == ["tick", "tick-2", "tick-3"]
    assert len({*names}) == count


def test_two_stores_of_a_scheduler_may_have_the_same_id() -> None:
    report = read(state(id="x", kwargs={"n": 1}), state(id="x", kwargs={"n": 2}), state(id="x-2", kwargs={"n": 3}))
    assert {move.name: move.args["n"] for move in report.moves} == {"x": 1, "x-2": 2, "x-2-2": 3}


def test_a_row_that_is_no_pickle_at_all_leaves_the_others(tmp_path: Path, mongodb: str) -> None:
    rows = {"a": pickle.dumps(state(id="a")), "b": None, "c": 5, "d": "text", "e": b""}
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/jobs.sqlite")
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE apscheduler_jobs (id, next_run_time, job_state)"))
        for name, value in rows.items():
            insert = sqlalchemy.text("INSERT INTO apscheduler_jobs (id, job_state) VALUES (:id, :state)")
            connection.execute(insert, {"id": name, "state": value})
    engine.dispose()
    client: MongoClient[dict[str, Any]] = MongoClient(mongodb)
    with closing(client):
        client["apscheduler"]["jobs"].insert_many([{"_id": name, "job_state": value} for name, value in rows.items()])
        client["apscheduler"]["jobs"].insert_one({"_id": "f"})
        try:
            for url in (f"sqlite:///{tmp_path}/jobs.sqlite", mongodb):
                report = read_store(url)
                assert [move.name for move in report.moves] == ["a"]
                assert {"b", "c", "d", "e"} <= {each.name for each in report.refused}
        finally:
            client.drop_database("apscheduler")


def test_a_file_that_is_no_database_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "jobs.sqlite").write_text("no database, but long enough to be looked at as one" * 50, encoding="utf-8")
    with pytest.raises(StoreUnavailable, match="file is not a database"):
        read_store(f"sqlite:///{tmp_path}/jobs.sqlite")


def test_a_url_with_an_option_that_nobody_knows_is_told(redis_server: str) -> None:
    with pytest.raises(StoreUnavailable, match=r"jobs cannot be read: .*flavour"):
        read_store(f"{redis_server}?flavour=sweet")
