"""Which ticks become runs: what the decision rests on, shown without a store."""

from __future__ import annotations

from itertools import count

import pytest

from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import UNDECLARED_AFTER_MS, Schedule
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules.effects import Before, Effects, Situation
from onthedot.rules.plan import Decider
from onthedot.triggers.codec import encode
from onthedot.triggers.every import every

NOW_MS = 1_800_000_060_000
NODE = Node("n", "n", tasks=("job",))


def decide(schedule: Schedule, now_ms: int = NOW_MS) -> Effects:
    numbers = count()
    decider = Decider(lambda: f"r{next(numbers)}")
    (effects,) = decider([Before(schedule.name, schedule, ())], Situation(now_ms, NODE, 9, (NODE,)))
    return effects


def schedule(next_run_ms: int, settled_ms: int) -> Schedule:
    return Schedule("s", "s", "job", encode(every("1m")), next_run_ms=next_run_ms, settled_ms=settled_ms)


@pytest.mark.parametrize("settled_ms", [NOW_MS, NOW_MS + 1])
def test_a_tick_at_or_before_the_watermark_is_not_decided_again(settled_ms: int) -> None:
    """Such a row should not be; if it is (restored, or written by hand), nothing runs twice."""
    assert decide(schedule(NOW_MS, settled_ms)) == Effects()
    assert len(decide(schedule(NOW_MS, NOW_MS - 1)).runs) == 1


def test_a_tick_is_not_decided_before_its_moment() -> None:
    assert decide(schedule(NOW_MS, 0), NOW_MS - 1) == Effects()


def test_a_run_begins_at_once_only_where_its_pool_has_room() -> None:
    """However many workers are free in all: those of its own pool count, and each of them once."""

    class OnePlace:
        free = 1

        def take(self, run: Run) -> bool:
            self.free -= 1
            return self.free >= 0

    numbers = count()
    decider = Decider(lambda: f"r{next(numbers)}", OnePlace)
    rows = [replace(schedule(NOW_MS, 0), id=name, name=name) for name in ("a", "b", "c")]
    decided = decider([Before(row.name, row, ()) for row in rows], Situation(NOW_MS, NODE, 9, (NODE,)))
    assert [run.state for effects in decided for run in effects.runs] == [State.RUNNING, State.WAITING, State.WAITING]


def test_a_schedule_that_nobody_declares_any_more_does_not_run_and_says_so() -> None:
    declared = replace(schedule(NOW_MS, 0), origin="code", declared_seen_ms=NOW_MS - UNDECLARED_AFTER_MS)
    assert len(decide(declared).runs) == 1
    silent = replace(declared, declared_seen_ms=NOW_MS - UNDECLARED_AFTER_MS - 1)
    effects = decide(silent)
    assert effects.runs == ()
    assert [(each.reason, each.count) for each in effects.decisions] == [("undeclared", 1)]
    assert effects.schedule is not None
    assert effects.schedule.settled_ms == NOW_MS
