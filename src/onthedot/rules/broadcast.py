"""A broadcast: one run that stands for a shard on every node.

The parent holds the slot and the place of its group for all of them. It has no owner, is never taken over, and ends
when every shard has ended. What became of each shard stands in its result, so that none counts twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.states import FINAL, State
from onthedot.model.values import replace


def expanded(run: Run, members: Sequence[Node], now_ms: int) -> tuple[Run, list[Run]]:
    """The run that has just started, as the parent, and its shards, one for each member (at least one) and due now."""
    shards = [
        replace(
            run,
            id=new_id(now_ms),
            state=State.WAITING,
            key=None,
            target=member.id,
            parent_id=run.id,
            step=None,
            item=None,
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


def shard_ids(parent: Run) -> list[str]:
    """The runs that it stands for."""
    return [each["run"] for each in _shards(parent)]


def after_shards(parent: Run, shards: Iterable[Run], now_ms: int) -> Run:
    """The parent after these of its shards have ended, or wait again by an operator's wish.

    With the last one it ends itself: well if all did, cancelled if it was asked to stop and some did not.
    """
    state_of = {shard.id: shard.state for shard in shards}
    told = [_with_state(each, state_of[each["run"]]) if each["run"] in state_of else each for each in _shards(parent)]
    left = sum("state" not in each for each in told)
    bad = [f"shard {n} {each['state']}" for n, each in enumerate(told) if each.get("state", "succeeded") != "succeeded"]
    after = replace(parent, shards_left=left, result={"shards": told}, error=", ".join(bad) or None)
    if left > 0:
        return after
    ending = State.SUCCEEDED if not bad else State.FAILED if parent.cancel_requested_ms is None else State.CANCELLED
    return replace(after, state=ending, finished_ms=now_ms, slot=None)


def _shards(parent: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (parent.result or {}).get("shards", [])
    return found


def _with_state(shard: dict[str, Any], state: State) -> dict[str, Any]:
    known = {name: value for name, value in shard.items() if name != "state"}
    return {**known, "state": state.value} if state in FINAL else known
