"""A crowd of nodes and people on one store, each following the rules, with real threads; and what must hold afterwards.

Time is the crowd's own: it passes a second with every round, so that many ticks fit into little time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from random import Random
from threading import Lock

from onthedot import every
from onthedot.errors import NodeDead, StoreUnavailable
from onthedot.model.change import Author
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.rules.plan import Decider
from onthedot.stores.answers import Renewal
from onthedot.stores.base import Store
from onthedot.testing.clock import ManualClock

START_MS = 1_800_000_000_000
LEASE_MS = 30_000
EVERY_MS = 5000
BY = Author("crowd", "test", "put")
POLICIES = (
    Policy(overlap="serial", misfire="catch_up", max_waiting=1000),
    Policy(overlap="discard", misfire="catch_up"),
    Policy(overlap="concurrent", max_concurrent_runs=2, misfire="catch_up", max_waiting=1000),
)


class Crowd:
    """Some nodes, each a thread with a store of its own, until so many operations have been tried."""

    def __init__(self, stores: Sequence[Store], clock: ManualClock, operations: int, schedules: int = 9) -> None:
        self.clock = clock
        self.stores = stores
        self.names = [f"s{number}" for number in range(schedules)]
        self._left = operations
        self._lock = Lock()
        self.entered: Counter[tuple[str, int]] = Counter()
        self.keys: list[str] = []
        self.failures = 0

    def put_schedules(self) -> None:
        for number, name in enumerate(self.names):
            policy = POLICIES[number % len(POLICIES)]
            self.stores[0].change([name], edits.put(edits.Definition("job", every("5s"), policy=policy)), BY)

    def work(self) -> None:
        """All at once, until the operations are used up."""
        with ThreadPoolExecutor(len(self.stores)) as pool:
            for done in [pool.submit(self._be_a_node, number) for number in range(len(self.stores))]:
                done.result()

    def go_on(self) -> bool:
        """Whether there is something left to try; each time a little time passes."""
        with self._lock:
            self._left -= 1
            self.clock.pass_by(20)
            return self._left > 0

    def _be_a_node(self, number: int) -> None:
        dice = Random(number)
        member = Member(self, self.stores[number], f"n{number}")
        while self.go_on():
            member.act(dice)

    def settle(self) -> None:
        """All nodes of before are gone; one that has no bad luck finishes what is left."""
        last = Member(self, self.stores[0], "last")
        last.join()
        self.clock.pass_by(LEASE_MS + 1)
        for node in self.stores[0].nodes():
            if node.id != last.node_id:
                self.stores[0].take_over(node.id, node.renewals)
        while self.stores[0].runs(state=State.WAITING, limit=1) or self.stores[0].runs(state=State.RUNNING, limit=1):
            last.renew()
            last.start()
            last.renew()
            last.report()
            self.stores[0].sweep()
            self.clock.pass_by(1000)

    # what must hold

    def check(self) -> None:
        store = self.stores[0]
        assert set(self.entered.values()) == {1}, "a claim was executed twice"
        for name in self.names:
            (schedule,) = store.schedules(names=[name])
            runs = [run for run in store.runs(schedule=name, limit=100_000) if run.cause == "tick"]
            ticks = Counter(run.scheduled_ms for run in runs)
            assert set(ticks.values()) <= {1}, "a tick was run twice"
            decided: Counter[int] = Counter()
            for each in store.decisions(schedule.id, limit=100_000):
                first = -(-each.first_ms // EVERY_MS) * EVERY_MS
                decided.update(range(first, each.last_ms + 1, EVERY_MS))
            for tick in range(min(ticks), schedule.settled_ms + 1, EVERY_MS):
                assert ticks[tick] + decided[tick] == 1, (
                    f"{name}: tick {tick} is answered {ticks[tick]}, {decided[tick]}"
                )
        by_key = Counter(run.key for run in store.runs(limit=100_000) if run.key is not None)
        assert by_key == Counter(self.keys), "a key does not have its one run"


class Member:
    """One node. What it may execute it learns from its renewals alone, as if every other answer were lost."""

    def __init__(self, crowd: Crowd, store: Store, name: str) -> None:
        self.crowd = crowd
        self.store = store
        self.name = name
        self.node_id = ""
        self.own: dict[str, Run] = {}
        self.decide = Decider(lambda: new_id(crowd.clock.now_ms))

    def act(self, dice: Random) -> None:
        """Something that a node or a person does; what fails is not done, or its answer is lost."""
        try:
            if not self.node_id:
                self.join()
            dice.choice((self.renew, self.plan, self.plan, self.start, self.report, self.enqueue, self.look))()
            if dice.random() < 0.01:
                self.node_id = ""  # it dies, and comes back as another
                self.own.clear()
        except NodeDead:
            self.node_id = ""
            self.own.clear()
        except StoreUnavailable:
            self.crowd.failures += 1

    def join(self) -> None:
        node = Node(new_id(self.crowd.clock.now_ms), self.name, tasks=("job",), lease_ms=LEASE_MS)
        self.store.join(node, [])
        self.node_id = node.id

    def renew(self) -> None:
        renewal = self.store.renew(Node(self.node_id, self.name))
        for run in renewal.own:
            if self.own.get(run.id) != run:
                with self.crowd._lock:
                    self.crowd.entered[run.id, run.claim_no] += run.id not in self.own
        self.own = {run.id: run for run in renewal.own}
        self._take_over(renewal)

    def _take_over(self, renewal: Renewal) -> None:
        for node in renewal.nodes:
            if node.id != self.node_id and node.expired(self.crowd.clock.now_ms):
                self.store.take_over(node.id, node.renewals)

    def plan(self) -> None:
        self.store.plan_due(self.node_id, 4, 2, self.decide)

    def start(self) -> None:
        self.store.start_due(self.node_id, ["job"], 3)

    def report(self) -> None:
        outcomes = [Outcome(run.id, run.claim_no, "succeeded") for run in self.own.values()]
        if outcomes:
            self.store.finish(self.node_id, outcomes)

    def enqueue(self) -> None:
        """A person, who asks again and again until there is an answer."""
        with self.crowd._lock:
            key = f"k:job:{len(self.crowd.keys)}"
            self.crowd.keys.append(key)
        run = Run(new_id(self.crowd.clock.now_ms), "job", "enqueue", self.crowd.clock.now_ms, 0, key=key)
        until_answered(lambda: self.store.enqueue([run]))

    def look(self) -> None:
        """At no moment more of a schedule run than may."""
        running = Counter(run.schedule for run in self.store.runs(state=State.RUNNING, limit=10_000))
        for number, name in enumerate(self.crowd.names):
            assert running[name] <= (POLICIES[number % len(POLICIES)].slots or 0), f"{name}: {running[name]} at once"


def until_answered(call: Callable[[], object]) -> None:
    """Once more, while the store does not answer."""
    while True:
        with suppress(StoreUnavailable):
            call()
            return
