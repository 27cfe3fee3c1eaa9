"""What is sent, and what becomes of a run that cannot send."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from celery.beat import BeatLazyFunc, ScheduleEntry
from celery.beat import Scheduler as StockScheduler
from tests.celery.apps import celery_app, sent
from tests.celery.project import PROJECT, project
from tests.patience import LONGEST, LONGEST_S
from tests.servers import redis as servers

from celery import Celery
from onthedot import App
from onthedot.celery import message, sender, task_id_of
from onthedot.model.run import Run
from onthedot.model.states import State


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with servers.running() as server:
        yield server.url


def one_run(celery: Celery, args: Mapping[str, Any], **options: Any) -> Run:
    """How a run ended that sent this, or could not."""
    app = App("memory://")
    send = sender(app, celery, **{"retries": 0, **options})
    with app.running(log=False):
        return app.runs.wait(app.enqueue(send, args=args).id, timeout=LONGEST)


def known(x: int) -> None:
    """A task that the beat has, too."""


def test_a_message_is_as_stock_beat_sends_it_and_three_headers_more(broker: str) -> None:
    app = celery_app(broker)
    app.task(known, name="shop.known", shared=False)
    travel: dict[str, Any] = {"queue": "alike", "expires": 60, "priority": 3, "headers": {"mine": "yes"}}
    for task in ("shop.known", "shop.unknown"):
        entry = ScheduleEntry(
            "e", task, schedule=60, args=(1,), options={**travel, "headers": {"mine": "yes"}}, app=app
        )
        StockScheduler(app, lazy=True).apply_async(entry, advance=False)
        run = one_run(app, message(task, [1], **travel))
        assert (run.state, run.result) == (State.SUCCEEDED, {"task_id": task_id_of(run.id)})
        stock, ours = sent(broker, "alike\x06\x163")[-2:]  # so kombu calls a queue of priority 3
        added = {"onthedot_run", "onthedot_scheduled_at", "onthedot_attempt"}
        assert set(ours["headers"]) - added == set(stock["headers"]) - {"celery_beat_task"}
        assert (ours["headers"]["id"], ours["headers"]["mine"]) == (task_id_of(run.id), "yes")
        assert ours["body"] == stock["body"]


def test_what_is_lazy_is_asked_for_at_the_send(broker: str) -> None:
    given = iter(range(10))
    entry = {"task": "t", "schedule": 60, "args": (BeatLazyFunc(lambda: next(given)),)}
    app = celery_app(broker, beat_schedule={"e": entry}, task_default_queue="lazy")
    args = {"task": "t", "args": [None], "lazy": [0], "entry": "e"}
    assert {one_run(app, args).state for _ in range(2)} == {State.SUCCEEDED}
    assert [each["headers"]["argsrepr"] for each in sent(broker, "lazy")] == ["[0]", "[1]"]


def test_what_another_beat_has_to_be_asked_for_is_tried_again_until_it_comes(broker: str) -> None:
    old, new = (celery_app(broker, beat_schedule={}, task_default_queue="rolled-out") for _ in range(2))
    new.conf.beat_schedule["new"] = {"task": "t", "schedule": 60, "args": (BeatLazyFunc(lambda: 7),)}
    args = {"task": "t", "args": [None], "lazy": [0], "entry": "new"}
    store = App("memory://").open_store()
    beats = [App("memory://", store=store) for _ in range(2)]
    sends = [sender(beat, each, retries=1, backoff="1s") for beat, each in zip(beats, (old, new), strict=True)]
    tried = Event()
    beats[0].on("run_finished")(lambda event: tried.set())
    with beats[0].running(log=False):
        run = beats[0].enqueue(sends[0], args=args)
        assert tried.wait(LONGEST_S)
    assert "beat_schedule['new'] of this beat has no BeatLazyFunc at 0" in str(beats[0].runs.get(run.id).error)
    with beats[1].running(log=False):
        assert beats[1].runs.wait(run.id, timeout=LONGEST).state is State.SUCCEEDED
    assert [each["headers"]["argsrepr"] for each in sent(broker, "rolled-out")] == ["[7]"]


def test_a_broker_that_is_away_fails_the_run_in_one_line() -> None:
    app = celery_app("redis://:secret@127.0.0.1:1/0", broker_connection_timeout=1, task_publish_retry=False)
    run = one_run(app, message("t"))
    assert run.state is State.FAILED
    assert str(run.error).startswith("the broker redis://:**@127.0.0.1:1/0 did not take t: OperationalError")
    assert "secret" not in str(run.error)


def test_a_broker_that_nobody_knows_fails_the_run_in_one_line() -> None:
    run = one_run(celery_app("reddis://:secret@localhost"), message("t"))
    assert str(run.error).startswith("the broker reddis://:***@localhost did not take t: KeyError: 'No such transport")


def test_runs_that_send_are_tried_again_for_a_quarter_of_an_hour() -> None:
    policies = sender(App("memory://"), celery_app()).policies
    assert (policies["retries"], policies["backoff"], policies["max_backoff"]) == (20, "1s", "1m")


@pytest.mark.parametrize(
    ("was", "shall_be", "told"),
    [
        ('("one",)', "(lambda: 1,)", "onthedot: beat_schedule: one: args[0]: <function <lambda>"),
        ("onthedot_store=", "onthedot_stor=", "onthedot: onthedot_stor is no setting of onthedot; did you mean"),
        ('"schedule": 1,', '"schedule": float("nan"),', "onthedot: beat_schedule: one: schedule: nan is no number"),
        ("result_expires=None", "timezone='Europe/Berln'", "onthedot: timezone: no time zone 'Europe/Berln'; did you"),
        ("result_expires", "beat_cron_starting_deadline='x', result_expires", "onthedot: beat_cron_starting_deadline"),
        ('os.environ["BROKER"]', '"reddis://localhost"', "onthedot: broker_url reddis://localhost: No such transport"),
        ("jobs.db", "no/such/folder/jobs.db", "of the store does not exist; create it, or choose another"),
    ],
)
def test_what_is_wrong_ends_a_beat_in_one_line(tmp_path: Path, was: str, shall_be: str, told: str) -> None:
    with project(tmp_path, "memory://", PROJECT.replace(was, shall_be)) as proj:
        assert proj.beat().wait() == 1
        assert told in proj.said()
        assert "Traceback" not in proj.said()


def test_a_beat_whose_node_is_drained_ends(tmp_path: Path) -> None:
    with project(tmp_path, "memory://") as proj:
        beat = proj.beat()
        proj.until(lambda: any(run.state is State.SUCCEEDED for run in proj.runs()))
        (node,) = proj.app.nodes.list()
        assert node.labels["warns.celery"].startswith("what is sent to a broker in memory stays in the beat")
        proj.app.nodes.drain(node.id)
        assert beat.wait() == 0
