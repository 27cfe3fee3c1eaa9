"""Freezes against brute force: each tick once, in a run or in a decision, with the reason that its moment gives it."""

from __future__ import annotations

from itertools import count, pairwise

from hypothesis import given
from hypothesis import strategies as st

from onthedot.model.decision import Decision
from onthedot.model.freeze import Window
from onthedot.model.node import Node
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.rules.effects import Before, Situation
from onthedot.rules.freezing import pieces
from onthedot.rules.plan import Decider
from onthedot.triggers.codec import decode, encode
from onthedot.triggers.every import every

START_MS = 1_800_000_000_000
GRACE_MS = 3000
NODE = Node("n", "n", tasks=("job",))

windows = st.lists(
    st.tuples(st.integers(0, 120), st.integers(1, 40)).map(
        lambda each: Window("w", START_MS + each[0] * 1000, START_MS + (each[0] + each[1]) * 1000)
    ),
    max_size=4,
)
POLICIES = st.builds(
    Policy,
    misfire=st.sampled_from(["fire_once", "skip", "catch_up"]),
    grace_ms=st.just(GRACE_MS),
    overlap=st.just("concurrent"),
)


def _played(schedule: Schedule, moments: list[int]) -> tuple[list[Run], list[Decision], Schedule]:
    """The schedule planned at these moments, by a node that is away in between."""
    ids = count()
    decide = Decider(lambda: f"{next(ids)}")
    runs: list[Run] = []
    decisions: list[Decision] = []
    for now_ms in moments:
        (effects,) = decide([Before("s", schedule, ())], Situation(now_ms, NODE, 100, (NODE,)))
        schedule = effects.schedule or schedule
        runs += effects.runs
        decisions += effects.decisions
    return runs, decisions, schedule


@given(
    st.sampled_from(["1s", "7s", "20s"]),
    windows,
    POLICIES,
    st.lists(st.integers(1, 160_000), min_size=1, max_size=8, unique=True),
)
def test_each_tick_is_decided_once_and_none_of_a_freeze_runs(
    interval: str, frozen: list[Window], policy: Policy, steps: list[int]
) -> None:
    trigger = every(interval)
    moments = sorted(START_MS + step for step in steps)
    schedule = Schedule(
        "s",
        "s",
        "job",
        encode(trigger),
        policy=policy,
        settled_ms=START_MS,
        next_run_ms=trigger.next_ms(START_MS),
        frozen=tuple(frozen),
    )
    runs, decisions, after = _played(schedule, moments)
    ran = {run.scheduled_ms for run in runs}
    ticks = list(decode(schedule.trigger).between_ms(START_MS + 1, after.settled_ms + 1))
    for tick in ticks:
        about = [each for each in decisions if each.first_ms <= tick <= each.last_ms]
        assert (tick in ran) + len(about) == 1, (tick, about)
        if any(window.covers(tick) for window in frozen):
            assert [each.reason for each in about] == ["frozen"]
    assert sum(each.count or 0 for each in decisions) + len(ran) == len(ticks)
    assert not any(window.covers(run.started_ms or 0) for window in frozen for run in runs)
    assert all(window.end_ms > after.settled_ms for window in after.frozen)


@given(windows, st.integers(0, 160), st.integers(0, 60))
def test_pieces_are_the_whole_range_and_lie_in_one_window_or_in_none(
    frozen: list[Window], first_s: int, length_s: int
) -> None:
    first_ms, last_ms = START_MS + first_s * 1000, START_MS + (first_s + length_s) * 1000
    found = list(pieces(frozen, first_ms, last_ms))
    assert found[0].first_ms == first_ms
    assert found[-1].last_ms == last_ms
    assert all(one.last_ms + 1 == other.first_ms for one, other in pairwise(found))
    for piece in found:
        for ms in (piece.first_ms, piece.last_ms):
            assert any(window.covers(ms) for window in frozen) == (piece.window is not None)
