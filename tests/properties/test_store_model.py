"""The rules of planning and running under random histories: clocks that jump, nodes that freeze and die, lost answers.

Real nodes, of which the history says whose pass goes on next. One that breaks a promise is shortened, and shown as the
list of its steps. That each rule matters is shown by `scripts/sabotage`, which removes them one by one.
"""

from __future__ import annotations

import pytest
from tests.model.histories import draw, shortened, violation, with_enqueued, with_windows, without_faults
from tests.model.world import INDEPENDENT, VARIANTS

from onthedot.rules import plan, start
from onthedot.rules.overlap import Slot

PART = 140
PARTS = [*range(5), *(pytest.param(part, marks=pytest.mark.slow) for part in range(5, 60))]
"""A history takes some hundredths of a second; of each part every variant has 20."""
BUSY_HISTORIES = 20
"""Of each variant."""


@pytest.mark.parametrize("part", PARTS)
def test_every_promise_holds_after_every_step_of_every_history(part: int) -> None:
    for seed in range(part * PART, (part + 1) * PART):
        history = draw(seed)
        if violation(history) is not None:
            short = shortened(history)
            pytest.fail(f"seed {seed}\n{short}\n{violation(short)}", pytrace=False)


@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_every_promise_holds_where_most_ticks_are_decided_ahead(variant: int) -> None:
    """By some of the nodes, by all of them, or by none."""
    for seed in range(variant, BUSY_HISTORIES * len(VARIANTS), len(VARIANTS)):
        history = draw(seed, work=0.7)
        if violation(history) is not None:
            short = shortened(history)
            pytest.fail(f"seed {seed}\n{short}\n{violation(short)}", pytrace=False)


@pytest.mark.parametrize("variant", INDEPENDENT)
def test_where_nobody_dies_and_no_answer_is_lost_all_comes_to_an_end_without_a_sweep(variant: int) -> None:
    """Every wake-up arrives, whoever goes on when."""
    for seed in range(variant, BUSY_HISTORIES * len(VARIANTS), len(VARIANTS)):
        history = without_faults(draw(seed))
        if violation(history, swept=False) is not None:
            short = shortened(history, swept=False)
            pytest.fail(f"seed {seed}\n{short}\n{violation(short, swept=False)}", pytrace=False)


@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_every_promise_holds_where_schedules_are_frozen_and_thawed_and_ticks_skipped(variant: int) -> None:
    for seed in range(variant, BUSY_HISTORIES * len(VARIANTS), len(VARIANTS)):
        history = with_windows(draw(seed, work=0.4), seed)
        if violation(history) is not None:
            short = shortened(history)
            pytest.fail(f"seed {seed}\n{short}\n{violation(short)}", pytrace=False)


@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_every_promise_holds_where_plain_runs_are_among_the_others(variant: int) -> None:
    """They take the short way on some of the nodes, on all of them, or on none."""
    for seed in range(variant, BUSY_HISTORIES * len(VARIANTS), len(VARIANTS)):
        history = with_enqueued(draw(seed, work=0.4), seed)
        if violation(history) is not None:
            short = shortened(history)
            pytest.fail(f"seed {seed}\n{short}\n{violation(short)}", pytrace=False)


def test_a_history_that_breaks_a_promise_is_shortened_to_what_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (start, plan):
        monkeypatch.setattr(module, "slot_for", lambda schedule, live: Slot(True))
    seed = next(seed for seed in range(1000) if violation(draw(seed)) is not None)
    short = shortened(draw(seed))
    assert violation(short) is not None
    assert len(short.steps) <= 12


def test_a_history_is_the_same_in_each_replay() -> None:
    assert draw(7) == draw(7)
    assert violation(draw(7)) == violation(draw(7))
