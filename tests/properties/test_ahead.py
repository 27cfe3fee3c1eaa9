"""What is decided ahead is what is decided at the moment: the same rows, field by field, for whatever schedule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from onthedot.model.freeze import Window
from onthedot.model.node import Node
from onthedot.model.policy import Policy
from onthedot.model.schedule import UNDECLARED_AFTER_MS, Schedule
from onthedot.rules.ahead import Ahead, decided_again, decided_ahead
from onthedot.rules.effects import Before, Effects, Situation
from onthedot.rules.plan import Decider
from onthedot.triggers import cron
from onthedot.triggers.at import at
from onthedot.triggers.codec import encode
from onthedot.triggers.every import every

NOW_MS = 1_800_000_000_000
NODE = Node("n", "n", tasks=("job",), group="here")
TRIGGERS = (every("1s"), every("20s"), every("1h"), cron("*/5 * * * *"), at("2027-01-15T08:00:00Z"))

STARTS = (-1000, 0, 1, 400, 5000)
"""Of freezes, around the tick."""

POLICIES = st.builds(
    Policy,
    misfire=st.sampled_from(["fire_once", "skip", "catch_up"]),
    grace_ms=st.sampled_from([0, 1, 500, 10_000]),
    overlap=st.sampled_from(["serial", "discard", "cover", "concurrent"]),
    max_concurrent_runs=st.sampled_from([None, 2]),
    limit=st.sampled_from([None] * 8 + ["g:1"]),
    group=st.sampled_from([None] * 6 + ["here", "elsewhere"]),
    route=st.sampled_from(["any"] * 9 + ["round", "hash", "broadcast"]),
    delivery=st.sampled_from(["at_least_once", "at_most_once"]),
    depends_on=st.sampled_from([()] * 8 + [("other",)]),
    priority=st.sampled_from([0, 3]),
    jitter_ms=st.sampled_from([0] * 8 + [5000]),
)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    trigger = draw(st.sampled_from(TRIGGERS))
    first_ms = trigger.next_ms(NOW_MS - 1)
    assert first_ms is not None
    return Schedule(
        "s",
        "s",
        draw(st.sampled_from(["job"] * 8 + ["unknown"])),
        encode(trigger),
        policy=draw(POLICIES),
        origin=draw(st.sampled_from(["api", "code"])),
        max_runs=draw(st.sampled_from([None, None, 1, 3])),
        auto_remove=draw(st.booleans()),
        enabled=draw(st.sampled_from([True] * 8 + [False])),
        declared_seen_ms=NOW_MS - draw(st.sampled_from([0, 0, UNDECLARED_AFTER_MS, UNDECLARED_AFTER_MS - 3000])),
        next_run_ms=first_ms,
        rescheduled=draw(st.sampled_from([False] * 8 + [True])),
        frozen=draw(st.sampled_from([()] * 4 + [(Window("w", first_ms + ms, first_ms + 30_000),) for ms in STARTS])),
        settled_ms=first_ms - draw(st.sampled_from([1, 1000, 3_600_000])),
        fence=draw(st.integers(0, 3)),
        planned_runs=draw(st.integers(0, 3)),
        plan_attempts=draw(st.sampled_from([0] * 8 + [1])),
        version=draw(st.integers(1, 9)),
    )


@settings(max_examples=500)
@given(schedules(), st.one_of(st.integers(0, 20_000), st.sampled_from([0, 1, 500, 501, 999, 1000, 10_000, 10_001])))
def test_wherever_it_holds_it_is_what_would_be_decided_then(schedule: Schedule, late_ms: int) -> None:
    now_ms = (schedule.next_run_ms or 0) + late_ms
    decide = Decider(lambda: "id")
    decided = decided_ahead([schedule], NODE, decide)
    if not decided or not decided[0].holds_at(now_ms):
        event("decided when due")
        return
    (ahead,) = decided
    (then,) = decide([Before("s", schedule, ())], Situation(now_ms, NODE, 1, (NODE,)))
    if ahead.next_run_ms is None or now_ms < ahead.next_run_ms:
        event("decided ahead")
        assert ahead.at(now_ms, "id") == then
    else:
        event("one after the other")
        one_by_one = _one_by_one(ahead, now_ms, decide)
        assert _ticks(one_by_one) == _ticks([then])
        assert _watermark(one_by_one[-1]) == _watermark(then)


def _one_by_one(ahead: Ahead, now_ms: int, decide: Decider) -> list[Effects]:
    """The tick that was decided ahead, and what has become due after it, decided while that runs."""
    first = ahead.at(now_ms, "id")
    assert first.schedule is not None
    assert first.schedule.next_run_ms is not None
    assert first.schedule.settled_ms < first.schedule.next_run_ms
    (rest,) = decide([Before("s", first.schedule, first.runs)], Situation(now_ms, NODE, 1, (NODE,)))
    return [first, rest]


def _ticks(all_effects: list[Effects]) -> int:
    """How many became runs, or were left out."""
    return sum(len(effects.runs) + sum(each.count or 0 for each in effects.decisions) for effects in all_effects)


def _watermark(effects: Effects) -> tuple[int, int | None]:
    assert effects.schedule is not None
    return effects.schedule.settled_ms, effects.schedule.next_run_ms


@settings(max_examples=300)
@given(
    schedules(),
    st.integers(0, 10_000),
    st.sampled_from(["serial", "discard", "cover", "concurrent"]),
    st.sampled_from(["fire_once", "skip", "catch_up"]),
    st.sampled_from([None, 2]),
)
def test_what_is_late_for_its_next_ticks_too_comes_to_the_same_one_by_one(
    schedule: Schedule, late_ms: int, overlap: Any, misfire: Any, most: int | None
) -> None:
    policy = Policy(overlap=overlap, misfire=misfire, max_concurrent_runs=most if overlap == "concurrent" else None)
    usual: dict[str, Any] = {"task": "job", "enabled": True, "rescheduled": False, "plan_attempts": 0, "max_runs": None}
    often = replace(schedule, trigger=encode(every("1s")), policy=policy, declared_seen_ms=None, frozen=(), **usual)
    decide = Decider(lambda: "id")
    (ahead,) = decided_ahead([often], NODE, decide)
    now_ms = ahead.tick_ms + late_ms
    (then,) = decide([Before("s", often, ())], Situation(now_ms, NODE, 1, (NODE,)))
    if ahead.next_run_ms is not None and now_ms >= ahead.next_run_ms:
        one_by_one = _one_by_one(ahead, now_ms, decide)
        assert _ticks(one_by_one) == _ticks([then])
        assert _watermark(one_by_one[-1]) == _watermark(then)


@given(schedules(), st.integers(0, 500))
def test_a_plain_schedule_is_decided_ahead(schedule: Schedule, late_ms: int) -> None:
    usual: dict[str, Any] = {"task": "job", "enabled": True, "rescheduled": False, "plan_attempts": 0, "max_runs": None}
    plain = replace(schedule, policy=Policy(), origin="api", declared_seen_ms=None, frozen=(), **usual)
    (ahead,) = decided_ahead([plain], NODE, Decider(lambda: "id"))
    assert ahead.holds_at((plain.next_run_ms or 0) + late_ms)


@settings(max_examples=500)
@given(schedules(), st.integers(0, 20_000), st.sampled_from([None, 1, 3]), st.integers(0, 3_600_000))
def test_the_tick_after_is_the_same_again_only_where_that_would_be_decided(
    schedule: Schedule, late_ms: int, expires_s: int | None, seen_ms: int
) -> None:
    expires_ms = None if expires_s is None else expires_s * 1000
    policy = replace(schedule.policy, expires_ms=expires_ms)
    seen = None if schedule.declared_seen_ms is None else NOW_MS - seen_ms
    decide = Decider(lambda: "id")
    for ahead in decided_ahead([replace(schedule, policy=policy, declared_seen_ms=seen)], NODE, decide):
        now_ms = min(ahead.tick_ms + late_ms, ahead.until_ms - 1)
        moved = ahead.at(now_ms, "first").schedule
        assert moved is not None
        again = decided_again(ahead, moved)
        event("decided" if again is None else "the same again")
        (anew,) = decided_ahead([moved], NODE, decide) or (None,)
        if again is not None:
            assert anew is not None
            same = replace(again, run=anew.run)
            assert same == anew
            assert again.at(again.until_ms - 1, "id") == anew.at(anew.until_ms - 1, "id")


@given(schedules())
def test_a_plain_schedule_goes_on_the_same(schedule: Schedule) -> None:
    usual: dict[str, Any] = {"task": "job", "enabled": True, "rescheduled": False, "plan_attempts": 0, "max_runs": None}
    often = replace(schedule, trigger=encode(every("20s")), policy=Policy(), origin="api", declared_seen_ms=None)
    (ahead,) = decided_ahead([replace(often, frozen=(), **usual)], NODE, Decider(lambda: "id"))
    moved = ahead.at(ahead.tick_ms, "first").schedule
    assert moved is not None
    again = decided_again(ahead, moved)
    assert again is not None
    assert again.run is ahead.run
