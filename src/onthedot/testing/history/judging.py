"""All judges: each is a pure function of a history, and gives the promises that it finds broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onthedot.testing.history.attempts import attempts_bounded, no_superseded_outcome, nothing_after_drain
from onthedot.testing.history.broken import Broken
from onthedot.testing.history.execution import each_claim_once, what_is_recorded_was_done
from onthedot.testing.history.explanations import explain_is_true
from onthedot.testing.history.fences import fences_grow
from onthedot.testing.history.flows import (
    flows_last_as_long_as_their_steps,
    no_early_fan_in,
    steps_end_once,
)
from onthedot.testing.history.followers import followers_once
from onthedot.testing.history.history import History
from onthedot.testing.history.lateness import late_ticks_as_chosen, nothing_expired_begins
from onthedot.testing.history.starts import freeze_held, limits_held, never_early, no_overlap, pause_held
from onthedot.testing.history.ticks import (
    decided_once,
    no_decision_without_cause,
    no_tick_vanishes,
    one_run_per_tick,
    runs_bounded,
)

Judge = Callable[[History], Iterator[Broken]]

JUDGES: tuple[Judge, ...] = (
    one_run_per_tick,
    decided_once,
    runs_bounded,
    no_tick_vanishes,
    no_decision_without_cause,
    late_ticks_as_chosen,
    nothing_expired_begins,
    never_early,
    no_overlap,
    pause_held,
    freeze_held,
    no_superseded_outcome,
    fences_grow,
    attempts_bounded,
    each_claim_once,
    what_is_recorded_was_done,
    nothing_after_drain,
    explain_is_true,
)
"""Of one schedule, or of work without one; `limits_held` and `followers_once` judge all of them together."""
FLOW_JUDGES: tuple[Judge, ...] = (steps_end_once, no_early_fan_in, flows_last_as_long_as_their_steps)
"""Of a flow with all of its steps."""


def judge(history: History) -> list[Broken]:
    """Every promise that this history breaks, also those that go beyond one schedule."""
    return [broken for each in (*JUDGES, *FLOW_JUDGES, limits_held, followers_once) for broken in each(history)]


def judge_flow(history: History) -> list[Broken]:
    """What one flow and its steps break."""
    return [broken for each in FLOW_JUDGES for broken in each(history)]


def judge_apart(history: History) -> list[Broken]:
    """The same without what goes beyond one schedule."""
    return [broken for each in JUDGES for broken in each(history)]
