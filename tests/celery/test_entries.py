"""Entries of a beat_schedule: what becomes of each, and what is said of those that cannot be moved."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from celery.beat import BeatLazyFunc
from celery.schedules import crontab
from kombu import Queue
from tests.celery.apps import celery_app

from onthedot.app.moving.names import schedule_name
from onthedot.app.moving.report import Move, Report
from onthedot.celery import message
from onthedot.celery.entries import moves_of
from onthedot.celery.jobs import jobs_of
from onthedot.celery.messages import unpacked
from onthedot.celery.settings import settings_of
from onthedot.errors import ArgumentsError, SettingsError


def report(entries: dict[str, Any], **conf: Any) -> Report:
    app = celery_app(beat_schedule=entries, **conf)
    return moves_of(app, settings_of(app))


def only(entry: dict[str, Any], **conf: Any) -> Move:
    (move,) = report({"e": entry}, **conf).moves
    return move


def refusal(entry: Any) -> str:
    (refused,) = report({"e": entry}).refused
    return str(refused)


def test_an_entry_keeps_its_name_its_task_and_how_its_message_travels() -> None:
    options = {"queue": "low", "expires": 60, "priority": 3, "headers": {"x": "y"}, "routing_key": "r", "exchange": "x"}
    move = only({"task": "shop.add", "schedule": 30, "args": (1, 2), "kwargs": {"z": [3]}, "options": options})
    assert (move.name, str(move.trigger), move.options["tags"]) == ("e", "every('30s')", ["celery"])
    assert move.args == {"task": "shop.add", "args": [1, 2], "kwargs": {"z": [3]}, "options": options}


def test_what_plain_json_does_not_have_comes_back_as_it_was() -> None:
    values = [datetime(2026, 1, 1, tzinfo=UTC), date(2026, 1, 1), Decimal("1.10"), UUID(int=7), b"\xff", {"a": (1,)}]
    kept = only({"task": "t", "schedule": 30, "args": values}).args["args"]
    assert unpacked(kept) == [*values[:-1], {"a": [1]}]


def test_queues_are_kept_by_their_names_and_durations_in_seconds() -> None:
    options = {"queue": Queue("low"), "expires": timedelta(minutes=2)}
    assert only({"task": "t", "schedule": 30, "options": options}).args["options"] == {"queue": "low", "expires": 120.0}


def test_what_is_asked_for_at_the_send_is_kept_as_its_place() -> None:
    lazy = BeatLazyFunc(lambda: 1)
    move = only({"task": "t", "schedule": 30, "args": (5, lazy), "kwargs": {"now": lazy}})
    assert move.args == {"task": "t", "args": [5, None], "kwargs": {"now": None}, "lazy": [1, "now"], "entry": "e"}


def test_a_starting_deadline_is_a_grace_after_which_crontabs_are_left_out() -> None:
    entries = {"c": {"task": "t", "schedule": crontab()}, "i": {"task": "t", "schedule": 60}}
    by_cron, by_interval = report(entries, beat_cron_starting_deadline=120).moves
    assert (by_cron.options["misfire"], by_cron.options["grace"]) == ("skip", timedelta(seconds=120))
    assert "misfire" not in by_interval.options


def test_defaults_are_those_of_every_entry() -> None:
    move = only({"task": "t", "schedule": 30}, onthedot_defaults={"overlap": "serial", "tags": ["shop"]})
    assert move.options == {"overlap": "serial", "tags": ["shop"]}


def test_celerys_own_clean_up_comes_along_where_results_stay() -> None:
    found = report({}, result_backend="db+sqlite://", result_expires=3600).moves
    assert [move.name for move in found] == ["celery.backend_cleanup"]


@pytest.mark.parametrize(
    ("key", "name"),
    [("add", "add"), ("imports/eu", "imports-eu~"), ("t" * 300, "t" * 180 + "~"), ("a\tb", "a-b~"), ("y\udcff", "y-~")],
)
def test_a_key_that_cannot_be_a_name_is_given_one(key: str, name: str) -> None:
    assert schedule_name(key).startswith(name)
    assert schedule_name(key) != schedule_name(f"{key}2")


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"task": "t", "schedule": 5, "args": [lambda: 1]}, "e: args[0]: <function"),
        ({"task": "t", "schedule": 5, "kwargs": {"f": object()}}, "e: kwargs['f']: <object object"),
        ({"task": "t", "schedule": 5, "args": "abc"}, "e: args: 'abc' is no list; write ('abc',)"),
        ({"task": "t", "schedule": 5, "args": [float("nan")]}, "e: args[0]: nan cannot be kept as JSON"),
        ({"task": "t", "schedule": 5, "options": {"task_id": "x"}}, "each message has the id of its run"),
        ({"task": "t", "schedul": 5}, "e: no key 'schedul'; did you mean schedule?"),
        ({"task": "t"}, "e: schedule is missing"),
        ({"task": 5, "schedule": 5}, "e: task: 5 is no name of a task"),
        ({"task": "t", "schedule": 0.2}, "e: schedule: an interval of 200ms is too short"),
        ({"task": "t", "schedule": float("nan")}, "e: schedule: nan is no number of seconds; write 30.0"),
        ({"task": "t", "schedule": float("inf")}, "e: schedule: inf is no number of seconds; write 30.0"),
        ({"task": "t", "schedule": crontab(nowfun=lambda: 1 / 0)}, "e: division by zero"),
        ({"task": "t", "schedule": "hourly"}, "e: schedule: 'hourly' is no schedule"),
        (7, "e: 7 is no entry"),
    ],
)
def test_an_entry_that_cannot_be_moved_is_refused_by_its_name(entry: Any, told: str) -> None:
    assert told in refusal(entry)
    assert "\n" not in refusal(entry)


def test_an_entry_that_cannot_be_moved_leaves_the_others() -> None:
    entries = {"a": {"task": "t", "schedule": float("nan")}, "b\udcff": 7, "c\udcff": {"task": "t", "schedule": 5}}
    found = report(entries)
    assert [each.name for each in found.refused] == ["a", "b\udcff"]
    assert [str(move.trigger) for move in found.moves] == ["every('5s')"]


def test_no_schedule_at_all_is_an_empty_one() -> None:
    assert jobs_of(celery_app(beat_schedule=None)).named_tasks() == []


@pytest.mark.parametrize(
    ("conf", "told"),
    [
        ({"beat_schedule": 5}, "beat_schedule: 5 does not map names to entries"),
        ({"timezone": "Europe/Berln"}, "timezone: no time zone 'Europe/Berln'; did you mean Europe/Berlin"),
        ({"beat_cron_starting_deadline": "x"}, "beat_cron_starting_deadline: 'x' is no number of seconds; write 120"),
        ({"beat_cron_starting_deadline": -1}, "beat_cron_starting_deadline: -1 is no number of seconds; write 120"),
    ],
)
def test_a_setting_of_celerys_own_that_is_wrong_is_told_in_one_line(conf: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError) as refused:
        jobs_of(celery_app(**conf))
    assert str(refused.value).startswith(told)
    assert "\n" not in str(refused.value)


def test_a_message_of_your_own_is_checked_as_an_entry_is() -> None:
    assert message("t", [1], {"b": 2}, queue="low") == {
        "task": "t",
        "args": [1],
        "kwargs": {"b": 2},
        "options": {"queue": "low"},
    }
    with pytest.raises(ArgumentsError, match=r"'t': args\[0\]: <function"):
        message("t", [lambda: 1])


@pytest.mark.parametrize(
    ("conf", "told"),
    [
        ({"onthedot_stor": "x"}, "onthedot_stor is no setting of onthedot; did you mean onthedot_store?"),
        ({"onthedot_on_doubt": "resnd"}, "onthedot_on_doubt: 'resnd' is not known; did you mean resend?"),
        ({"onthedot_defaults": {"mifire": "skip"}}, "onthedot_defaults: no option 'mifire'; did you mean misfire?"),
        ({"onthedot_defaults": 5}, "onthedot_defaults: 5 does not map options to values"),
        ({"onthedot_store": 5}, "onthedot_store: 5 is no URL of a store"),
    ],
)
def test_a_setting_that_is_wrong_is_told_with_what_was_meant(conf: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError) as refused:
        settings_of(celery_app(**conf))
    assert told in str(refused.value)


def test_a_beat_says_all_that_is_wrong_with_its_entries_at_once() -> None:
    entries = {"a": {"task": "t"}, "b": {"task": "t", "schedule": 5}, "c": {"task": "t", "schedule": 0}}
    with pytest.raises(SettingsError) as refused:
        jobs_of(celery_app(beat_schedule=entries))
    assert str(refused.value).startswith(
        "beat_schedule: a: schedule is missing; beat_schedule: c: schedule: an interval"
    )


def test_a_broker_that_nobody_knows_is_refused() -> None:
    with pytest.raises(SettingsError) as refused:
        jobs_of(celery_app("reddis://localhost:6379/0"))
    assert str(refused.value).startswith("broker_url reddis://localhost:6379/0: No such transport: reddis")


@pytest.mark.parametrize(
    ("broker", "options", "label"),
    [
        ("amqp://", {}, "warns.celery"),
        ("amqp://", {"confirm_publish": True}, None),
        ("redis://localhost", {}, "notes.celery"),
        ("memory://", {}, "warns.celery"),
    ],
)
def test_a_beat_says_what_its_broker_cannot_promise(broker: str, options: dict[str, Any], label: str | None) -> None:
    jobs = jobs_of(celery_app(broker, broker_transport_options=options))
    assert [*jobs.node_settings.labels] == ([] if label is None else [label])
