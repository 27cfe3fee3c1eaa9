"""Real beats and workers: many at once, killed, and without their broker for a while."""

from __future__ import annotations

import signal
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path

import redis
from tests.celery.apps import sent
from tests.celery.project import PROJECT, project
from tests.servers import redis as servers

from onthedot import every
from onthedot.celery import task_id_of
from onthedot.model.states import State
from onthedot.triggers import decode


def attempts_by_id(url: str) -> dict[str, list[int]]:
    """Of each message that the broker has taken: by which attempts it was sent."""
    found: dict[str, list[int]] = defaultdict(list)
    with suppress(redis.RedisError):  # the broker is away
        for each in sent(url):
            found[each["headers"]["id"]].append(each["headers"]["onthedot_attempt"])
    return found


def test_every_tick_is_sent_once_or_again_under_its_own_id_whatever_dies(tmp_path: Path) -> None:
    with servers.running() as broker, project(tmp_path, broker.url) as proj:
        doomed = proj.beat(DIE_AFTER="3")
        killed, stays = proj.beat(), proj.beat()
        proj.until(lambda: doomed.poll() == -signal.SIGKILL)
        proj.until(lambda: len(attempts_by_id(broker.url)) > 6)
        broker.stop()
        proj.until(lambda: any(run.state is State.WAITING and run.attempt > 0 for run in proj.runs()))
        broker.start()
        killed.kill()
        seen = len(attempts_by_id(broker.url))
        proj.until(lambda: len(attempts_by_id(broker.url)) > seen + 6)
        for name in ("minutely", "one", "two"):  # no tick more; what has begun goes on
            proj.app.schedules.reschedule(name, "2100-01-01T00:00Z")
        proj.until(lambda: all(run.is_final for run in proj.runs()))
        assert proj.stop(stays) == 0

        messages = attempts_by_id(broker.url)
        runs = proj.runs()
        assert {run.state for run in runs} == {State.SUCCEEDED}
        assert {task_id_of(run.id) for run in runs} == set(messages)
        doubled = {task_id: attempts for task_id, attempts in messages.items() if len(attempts) > 1}
        assert all(len({*attempts}) == len(attempts) for attempts in doubled.values())
        assert doubled, "the beat that died after a send was not made up for"
        for name in ("one", "two"):
            ticks = Counter(run.scheduled_ms for run in runs if run.schedule == name)
            assert [*ticks.values()] == [1] * len(ticks)
            assert sorted(ticks) == [*range(min(ticks), max(ticks) + 1, 1000)], "a tick vanished"


def test_beats_with_different_code_keep_to_the_newest_while_one_of_them_has_it(tmp_path: Path) -> None:
    newer = PROJECT.replace(
        '"one": {"task": "proj.note", "schedule": 1,', '"one": {"task": "proj.note", "schedule": 2,'
    )
    newer = newer.replace('"two": ', '"three": ')
    (tmp_path / "new").mkdir()
    with (
        servers.running() as broker,
        project(tmp_path, broker.url) as old,
        project(tmp_path / "new", broker.url, newer) as new,
    ):
        first = old.beat()
        old.until(lambda: len(old.runs()) > 1)
        second = new.beat(STORE=str(tmp_path))
        old.until(lambda: any(run.schedule == "three" for run in old.runs()))
        again = old.beat()  # a crash of an old one in the midst of it
        schedules = {each.name: each for each in old.app.schedules.list(tag="celery")}
        assert {*schedules} == {"minutely", "one", "two", "three"}
        seen = len(old.runs())
        old.until(lambda: len(old.runs()) > seen + 8)
        told = {each.name: each.revision for each in old.app.schedules.list(tag="celery")}
        assert told == {"minutely": 1, "one": 2, "two": 1, "three": 1}, "old code took turns with new code"
        assert decode(old.app.schedules.get("one").trigger) == every("2s", tz="UTC").with_key("one")
        assert all(old.stop(each) == 0 for each in (first, second, again))


FILES = PROJECT.replace(
    "app.conf.update(",
    """for name in ("queue", "done"):
    (folder / name).mkdir(exist_ok=True)
app.conf.broker_transport_options = {
    "data_folder_in": str(folder / "queue"),
    "data_folder_out": str(folder / "queue"),
    "processed_folder": str(folder / "done"),
}
app.conf.update(""",
    1,
)


def test_a_worker_with_a_beat_inside_sends_and_does(tmp_path: Path) -> None:
    with project(tmp_path, "filesystem://", FILES) as proj:
        worker = proj.start("worker", "-B", "--scheduler", "onthedot", "-c", "1", "-l", "INFO")
        proj.until(lambda: {*proj.notes()} >= {"one", "two"})
        assert proj.stop(worker) == 0
        assert [schedule.name for schedule in proj.app.schedules.list(tag="celery")] == ["minutely", "one", "two"]


def test_of_a_message_that_was_sent_twice_the_first_to_begin_is_done(tmp_path: Path, redis_server: str) -> None:
    from celery import Celery

    with project(tmp_path, redis_server) as proj:
        proj.app.open_store(create=True)
        broker = Celery("sender", broker=redis_server, set_as_current=False)

        def send(text: str, run: str, attempt: int, **kwargs: bool) -> None:
            headers = {"onthedot_run": run, "onthedot_attempt": attempt}
            broker.send_task("proj.note", (text,), kwargs, task_id=task_id_of(run), headers=headers)

        send("first", "a", 1)
        send("repeated", "a", 2)
        send("first", "a", 1)
        send("other", "b", 2)
        send("twice", "c", 1, again=True)
        broker.send_task("proj.note", ("plain",))
        worker = proj.start("worker", "-P", "solo", "-l", "INFO")
        wanted = Counter({"first": 2, "other": 1, "twice": 2, "plain": 1})
        proj.until(lambda: Counter(proj.notes()) >= wanted)
        assert proj.stop(worker) == 0
        assert Counter(proj.notes()) == wanted
        broker.close()
