"""A broadcast: one run that stands for a shard on every node."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace


def expanded(run: Run, members: Sequence[Node], now_ms: int) -> tuple[Run, list[Run]]:
    """The run that has just started, as the parent, and its shards, one for each member and due now.

    The parent keeps the slot, has no owner, is never taken over, and knows its members, of which there is one at least.
    """
    shards = [
        replace(
            run,
            id=new_id(now_ms),
            state=State.WAITING,
            key=None,
            target=member.id,
            parent_id=run.id,
            shard=number,
            shards=len(members),
            owner=None,
            slot=None,
            claim_no=0,
            attempt=0,
            crashes=0,
            due_ms=now_ms,
            created_ms=now_ms,
            started_ms=None,
        )
        for number, member in enumerate(members)
    ]
    named = [{"node": member.name, "run": shard.id} for member, shard in zip(members, shards, strict=True)]
    parent = replace(run, owner=None, shards=len(shards), shards_left=len(shards), result={"shards": named})
    return parent, shards
