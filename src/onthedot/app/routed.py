"""The node of a run that no planner makes: one that is enqueued or triggered."""

from __future__ import annotations

from onthedot.model.run import Run
from onthedot.model.values import replace
from onthedot.rules.router import Router
from onthedot.rules.routing import is_routed
from onthedot.stores.base import Store
from onthedot.triggers.stable_hash import spread_over

_router = Router()


def routed(run: Run, store: Store) -> Run:
    """The run with its node chosen among those alive now; unchanged where anybody may take it, or nobody is there."""
    if not is_routed(run):
        return run
    turn = spread_over(run.id, "turn", 1 << 20)  # there is no count of such runs: round is a draw here
    return replace(run, target=_router(run, turn, store.nodes(), store.now_ms(), busy={}))
