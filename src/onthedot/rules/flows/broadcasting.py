"""A broadcast: a flow of one step, which is mapped over nodes.

It waits, is skipped, paused and counted like any run. It becomes a flow when it starts, so that its members are the
nodes of the moment at which it really begins.
"""

from __future__ import annotations

from dataclasses import replace as with_fields

from onthedot.model.graph import BROADCAST, SHARD, Step
from onthedot.model.ledger import Ledger
from onthedot.model.policy import Policy
from onthedot.model.references import ARG
from onthedot.model.run import Run
from onthedot.model.values import replace


def is_whole(run: Run) -> bool:
    """Whether it shall be given a shard for each node, once it starts."""
    return run.policy.route == "broadcast" and run.graph is None


def as_flow(run: Run) -> Run:
    """The run as it starts: a broadcast stands for its shards from then on, any other run is what it was."""
    return replace(run, graph=BROADCAST.hash) if is_whole(run) else run


def step_of(flow: Run) -> Step:
    """What its shards are made from: the task and the arguments are its own."""
    return replace(BROADCAST[SHARD], task=flow.task, args={name: {ARG: name} for name in flow.args})


def policy_of(flow: Run) -> Policy:
    """A shard has its node, and holds no place: its broadcast holds one for all. It has begun, and does not expire."""
    return with_fields(flow.policy, route="any", limit=None, expires_ms=None, depends_on=())


def as_shard(run: Run, number: int, ledger: Ledger) -> Run:
    """The run of one member."""
    return replace(run, cause="shard", target=ledger.members[number], size=len(ledger.members))
