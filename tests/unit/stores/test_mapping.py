"""What is written comes back equal, whatever it is; and what cannot be read stops nothing else."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.errors import TriggerError
from onthedot.model.change import Author, Change
from onthedot.model.decision import Decision
from onthedot.model.definition_json import as_json, from_json
from onthedot.model.node import Node, NodeState
from onthedot.model.policy import Delivery, Misfire, Overlap, Policy
from onthedot.model.run import Cause, Run
from onthedot.model.schedule import DEFINITION, Kind, Mode, Origin, Schedule, ScheduleSummary
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.stores import mapping
from onthedot.stores.json_text import word_in_words
from onthedot.stores.lanes import AWAITED, ROUTED, lane_of, lanes_of
from onthedot.stores.sql import tables
from onthedot.stores.transaction import Claim
from onthedot.triggers.codec import decode

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
names = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), min_size=1, max_size=20)
moments = st.integers(0, 1 << 53)
counts = st.integers(0, 1 << 31)
words = st.lists(texts, max_size=3).map(tuple)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(max_size=8), values, max_size=3)


def _maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


policies = st.builds(
    Policy,
    misfire=st.sampled_from(get_args(Misfire)),
    overlap=st.sampled_from(get_args(Overlap)),
    delivery=st.sampled_from(get_args(Delivery)),
    max_concurrent_runs=_maybe(counts),
    limit=_maybe(texts),
    group=_maybe(texts),
    pool=_maybe(st.sampled_from(["fast", "slow", "process"])),
    timeout_ms=_maybe(moments),
    priority=st.integers(-100, 100),
    retries=counts,
)
schedules = st.builds(
    Schedule,
    id=names,
    name=names,
    task=names,
    trigger=objects,
    args=objects,
    policy=policies,
    given=words,
    kind=st.sampled_from(get_args(Kind)),
    tags=words,
    mode=st.sampled_from(get_args(Mode)),
    origin=st.sampled_from(get_args(Origin)),
    max_runs=_maybe(counts),
    auto_remove=st.booleans(),
    then=words,
    on_failure=words,
    enabled=st.booleans(),
    paused_note=_maybe(texts),
    error=_maybe(texts),
    deleted=st.booleans(),
    declared_hash=_maybe(texts),
    declared_seen_ms=_maybe(moments),
    next_run_ms=_maybe(moments),
    rescheduled=st.booleans(),
    settled_ms=moments,
    last_run_ms=_maybe(moments),
    revision=counts,
    fence=moments,
    routed=st.dictionaries(names, counts, max_size=3),
)
runs = st.builds(
    Run,
    id=names,
    task=names,
    cause=st.sampled_from(get_args(Cause)),
    scheduled_ms=moments,
    due_ms=moments,
    state=st.sampled_from(State),
    args=objects,
    policy=policies,
    schedule_id=_maybe(names),
    schedule=_maybe(names),
    revision=_maybe(counts),
    key=_maybe(texts),
    target=_maybe(names),
    graph=_maybe(names),
    item=_maybe(counts),
    size=_maybe(counts),
    owner=_maybe(names),
    claim_no=counts,
    slot=_maybe(names),
    waits_for=_maybe(names),
    exempt=st.booleans(),
    finished_ms=_maybe(moments),
    result=values,
    error=_maybe(texts),
    reason=_maybe(texts),
)


def _columns(schedule: Schedule) -> dict[str, Any]:
    """By name, but for the priority."""
    return dict(zip(mapping.SCHEDULE, mapping.schedule_row(schedule), strict=False))


@given(schedules)
def test_a_schedule_comes_back_as_it_was(schedule: Schedule) -> None:
    *columns, priority, _ = mapping.schedule_row(schedule)
    assert mapping.schedule_from(columns) == schedule
    assert priority == schedule.policy.priority


@given(schedules)
def test_a_revision_comes_back_as_it_was(schedule: Schedule) -> None:
    assert mapping.revision_from("", mapping.schedule_to_text(schedule)) == schedule


@given(schedules, schedules)
def test_the_moving_columns_and_the_definition_are_the_whole_schedule(old: Schedule, new: Schedule) -> None:
    moved = replace(old, **{name: getattr(new, name) for name in mapping.SCHEDULE_MOVING})
    assert mapping.schedule_definition(moved) == mapping.schedule_definition(old)
    columns = _columns(old)
    columns |= dict(zip(mapping.SCHEDULE_MOVING, mapping.schedule_moving_row(moved), strict=False))
    assert mapping.schedule_from(list(columns.values())) == moved


@given(runs)
def test_a_run_comes_back_as_it_was_live_or_ended(run: Run) -> None:
    assert mapping.run_from(mapping.live_row(run)[: len(mapping.RUN)]) == run
    assert mapping.run_from(mapping.ended_row(run)[: len(mapping.RUN)]) == run


@given(runs, runs)
def test_the_moving_columns_of_a_run_are_written_by_themselves(old: Run, new: Run) -> None:
    moved = replace(old, **{name: getattr(new, name) for name in mapping.RUN_MOVING if name in mapping.RUN})
    columns = dict(zip(mapping.LIVE, mapping.live_row(old), strict=True))
    columns |= dict(zip(mapping.RUN_MOVING, mapping.run_moving_row(moved), strict=False))
    assert tuple(columns.values()) == mapping.live_row(moved)


@given(runs, names, _maybe(texts))
def test_a_node_asks_for_exactly_the_lanes_of_the_runs_that_it_may_take(
    run: Run, node_id: str, group: str | None
) -> None:
    mine = replace(run, target=node_id, policy=replace(run.policy, group=group))
    claim = Claim(node_id, group, (run.task,))
    for each in (run, mine, replace(mine, target=None), replace(mine, policy=Policy())):
        asks = lane_of(each) in lanes_of(claim)
        assert asks is (each.waits_for is None and claim.takes(each))


@given(runs)
def test_the_lane_of_a_run_tells_whether_it_was_routed_or_waits_for_something(run: Run) -> None:
    first, end = ROUTED
    ready = replace(run, waits_for=None)
    assert (first <= lane_of(ready) < end) is (run.target is not None)
    assert lane_of(ready) < AWAITED
    assert all(
        lane_of(replace(run, waits_for=f"{kind}:x")) > AWAITED for kind in ("slot", "limit", "resume", "success")
    )


@given(schedules)
def test_what_is_said_about_a_schedule_comes_back_from_its_json(schedule: Schedule) -> None:
    text = json.dumps(as_json(schedule))
    assert from_json(json.loads(text)) == {name: getattr(schedule, name) for name in DEFINITION}


def test_of_a_definition_only_what_differs_from_the_defaults_is_written() -> None:
    plain = Schedule("i", "n", "t", {"v": 1})
    assert as_json(plain) == {"task": "t", "trigger": {"v": 1}}
    assert _columns(plain)["definition"] == '{"trigger":{"v":1}}'


def test_a_field_of_a_later_version_is_passed_over_and_one_that_an_earlier_one_lacks_has_its_default() -> None:
    plain = Schedule("i", "n", "t", {"v": 1})
    later = _columns(plain) | {"definition": '{"trigger":{"v":1},"shade":"blue"}'}
    assert mapping.schedule_from(list(later.values())) == plain


@given(words, texts)
def test_a_tag_is_found_in_the_text_of_the_tags_exactly_when_it_is_one_of_them(tags: tuple[str, ...], tag: str) -> None:
    text = _columns(Schedule("i", "n", "t", {}, tags=tags))["tags"]
    assert (word_in_words(tag) in text) is (tag in tags)


@pytest.mark.parametrize("tag", [",", ", ", '","', '"', "\\", ",\n", "a\\", ""])
def test_a_tag_of_punctuation_is_no_other_tag(tag: str) -> None:
    text = _columns(Schedule("i", "n", "t", {}, tags=("a", "b", "c\\")))["tags"]
    assert word_in_words(tag) not in text


@given(
    st.builds(
        Node, id=names, name=names, group=_maybe(texts), roles=words, tasks=words, state=st.sampled_from(NodeState)
    )
)
def test_a_node_comes_back_as_it_was(node: Node) -> None:
    assert mapping.node_from(mapping.node_row(node)) == node


@given(st.builds(TaskInfo, name=names, parameters=st.lists(objects, max_size=2).map(tuple), doc=texts, policy=objects))
def test_a_published_task_comes_back_as_it_was(task: TaskInfo) -> None:
    assert mapping.task_from(mapping.task_row("n", task)) == task


@given(
    st.builds(Change, names, names, names, counts, moments, st.builds(Author, texts, texts, texts), objects, objects)
)
def test_a_change_comes_back_as_it_was(change: Change) -> None:
    assert mapping.change_from(mapping.change_row(change)) == change


@given(
    st.builds(
        Decision, names, names, names, counts, st.just("misfire"), moments, moments, _maybe(counts), moments, texts
    )
)
def test_a_decision_comes_back_as_it_was(decision: Decision) -> None:
    assert Decision(*mapping.decision_row(decision)) == decision


def test_the_columns_of_each_table_are_the_fields_of_its_value_in_their_order() -> None:
    assert tuple(tables.schedules.c.keys()) == (*mapping.SCHEDULE, *mapping.SCHEDULE_DERIVED)
    assert {*mapping.SCHEDULE} - {"definition"} <= {field.name for field in fields(Schedule)}
    assert tuple(tables.runs.c.keys()) == mapping.LIVE
    assert tuple(tables.history.c.keys()) == (*mapping.RUN, "kept_by", "late")
    assert tuple(tables.nodes.c.keys()) == tuple(field.name for field in fields(Node))


def test_two_schedules_never_share_arguments_that_user_code_may_change() -> None:
    row = mapping.schedule_row(Schedule("i", "n", "t", {}, args={"list": [1]}))[: len(mapping.SCHEDULE)]
    mapping.schedule_from(row).args["list"].append(2)
    assert mapping.schedule_from(row).args == {"list": [1]}


_BROKEN = ["", "{", "[1]", "7", "null", '"x"']


@pytest.mark.parametrize("column", ["args", "policy", "tags", "definition"])
@pytest.mark.parametrize("text", [*_BROKEN, None])
def test_a_schedule_that_cannot_be_read_has_a_trigger_that_says_so(column: str, text: str | None) -> None:
    if column == "tags" and text in ("[1]", '"x"'):
        return  # lists of something else than words harm nobody
    broken = _columns(Schedule("i", "n", "t", {"v": 1})) | {column: text}
    schedule = mapping.schedule_from(list(broken.values()))
    assert (schedule.id, schedule.name, schedule.task) == ("i", "n", "t")
    with pytest.raises(TriggerError, match="unreadable"):
        decode(schedule.trigger)
    assert _columns(replace(schedule, error="parked", next_run_ms=3)) == broken | {"error": "parked", "next_run_ms": 3}


@pytest.mark.parametrize("field", ["trigger", "given", "kind", "origin", "max_runs", "auto_remove", "then"])
@pytest.mark.parametrize("text", [*_BROKEN[2:4], '{"a":1}', "[[]]"])
def test_a_definition_with_a_field_of_another_kind_cannot_be_read(field: str, text: str) -> None:
    if (field, text) in {("max_runs", "7"), ("trigger", '{"a":1}')}:
        return
    definition = json.dumps({"trigger": {"v": 1}, field: json.loads(text)})
    broken = _columns(Schedule("i", "n", "t", {"v": 1})) | {"definition": definition}
    with pytest.raises(TriggerError, match="unreadable"):
        decode(mapping.schedule_from(list(broken.values())).trigger)


def test_of_a_schedule_that_cannot_be_read_nothing_follows_and_it_is_kept() -> None:
    assert mapping.summary_from((1, 0, None, "{")) == ScheduleSummary(True, False, False, True)


def test_counts_that_cannot_be_read_are_counted_anew() -> None:
    columns = _columns(Schedule("i", "n", "t", {"v": 1})) | {"routed": "{"}
    schedule = mapping.schedule_from(list(columns.values()))
    assert (schedule.routed, schedule.trigger) == ({}, {"v": 1})


def test_a_run_whose_arguments_cannot_be_read_has_arguments_that_fit_no_task() -> None:
    columns = dict(zip(mapping.RUN, mapping.live_row(Run("i", "t", "enqueue", 0, 0)), strict=False))
    run = mapping.run_from(list((columns | {"args": "{", "policy": "["}).values()))
    assert run.args
    assert run.policy == Policy()


def test_text_that_no_database_takes_is_written_as_it_can_be() -> None:
    run = Run("i", "t", "enqueue", 0, 0, args={"path": "\ud800"}, result="\udcff", error="caf\xe9 \udcff")
    row = mapping.run_from(mapping.live_row(run)[: len(mapping.RUN)])
    assert (row.args, row.result, row.error) == (run.args, run.result, "caf\xe9 \\udcff")
