"""Jobs of APScheduler 3, read from a live scheduler or from their pickles, as values."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from onthedot.apscheduler.pickles import Unreadable, load
from onthedot.storable import beginning, brief, shown

_STATE = ("id", "func", "trigger", "executor", "args", "kwargs", "name", "misfire_grace_time", "coalesce")
_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("id", "func", "executor", "name"), str),
    "args": list | tuple,
    "kwargs": dict,
    "misfire_grace_time": int | float | None,
    "max_instances": int,
    "next_run_time": datetime | None,
}
"""Of what kind each part is: nothing else is looked into, or shown."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job, as APScheduler keeps it; its trigger is inert."""

    id: str
    name: str
    reference: str | None
    """Where its function is: "shop.jobs:tick"; None where only that process has it."""
    trigger: Any
    args: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)
    executor: str = "default"
    grace_s: float | None = 1
    coalesce: bool = True
    most_at_once: int = 1
    next_run: datetime | None = None
    is_pending: bool = False
    """Added to a scheduler that has not begun: it has no next moment yet."""
    function: Callable[..., Any] | None = None
    """The function itself, where it is at hand."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A job that cannot be read, and why."""

    id: str
    reason: str


def live_jobs(scheduler: Any) -> Iterator[Job | Broken]:
    """Those of a scheduler in this process, whether or not it has begun."""
    for job in scheduler.get_jobs():
        try:
            trigger = load(pickle.dumps(job.trigger))
        except Exception as error:  # a trigger of the user's own class may do anything
            yield Broken(job.id, f"its trigger cannot be written down: {beginning(shown(error), 200)}")
            continue
        yield Job(
            id=job.id,
            name=job.name,
            reference=job.func_ref,
            trigger=trigger,
            args=tuple(job.args),
            named=dict(job.kwargs),
            executor=job.executor,
            grace_s=getattr(job, "misfire_grace_time", 1),
            coalesce=getattr(job, "coalesce", True),
            most_at_once=getattr(job, "max_instances", 1),
            next_run=getattr(job, "next_run_time", None),
            is_pending=not hasattr(job, "next_run_time"),
            function=job.func,
        )


def pickled_jobs(pickles: Iterable[tuple[str, Any]]) -> Iterator[Job | Broken]:
    """Those of a job store, by their ids."""
    for job_id, data in pickles:
        try:
            yield _from_state(_state(data))
        except Unreadable as error:
            yield Broken(job_id, str(error))


def _state(data: Any) -> dict[str, Any]:
    if not isinstance(data, bytes | bytearray | memoryview):
        raise Unreadable(f"where its pickle should be is {brief(data)}")
    state = load(bytes(data))
    if not isinstance(state, dict):
        raise Unreadable("its pickle is no job of APScheduler 3")
    missing = [name for name in _STATE if name not in state]
    if missing or state.get("version", 1) != 1:
        raise Unreadable(f"its pickle is no job of APScheduler 3: {', '.join(missing) or 'its version'} is not known")
    for name, kind in _KINDS.items():
        if name in state and not isinstance(state[name], kind):
            raise Unreadable(f"its pickle is no job of APScheduler 3: {name} is {brief(state[name])}")
    return state


def _from_state(state: Mapping[str, Any]) -> Job:
    return Job(
        id=state["id"],
        name=state["name"],
        reference=state["func"],
        trigger=state["trigger"],
        args=tuple(state["args"]),
        named=state["kwargs"],
        executor=state["executor"],
        grace_s=state["misfire_grace_time"],
        coalesce=bool(state["coalesce"]),
        most_at_once=state.get("max_instances", 1),
        next_run=state.get("next_run_time"),
    )
