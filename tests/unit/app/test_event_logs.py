"""Events as text, as JSON and as log records: one name each."""

from __future__ import annotations

import json
import logging
from dataclasses import MISSING, fields

import pytest
from tests.patience import LONGEST

from onthedot import App
from onthedot.app.telemetry.event_text import document, level_of, told
from onthedot.events import NAMES, TOPICS, Event, Failure, FileBroken, FileLoaded, RunEnded
from onthedot.moments import from_ms


def sample(kind: type[Event]) -> Event:
    """An event with something in each field that must have something."""
    of_text = {
        "str": "text",
        "int": 3,
        "str | None": None,
        "int | None": None,
        "datetime": from_ms(0),
        "BaseException": ValueError("a\nb"),
    }
    values = {
        each.name: of_text.get(str(each.type), ("one", "two")) for each in fields(kind) if each.default is MISSING
    }
    return kind(**values)


@pytest.mark.parametrize("kind", TOPICS.values(), ids=TOPICS)
def test_every_event_has_one_name_one_line_and_a_document(kind: type[Event]) -> None:
    event = sample(kind)
    word, text = told(event, "sqlite:///jobs.db")
    assert (word, "\n" in text) == (word.strip(), False)
    assert text
    values = document(event, 0)
    assert (values["at"], values["event"]) == ("1970-01-01T00:00:00Z", NAMES[kind])
    assert json.loads(json.dumps(values)).keys() == {"at", "event", *(each.name for each in fields(kind))}
    assert level_of(event) in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)


def test_a_program_that_starts_its_own_node_gets_log_records(caplog: pytest.LogCaptureFixture) -> None:
    app = App("memory://")

    @app.task
    async def bad() -> None:
        raise ValueError("no luck")

    app.log_events()
    with caplog.at_level(logging.DEBUG, logger="onthedot"), app.running():
        run = app.runs.wait(app.enqueue(bad).id, timeout=LONGEST)
    records = {getattr(each, "event", None): each for each in caplog.records}
    assert records.keys() >= {"start", "run_started", "run_finished", "run_ended", "stop"}
    ended = records["run_ended"]
    assert ended.levelno == logging.ERROR
    assert ended.getMessage().startswith(f"failed bad (run {run.id[-12:]})")
    assert ended.values["run_id"] == run.id  # type: ignore[attr-defined]
    assert {each.name for each in caplog.records} == {"onthedot.events"}  # and nothing twice
    assert app.runs.logs(run.id) == ()  # what is told about a run is not what the run said


def test_log_records_may_be_json(caplog: pytest.LogCaptureFixture) -> None:
    app = App("memory://")
    app.log_events(logging.getLogger("mine"), log_format="json")
    with caplog.at_level(logging.INFO, logger="mine"), app.running():
        pass
    (started, *_) = (json.loads(each.getMessage()) for each in caplog.records if each.name == "mine")
    assert started["event"] == "start"


def test_what_failed_matters_more_than_what_succeeded() -> None:
    good = RunEnded("id", "job", None, 1, "succeeded", 5)
    bad = RunEnded("id", "job", None, 1, "timed_out", 5)
    assert (level_of(good), level_of(bad)) == (logging.INFO, logging.ERROR)
    assert level_of(Failure("plan", ValueError("x"))) == logging.ERROR


def test_a_file_that_was_loaded_or_broken_is_told_in_one_line() -> None:
    assert told(FileLoaded("jobs.toml", ("a",), ("b",), ("c", "d"), ("d",)), "")[1] == (
        "jobs.toml: new: a; changed: b; deleted: d; no longer in it: c (onthedot sync --prune deletes what is left)"
    )
    assert told(FileBroken("jobs.toml", ("line 3: bad", "line 4: worse")), "")[1] == (
        "jobs.toml: line 3: bad (and 1 more); the schedules stay as they were"
    )
