"""The states of a run, and every legal way from one to another: this table is the only one."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a run is in its life."""

    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    LOST = "lost"


class Actor(StrEnum):
    """Who moves a run from one state to another."""

    PLANNER = "planner"
    CALLER = "caller"
    """enqueue, trigger, backfill"""
    NODE = "node"
    """any node that may start it"""
    OWNER = "owner"
    """the incarnation that holds it, with the claim number that it was given"""
    TAKEOVER = "takeover"
    """whoever found the owner dead"""
    OPERATOR = "operator"
    """cancel, retry, pause, delete; and the rules that skip a waiting run"""


LIVE = frozenset({State.WAITING, State.RUNNING})
FINAL = frozenset(State) - LIVE

LEGAL: dict[tuple[State | None, State], frozenset[Actor]] = {
    (None, State.WAITING): frozenset({Actor.PLANNER, Actor.CALLER}),
    (None, State.RUNNING): frozenset({Actor.PLANNER}),
    (State.WAITING, State.RUNNING): frozenset({Actor.NODE}),
    (State.WAITING, State.CANCELLED): frozenset({Actor.OPERATOR}),
    (State.WAITING, State.SKIPPED): frozenset({Actor.OPERATOR, Actor.NODE}),
    (State.WAITING, State.FAILED): frozenset({Actor.NODE}),
    (State.RUNNING, State.RUNNING): frozenset({Actor.OWNER, Actor.TAKEOVER}),
    (State.RUNNING, State.WAITING): frozenset({Actor.OWNER, Actor.TAKEOVER}),
    (State.RUNNING, State.SUCCEEDED): frozenset({Actor.OWNER}),
    (State.RUNNING, State.FAILED): frozenset({Actor.OWNER, Actor.TAKEOVER}),
    (State.RUNNING, State.TIMED_OUT): frozenset({Actor.OWNER}),
    (State.RUNNING, State.CANCELLED): frozenset({Actor.OWNER, Actor.TAKEOVER}),
    (State.RUNNING, State.SKIPPED): frozenset({Actor.OWNER}),
    (State.RUNNING, State.LOST): frozenset({Actor.OWNER, Actor.TAKEOVER}),
    (State.FAILED, State.WAITING): frozenset({Actor.OPERATOR}),
    (State.TIMED_OUT, State.WAITING): frozenset({Actor.OPERATOR}),
    (State.CANCELLED, State.WAITING): frozenset({Actor.OPERATOR}),
    (State.LOST, State.WAITING): frozenset({Actor.OPERATOR}),
    (State.SKIPPED, State.WAITING): frozenset({Actor.OPERATOR}),
}
"""Who may do what. RUNNING to RUNNING: what is executed elsewhere goes on as
another node's to watch. RUNNING to CANCELLED by takeover: a run that was asked to stop and would wait again. WAITING to
FAILED: the store refuses to start it."""


def is_legal(before: State | None, after: State, actor: Actor) -> bool:
    """Whether this actor may take a run from one state to the other."""
    return actor in LEGAL.get((before, after), frozenset())
