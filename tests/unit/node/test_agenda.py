"""What a pass has to do, decided from what was heard and from what came of the last one."""

from __future__ import annotations

import pytest

from onthedot.node.agenda import MOMENT_MS, Agenda, Result, Steps

NOTHING = Result()


@pytest.fixture
def agenda() -> Agenda:
    """One that has made its first pass, and found nothing."""
    agenda = Agenda(plans=True, executes=True)
    agenda.take_reread()
    agenda.begin(due=False, planned_locally=False)
    agenda.ended(NOTHING, NOTHING, is_full=False)
    return agenda


def begin(agenda: Agenda, *, due: bool = False) -> Steps:
    agenda.take_reread()
    return agenda.begin(due=due, planned_locally=False)


def test_what_holds_on_for_workers_is_looked_at_in_a_moment_and_planned_on() -> None:
    agenda = Agenda(plans=True, executes=True)
    agenda.begin(due=True, planned_locally=False)
    assert agenda.ended(Result(began=True, more=True, holds_on=True), Result(), is_full=True) == MOMENT_MS
    assert agenda.begin(due=False, planned_locally=False).plan


def test_where_nothing_was_heard_and_nothing_is_due_there_is_nothing_to_do(agenda: Agenda) -> None:
    assert not begin(agenda).any


def test_what_is_due_is_planned_and_what_waits_is_started(agenda: Agenda) -> None:
    assert begin(agenda, due=True) == Steps(plan=True, start=True)


@pytest.mark.parametrize("stage", ["plan", "start"])
def test_what_somebody_else_had_locked_is_looked_at_again_within_fifty_milliseconds(agenda: Agenda, stage: str) -> None:
    begin(agenda, due=True)
    passed_over = Result(passed_over=True)
    planned, started = (passed_over, NOTHING) if stage == "plan" else (NOTHING, passed_over)
    again_ms = agenda.ended(planned, started, is_full=False)
    assert again_ms is not None
    assert again_ms <= 50
    assert begin(agenda) == Steps(plan=stage == "plan", start=True)


def test_what_is_left_is_done_at_once(agenda: Agenda) -> None:
    begin(agenda, due=True)
    assert agenda.ended(Result(more=True), NOTHING, is_full=False) == 0
    assert begin(agenda) == Steps(plan=True, start=True)


def test_after_a_failure_all_of_it_is_looked_at_again(agenda: Agenda) -> None:
    """The hint may be gone, and nobody knows what the store made of it."""
    for due in (True, False):
        agenda.go_on()
        begin(agenda, due=due)
        agenda.failed()
        assert begin(agenda) == Steps(plan=True, start=True)
        agenda.ended(NOTHING, NOTHING, is_full=False)


def test_a_worker_that_came_free_is_no_reason_to_look_for_what_is_due(agenda: Agenda) -> None:
    agenda.go_on()
    assert begin(agenda) == Steps(start=True)


def test_what_waits_for_workers_gets_its_share_before_new_ticks(agenda: Agenda) -> None:
    begin(agenda, due=True)
    agenda.ended(NOTHING, Result(waits=True), is_full=True)
    assert agenda.is_hungry
    assert begin(agenda, due=True) == Steps(waiting_first=True, plan=True, start=True)


def test_who_only_plans_starts_nothing_and_who_only_executes_plans_nothing() -> None:
    assert begin(Agenda(plans=True, executes=False)) == Steps(plan=True)
    assert begin(Agenda(plans=False, executes=True)) == Steps(start=True)
