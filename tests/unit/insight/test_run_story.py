"""The story of a run in a sentence, in every state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from onthedot.insight.run_story import Known, tell, usual_ms
from onthedot.model.attempt import Attempt
from onthedot.model.graph import BROADCAST, SHARD
from onthedot.model.ledger import Entry, Ledger
from onthedot.model.policy import Policy
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.states import State

SECOND, MINUTE = 1000, 60_000
TICK = 1_800_000_000_000
RUN = Run("r", "job", "tick", TICK, TICK, schedule="ledger-close", schedule_id="s")


def running(**fields: Any) -> Run:
    begun = {"state": State.RUNNING, "owner": "n", "claim_no": 1, "attempt": 1, "started_ms": TICK + 3}
    return replace(RUN, **{**begun, **fields})


def ended(state: State, **fields: Any) -> Run:
    return running(state=state, finished_ms=TICK + 3 + 42 * SECOND, **fields)


def attempt(number: int, outcome: str, began_ms: int = TICK + 3) -> Attempt:
    return Attempt(number, number, "n", began_ms, began_ms + MINUTE, outcome)


def told(run: Run, now_ms: int = TICK + MINUTE, **known: Any) -> str:
    return tell(run, Known(now_ms, **known))


def test_a_run_that_lost_a_node_and_failed_once_is_told_as_the_design_has_it() -> None:
    begun_ms = TICK + 20 * MINUTE
    run = running(
        attempt=3,
        started_ms=begun_ms,
        due_ms=begun_ms,
        earlier=(attempt(1, "node_died"), attempt(2, "failed", TICK + 6 * MINUTE)),
    )
    assert told(run, begun_ms + 8 * MINUTE + 42 * SECOND, usual_ms=7 * MINUTE + 20 * SECOND) == (
        "Began on the dot, 3 ms late. Its first node died, its second attempt failed, "
        "and the third has been at it for 8 min 42 s; it usually takes 7 min 20 s."
    )


@pytest.mark.parametrize(
    ("run", "known", "story"),
    [
        (running(), {}, "Began on the dot, 3 ms late. It has been at it for 59 s."),
        (running(started_ms=TICK), {}, "Began on the dot. It has been at it for 1 min."),
        (
            running(started_ms=TICK + 12 * SECOND),
            {"why_late": "the pool was full"},
            "Began 12 s late: the pool was full. It has been at it for 48 s.",
        ),
        (running(cause="manual"), {}, "Began 3 ms after it was asked for. It has been at it for 59 s."),
        (running(cause="enqueue", started_ms=TICK), {}, "Began at once. It has been at it for 1 min."),
        (running(cause="chain"), {}, "Began 3 ms after the run that it follows. It has been at it for 59 s."),
        (
            running(cancel_requested_ms=TICK + 57 * SECOND, reason="wrong batch"),
            {"stopped_by": "ops-1 (http)"},
            (
                "Began on the dot, 3 ms late. It has been at it for 59 s; "
                "it was asked to stop by ops-1 (http) 3 s ago (wrong batch), and has not yet."
            ),
        ),
        (
            ended(State.SUCCEEDED),
            {"usual_ms": 40 * SECOND},
            "Began on the dot, 3 ms late. It succeeded after 42 s; it usually takes 40 s.",
        ),
        (
            ended(State.FAILED),
            {"why": "ValueError: no"},
            "Began on the dot, 3 ms late. It failed after 42 s: ValueError: no.",
        ),
        (
            ended(State.FAILED, attempt=2, earlier=(attempt(1, "node_died"),)),
            {"why": "boom"},
            "Began on the dot, 3 ms late. Its first node died, and the second, its last, failed after 42 s: boom.",
        ),
        (
            ended(State.TIMED_OUT, policy=Policy(timeout_ms=42 * SECOND)),
            {},
            "Began on the dot, 3 ms late. It ran out of time after 42 s; it may take 42 s.",
        ),
        (
            ended(State.LOST),
            {"why": "its node died, and it may not be run twice"},
            "Began on the dot, 3 ms late. It was lost after 42 s: its node died, and it may not be run twice.",
        ),
        (
            ended(State.CANCELLED),
            {"why": "wrong batch", "stopped_by": "ops-1"},
            "Began on the dot, 3 ms late. It was cancelled by ops-1 after 42 s: wrong batch.",
        ),
        (
            ended(State.SKIPPED),
            {"why": "nothing to do"},
            "Began on the dot, 3 ms late. It left itself out after 42 s: nothing to do.",
        ),
    ],
)
def test_a_run_that_was_begun_tells_how_it_began_and_where_it_is(run: Run, known: dict[str, Any], story: str) -> None:
    assert told(run, **known) == story


@pytest.mark.parametrize(
    ("run", "known", "story"),
    [
        (replace(RUN, due_ms=TICK + 3 * MINUTE), {}, "Due in 2 min."),
        (RUN, {"why_late": "the pool is full"}, "It has been due for 1 min: the pool is full."),
        (
            replace(RUN, waits_for="slot:s"),
            {"why": "it waits for another run of the schedule to end"},
            "It waits for another run of the schedule to end.",
        ),
        (
            replace(RUN, state=State.SKIPPED, finished_ms=TICK, reason="paused"),
            {"why": "the schedule was paused by ada"},
            "Left out: the schedule was paused by ada.",
        ),
        (
            replace(RUN, state=State.CANCELLED, finished_ms=TICK),
            {"why": "wrong batch", "stopped_by": "ops-1"},
            "Cancelled by ops-1 before it began: wrong batch.",
        ),
        (replace(RUN, state=State.FAILED, finished_ms=TICK), {"why": "no task"}, "It could not be started: no task."),
    ],
)
def test_a_run_that_never_began_says_why(run: Run, known: dict[str, Any], story: str) -> None:
    assert told(run, **known) == story


def test_a_run_in_its_back_off_says_when_it_tries_again() -> None:
    run = replace(
        RUN, attempt=1, started_ms=TICK + 3, due_ms=TICK + 2 * MINUTE, claim_no=2, earlier=(attempt(1, "failed"),)
    )
    assert told(run) == "Began on the dot, 3 ms late. Its first attempt failed, and it tries again in 1 min."
    assert told(run, TICK + 3 * MINUTE).endswith("and it has been due again for 1 min.")


def test_a_run_that_is_cancelled_in_its_back_off_does_not_count_the_wait_as_work() -> None:
    run = replace(
        RUN,
        state=State.CANCELLED,
        attempt=1,
        started_ms=TICK + 3,
        finished_ms=TICK + 9 * MINUTE,
        earlier=(attempt(1, "failed"),),
    )
    assert told(run, stopped_by="ada").endswith(
        "Its first attempt failed, and it was cancelled by ada before its next attempt."
    )


def test_attempts_with_the_same_fate_share_a_clause() -> None:
    earlier = (*(attempt(number, "failed") for number in range(1, 12)), attempt(12, "node_died"))
    run = running(attempt=13, earlier=earlier)
    assert "Its attempts 1 to 11 failed, its 12th node died, and the 13th has been at it" in told(run)


def test_where_the_first_attempts_are_forgotten_nothing_is_said_of_how_it_began() -> None:
    run = running(attempt=30, earlier=(attempt(29, "failed"),))
    assert told(run).startswith("Its 29th attempt failed, and the 30th has been at it for")


def test_with_jitter_and_a_back_off_nobody_knows_how_late_the_first_attempt_was() -> None:
    run = running(attempt=2, policy=Policy(jitter_ms=5), earlier=(attempt(1, "failed"),))
    assert told(run).startswith("Its first attempt failed")


def test_a_broadcast_tells_of_its_shards_and_a_shard_which_it_is() -> None:
    known = Ledger({SHARD: Entry(3, good=0b101, live=0b010)}, members=("a", "b", "c")).as_json()
    broadcast = replace(RUN, state=State.RUNNING, graph=BROADCAST.hash, ledger=known)
    assert told(broadcast) == "Sent to 3 nodes; 2 of them have ended."
    over = replace(broadcast, state=State.FAILED, finished_ms=TICK)
    assert told(over, why="1 of 3 failed") == "Sent to 3 nodes; all have ended. It failed: 1 of 3 failed."
    assert told(running(cause="shard", step=SHARD, item=2, size=3)).startswith("Shard 2 of 3. Began")


def test_a_run_that_cannot_be_read_says_so() -> None:
    run = UnreadableRun("r", "", "tick", 0, 0, state=State.FAILED, error="row:\nstate 'x' is unknown")
    assert told(run) == "Its row cannot be read, so it is never started: state 'x' is unknown."


def test_the_usual_time_is_the_median_of_those_that_ended() -> None:
    took = [replace(RUN, started_ms=TICK, finished_ms=TICK + ms) for ms in (1, 5, 100)]
    assert usual_ms([*took, RUN]) == 5
    assert usual_ms([RUN]) is None
