"""What two looks differ in is told, once, and by name."""

from __future__ import annotations

from dataclasses import replace

from onthedot.model.change import Author, Change
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.stores.counts import RunCounts, ScheduleCounts
from onthedot.web.snapshot import MINUTE_MS, MOST_IDS, Away, Message, Snapshot, compare, is_followed

NOON = 720 * MINUTE_MS
EMPTY = Snapshot(NOON, 0, ScheduleCounts(), RunCounts(), (), (), False, (), ())


def _run(name: str, **values: object) -> Run:
    made = Run(f"id-{name}", "task", "tick", NOON, NOON, schedule=name)
    return replace(made, **values)  # type: ignore[arg-type]


def _change(number: int, schedule: str = "nightly") -> Change:
    return Change(f"c{number}", "s1", schedule, 1, NOON, Author("ann", "http", "pause"), {}, {})


def _told(before: Snapshot, after: Snapshot) -> dict[str, tuple[str, ...]]:
    return {message.topic: message.ids for message in compare(before, after)}


def test_what_is_the_same_is_not_told() -> None:
    full = replace(EMPTY, recent=(_run("a"),), nodes=(Node("n1", "web"),), changes=(_change(1),))
    assert compare(full, replace(full, read_ms=1000, now_ms=NOON + 999)) == []


def test_a_new_run_is_told_with_its_schedule() -> None:
    (message,) = compare(EMPTY, replace(EMPTY, recent=(_run("a"),)))
    assert message == Message("runs", ("id-a",), ("a",))


def test_a_run_that_began_ended_or_got_on_is_told() -> None:
    waiting = replace(EMPTY, recent=(_run("a"),))
    running = replace(EMPTY, recent=(_run("a", state=State.RUNNING, claim_no=1),))
    further = replace(EMPTY, recent=(_run("a", state=State.RUNNING, claim_no=1, progress="50%"),))
    for before, after in ((waiting, running), (running, further), (further, waiting)):
        assert _told(before, after) == {"runs": ("id-a",)}


def test_an_old_run_that_no_longer_runs_is_told_and_one_that_only_grew_old_is_not() -> None:
    running = replace(EMPTY, running=(_run("a", state=State.RUNNING),))
    assert _told(running, EMPTY) == {"runs": ("id-a",)}
    ended = replace(EMPTY, recent=(_run("a", state=State.SUCCEEDED),))
    assert _told(ended, EMPTY) == {}


def test_a_line_of_the_audit_is_told_and_its_schedule() -> None:
    before = replace(EMPTY, changes=(_change(1),))
    after = replace(EMPTY, changes=(_change(2, "hourly"), _change(1)))
    assert _told(before, after) == {"changes": ("c2",), "schedules": ("hourly",)}
    assert is_followed(before, after)


def test_where_more_was_changed_than_is_read_it_says_so() -> None:
    before = replace(EMPTY, changes=(_change(1),))
    after = replace(EMPTY, changes=(_change(9), _change(8)))
    assert not is_followed(before, after)
    assert all(message.more for message in compare(before, after))


def test_a_schedule_that_ended_or_was_parked_leaves_no_line_but_other_counts() -> None:
    after = replace(EMPTY, schedules=ScheduleCounts(parked=1))
    assert _told(EMPTY, after) == {"schedules": ()}


def test_nodes_that_came_renewed_or_went_are_told() -> None:
    came = replace(EMPTY, nodes=(Node("n1", "web"),))
    renewed = replace(EMPTY, nodes=(Node("n1", "web", renewals=1),))
    for before, after in ((EMPTY, came), (came, renewed), (renewed, EMPTY)):
        assert _told(before, after) == {"nodes": ("n1",)}


def test_each_minute_is_told_once() -> None:
    later = replace(EMPTY, now_ms=NOON + MINUTE_MS)
    assert _told(EMPTY, later) == {"minute": (str(NOON + MINUTE_MS),)}
    assert _told(later, replace(later, now_ms=NOON + 2 * MINUTE_MS - 1)) == {}


def test_that_the_store_went_away_and_came_back_is_told_once_each() -> None:
    away = replace(EMPTY, away=Away(NOON, "no route to host"))
    assert _told(EMPTY, away) == {"store": ("away",)}
    assert _told(away, away) == {}
    assert _told(away, EMPTY) == {"store": ("back",)}


def test_a_message_names_a_hundred_at_most_and_says_that_there_are_more() -> None:
    runs = tuple(_run(f"{number:03}") for number in range(MOST_IDS + 1))
    (message,) = compare(EMPTY, replace(EMPTY, recent=runs))
    assert (len(message.ids), len(message.schedules), message.more) == (MOST_IDS, MOST_IDS, True)
