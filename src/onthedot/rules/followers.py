"""What follows: of a run that has ended the tasks that its schedule names, its pings, and the alerts that it causes.

Each is a waiting run of its own, made in the transaction that causes it. None is part of what it follows: a page
that is tried for an hour holds no slot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from onthedot.model.alert import ping_task
from onthedot.model.ids import new_id
from onthedot.model.policy import Policy
from onthedot.model.run import Cause, Run
from onthedot.model.schedule import ScheduleSummary
from onthedot.model.states import State
from onthedot.model.tracebacks import telling_line
from onthedot.moments import iso
from onthedot.rules.alerts import Notice
from onthedot.rules.expiry import bounded
from onthedot.texts import counted

BAD = frozenset({State.FAILED, State.TIMED_OUT, State.LOST})
_MOST_OF_AN_ERROR = 1000
_HOW = {State.TIMED_OUT: "timed out", State.LOST: "was lost"}


class Sent(NamedTuple):
    """An alert, and what it is about."""

    notice: Notice
    schedule: str
    moment_ms: int
    """Of a run its tick, of misfires the last that was left out, of what is overdue its last success, or since when it
    is watched."""
    run: Run | None = None
    missed: int = 0
    """How many ticks were left out."""


class _Follower(NamedTuple):
    task: str
    cause: Cause
    args: Mapping[str, Any]
    after: Run | None


def followers(
    ended: Sequence[Run],
    schedules: Mapping[str, ScheduleSummary],
    sent: Sequence[Sent],
    now_ms: int,
    policies: Callable[[], Mapping[str, Mapping[str, Any]]],
) -> list[Run]:
    """A waiting run of each, with the policies that its task was published with."""
    named = [*_of_ends(ended, schedules), *(_alert(each) for each in sent)]
    if not named:
        return []
    published = policies()
    made = (
        Run(
            id=new_id(now_ms),
            task=each.task,
            cause=each.cause,
            scheduled_ms=now_ms,
            due_ms=now_ms,
            args=each.args,
            policy=Policy.from_json(published.get(each.task, {})),
            parent_id=None if each.after is None else each.after.id,
            created_ms=now_ms,
            trace=None if each.after is None else each.after.trace,
        )
        for each in named
    )
    return [bounded(run) for run in made]


def _of_ends(ended: Sequence[Run], schedules: Mapping[str, ScheduleSummary]) -> Iterable[_Follower]:
    for run in ended:
        schedule = schedules.get(run.schedule_id or "")
        if schedule is None or not (run.state is State.SUCCEEDED or run.state in BAD):
            continue
        wanted = schedule.followers
        good = run.state is State.SUCCEEDED
        yield from (_Follower(task, "chain", {}, run) for task in (wanted.then if good else wanted.on_failure))
        kind = "success" if good else "fail"
        if kind in wanted.ping:
            yield _Follower(ping_task(run.schedule or ""), "ping", {"kind": kind, "run_id": run.id}, run)


def _alert(sent: Sent) -> _Follower:
    return _Follower(sent.notice.alert.task, "alert", alert_args(sent), sent.run)


def alert_args(sent: Sent) -> dict[str, Any]:
    """What an alert's task is told."""
    notice, run = sent.notice, sent.run
    return {
        "alert": notice.alert.name,
        "on": notice.on,
        "schedule": sent.schedule,
        "moment": iso(sent.moment_ms),
        "run_id": None if run is None else run.id,
        "error": None if run is None or notice.on == "recovery" else _error(run),
        "in_a_row": notice.in_a_row,
        "held_back": notice.held_back,
        "missed": sent.missed,
        "text": _sentence(sent),
    }


def _error(run: Run) -> str | None:
    told = telling_line(run.error) or run.reason
    return None if told is None else told[:_MOST_OF_AN_ERROR]


def _sentence(sent: Sent) -> str:
    notice, moment = sent.notice, iso(sent.moment_ms)
    match notice.on:
        case "failure":
            assert sent.run is not None
            times = "" if notice.in_a_row == 1 else f", {notice.in_a_row:,} times in a row"
            why = _error(sent.run)
            told = f"{sent.schedule} of {moment} {_HOW.get(sent.run.state, 'failed')}{times}"
            told += "" if why is None else f": {why}"
        case "recovery":
            before = f" after {counted(notice.in_a_row, 'bad end')}" if notice.in_a_row else ""
            told = f"{sent.schedule} of {moment} succeeded{before}"
        case "misfire":
            told = f"{sent.schedule} left out {counted(sent.missed, 'tick')}, the last of {moment}: noticed too late"
        case "overdue":
            told = f"{sent.schedule} is overdue: no run has succeeded since {moment}"
    return told + (f" ({counted(notice.held_back, 'alert')} held back before)" if notice.held_back else "")
