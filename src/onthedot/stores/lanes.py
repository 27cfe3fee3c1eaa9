"""Lanes: in which one a waiting run stands is who may take it, or what it waits for.

One value, so that one index finds the foremost of any lane, however much stands in the others. What runs wait for names
its lane itself (`Run.waits_for`: `slot:…`, `limit:…`); the lanes of those that may start begin with a capital letter,
and so come before all of these.
"""

from __future__ import annotations

from onthedot.model.run import Run
from onthedot.stores.transaction import Claim

ROUTED = ("NODE/", "NODE0")
"""The lanes of runs that were routed to a node: from the first, up to but without the second."""
AWAITED = "a"
"""The lanes of what runs wait for begin here."""


def lane_of(run: Run) -> str:
    """Where the run stands as long as it waits."""
    return run.waits_for or _lane(run.target, run.policy.group)


def lanes_of(claim: Claim) -> list[str]:
    """Those whose runs the claim's node may take: at most four."""
    groups = (None,) if claim.group is None else (None, claim.group)
    return [_lane(target, group) for target in (None, claim.node_id) for group in groups]


def _lane(target: str | None, group: str | None) -> str:
    who = "ANY" if target is None else f"NODE/{target}"
    return who if group is None else f"{who}/{group}"
