"""Jobs as schedules: from a live scheduler and from its stores, with nothing of APScheduler or the user imported."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from apscheduler.jobstores.mongodb import MongoDBJobStore
from apscheduler.jobstores.redis import RedisJobStore
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from pymongo import MongoClient
from redis import Redis
from tests.apscheduler import shop

from onthedot import App, SettingsError, StoreUnavailable, at, cron, every
from onthedot.apscheduler import Report, from_scheduler, read_store

LATER = datetime(2030, 1, 1, tzinfo=UTC)


def filled(**stores: Any) -> BackgroundScheduler:
    scheduler = BackgroundScheduler(jobstores=stores, timezone="UTC")
    scheduler.add_job(shop.tick, "interval", hours=1, args=["eu"], id="hourly")
    late = {"coalesce": False, "misfire_grace_time": 300, "max_instances": 3}
    nightly = {"hour": 2, "minute": 30, "timezone": "Europe/Berlin", "id": "nightly"}
    scheduler.add_job(shop.tick, "cron", args=["us"], kwargs={"n": 3}, **nightly, **late)
    scheduler.add_job(shop.Box.clean, "date", run_date=LATER, id="once", misfire_grace_time=None)
    scheduler.add_job(shop.tick, "cron", hour=4, args=["x"])
    scheduler.add_job(shop.tick, "cron", hour=5, args=["y"])
    scheduler.add_job(shop.tick, "interval", hours=1, args=[Decimal("1.5")], id="decimal")
    scheduler.add_job(shop.Box().look, "interval", hours=1, id="method")
    return scheduler


def check_moves(report: Report) -> None:
    moves = {move.name: move for move in report.moves}
    assert set(moves) == {"hourly", "nightly", "once", "tick", "tick-2"}
    hourly, nightly, once = moves["hourly"], moves["nightly"], moves["once"]
    assert (hourly.task, hourly.args, hourly.options) == ("tick", {"shop": "eu"}, {"overlap": "discard"})
    assert isinstance(hourly.trigger, type(every("1h")))
    assert nightly.trigger == cron("0 30 2 * * *", tz="Europe/Berlin")
    assert nightly.args == {"shop": "us", "n": 3}
    assert nightly.options == {
        "misfire": "catch_up", "grace": "300s", "overlap": "concurrent", "max_concurrent_runs": 3,
    }  # fmt: skip
    assert (once.task, once.trigger, once.options) == ("clean", at(LATER), {"grace": "365d", "overlap": "discard"})
    assert {each.name for each in report.refused} == {"decimal", "method"}
    assert any(each.startswith("nightly: when the clocks change") for each in report.notes)


def test_the_jobs_of_a_live_scheduler_are_schedules() -> None:
    check_moves(from_scheduler(filled()))


@pytest.fixture(params=["sqlite", "postgresql", "redis", "mongodb"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, str, Callable[[], int]]]:
    """A store of theirs, its URL, and how many jobs it has."""
    match request.param:
        case "redis":
            url = request.getfixturevalue("redis_server")
            client = Redis.from_url(url)
            client.delete("apscheduler.jobs", "apscheduler.run_times")
            connect = {"host": "127.0.0.1", "port": client.connection_pool.connection_kwargs["port"]}
            yield RedisJobStore(**connect), url, lambda: int(client.hlen("apscheduler.jobs"))
            client.delete("apscheduler.jobs", "apscheduler.run_times")
        case "mongodb":
            url = request.getfixturevalue("mongodb")
            documents: MongoClient[dict[str, Any]] = MongoClient(url)
            yield MongoDBJobStore(host=url), url, lambda: documents["apscheduler"]["jobs"].count_documents({})
            documents.drop_database("apscheduler")
            documents.close()
        case _:
            url = f"sqlite:///{tmp_path}/jobs.sqlite"
            if request.param == "postgresql":
                url = request.getfixturevalue("postgresql_15")
            engine = sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
            count = sqlalchemy.text("SELECT count(*) FROM apscheduler_jobs")
            yield SQLAlchemyJobStore(engine=engine), url, lambda: _scalar(engine, count)
            engine.dispose()


def _scalar(engine: sqlalchemy.Engine, statement: Any) -> int:
    with engine.connect() as connection:
        return int(connection.execute(statement).scalar_one())


def test_the_jobs_of_a_store_are_schedules_and_stay_there(kept: tuple[Any, str, Callable[[], int]]) -> None:
    store, url, count = kept
    scheduler = filled(default=store)
    scheduler.start(paused=True)
    scheduler.pause_job("once")
    before = count()
    report = read_store(url)
    check_moves(report)
    moves = {move.name: move for move in report.moves}
    assert moves["once"].paused == "it was paused in APScheduler, or had come to its end there"
    next_run = scheduler.get_job("nightly").next_run_time
    assert moves["nightly"].last_ms == int(next_run.timestamp() * 1000) - 1
    assert count() == before == 7
    scheduler.shutdown()


def test_nothing_that_a_store_names_is_imported_or_called(tmp_path: Path) -> None:
    scheduler = filled(default=SQLAlchemyJobStore(f"sqlite:///{tmp_path}/jobs.sqlite"))
    scheduler.start(paused=True)
    scheduler.shutdown()
    program = (
        "import sys; from onthedot.apscheduler import read_store; "
        f"found = read_store('sqlite:///{tmp_path}/jobs.sqlite'); "
        "assert len(found.moves) == 5, found; "
        "assert not [m for m in sys.modules if m.startswith(('apscheduler', 'tests'))]"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


def test_a_job_that_cannot_be_read_leaves_the_others(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.sqlite"
    scheduler = filled(default=SQLAlchemyJobStore(url))
    scheduler.start(paused=True)
    scheduler.shutdown()
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        for name, state in (
            ("broken", b"nothing"),
            ("other", pickle.dumps([1])),
            ("newer", pickle.dumps({"version": 9})),
        ):
            insert = sqlalchemy.text("INSERT INTO apscheduler_jobs (id, job_state) VALUES (:id, :state)")
            connection.execute(insert, {"id": name, "state": state})
    engine.dispose()
    report = read_store(url)
    assert len(report.moves) == 5
    assert {"broken", "other", "newer"} <= {each.name for each in report.refused}


def test_what_is_written_as_a_program_declares_the_same(tmp_path: Path) -> None:
    report = from_scheduler(filled())
    text = report.as_code("memory://")
    place: dict[str, Any] = {"__name__": "jobs"}
    exec(compile(text, "jobs.py", "exec"), place)
    app: App = place["app"]
    app.sync()
    assert {each.name for each in app.schedules.list()} == {move.name for move in report.moves}
    assert app.schedules.get("nightly").args == {"shop": "us", "n": 3}
    assert "# left out: decimal: " in text
    app.close()


def test_it_goes_on_where_it_was_there() -> None:
    scheduler = BackgroundScheduler(timezone="UTC")
    scheduler.add_job(shop.sweep, "interval", hours=1, id="sweep", start_date=datetime(2020, 1, 1, tzinfo=UTC))
    scheduler.start(paused=True)
    missed = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=3)
    scheduler.modify_job("sweep", next_run_time=missed)
    app = App("memory://")
    app.open_store(create=True)
    with closing(app):
        assert from_scheduler(scheduler).apply(app).created == ("sweep",)
        assert app.schedules.get("sweep").next_run_at == missed
        assert from_scheduler(scheduler).apply(app).unchanged == ("sweep",)
    scheduler.shutdown()


def test_an_argument_of_ones_own_is_converted_where_somebody_says_how() -> None:
    def text(value: Any) -> str:
        if isinstance(value, Decimal):
            return str(value)
        raise TypeError

    moves = {move.name: move for move in from_scheduler(filled(), convert=text).moves}
    assert moves["decimal"].args == {"shop": "1.5"}


@pytest.mark.parametrize(
    ("add", "reason"),
    [
        (lambda s: s.add_job(lambda: None, "interval", hours=1, id="x"), "lambda"),
        (lambda s: s.add_job(shop.sweep, "interval", hours=1, id=" "), "a name is missing"),
    ],
)
def test_what_stays_there_is_told_with_its_reason(add: Callable[[Any], None], reason: str) -> None:
    scheduler = BackgroundScheduler(timezone="UTC")
    add(scheduler)
    (refused,) = from_scheduler(scheduler).refused
    assert reason in refused.reason


def test_an_id_that_cannot_be_a_name_is_given_one() -> None:
    scheduler = BackgroundScheduler(timezone="UTC")
    for job_id in ("a/b", "a-b", "a.b"):
        scheduler.add_job(shop.sweep, "interval", hours=1, id=job_id)
    report = from_scheduler(scheduler)
    assert not report.refused
    names = [move.name for move in report.moves]
    assert len({*names}) == 3
    assert {"a-b", "a.b"} < {*names}
    assert any(name.startswith("a-b~") for name in names)
    assert from_scheduler(scheduler).puts == report.puts


def test_what_convert_raises_is_told_as_its_own() -> None:
    def broken(value: Any) -> Any:
        return 1 / 0

    (refused,) = [each for each in from_scheduler(filled(), convert=broken).refused if each.name == "decimal"]
    assert refused.reason.startswith("convert= raised for its argument 'shop', ")
    assert refused.reason.endswith("ZeroDivisionError: division by zero")


def test_what_is_no_scheduler_or_no_function_is_told_at_once() -> None:
    with pytest.raises(SettingsError, match=r"^from_scheduler: 7 is no scheduler of APScheduler 3$"):
        from_scheduler(7)
    for read in (partial(from_scheduler, filled()), partial(read_store, "sqlite:///nowhere.sqlite")):
        with pytest.raises(SettingsError, match=r"^convert: 5 is no function; write convert=str$"):
            read(convert=5)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("jobs.sqlite", "is no URL of a job store"),
        ("sqlite:///nowhere.sqlite", "there is no file nowhere.sqlite"),
        ("oracel://x:secret@host/db", r"oracel://x:\*\*\*@host/db"),
    ],
)
def test_a_wrong_url_is_told_in_one_line(url: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        read_store(url)


def test_a_table_that_is_not_there_is_told(tmp_path: Path) -> None:
    sqlalchemy.create_engine(f"sqlite:///{tmp_path}/x.sqlite").connect().close()
    with pytest.raises(StoreUnavailable, match="jobs cannot be read from the table apscheduler_jobs"):
        read_store(f"sqlite:///{tmp_path}/x.sqlite")
