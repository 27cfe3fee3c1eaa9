"""What is written comes back as it was, also from an earlier or a later version."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import cast

import pytest

from onthedot.model.decision import Decision
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.rules import end, start
from onthedot.stores.mapping import SCHEDULE as SCHEDULE_COLUMNS
from onthedot.stores.redis import mapping
from onthedot.stores.redis.indexes import run_entries

POLICY = Policy(overlap="discard", priority=-3, jitter_ms=7)
SCHEDULE = Schedule(
    "id",
    'a "name"',
    "task",
    {"v": 1, "type": "x"},
    {"a": [1]},
    POLICY,
    tags=("x", "y"),
    auto_remove=True,
    error="\x1b[0m ü 😀",
    routed={"node": 3},
)
RUN = Run(
    "id",
    "task",
    "tick",
    1,
    2,
    State.RUNNING,
    {"a": {}},
    POLICY,
    "s",
    "name",
    parent_id="whole",
    result=[None],
    waits_for="slot:s",
)


def test_every_field_has_its_place_in_a_row() -> None:
    assert set(mapping.RUN) == {each.name for each in fields(Run)}


def test_a_row_comes_back_as_it_was() -> None:
    assert mapping.schedule_from("id", mapping.schedule_text(SCHEDULE)) == SCHEDULE
    assert mapping.run_from("id", mapping.run_text(RUN)) == RUN


def test_of_a_decision_only_what_it_is_and_not_what_it_was_made_from_is_kept() -> None:
    decision = Decision("id", "s", "name", 1, "misfire", 1, 2, 2, 3, "late", after_ms=0)
    kept = mapping.decision_from("s", mapping.decision_text(decision))
    assert kept == decision
    assert kept.after_ms is None


def test_fields_that_an_earlier_version_did_not_write_are_as_by_default() -> None:
    written = json.loads(mapping.run_text(RUN))
    earlier = mapping.run_from("id", json.dumps(written[: mapping.RUN.index("result")]))
    assert (earlier.id, earlier.parent_id, earlier.result, earlier.error) == ("id", "whole", None, None)


def test_fields_that_only_a_later_version_knows_are_passed_over() -> None:
    assert mapping.run_from("id", json.dumps([*json.loads(mapping.run_text(RUN)), "new"])) == RUN
    later = json.dumps([*json.loads(mapping.schedule_text(SCHEDULE)), "new"])
    assert mapping.schedule_from("id", later) == SCHEDULE


def test_what_is_told_behind_a_row_is_what_the_rules_say() -> None:
    waiting = Run("id", "task", "enqueue", 1, 2, error="of an earlier try", attempt=1, claim_no=2)
    begun = start.started(waiting, 'a "node"', 70)
    begun_text = mapping.run_text(waiting) + "[70" + mapping.begun_text('a "node"')
    assert mapping.run_from("id", begun_text) == begun
    for outcome in (Outcome("id", 3, "succeeded"), Outcome("id", 3, "failed", {"a": [1]}, 'ü "said"', "why")):
        ended_text = f"{begun_text}[90{mapping.ended_text(outcome)}"
        assert mapping.run_from("id", ended_text) == end.settle(begun, None, outcome, 90)


def test_what_stands_behind_a_row_and_is_nothing_that_is_told_makes_it_unreadable() -> None:
    text = mapping.run_text(Run("id", "task", "enqueue", 1, 2))
    for rubbish in ("[", "[70]", '{"at": 70}', '[70,"running"]', "null", " "):
        assert isinstance(mapping.run_from("id", text + rubbish), UnreadableRun), rubbish


@pytest.mark.parametrize(
    "told", ['["soon","running","n"]', '["soon","failed",1,2,3]', "[1,{},1,2,3]", '[1,"lost",1,2]']
)
def test_what_is_told_of_no_such_kind_is_shown_as_unreadable_and_stands_in_indexes(told: str) -> None:
    waiting = Run("id", "task", "enqueue", 1, 2)
    run = mapping.run_from("id", mapping.run_text(replace(waiting, state=State.RUNNING, error=cast(str, 5))) + told)
    assert isinstance(run, UnreadableRun)
    assert "cannot be read" in (run.error or "")
    assert run.lateness_ms is None
    assert run_entries(run)


def test_arguments_are_never_shared_between_two_readings_of_a_row() -> None:
    text = mapping.run_text(RUN)
    assert mapping.run_from("id", text).args is not mapping.run_from("id", text).args
    plain = mapping.run_text(Run("id", "task", "tick", 1, 2))
    assert mapping.run_from("id", plain).args is not mapping.run_from("id", plain).args


def test_a_text_that_cannot_be_read_keeps_its_name_and_is_kept_itself() -> None:
    text = mapping.schedule_text(SCHEDULE)[:-5]
    row = mapping.schedule_from("id", text)
    assert (row.id, row.name, row.trigger["text"]) == ("id", 'a "name"', text)
    assert mapping.schedule_from("id", "rubbish").name == "id"


def test_what_cannot_be_read_of_a_row_is_written_again_as_it_was() -> None:
    columns = json.loads(mapping.schedule_text(SCHEDULE))
    columns[SCHEDULE_COLUMNS.index("definition")] = '{"trigger": '
    text = json.dumps(columns, separators=(",", ":"))
    row = mapping.schedule_from("id", text)
    assert (row.name, row.error) == (SCHEDULE.name, SCHEDULE.error)
    assert mapping.schedule_text(row) == text
