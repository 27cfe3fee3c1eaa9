"""The lease: what a node may believe of itself and of its peers, decided without a store, a clock or a thread.

Moments come in as arguments, orders come out. `heartbeat.py` asks the store and carries them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from onthedot.model.node import Node, NodeState
from onthedot.model.run import Run
from onthedot.stores.answers import Renewal

Claim: TypeAlias = tuple[str, int]
"""A run and the number of the claim under which a node holds it. Never the run alone: a retry may have begun since."""


class Ask(NamedTuple):
    """A renewal on its way."""

    sent_ms: int
    """By this node's monotonic time. The lease counts from here: the store may have answered long before we hear it."""
    held: frozenset[Claim]
    """What this node was executing then; what begins later is not in the answer."""


@dataclass(frozen=True, slots=True)
class Here:
    """What there is on this node when the answer arrives."""

    executing: AbstractSet[Claim]
    reported: AbstractSet[Claim]
    """Outcomes on their way to the store."""
    begun: Mapping[str, int]
    """By run the latest claim that was ever begun here."""
    takes_more: bool = True


@dataclass(frozen=True, slots=True)
class Orders:
    """What the node must do, so that it and the store agree."""

    stop: tuple[Claim, ...] = ()
    """No longer this node's: whatever becomes of them is not reported."""
    begin: tuple[Run, ...] = ()
    """The store holds them as running here, and they never began: an answer was lost. Or an engine has them, and nobody
    watches them any more."""
    cancel: tuple[Claim, ...] = ()
    fail: tuple[Claim, ...] = ()
    """They began, are executed no longer, and left no outcome."""
    take_over: tuple[tuple[str, int], ...] = ()
    """Peers that are dead, each with the renewals that it was last seen with."""
    is_drained: bool = False
    """Somebody asked this node to take no more runs."""
    is_alone: bool = True
    remember: frozenset[str] = frozenset()
    """The runs of which must still be known that they began."""


class Lease:
    """One incarnation's lease, counted in this process's monotonic milliseconds."""

    def __init__(self, node: Node, joined_ms: int, give_up_ms: int) -> None:
        self.node = node
        self._give_up_ms = give_up_ms
        self._renewed_ms = joined_ms
        self._was_over = False
        self._without_outcome: frozenset[Claim] = frozenset()
        self._peers = Peers()

    def age_ms(self, now_ms: int) -> int:
        """How long ago the last renewal that was answered had been sent."""
        return now_ms - self._renewed_ms

    def is_over(self, now_ms: int) -> bool:
        """Whether nothing that runs here may be taken to be ours: too long without an answer.

        It comes before the store's end of the lease. Once somebody was told so it stays over, also where an answer
        arrives in that very moment: the runs have been stopped, and the process goes on as another incarnation.
        """
        if now_ms - self._renewed_ms > self._give_up_ms:
            self._was_over = True
        return self._was_over

    def over_in_ms(self, now_ms: int) -> int:
        """How long until it is over, if nobody answers."""
        return max(self._give_up_ms - self.age_ms(now_ms), 0) + 1

    def assume_renewed(self, now_ms: int) -> None:
        """As if it had renewed until now: for simulations, which leave out the beats in which nothing happens."""
        self._renewed_ms = now_ms
        self._was_over = False

    def answered(self, ask: Ask, renewal: Renewal, here: Here, now_ms: int, store_ms: int) -> Orders:
        """Compare both ways what this node holds with what the store holds for it, and look at its peers."""
        self._renewed_ms = max(self._renewed_ms, ask.sent_ms)
        self.node = renewal.node
        own = {(run.id, run.claim_no): run for run in renewal.own}
        gone = {claim for claim in own if self._has_ended(claim, here)}
        without_outcome = gone & self._without_outcome
        elsewhere = {claim for claim in without_outcome if own[claim].remote is not None}
        begin = tuple(run for claim, run in own.items() if _never_begun(claim, here) or claim in elsewhere)
        orders = Orders(
            stop=tuple(sorted(ask.held - own.keys() - here.reported)),
            begin=begin if here.takes_more else (),
            cancel=tuple(claim for claim, run in own.items() if run.cancel_requested_ms is not None),
            fail=tuple(sorted(without_outcome - elsewhere)),
            take_over=tuple(self._peers.dead(renewal.nodes, renewal.node.id, now_ms, store_ms)),
            is_drained=renewal.node.state is NodeState.DRAINING,
            is_alone=len(renewal.nodes) == 1,
            remember=frozenset(run_id for run_id, _ in (*own, *here.reported)),
        )
        self._without_outcome = frozenset(gone)  # an outcome may just have been written: judged by the next answer
        return orders

    @staticmethod
    def _has_ended(claim: Claim, here: Here) -> bool:
        return not _never_begun(claim, here) and claim not in here.executing and claim not in here.reported


def _never_begun(claim: Claim, here: Here) -> bool:
    run_id, claim_no = claim
    return here.begun.get(run_id, 0) < claim_no


class Peers:
    """When each peer was first seen with its present count of renewals."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}

    def dead(self, nodes: Iterable[Node], own_id: str, now_ms: int, store_ms: int) -> list[tuple[str, int]]:
        """Those whose lease is over by the store's clock, and that were not seen to renew for one lease of our time.

        Both: a clock that jumps must hurt nobody, and a node that has just come knows nothing of its peers yet.
        """
        seen: dict[str, tuple[int, int]] = {}
        found: list[tuple[str, int]] = []
        for node in nodes:
            renewals, since_ms = self._seen.get(node.id, (-1, now_ms))
            since_ms = since_ms if renewals == node.renewals else now_ms
            seen[node.id] = (node.renewals, since_ms)
            if node.id != own_id and now_ms - since_ms >= node.lease_ms and node.expired(store_ms):
                found.append((node.id, node.renewals))
        self._seen = seen
        return found
