"""Why a run began late, or has not begun yet. Told from nodes, runs and the audit; nothing is written down for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from onthedot.durations import format_duration
from onthedot.insight.facts import Facts
from onthedot.insight.node_history import at
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules import routing
from onthedot.rules.expiry import waits_at_most_ms
from onthedot.texts import counted

LATE_MS = 1000
"""What is less late than this is not worth a word."""
_MOST_CAUSES = 4
_MOST_NAMES = 5
_NOT_KEPT = "no worker took it sooner, and why is not kept"


class Cause(NamedTuple):
    """Why a run did not begin, and until when that held."""

    text: str
    until_ms: int


class Lateness(NamedTuple):
    """That a run is late, and why: one cause after the other."""

    how: str
    causes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.how}: {self.why}" if self.causes else self.how

    @property
    def why(self) -> str:
        """The causes; empty where none is known."""
        return "; then ".join(self.causes)


def why_late(run: Run, facts: Facts) -> Lateness | None:
    """ "it began 12m late: no node was alive from … until …"; None where it is not late.

    Of a run that was given back: why it did not go on at once.
    """
    until_ms = _waited_until(run, facts.now_ms)
    losses = facts.history.losses_of(run.id)
    since_ms = max([run.due_ms, *(each.change.at_ms for each in losses)])
    if until_ms is None or until_ms - since_ms <= LATE_MS:
        return None
    causes = [] if losses else list(_planned_late(run, facts))
    causes += _waited(run, facts, max(since_ms, run.created_ms), until_ms)
    waited = format_duration((until_ms - since_ms) // 1000 * 1000)
    return Lateness(_how_late(run, waited, given_back=bool(losses)), tuple(causes))


def _how_late(run: Run, waited: str, *, given_back: bool) -> str:
    if run.state is State.WAITING:
        return f"it has {'waited' if given_back else 'been due'} for {waited}"
    if run.attempt == 0:
        return f"it waited for {waited}"
    return f"then it waited for {waited}" if given_back else f"it began {waited} late"


def why_not_planned(moment_ms: int, facts: Facts) -> str | None:
    """Why nobody decided on a tick at its moment: no node was alive that plans; None where one was."""
    absence = facts.nodes.absence(moment_ms, _plans)
    if absence is None:
        return None
    others = facts.nodes.there_at(moment_ms, lambda node: True)
    who = "no node that plans" if others else "no node"
    is_over = absence.first is not None or bool(facts.nodes.alive)
    return f"{who} {'was' if is_over else 'is'} alive{facts.nodes.describe(absence)}"


def under_way(runs: Iterable[Run], moment_ms: int, now_ms: int) -> list[Run]:
    """Those of these that ran at that moment, the oldest first."""
    found = [run for run in runs if _ran_in(run, moment_ms, now_ms) and (run.started_ms or 0) <= moment_ms]
    return sorted(found, key=lambda run: run.started_ms or 0)


def _waited_until(run: Run, now_ms: int) -> int | None:
    if run.state is State.WAITING:
        return None if run.blocked else now_ms  # what it waits for is told by itself
    if run.attempt == 0 and (run.reason or "").startswith("misfire"):
        return run.finished_ms
    return run.started_ms if run.attempt else None


def _planned_late(run: Run, facts: Facts) -> Iterator[str]:
    if run.cause != "tick" or run.attempt > 1 or run.created_ms - run.due_ms <= LATE_MS:
        return
    yield why_not_planned(run.due_ms, facts) or f"it was planned only at {at(run.created_ms)}"


def _waited(run: Run, facts: Facts, since_ms: int, until_ms: int) -> Iterator[str]:
    """One cause after the other, as far as they explain the time from its moment to its start."""
    for _ in range(_MOST_CAUSES):
        if until_ms - since_ms <= LATE_MS:
            return
        found = (cause(run, facts, since_ms, until_ms) for cause in _CAUSES)
        cause = next((each for each in found if each is not None), Cause(_NOT_KEPT, until_ms))
        yield cause.text
        since_ms = cause.until_ms


def _nobody(run: Run, facts: Facts, since_ms: int, until_ms: int) -> Cause | None:
    """No node was there that takes such runs."""
    task, group = run.task, run.policy.group
    absence = facts.nodes.absence(since_ms, lambda node: routing.suits(node, task, group))
    if run.state is State.WAITING:
        reason = routing.why_nobody(facts.nodes.alive, task, group)
        when = "" if absence is None else facts.nodes.describe(absence)
        return None if reason is None else Cause(reason + when, until_ms)
    if absence is None:
        return None
    there = facts.nodes.there_at(since_ms, lambda node: True)
    until = min(until_ms, until_ms if absence.first is None else absence.first.started_ms)
    return Cause(_who_was_missing(there, task, group) + facts.nodes.describe(absence), until)


def _who_was_missing(there: list[Node], task: str, group: str | None) -> str:
    if not there:
        return "no node was alive"
    if group is not None and not any(node.group == group for node in there):
        return f"no live node was in the group {group}"
    inside = "" if group is None else f" of the group {group}"
    return f"no live node{inside} had the task {task}"


def _behind_its_own(run: Run, facts: Facts, since_ms: int, until_ms: int) -> Cause | None:
    """Runs of its schedule had all of its slots."""
    if run.policy.slots is None:
        return None
    before = _last_to_end(facts.near(until_ms), run, since_ms, until_ms)
    return None if before is None else Cause(f"it was behind {_told(before)}", before.finished_ms or until_ms)


def _behind_its_limit(run: Run, facts: Facts, since_ms: int, until_ms: int) -> Cause | None:
    """Runs of its group had all places."""
    limit = run.policy.group_limit
    if limit is None:
        return None
    group = (each for each in facts.neighbours(until_ms) if (each.policy.group_limit or ("",))[0] == limit[0])
    before = _last_to_end(group, run, since_ms, until_ms)
    if before is None:
        return None
    return Cause(f"for a place of {run.policy.limit} it was behind {_told(before)}", before.finished_ms or until_ms)


def _before_a_success(run: Run, facts: Facts, since_ms: int, until_ms: int) -> Cause | None:
    """What it depends on had not succeeded."""
    for name in run.policy.depends_on:
        succeeded = [each for each in facts.runs_of(name, until_ms) if each.state is State.SUCCEEDED]
        awaited = _last_to_end(succeeded, run, since_ms, until_ms)
        if awaited is not None:
            return Cause(f"it waited for {_told(awaited)}", awaited.finished_ms or until_ms)
        oldest_ms = until_ms - waits_at_most_ms(run.policy)
        if run.attempt == 0 and not any(oldest_ms < _ended_ms(each) <= until_ms for each in succeeded):
            missing = ", and there is no such schedule" if facts.missing(name) else ""
            return Cause(f"{name} had not succeeded{missing}", until_ms)
    return None


def _while_paused(run: Run, facts: Facts, since_ms: int, until_ms: int) -> Cause | None:
    pause = facts.history.resume_in(since_ms, until_ms)
    if pause is None or pause.ended is None or run.cause != "tick":
        return None
    return Cause(f"the schedule was {pause}", pause.ended.at_ms)


def _all_busy(run: Run, facts: Facts, since_ms: int, until_ms: int) -> Cause | None:
    """The nodes that could have taken it were running others: a moment after it became due, or now if it still waits.
    Not at its very moment: what was given back or became due with it may have begun some milliseconds later."""
    moment_ms = until_ms if run.state is State.WAITING else min(since_ms + LATE_MS, until_ms)
    able = facts.nodes.there_at(moment_ms, lambda node: routing.suits(node, run.task, run.policy.group))
    beside = [each for each in facts.neighbours(until_ms) if each.id != run.id and each.owner is not None]
    told = why_not_taken(run, able, under_way(beside, moment_ms, facts.now_ms), facts.nodes.name)
    return None if told is None else Cause(told + _made_room(beside, run, since_ms, until_ms), until_ms)


def why_not_taken(run: Run, able: Sequence[Node], running: Iterable[Run], name: Callable[[str], str]) -> str | None:
    """What the nodes that could have taken a run were running instead; None where one of them ran nothing."""
    busy: dict[str | None, list[Run]] = {node.id: [] for node in able}
    for each in running:
        if each.owner in busy:
            busy[each.owner].append(each)
    if not busy or not all(busy.values()):
        return None
    waits = run.state is State.WAITING
    suspects = [[each for each in busy[node.id] if each.crashes] for node in able]
    if run.crashes and all(suspects):
        beside = " and ".join(_of(each[0]) for each in suspects)
        return f"runs that have crashed a node begin one at a time, and {beside} {'runs' if waits else 'ran'}"
    is_full = all(len(busy[node.id]) >= _places(node, run.policy.pool) for node in able)
    full = f"the pool {'is' if waits else 'was'} full" if is_full else "no worker took it sooner"
    has = "has" if waits else "had"
    told = [
        f"node {name(node.id)} ({counted(node.capacity, 'worker')}) {has} {_listed(busy[node.id])}" for node in able
    ]
    return f"{full}: {' and '.join(told)}"


def _made_room(beside: Iterable[Run], run: Run, since_ms: int, until_ms: int) -> str:
    if run.state is State.WAITING:
        return ""
    before = _last_to_end((each for each in beside if each.owner == run.owner), run, since_ms, until_ms)
    return "" if before is None else f"; there was room after {_told(before)}"


def _places(node: Node, pool: str | None) -> int:
    """How many runs of such a pool fill it, at least."""
    return {"process": 1, "slow": node.capacity // 2}.get(pool or "", node.capacity) or 1


def _listed(running: Sequence[Run]) -> str:
    """ "3 runs: import (2), backup"."""
    names = Counter(each.schedule or each.task for each in running)
    listed = ", ".join(f"{name} ({count})" if count > 1 else name for name, count in names.most_common(_MOST_NAMES))
    more = f" and {len(names) - _MOST_NAMES:,} others" if len(names) > _MOST_NAMES else ""
    return f"{counted(len(running), 'run')}: {listed}{more}"


_CAUSES: tuple[Callable[[Run, Facts, int, int], Cause | None], ...] = (
    _nobody,
    _while_paused,
    _behind_its_own,
    _behind_its_limit,
    _before_a_success,
    _all_busy,
)


def _last_to_end(runs: Iterable[Run], run: Run, since_ms: int, until_ms: int) -> Run | None:
    """Of those that were under way after `since_ms` the last that ended by then; where the run had not begun by then,
    rather one that was still under way."""
    others = [each for each in runs if each.id != run.id and each.started_ms is not None]
    never = run.state is State.WAITING or run.attempt == 0
    still = [each for each in others if never and (each.started_ms or 0) <= until_ms and _ended_ms(each) > until_ms]
    ended = [each for each in others if each.is_final and since_ms < _ended_ms(each) <= until_ms]
    return max(still or ended, key=_ended_ms, default=None)


def _ended_ms(run: Run) -> int:
    """Far ahead of a run that still runs, long ago of one that waits again."""
    if run.finished_ms is not None:
        return run.finished_ms
    return 1 << 62 if run.state is State.RUNNING else 0


def _told(run: Run) -> str:
    end = f", which ended at {at(run.finished_ms)}" if run.finished_ms is not None else ", which still runs"
    return f"{_of(run)}{end}"


def _of(run: Run) -> str:
    return f"run {run.id} of {run.title}"


def _ran_in(run: Run, moment_ms: int, now_ms: int) -> bool:
    if run.started_ms is None or run.state is State.WAITING:
        return False
    return moment_ms < (now_ms + 1 if run.finished_ms is None else run.finished_ms)


def _plans(node: Node) -> bool:
    return "plan" in node.roles
