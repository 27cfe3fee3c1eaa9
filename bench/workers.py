"""Nodes in processes of their own that share a crowd of no-op runs: `python -m bench.workers` runs one of them."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace

from bench.filling import opened_engine
from bench.processes import Member, hear, say
from onthedot import App
from onthedot.model.ids import new_id
from onthedot.model.run import Run
from onthedot.node.settings import NodeSettings

HEAD_START_MS = 10_000


def runs_a_second(url: str, nodes: int, runs: int) -> float:
    """All are due at one moment, when so many nodes have long been there."""
    with ExitStack() as stack:
        store = opened_engine(url)
        members = [stack.enter_context(Member("bench.workers")) for _ in range(nodes)]
        for member in members:
            member.tell(url)
        for member in members:
            assert member.answer() == "ready"
        due_ms = store.now_ms() + HEAD_START_MS
        blank = Run("", "nothing", "enqueue", due_ms, due_ms)
        for begin in range(0, runs, 1000):
            store.enqueue([replace(blank, id=new_id(due_ms)) for _ in range(begin, min(begin + 1000, runs))])
        assert store.now_ms() < due_ms, "they took too long to be enqueued"
        time.sleep((due_ms - store.now_ms()) / 1000)
        while _done(members) < runs:
            time.sleep(0.02)
        taken_s = (store.now_ms() - due_ms) / 1000
        store.close()
    return runs / taken_s


def _done(members: list[Member]) -> int:
    for member in members:
        member.tell("how many")
    return sum(member.answer() for member in members)


# in the process


def _serve(url: str) -> None:
    app = App(url, node=NodeSettings(capacity=1000))
    done = [0]

    @app.task
    async def nothing() -> None:
        done[0] += 1  # on one event loop

    app.start()
    say("ready")
    while hear() == "how many":
        say(done[0])
    app.stop()


if __name__ == "__main__":
    _serve(hear())
