"""What a node takes after many runs: a node in a process of its own, looked at from outside while it works.

`python -m bench.workers` is the node.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

from bench.filling import opened_engine
from bench.processes import Member
from bench.soak.sample import rss_of
from onthedot.model.ids import new_id
from onthedot.model.run import Run
from onthedot.stores.engine import Engine

Say = Callable[[str], None]
_LOOK_EVERY, _AHEAD, _BATCH = 20, 10_000, 1000


class Seen(NamedTuple):
    """A look at the node."""

    runs: int
    rss: int


def while_it_runs(url: str, runs: int, say: Say) -> list[Seen]:
    """How much memory the node takes, from its first run to the last; what waits is kept at some thousands."""
    with ExitStack() as stack:
        store = opened_engine(url)
        member = stack.enter_context(Member("bench.workers"))
        member.tell(url)
        assert member.answer() == "ready"
        seen: list[Seen] = []
        enqueued = done = 0
        step = max(runs // _LOOK_EVERY, 1)
        while done < runs:
            while enqueued < min(done + _AHEAD, runs):
                enqueued += _enqueue(store, min(_BATCH, runs - enqueued))
            member.tell("how many")
            done = member.answer()
            if done >= (len(seen) + 1) * step or done >= runs:
                seen.append(Seen(done, rss_of(member.pid)))
                say(f"{done:,} runs: {seen[-1].rss / 2**20:.0f} MB")
            time.sleep(0.02)
        store.close()
    return seen


def _enqueue(store: Engine, count: int) -> int:
    now_ms = store.now_ms()
    blank = Run("", "nothing", "enqueue", now_ms, now_ms)
    store.enqueue([replace(blank, id=new_id(now_ms)) for _ in range(count)])
    return count
