"""Backfill: ticks that did not run, or went wrong, done later. A flow over ticks, whose list is fixed when it is made.

Each tick is a run of its schedule with its nominal moment, in the schedule's slot or beside it. One that never ran has
the key of the tick, so that two backfills fill it in once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace as with_fields
from typing import Any, Literal, NamedTuple

from onthedot.model.decision import Decision
from onthedot.model.graph import TICKS, Graph, Step
from onthedot.model.mark import Mark
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules.start import skipped

TASK = "@backfill"
STEP = "tick"
MOST_AT_ONCE = 16
ALREADY = "already backfilled"
Which = Literal["missing", "failed", "all"]
_BAD = frozenset({State.FAILED, State.TIMED_OUT, State.LOST, State.CANCELLED})


class Tick(NamedTuple):
    """A tick to be filled in, and what became of it before."""

    at_ms: int
    why: str


def graph_of(limit: int) -> Graph:
    """One step, mapped over ticks."""
    return Graph("backfill", (Step(STEP, TASK, over=TICKS, parallel=limit),))


def ticks_of(flow: Run) -> Sequence[int]:
    """The moments that a backfill was made for."""
    found = flow.args.get("ticks")
    return found if isinstance(found, list) else []


def given(run: Run) -> dict[str, Any]:
    """A run's arguments for people; the moments of a backfill stand with their runs."""
    left_out = ("ticks", "schedule_id") if run.task == TASK else ()
    return {name: value for name, value in run.args.items() if name not in left_out}


def to_fill(
    which: Which, marks: Iterable[Mark], decisions: Iterable[Decision], within: Callable[[Decision], Iterable[int]]
) -> list[Tick]:
    """Those of these ticks that are wanted, oldest first. `within` gives the ticks that a decision was about.

    Where there is neither a run nor a decision, the history is forgotten: such a tick counts as one that ran.
    """
    runs: dict[int, list[Mark]] = {}
    for mark in marks:
        if mark.cause in ("tick", "backfill"):
            runs.setdefault(mark.scheduled_ms, []).append(mark)
    found = {tick.at_ms: tick for tick in _of_runs(which, runs)}
    if which != "failed":
        for decision in decisions:
            for moment_ms in within(decision):
                if moment_ms not in runs:
                    found.setdefault(moment_ms, Tick(moment_ms, f"it did not run: {decision.reason}"))
    return [found[each] for each in sorted(found)]


def _of_runs(which: Which, runs: Mapping[int, Sequence[Mark]]) -> Iterator[Tick]:
    for moment_ms, marks in runs.items():
        if not all(mark.is_final for mark in marks):
            continue  # it is about to run, or runs
        states = {mark.state for mark in marks}
        if State.SUCCEEDED in states:
            kind: Which = "all"
        else:
            kind = "failed" if states & _BAD else "missing"
        if which in ("all", kind):
            last = max(marks, key=lambda mark: mark.id)
            yield Tick(
                moment_ms, f"it {last.state.value.replace('_', ' ')}" + (f": {last.reason}" if last.reason else "")
            )


def filling_run(flow: Run, schedule: Schedule, run_id: str, item: int, due_ms: int) -> Run:
    """The run of one of its ticks. It does not expire, and no pause or freeze holds it: somebody asked for it.

    Those that are made together are due a millisecond apart, so that they begin in their order.
    """
    moment_ms = ticks_of(flow)[item]
    policy = schedule.policy
    if flow.args.get("beside"):
        policy = with_fields(policy, overlap="concurrent", max_concurrent_runs=None)
    return Run(
        id=run_id,
        task=schedule.task,
        cause="backfill",
        scheduled_ms=moment_ms,
        due_ms=due_ms,
        args=schedule.args,
        policy=policy,
        schedule_id=schedule.id,
        schedule=schedule.name,
        revision=schedule.revision,
        graph=schedule.graph,
        parent_id=flow.id,
        step=STEP,
        item=item,
        exempt=True,
        key=tick_key(schedule.id, moment_ms) if flow.args.get("which") == "missing" else None,
        created_ms=due_ms,
        trace=flow.trace,
    )


def tick_key(schedule_id: str, moment_ms: int) -> str:
    """It lasts as long as the schedule."""
    return f"t:{schedule_id}:{moment_ms}"


def filled_before(run: Run, now_ms: int) -> Run:
    """The run of a tick that another backfill has."""
    return replace(skipped(run, ALREADY, now_ms), key=None)


def args_of(schedule: Schedule, ticks: Sequence[Tick], which: Which, *, beside: bool) -> dict[str, Any]:
    """What a backfill's own run carries."""
    moments = [tick.at_ms for tick in ticks]
    said = {"schedule": schedule.name, "schedule_id": schedule.id, "which": which, "ticks": moments}
    return {**said, "beside": True} if beside else said
