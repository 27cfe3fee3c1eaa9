"""Whole nodes in processes of their own: `python -m bench.nodes` runs one until it is told to stop.

The task `note` notes by how much it is called late; all that were noted are the answer at the end.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

from bench.filling import fill, opened_engine, schedule_at
from bench.lateness import WARM_S, Lateness
from bench.processes import Member, hear, say
from onthedot import App, Context, every
from onthedot.model.policy import Policy
from onthedot.node.settings import NodeSettings
from onthedot.triggers.codec import encode

STRAGGLERS_S = 15
"""How long after the last second calls may still come: what was routed to a slow node is routed again after ten."""


def lateness(url: str, policy: Policy, *, nodes: int, schedules: int, seconds: int) -> tuple[Lateness, list[int]]:
    """How late so many schedules were each second, on so many nodes; and how many calls each of these had."""
    with ExitStack() as stack:
        store = opened_engine(url)
        members = [stack.enter_context(Member("bench.nodes")) for _ in range(nodes)]
        for member in members:
            member.tell(url)
        for member in members:
            assert member.answer() == "ready"
        first_s = int(time.time()) + 5
        first = datetime.fromtimestamp(first_s, UTC)
        trigger = every("1s", starts_at=first, repeat_until=first + timedelta(seconds=WARM_S + seconds - 1))
        blank = schedule_at(first_s * 1000, task="note", trigger=encode(trigger), policy=policy)
        fill(store, schedules, blank, "routed")
        _wait_until_done(members, first_s + WARM_S + seconds, schedules * (WARM_S + seconds))
        for member in members:
            member.tell("stop")
        answers = [member.answer() for member in members]
        store.close()
    calls = [(tick, late) for answer in answers for tick, late in answer]
    late_ms = sorted(late for tick, late in calls if tick >= first_s + WARM_S)
    lost = schedules * (WARM_S + seconds) - len(calls)
    return Lateness(late_ms, schedules * seconds, lost), [len(answer) for answer in answers]


def _wait_until_done(members: list[Member], end_s: int, total: int) -> None:
    time.sleep(max(end_s - time.time(), 0))
    while time.time() < end_s + STRAGGLERS_S:
        for member in members:
            member.tell("how many")
        if sum(member.answer() for member in members) >= total:
            return
        time.sleep(0.2)


# in the process


def _serve(url: str) -> None:
    app = App(url, node=NodeSettings(capacity=1000, heartbeat_ms=1000))
    noted: list[tuple[float, float]] = []

    @app.task
    async def note(ctx: Context) -> None:
        scheduled_s = ctx.scheduled_at.timestamp()
        noted.append((scheduled_s, (time.time() - scheduled_s) * 1000))

    app.start()
    say("ready")
    while hear() == "how many":
        say(len(noted))
    app.stop()
    say(noted)


if __name__ == "__main__":
    _serve(hear())
