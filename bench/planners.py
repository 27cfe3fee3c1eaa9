"""Planners in processes of their own: `python -m bench.planners` plans what it is told, as often as it is told.

Each planner is a node with a store and a connection of its own; several of them share a process, as threads.
"""

from __future__ import annotations

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from bench.processes import Member, hear, say
from onthedot.errors import StoreUnavailable
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.schedule import Schedule
from onthedot.rules.ahead import Ahead, decided_ahead
from onthedot.rules.plan import Decider
from onthedot.stores.answers import Planned
from onthedot.stores.base import Store
from onthedot.stores.open import open_store

PROCESSES = 5
LOOK_AGAIN_S = 0.005


@dataclass(frozen=True, slots=True)
class Claims:
    """What some planners did with all that was due, and how long each claim took that got something."""

    planned: int
    seconds: float
    """From the common start to the end of the last claim that got something."""
    claims_ms: tuple[float, ...]
    failed: int = 0
    """Claims that the server cut off, or that clashed too often; what they wanted was planned by a later one."""

    @property
    def rate(self) -> float:
        return self.planned / self.seconds


class Crew:
    """Processes that wait to be told where to plan. To be used in a `with` block."""

    def __enter__(self) -> Crew:
        with ExitStack() as stack:
            self._processes = [stack.enter_context(Member("bench.planners")) for _ in range(PROCESSES)]
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def plan(self, url: str, planners: int, batch: int, *, ahead: bool) -> Claims:
        """Let so many planners plan until nothing is due; what was decided before its moment first, as nodes do."""
        busy = self._processes[: min(planners, PROCESSES)]
        for number, member in enumerate(busy):
            threads = len(range(number, planners, len(busy)))
            member.tell({"url": url, "threads": threads, "batch": batch, "ahead": ahead})
        for member in busy:
            assert member.answer() == "ready"
        start = time.time()
        for member in busy:
            member.tell("go")
        answers = [member.answer() for member in busy]
        claims = [claim for answer in answers for claim in answer if claim[0]]
        return Claims(
            failed=sum(not claim[0] for answer in answers for claim in answer),
            planned=sum(planned for planned, _, _ in claims),
            seconds=max(end for _, _, end in claims) - start,
            claims_ms=tuple(took_ms for _, took_ms, _ in claims),
        )


# in the process


def _serve() -> None:
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # claims that are cut off are counted
    while work := hear():
        planners = [_Planner(work["url"], work["batch"], work["ahead"]) for _ in range(work["threads"])]
        say("ready")
        hear()
        with ThreadPoolExecutor(len(planners)) as pool:
            found = list(pool.map(_Planner.plan_all, planners))
        say([claim for claims in found for claim in claims])
        for planner in planners:
            planner.store.close()


class _Planner:
    """A node that only plans."""

    def __init__(self, url: str, batch: int, ahead: bool) -> None:
        self.store = open_store(url, create=False)
        self._batch = batch
        now_ms = self.store.now_ms()
        self._node = self.store.join(Node(new_id(now_ms), "planner", tasks=("task",)), [])
        self._make_id = lambda: new_id(now_ms)
        self._decide = Decider(self._make_id)
        self._ahead = decided_before(self.store, self._node, self._decide) if ahead else []

    def plan_all(self) -> list[tuple[int, float, float]]:
        """Plan until nothing is due and nobody else has any of it: how many, how long and until when, each claim.

        A claim that failed got none.
        """
        claims = []
        while True:
            begun = time.perf_counter()
            try:
                done = self._claim()
            except StoreUnavailable:
                claims.append((0, (time.perf_counter() - begun) * 1000, time.time()))
                continue
            took_ms = (time.perf_counter() - begun) * 1000
            planned = sum(len(effects.runs) for effects in done.effects)
            if planned:
                claims.append((planned, took_ms, time.time()))
            elif self._ahead:
                continue
            elif done.passed_over:
                time.sleep(LOOK_AGAIN_S)
            elif not done.more:
                return claims

    def _claim(self) -> Planned:
        if not self._ahead:
            return self.store.plan_due(self._node.id, self._batch, 0, self._decide)
        batch, self._ahead = self._ahead[: self._batch], self._ahead[self._batch :]
        return self.store.plan_ahead(self._node.id, batch, self._make_id)


def decided_before(store: Store, node: Node, decide: Decider) -> list[Ahead]:
    """What is due now, decided as it would have been before its moment."""
    now_ms = store.now_ms()
    found: dict[str, Schedule] = {}
    while more := [each for each in store.coming(0, now_ms, _versions(found)) if each.id not in found]:
        found |= {each.id: each for each in more}
    return decided_ahead(found.values(), node, decide)


def _versions(schedules: dict[str, Schedule]) -> dict[str, int]:
    return {each.id: each.version for each in schedules.values()}


if __name__ == "__main__":
    _serve()
