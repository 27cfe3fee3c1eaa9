"""What a flow is told of its steps, and what a request to stop asks of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from onthedot.model.graph import Graph
from onthedot.model.ledger import Entry, Ledger
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace

EXPIRED = "expired"
"""The reason of a run that waited for too long: skipped, and in a flow as bad as a failure."""

DELETED = "deleted"
"""The reason of a run whose schedule went before it began: of a tick that was to be filled in, as bad as a failure."""

HARD = 2
"""Also closing steps stop."""
Fate = Literal["cancel", "ask", "ask_flow", "spare"]


def told(ledger: Ledger, ended: Iterable[Run]) -> Ledger:
    """The ledger after these steps have ended. Telling it twice is telling it once."""
    sets: dict[str, tuple[int, int, int]] = {}
    sizes: dict[str, int | None] = {}
    fence = ledger.fence
    for run in ended:
        if run.step is not None and run.step in ledger.steps:
            good, bad, skip = sets.get(run.step, (0, 0, 0))
            bit = 1 << (run.item or 0)
            match _which(run):
                case "good":
                    good |= bit
                case "bad":
                    bad |= bit
                case "skip":
                    skip |= bit
            sets[run.step] = good, bad, skip
            if run.item is None:
                sizes[run.step] = run.size
        fence = max(fence, run.fence)
    changed = {name: _with(ledger.steps[name], *each, sizes.get(name)) for name, each in sets.items()}
    return replace(ledger, steps={**ledger.steps, **changed}, fence=fence)


def _which(run: Run) -> Literal["good", "bad", "skip"]:
    if run.state is State.SUCCEEDED:
        return "good"
    if run.state is not State.SKIPPED or run.reason == EXPIRED:
        return "bad"
    return "bad" if run.is_filled_in and run.reason == DELETED else "skip"


def _with(entry: Entry, good: int, bad: int, skip: int, size: int | None) -> Entry:
    ended = good | bad | skip
    return replace(
        entry,
        good=entry.good | good,
        bad=entry.bad | bad,
        skip=entry.skip | skip,
        live=entry.live & ~ended,
        size=entry.size if size is None else size,
    )


def is_told(ledger: Ledger, run: Run) -> bool:
    """Whether the flow knows of this item's end."""
    entry = ledger.steps.get(run.step or "")
    return entry is not None and bool(entry.ended >> (run.item or 0) & 1)


def asked(flow: Run, reason: str | None, now_ms: int, *, late: bool = False, hard: bool = False) -> Run:
    """The flow, asked to stop: found by the poll until that is carried out. A repeat asks for no more than was asked.

    The first reason stays, unless it shall stop at once what it was to do at its end.
    """
    ledger = Ledger.from_json(flow.ledger)
    if flow.cancel_requested_ms is not None and not (hard and not ledger.hard):
        return flow
    first = flow.cancel_requested_ms is None
    changed = replace(ledger, hard=ledger.hard or hard, late=ledger.late or (late and first))
    return replace(
        flow,
        cancel_requested_ms=flow.cancel_requested_ms or now_ms,
        reason=flow.reason if not first and flow.reason else reason,
        until_ms=now_ms,
        ledger=changed.as_json(),
    )


def stop_level(flow: Run, ledger: Ledger) -> int:
    """How far it was asked to stop: 0 not at all, 1 all but its closing steps, 2 those too."""
    if flow.cancel_requested_ms is None:
        return 0
    return HARD if ledger.hard else 1


def fate_of(step: Run, graph: Graph | None, level: int) -> Fate:
    """What a request to stop means for one of its live steps."""
    if level < HARD and graph is not None and graph[step.step or ""].closing:
        return "spare"
    if step.state is State.WAITING:
        return "cancel"
    return "ask_flow" if step.is_flow else "ask"
