"""What follows the end of a run: the tasks that its schedule names in `then` and `on_failure`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from onthedot.model.ids import new_id
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.schedule import ScheduleSummary
from onthedot.model.states import State

_BAD = (State.FAILED, State.TIMED_OUT, State.LOST)


def followers(
    ended: Sequence[Run],
    schedules: Mapping[str, ScheduleSummary],
    now_ms: int,
    policies: Callable[[], Mapping[str, Mapping[str, Any]]],
) -> list[Run]:
    """A waiting run of each named task, with the policies that it was published with. Shards have no followers."""
    named = [(run, name) for run in ended for name in _names(run, schedules.get(run.schedule_id or ""))]
    if not named:
        return []
    published = policies()
    return [
        Run(
            id=new_id(now_ms),
            task=name,
            cause="chain",
            scheduled_ms=now_ms,
            due_ms=now_ms,
            policy=Policy.from_json(published.get(name, {})),
            parent_id=run.id,
            created_ms=now_ms,
            trace=run.trace,
        )
        for run, name in named
    ]


def _names(run: Run, schedule: ScheduleSummary | None) -> tuple[str, ...]:
    if schedule is None or run.is_shard:
        return ()
    if run.state is State.SUCCEEDED:
        return schedule.then
    return schedule.on_failure if run.state in _BAD else ()
