"""What is decided before its moment, and for how long that holds."""

from __future__ import annotations

from onthedot import every
from onthedot.model.node import Node
from onthedot.model.policy import Policy
from onthedot.model.schedule import Schedule
from onthedot.rules.ahead import decided_ahead
from onthedot.rules.plan import Decider
from onthedot.triggers.codec import encode

TICK_MS = 1_767_225_660_000
NODE = Node("n-1", "one", tasks=("work",), roles=("plan", "execute"), capacity=5)


def until_ms(policy: Policy) -> int:
    schedule = Schedule(
        "s-1", "s", "work", encode(every("1m")), policy=policy, next_run_ms=TICK_MS, settled_ms=TICK_MS - 60_000
    )
    (ahead,) = decided_ahead([schedule], NODE, Decider(lambda: "id"))
    assert ahead.holds_at(TICK_MS)
    return ahead.until_ms


def test_what_was_decided_ahead_holds_until_its_tick_is_late() -> None:
    assert until_ms(Policy()) == TICK_MS + 10_001


def test_what_was_decided_ahead_holds_only_while_it_is_worth_it() -> None:
    assert until_ms(Policy(expires_ms=3000)) == TICK_MS + 3000
