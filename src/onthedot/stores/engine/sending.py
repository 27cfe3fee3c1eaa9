"""Runs that are executed elsewhere: what their owner says of where they are."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.model.remote import Sent
from onthedot.model.values import replace
from onthedot.rules.end import may_record
from onthedot.stores.transaction import Transaction


def note_sent(tx: Transaction, node_id: str, sent: Sequence[Sent]) -> list[str]:
    """Of those that are still the node's under these claims; a dead node says nothing any more."""
    node = tx.node_shared(node_id)
    if node is None or not node.lives:
        return []
    live = tx.live_runs([each.run_id for each in sent])
    noted = [
        replace(live[each.run_id], remote=each.remote)
        for each in sent
        if each.run_id in live and may_record(live[each.run_id], node_id, each.claim_no)
    ]
    tx.save_runs(noted)
    return [run.id for run in noted]
