"""Which ticks become runs: what the decision rests on, shown without a store."""

from __future__ import annotations

from itertools import count

import pytest

from onthedot.model.node import Node
from onthedot.model.schedule import Schedule
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
