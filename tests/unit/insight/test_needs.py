"""What needs somebody, and what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onthedot.insight.failures import Failures
from onthedot.insight.needs import Failing, Need, find_needs, in_a_row, read_needs
from onthedot.insight.status import Deaths, Late, Status, Unable
from onthedot.model.mark import Mark
from onthedot.model.node import Node, NodeState
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.stores.memory import MemoryStore
from onthedot.testing.clock import ManualClock

NOW = 1_800_000_000_000
MINUTE, HOUR = 60_000, 3_600_000
ALIVE = Node("n1", "ams-1", renewed_ms=NOW)
CALM = Status(
    NOW, (ALIVE,), 5, 0, pauses=(), died=(), undeclared=(), undeclared_count=0, parked=(), parked_count=0, late=(),
    late_count=0, overdue_count=0, unable=(), failed=(), failed_count=0, waiting=0, running=0,
)  # fmt: skip


def _mark(state: State) -> Mark:
    return Mark("r", "s", "fx", "tick", 0, 0, state, None, 1, 0, 1, None)


def _run(name: str, state: State = State.FAILED, error: str = "RuntimeError: upstream answered 503") -> Run:
    return Run(f"run-{name}", "t", "tick", NOW, NOW, state, schedule=name, finished_ms=NOW - 1000, error=error)


def _failed(*names: str) -> Status:
    return replace(CALM, failed=tuple(Failures(name, 9, NOW - HOUR, _run(name)) for name in names))


def _told(needs: list[Need]) -> list[str]:
    return [each.sentence for each in needs]


def test_a_store_in_which_all_is_well_needs_nobody() -> None:
    assert find_needs(CALM, {}) == []


@pytest.mark.parametrize(
    ("states", "count"),
    [
        ("F F F S", 3),
        ("R W F K F S F", 2),
        ("S F F F", 0),
        ("T L F", 3),
        ("", 0),
    ],
)
def test_failures_in_a_row_end_with_the_last_success_and_what_was_left_out_says_nothing(
    states: str, count: int
) -> None:
    letters = {
        "F": State.FAILED,
        "S": State.SUCCEEDED,
        "R": State.RUNNING,
        "W": State.WAITING,
        "K": State.SKIPPED,
        "T": State.TIMED_OUT,
        "L": State.LOST,
    }
    assert in_a_row([_mark(letters[each]) for each in states.split()]) == count


def test_what_fails_again_and_again_needs_somebody() -> None:
    (need,) = find_needs(_failed("fx-rates"), {"fx-rates": Failing(3, NOW + MINUTE)})

    assert need.sentence == "fx-rates has failed 3 times in a row"
    assert need.evidence == "RuntimeError: upstream answered 503"
    assert need.acts == ("run", "pause")
    assert (need.sign, need.name, need.run_id, need.at_ms) == ("failed", "fx-rates", "run-fx-rates", NOW - 1000)


def test_a_row_that_is_longer_than_what_was_looked_at_is_at_least_that_long() -> None:
    (need,) = find_needs(_failed("fx"), {"fx": Failing(24, NOW + MINUTE)})

    assert need.sentence == "fx has failed at least 24 times in a row"


def test_what_failed_once_and_tries_again_soon_needs_nobody() -> None:
    assert find_needs(_failed("fx"), {"fx": Failing(2, NOW + MINUTE)}) == []


def test_what_failed_once_and_tries_again_tomorrow_can_be_tried_now() -> None:
    (need,) = find_needs(_failed("nightly"), {"nightly": Failing(1, NOW + 20 * HOUR)})

    assert need.sentence == "nightly failed, and tries again much later"
    assert "retry" in need.acts


def test_what_succeeded_since_needs_nobody() -> None:
    assert find_needs(_failed("fx"), {"fx": Failing(0, NOW + 20 * HOUR)}) == []


def test_a_paused_schedule_that_failed_before_needs_nobody() -> None:
    assert find_needs(_failed("fx"), {}) == []


def test_many_of_a_kind_are_told_together() -> None:
    names = [f"job-{number}" for number in range(9)]
    told = _told(find_needs(_failed(*names), {name: Failing(4, NOW) for name in names}))

    assert len(told) == 4
    assert told[-1] == "6 more schedules failed last"


def test_a_parked_schedule_needs_somebody_with_its_error() -> None:
    schedule = Schedule("i", "payroll", "t", {}, error="calendar 'de-2027' has no content")
    (need,) = find_needs(replace(CALM, parked=(schedule,), parked_count=1), {})

    assert need.sentence == "payroll is parked: it cannot be planned"
    assert need.evidence == "Calendar 'de-2027' has no content. Put it anew when that is mended."
    assert (need.sign, need.acts) == ("parked", ("edit",))


def test_a_node_that_is_silent_needs_somebody() -> None:
    silent = Node("n2", "nyc-2", renewed_ms=NOW - 31 * MINUTE)
    (need,) = find_needs(replace(CALM, nodes=(ALIVE, silent)), {})

    assert need.sentence == "nyc-2 has not renewed its lease for 31 min"
    assert need.acts == ("nodes",)


def test_a_node_that_died_lately_needs_somebody_until_it_is_back() -> None:
    died = replace(CALM, died=(Deaths("nyc-2", 1, NOW - 5 * MINUTE),))
    back = replace(died, nodes=(ALIVE, Node("n3", "nyc-2", renewed_ms=NOW)))
    long_ago = replace(CALM, died=(Deaths("nyc-2", 1, NOW - 2 * HOUR),))

    assert _told(find_needs(died, {})) == ["nyc-2 has not been heard of for 5 min"]
    assert find_needs(back, {}) == []
    assert find_needs(long_ago, {}) == []


def test_where_nobody_is_alive_that_is_told_and_not_its_consequences() -> None:
    late = Late("fx", NOW - HOUR, HOUR, reason="no node is alive")
    unable = Unable(("fx",), 1, "no node is alive")
    nobody = replace(CALM, nodes=(), late=(late,), overdue_count=1, unable=(unable,))

    assert _told(find_needs(nobody, {})) == ["No node is alive: nothing will run"]


def test_many_that_cannot_run_for_one_reason_are_one_thing() -> None:
    unable = Unable(("a", "b", "c"), 40, "no live node has the task x", "start a node that can")
    (need,) = find_needs(replace(CALM, unable=(unable,)), {})

    assert need.sentence == "40 schedules cannot run: no live node has the task x"
    assert need.evidence == "a, b, c and 37 others. Start a node that can."


def test_nodes_that_all_drain_need_another() -> None:
    draining = replace(ALIVE, state=NodeState.DRAINING)

    assert _told(find_needs(replace(CALM, nodes=(draining,)), {})) == ["Every node is draining and takes no more runs"]


def test_what_is_overdue_is_told_with_its_reason() -> None:
    late = Late("fx", NOW - 10 * MINUTE, 10 * MINUTE, "run-1", "the pool is full")
    (need,) = find_needs(replace(CALM, late=(late,), overdue_count=1), {})

    assert need.sentence == "fx was due 10 min ago and has not begun"
    assert (need.evidence, need.acts, need.run_id) == ("The pool is full.", ("run",), "run-1")


def test_an_empty_store_needs_nobody() -> None:
    assert read_needs(MemoryStore(ManualClock(NOW))) == []


@pytest.mark.parametrize(
    ("count", "sentence", "evidence"),
    [
        (4, "1 more is overdue by more than a minute", "s3"),
        (5, "2 more are overdue by more than a minute", "s3, s4"),
        (7, "4 more are overdue by more than a minute", "s3, s4, s5 and 1 other"),
        (8, "5 more are overdue by more than a minute", "s3, s4, s5 and 2 others"),
    ],
)
def test_what_is_told_together_is_told_in_grammar(count: int, sentence: str, evidence: str) -> None:
    late = tuple(Late(f"s{number}", NOW - HOUR, HOUR, None, "no node") for number in range(count))
    last = find_needs(replace(CALM, late=late, overdue_count=len(late)), {})[-1]

    assert (last.sentence, last.evidence) == (sentence, evidence)
