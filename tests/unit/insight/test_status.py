"""Whether all is well, told from the store alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from onthedot import App, every
from onthedot.insight.explain import explain
from onthedot.insight.status import MOST_LISTED, read_status
from onthedot.model.change import Author
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.moments import from_ms
from onthedot.rules.effects import Effects
from onthedot.stores.memory import MemoryStore
from onthedot.testing.clock import ManualClock

START = 1_800_000_000_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def store(clock: ManualClock) -> MemoryStore:
    return MemoryStore(clock)


@pytest.fixture
def app(store: MemoryStore) -> App:
    return App("memory://", store=store)


@pytest.fixture
def join(store: MemoryStore) -> Callable[[], Node]:
    return lambda: store.join(Node("n1", "one", tasks=("known",)), [])


def test_a_store_without_schedules_needs_no_node(store: MemoryStore) -> None:
    assert read_status(store).healthy


def test_schedules_without_a_live_node_are_not_healthy(app: App, store: MemoryStore) -> None:
    app.schedules.put("a", "known", every("1h"), unchecked=True)
    assert read_status(store).problems == ("no node is alive: start one with onthedot run",)


def test_when_every_node_drains_somebody_should_look(app: App, store: MemoryStore, join: Callable[[], Node]) -> None:
    app.schedules.put("a", "known", every("1d"), unchecked=True)
    store.drain(join().id)
    (problem,) = read_status(store).problems
    assert problem == "every node is draining and takes no more runs: start another with onthedot run"
    store.join(Node("n2", "two", tasks=("known",)), [])
    assert read_status(store).healthy


def test_a_schedule_that_nobody_declares_any_more_is_told_after_an_hour(store: MemoryStore, clock: ManualClock) -> None:
    app = App("memory://", store=store)

    @app.schedule(every("1d"))
    def known() -> None: ...

    app.sync()
    app.schedules.put("by-hand", "known", every("1d"))
    clock.pass_by(3_600_000)
    assert read_status(store).undeclared == ()
    clock.pass_by(1)
    assert read_status(store).undeclared == ("known",)


def test_a_node_whose_lease_is_over_is_not_alive(
    app: App, store: MemoryStore, clock: ManualClock, join: Callable[[], Node]
) -> None:
    app.schedules.put("a", "known", every("1d"), unchecked=True)
    join()
    assert read_status(store).healthy
    clock.pass_by(30_000)
    status = read_status(store)
    assert ([node.name for node in status.nodes], status.alive, status.healthy) == (["one"], (), False)


def test_what_is_overdue_by_more_than_a_minute_is_not_healthy(
    app: App, store: MemoryStore, clock: ManualClock, join: Callable[[], Node]
) -> None:
    app.schedules.put("a", "known", every("1m"), unchecked=True)
    clock.now_ms = START - START % 60_000 + 60_000 + 500
    assert read_status(store).late == ()
    clock.pass_by(59_500)
    join()
    late = read_status(store)
    assert ([each.late_ms for each in late.late], late.healthy) == ([60_000], True)
    clock.pass_by(1)
    assert read_status(store).problems == ("1 overdue by more than a minute",)


def test_of_what_needs_somebody_a_hundred_are_listed_and_all_are_counted(
    app: App, store: MemoryStore, clock: ManualClock, join: Callable[[], Node]
) -> None:
    for number in range(MOST_LISTED + 2):
        app.schedules.put(f"due-{number:03}", "known", every("1m", anchor=from_ms(number)), unchecked=True)
        app.schedules.put(f"bad-{number:03}", "known", every("1m"), unchecked=True)
        _failed(store, f"{number:03}", START + 120_000, schedule=f"failed-{number:03}", error="no")
    park = [f"bad-{number:03}" for number in range(MOST_LISTED + 2)]
    store.change(
        park,
        lambda before, now_ms: Effects(schedule=replace(_existing(before.schedule), error="unreadable")),
        Author("me", "test", "park"),
    )
    clock.now_ms = START + 120_100
    join()
    app.enqueue("known", unchecked=True)
    clock.pass_by(2000)
    status = read_status(store)
    assert [len(each) for each in (status.late, status.parked, status.failed)] == [MOST_LISTED] * 3
    assert (status.late_count, status.parked_count, status.failed_count) == (MOST_LISTED + 3, *[MOST_LISTED + 2] * 2)
    assert (status.overdue_count, len(status.overdue)) == (MOST_LISTED + 2, MOST_LISTED)
    assert status.late[0].name == "due-001"
    assert status.problems == (
        "102 schedules parked: what cannot be planned does not run",
        "102 overdue by more than a minute",
    )


def test_who_lacks_what_is_not_told_while_no_node_is_alive(
    app: App, store: MemoryStore, join: Callable[[], Node], clock: ManualClock
) -> None:
    app.schedules.put("nightly", "report", every("1h"), unchecked=True)
    app.schedules.put("after", "known", every("1h"), depends_on="laod", unchecked=True)
    assert [each.names for each in read_status(store).unable] == [("after",)]
    join()
    assert [each.names for each in read_status(store).unable] == [("nightly",), ("after",)]


def test_a_late_run_says_that_nobody_can_run_it(
    app: App, store: MemoryStore, clock: ManualClock, join: Callable[[], Node]
) -> None:
    join()
    app.enqueue("unknown", unchecked=True)
    app.enqueue("known", unchecked=True)
    clock.pass_by(2000)
    assert {each.name: each.reason for each in read_status(store).late} == {
        "unknown": "no live node has the task unknown",
        "known": "not started yet",
    }


def test_a_paused_schedule_is_never_late(app: App, store: MemoryStore, clock: ManualClock) -> None:
    app.schedules.put("a", "known", every("1s"), unchecked=True)
    app.schedules.pause("a")
    clock.pass_by(3_600_000)
    status = read_status(store)
    assert (status.late, status.paused, status.schedules) == ((), 1, 1)


def test_a_parked_schedule_is_shown_with_its_error(app: App, store: MemoryStore) -> None:
    app.schedules.put("a", "known", every("1s"), unchecked=True)
    store.change(
        ["a"],
        lambda before, now_ms: Effects(schedule=replace(_existing(before.schedule), error="unreadable")),
        Author("me", "test", "park"),
    )
    assert [(each.name, each.error) for each in read_status(store).parked] == [("a", "unreadable")]


def test_a_moment_that_is_past_but_undecided_is_not_called_still_to_come(
    app: App, store: MemoryStore, clock: ManualClock
) -> None:
    schedule = app.schedules.put("a", "known", every("1m"), unchecked=True)
    moment_ms = schedule.next_run_ms or 0
    assert "is still to come" in explain(store, schedule, moment_ms).text
    clock.now_ms = moment_ms + 5000
    assert explain(store, schedule, moment_ms).text.endswith("no node has planned it yet: no node is alive")
    store.join(Node("n1", "one", tasks=("known",)), [])
    assert explain(store, schedule, moment_ms).text.endswith("is due, but no node has planned it yet")
    paused = app.schedules.pause("a", note="moving")
    assert explain(store, paused, moment_ms).text.endswith("(moving)")


def test_a_schedule_whose_task_no_live_node_has_is_not_healthy(
    app: App, store: MemoryStore, join: Callable[[], Node]
) -> None:
    join()
    app.schedules.put("fine", "known", every("1h"), unchecked=True)
    assert read_status(store).healthy
    app.schedules.put("nightly", "report", every("1h"), unchecked=True)
    assert read_status(store).problems == ("nightly cannot run: no live node has the task report",)


def test_a_schedule_whose_group_no_live_node_is_in_is_not_healthy(
    app: App, store: MemoryStore, join: Callable[[], Node]
) -> None:
    join()
    app.schedules.put("train", "known", every("1h"), group="gpu", unchecked=True)
    assert read_status(store).problems == ("train cannot run: no live node is in the group gpu",)
    store.join(Node("n2", "two", "gpu", tasks=("known",)), [])
    assert read_status(store).healthy


def test_a_schedule_is_not_healthy_while_all_who_have_its_task_drain(
    app: App, store: MemoryStore, join: Callable[[], Node]
) -> None:
    app.schedules.put("a", "known", every("1h"), unchecked=True)
    store.drain(join().id)
    store.join(Node("n2", "two"), [])
    assert read_status(store).problems == ("a cannot run: every node that has the task known is draining",)


def test_a_schedule_that_waits_for_one_which_there_is_not_is_not_healthy(
    app: App, store: MemoryStore, join: Callable[[], Node]
) -> None:
    join()
    app.schedules.put("report", "known", every("1h"), depends_on="laod", unchecked=True)
    (unable,) = read_status(store).unable
    assert str(unable) == "report cannot run: there is no schedule laod, whose success is waited for"
    assert unable.remedy == "put that schedule, or change depends_on"
    assert read_status(store).problems == (str(unable),)
    app.schedules.put("laod", "known", every("1h"), unchecked=True)
    assert read_status(store).healthy


def test_schedules_that_cannot_run_for_one_reason_are_told_in_one_line(
    app: App, store: MemoryStore, join: Callable[[], Node]
) -> None:
    join()
    for name in "abcde":
        app.schedules.put(name, "report", every("1h"), unchecked=True)
    assert read_status(store).problems == ("a, b, c and 2 more cannot run: no live node has the task report",)


def test_a_schedule_that_is_paused_or_has_ended_needs_nobody(
    app: App, store: MemoryStore, join: Callable[[], Node], clock: ManualClock
) -> None:
    join()
    app.schedules.put("paused", "report", every("1h"), unchecked=True)
    app.schedules.pause("paused")
    app.schedules.put("ended", "report", every("1h"), max_runs=1, unchecked=True)
    ended = replace(_existing(store.schedules(names=["ended"])[0]), next_run_ms=None)
    store.change(["ended"], lambda before, now_ms: Effects(schedule=ended), Author("me", "test", "end"))
    assert read_status(store).healthy


def test_a_parked_schedule_is_not_healthy(app: App, store: MemoryStore, join: Callable[[], Node]) -> None:
    join()
    row = app.schedules.put("a", "known", every("1h"), unchecked=True)
    store.change(["a"], lambda before, now_ms: Effects(schedule=replace(row, error="x")), Author("me", "test", "park"))
    assert read_status(store).problems == ("1 schedule parked: what cannot be planned does not run",)


def test_a_late_run_says_that_the_pool_is_full_and_with_what(app: App, store: MemoryStore, clock: ManualClock) -> None:
    store.join(Node("n1", "one", tasks=("known",), capacity=1), [])
    app.enqueue("known", unchecked=True)
    store.start_due("n1", ["known"], 1)
    clock.pass_by(1)
    app.enqueue("known", unchecked=True)
    clock.pass_by(2000)
    (late,) = read_status(store).late
    assert late.reason == "the pool is full: node one (1 worker) has 1 run: known"


def test_paused_schedules_are_told_with_who_paused_them_and_why(app: App, store: MemoryStore) -> None:
    app.schedules.put("a", "known", every("1s"), unchecked=True)
    app.schedules.pause("a", note="moving")
    (told,) = map(str, read_status(store).pauses)
    assert told.startswith("a is paused by ")
    assert told.endswith(" at 2027-01-15T08:00:00Z (moving)")


def test_nodes_that_died_are_told_for_a_day_one_line_for_each_name(store: MemoryStore, clock: ManualClock) -> None:
    for number in range(3):
        store.join(Node(f"n{number}", "web"), [])
        clock.pass_by(30_000)
        store.take_over(f"n{number}", 0)
    store.join(Node("n4", "batch"), [])
    store.leave("n4")
    assert [str(each) for each in read_status(store).died] == [
        "web died 3 times in the last day, last heard of at 2027-01-15T08:01:00Z"
    ]
    clock.pass_by(86_400_000)
    assert read_status(store).died == ()


def test_what_fails_again_and_again_is_one_line(store: MemoryStore) -> None:
    for number in range(12):
        _failed(store, f"{number:02}", START + number * 60_000, schedule="report", error="Traceback\nKeyError: 'x'")
    _failed(store, "once", START + 30_000, error="ValueError: no luck")
    _failed(store, "long ago", START - 86_400_000, schedule="older", error="no")
    assert [str(each) for each in read_status(store).failed] == [
        "report failed 12 times since 2027-01-15T08:00:00Z, last: KeyError: 'x'",
        "known failed once, at 2027-01-15T08:00:30Z: ValueError: no luck",
    ]


def test_thousands_of_failures_are_counted(store: MemoryStore) -> None:
    for number in range(2500):
        _failed(store, f"{number:04}", START, schedule="report", error="no")
    assert [each.count for each in read_status(store).failed] == [2500]


def _failed(store: MemoryStore, run_id: str, finished_ms: int, **fields: Any) -> None:
    run = Run(run_id, "known", "enqueue", 1, 1, State.FAILED, finished_ms=finished_ms, attempt=1, **fields)
    with store.begin() as rows:
        rows.end_runs([run])


def _existing(schedule: Schedule | None) -> Schedule:
    assert schedule is not None
    return schedule
