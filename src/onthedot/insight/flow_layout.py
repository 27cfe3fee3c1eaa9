"""Where the steps of a flow stand when it is drawn: each behind all that it waits for, closing ones behind all others.

Pure: the same for pictures and for text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onthedot.model.step_status import StepStatus

Line = tuple[str, str]
"""From one step to another."""
Spot = str | tuple[str, str, int]
"""Where a step stands, or where a line goes past a layer: from, to, and which."""


def depths(steps: Sequence[StepStatus]) -> Mapping[str, int]:
    """How far behind the beginning each of them stands; they come in an order in which each follows what it waits for.

    A closing step waits for all others, though it names none.
    """
    found: dict[str, int] = {}
    for step in (each for each in steps if not each.closing):
        found[step.name] = 1 + max((found.get(name, -1) for name in step.after), default=-1)
    last = 1 + max(found.values(), default=-1)
    for step in (each for each in steps if each.closing):
        found[step.name] = max([last, *(found.get(name, -1) + 1 for name in step.after)])
    return found


def lines(steps: Sequence[StepStatus]) -> list[Line]:
    """From each step to those that come after it. A closing one comes after all that nothing else follows."""
    followed = {name for step in steps for name in step.after if not step.closing}
    last = tuple(step.name for step in steps if step.name not in followed and not step.closing)
    known = {step.name for step in steps}
    return [
        (name, step.name) for step in steps for name in step.after or (last if step.closing else ()) if name in known
    ]


def layers(steps: Sequence[StepStatus]) -> list[list[Spot]]:
    """What stands beside each other, in an order in which few lines cross: near what it comes after.

    A line that goes past a layer has a place of its own in it.
    """
    found = depths(steps)
    before: dict[Spot, list[Spot]] = {step.name: [] for step in steps}
    rows: list[list[Spot]] = [[] for _ in range(1 + max(found.values(), default=-1))]
    for step in steps:
        rows[found[step.name]].append(step.name)
    for start, end in lines(steps):
        previous: Spot = start
        for depth in range(found[start] + 1, found[end]):
            bend = (start, end, depth)
            rows[depth].append(bend)
            before[bend] = [previous]
            previous = bend
        before[end].append(previous)
    place: dict[Spot, float] = {}
    for row in rows:
        row.sort(key=lambda spot: _mean([place[each] for each in before[spot] if each in place]))
        place |= {spot: number - (len(row) - 1) / 2 for number, spot in enumerate(row)}
    return rows


def nearest(steps: Sequence[StepStatus]) -> Mapping[str, str | None]:
    """Under which step each stands in a tree: of those that it comes after the last."""
    found = depths(steps)
    return {step.name: max(step.after, key=lambda name: found.get(name, -1)) if step.after else None for step in steps}


def said(step: StepStatus) -> str:
    """How far it is, in a few words: "137 of 200, 2 bad"."""
    if step.total is None:
        return {"success": "", "any": "on any", "failure": "on failure", "end": "at the end"}[step.on]
    if not step.mapped:
        return step.problem or step.state
    bad = f", {step.failed:,} bad" if step.failed else ""
    done = f"all {step.total:,}" if step.ended == step.total else f"{step.ended:,} of {step.total:,}"
    return f"{done}{bad}"


def _mean(places: Sequence[float]) -> float:
    return sum(places) / len(places) if places else 0.0
