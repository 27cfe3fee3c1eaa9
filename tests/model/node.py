"""A simulated node: it keeps its own view of things, and follows the rules of DESIGN.md, section 4.

Each call commits in the store at once; its reply lies in the inbox until it is received, or is lost. So a node can be
frozen, or die, between any two steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onthedot.errors import NodeDead
from onthedot.model.node import Node
from onthedot.model.outcome import Ending, Outcome
from onthedot.model.run import Run
from onthedot.stores.base import Renewal

if TYPE_CHECKING:
    from tests.model.world import World

LEASE_MS = 30_000
GIVE_UP_MS = 25_000

Claim = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back from the store, on its way to the node."""

    what: str
    runs: tuple[Run, ...] = ()
    renewal: Renewal | None = None
    sent: tuple[Claim, ...] = ()
    """What the node held, or reported, when it asked."""
    sent_mono: int = 0


@dataclass(slots=True)
class SimNode:
    """One process after the other on one machine; `row` is its present incarnation."""

    world: World
    number: int
    row: Node | None = None
    starts: int = 0
    frozen: bool = False
    inbox: list[Reply] = field(default_factory=list)
    assigned: dict[Claim, Run] = field(default_factory=dict)
    """Held, not entered."""
    executing: dict[Claim, Run] = field(default_factory=dict)
    begun: set[Claim] = field(default_factory=set)
    outcomes: list[Outcome] = field(default_factory=list)
    """Not known to be recorded."""
    renewed_mono: int = 0
    """When the last renewal that was answered had been sent."""
    seen: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of each peer: how often it had renewed, and since when that number stands."""
    read: dict[str, int] = field(default_factory=dict)
    """Revisions of schedules, as last read."""

    # life

    def up(self) -> bool:
        """Whether the process runs and is not frozen."""
        return self.row is not None and not self.frozen

    def fresh(self) -> bool:
        """Whether it may believe that its runs are its own."""
        return self.up() and self.world.mono - self.renewed_mono < GIVE_UP_MS

    def join(self) -> None:
        """Start as an incarnation of its own."""
        self.starts += self.world.rules.new_incarnations
        row = Node(f"n{self.number}.{self.starts}", f"n{self.number}", tasks=("job",), lease_ms=LEASE_MS)
        self.row = self.world.store.join(row, [])
        self.renewed_mono = self.world.mono

    def die(self) -> None:
        """The process is gone, with all that it knew."""
        self.row, self.frozen = None, False
        self._forget()

    def give_up(self) -> None:
        """Cancel its own runs, and go on as a new incarnation."""
        self._forget()
        self.join()

    def mind_the_lease(self) -> None:
        """The node's own timer."""
        if self.up() and not self.fresh():
            self.give_up()

    def _forget(self) -> None:
        self.inbox, self.assigned, self.executing, self.begun, self.outcomes = [], {}, {}, set(), []
        self.seen = {}

    # calls

    def plan(self, free: int) -> None:
        self._call(lambda node_id: self._runs_reply(self.world.plan(node_id, free)))

    def start(self, limit: int) -> None:
        self._call(lambda node_id: self._runs_reply(self.world.store.start_due(node_id, ["job"], limit).runs))

    def local(self, schedule_id: str) -> None:
        revision = self.read.get(schedule_id)
        if revision is not None:
            self._call(lambda node_id: self._planned_alone(node_id, schedule_id, revision))

    def _planned_alone(self, node_id: str, schedule_id: str, revision: int) -> Reply:
        self.world.plan_one(node_id, schedule_id, revision)
        return Reply("nothing")

    def renew(self) -> None:
        held = (*self.assigned, *self.executing)
        sent_mono = self.world.mono

        def call(node_id: str) -> Reply:
            assert self.row is not None
            return Reply("renewed", renewal=self.world.store.renew(self.row), sent=held, sent_mono=sent_mono)

        self._call(call)

    def report(self) -> None:
        outcomes = list(self.outcomes)
        claims = tuple((outcome.run_id, outcome.claim_no) for outcome in outcomes)

        def call(node_id: str) -> Reply:
            self.world.watch.reporting = (node_id, frozenset(claims))
            self.world.store.finish(node_id, outcomes)
            return Reply("reported", sent=claims)

        if outcomes:
            self._call(call)

    def _runs_reply(self, runs: tuple[Run, ...]) -> Reply:
        assert self.row is not None
        return Reply("runs", runs=tuple(run for run in runs if run.owner == self.row.id))

    def _call(self, call: Callable[[str], Reply]) -> None:
        if not self.up():
            return
        assert self.row is not None
        try:
            self.inbox.append(call(self.row.id))
        except NodeDead:
            self.inbox.append(Reply("dead"))

    # replies

    def receive(self) -> None:
        if not self.up() or not self.inbox:
            return
        reply = self.inbox.pop(0)
        match reply.what:
            case "runs":
                for run in reply.runs:
                    self._take(run)
            case "renewed":
                assert reply.renewal is not None
                self._compare(reply.renewal, reply)
            case "reported":
                self.outcomes = [each for each in self.outcomes if (each.run_id, each.claim_no) not in reply.sent]
            case "dead":
                self.give_up()

    def lose(self) -> None:
        """The oldest reply is lost: it may have been committed or not, so the node asks."""
        if self.up() and self.inbox:
            self.inbox.pop(0)
            self.renew()

    def _take(self, run: Run) -> None:
        claim = run.id, run.claim_no
        if claim not in self.begun:
            self.begun.add(claim)
            self.assigned[claim] = run

    def _compare(self, renewal: Renewal, reply: Reply) -> None:
        """Both ways: stop what the store does not hold; begin what never was; end what is executed no more."""
        self.row, self.renewed_mono = renewal.node, max(self.renewed_mono, reply.sent_mono)
        for peer in renewal.nodes:
            if self.seen.get(peer.id, (-1, 0))[0] != peer.renewals:
                self.seen[peer.id] = peer.renewals, self.world.mono
        if not self.world.rules.compare_own:
            return
        own = {(run.id, run.claim_no): run for run in renewal.own}
        for claim in reply.sent:
            if claim not in own:
                self.assigned.pop(claim, None)
                self.executing.pop(claim, None)
        reported = {(each.run_id, each.claim_no) for each in self.outcomes}
        for claim, run in own.items():
            held = claim in self.assigned or claim in self.executing
            if claim not in self.begun:
                self._take(run)
            elif held and run.cancel_requested_ms is not None:
                self._leave(claim, "cancelled")
            elif not held and claim not in reported:
                self.outcomes.append(Outcome(run.id, run.claim_no, "failed"))

    # runs

    def enter(self) -> None:
        """Call the task of the oldest run that was assigned."""
        if self.up() and self.assigned:
            self.mind_the_lease()
        if self.up() and self.assigned:
            claim = next(iter(self.assigned))
            self.executing[claim] = self.assigned.pop(claim)
            self.world.watch.entered(claim)

    def end(self, ending: Ending) -> None:
        """The task of the oldest run comes to its end."""
        if self.up() and self.executing:
            self._leave(next(iter(self.executing)), ending)

    def hand_back(self) -> None:
        """The newest run that was not entered is given back."""
        if self.up() and self.assigned:
            self._leave(next(reversed(self.assigned)), "handed_back")

    def _leave(self, claim: Claim, ending: Ending) -> None:
        self.assigned.pop(claim, None)
        self.executing.pop(claim, None)
        self.outcomes.append(Outcome(*claim, ending))

    # peers

    def take_over(self) -> None:
        """Whoever was not seen to renew for one lease of its own time."""
        if not self.up():
            return
        for peer, (renewals, since) in list(self.seen.items()):
            if self.world.mono - since >= LEASE_MS or not self.world.rules.wait_one_lease:
                self.world.store.take_over(peer, renewals)
                del self.seen[peer]

    def look(self) -> None:
        """Read the schedules, for local mode."""
        if self.up():
            self.read = {row.id: row.revision for row in self.world.store.schedules()}
