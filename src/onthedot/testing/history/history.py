"""A history: what the store holds of one schedule, or of work without one, and what its tasks wrote down."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from onthedot.errors import TriggerError
from onthedot.model.attempt import Attempt
from onthedot.model.change import Change
from onthedot.model.decision import Decision
from onthedot.model.freeze import Freeze
from onthedot.model.graph import Graph
from onthedot.model.node import Node
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.testing.history.journal import Entry
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import decode

NEVER = 1 << 62


class Span(NamedTuple):
    """From a moment up to, but not including, another."""

    first_ms: int
    end_ms: int


class Hold(NamedTuple):
    """A time in which a run was under way, by the store."""

    first_ms: int
    end_ms: int
    run: Run
    attempt: Attempt | None
    """None of a run without an owner, which stands for others."""


@dataclass(frozen=True)
class History:
    """Rows and lines, read and never changed. What a judge needs beside them is derived here, once."""

    now_ms: int
    """The store's time before it was read: what had not ended by then was under way then."""
    schedule: Schedule | None = None
    since_ms: int = 0
    """Ticks after this moment are judged; what is older may be forgotten."""
    until_ms: int = NEVER
    """Ticks up to this moment are judged, as far as the schedule has decided them."""
    revisions: tuple[Schedule, ...] = ()
    """Its definitions, oldest first."""
    runs: tuple[Run, ...] = ()
    carried: tuple[Run, ...] = ()
    """Earlier runs that were still under way when this page begins, or had just ended: judged before, or not asked for,
    and in the way here."""
    forgotten_ms: int = 0
    """Runs that ended up to this moment may be forgotten."""
    graphs: Mapping[str, Graph] = field(default_factory=dict)
    """Of the flows whose steps are all among the runs, by their hashes; others are not judged as flows."""
    followed: Mapping[str, Run] = field(default_factory=dict)
    """Of the runs that follow the end of another, as alerts do, those others by their ids."""
    decisions: tuple[Decision, ...] = ()
    changes: tuple[Change, ...] = ()
    """The audit, oldest first."""
    changes_since_ms: int = 0
    """What was changed before is forgotten."""
    freezes: tuple[Freeze, ...] = ()
    """Those that the store still knows."""
    nodes: tuple[Node, ...] = ()
    """All that the store remembers, living or gone."""
    journal: tuple[Entry, ...] = ()
    journalled: frozenset[str] = frozenset()
    """The tasks that write the journal: of these, what is not in it was not done."""
    journal_until_ms: int = NEVER
    """When the journal was read: what ended later may not be in it yet."""
    known_deaths: Mapping[str, Change] = field(default_factory=dict)
    """By node the first line of any schedule that says that it was found dead."""
    told: Mapping[int, str] = field(default_factory=dict)
    """What `explain` says of some ticks."""
    slack_ms: int = 0
    """By how much two moments of the store's time may be out of order: a moment is read before the lock is held."""
    is_over: bool = False
    """All nodes have stopped: nothing may run any more."""

    @property
    def transaction_ms(self) -> int:
        """So long a transaction may last, which dates what it does by its beginning."""
        return longest_transaction_ms(self.slack_ms)

    @property
    def name(self) -> str | None:
        """The schedule's."""
        return None if self.schedule is None else self.schedule.name

    @cached_property
    def tick_runs(self) -> dict[int, list[Run]]:
        """By nominal moment; shards and steps are parts of one."""
        found: dict[int, list[Run]] = defaultdict(list)
        for run in self.runs:
            if run.cause == "tick" and not is_part(run):
                found[run.scheduled_ms].append(run)
        return dict(found)

    @cached_property
    def holds(self) -> list[Hold]:
        """When runs were under way, by when they began; parts are left out, since what they are part of holds the slot.
        One that had not ended counts up to when it was read."""
        spans = [hold for run in (*self.carried, *self.runs) if takes_slot(run) for hold in holds_of(run, self.now_ms)]
        return sorted(spans, key=lambda hold: (hold.first_ms, hold.end_ms, hold.run.id))

    @cached_property
    def pauses(self) -> list[tuple[Span, tuple[Change, ...]]]:
        """From the commit of each pause to that of its end, with the lines of the audit that say so."""
        found: list[tuple[Span, tuple[Change, ...]]] = []
        began: Change | None = None
        for change in self.changes:
            after = change.after
            if "run" in after:
                continue
            if began is None and after.get("enabled") is False:
                began = change
            elif began is not None and (after.get("enabled") is True or after.get("deleted") is True):
                found.append((Span(began.at_ms, change.at_ms), (began, change)))
                began = None
        if began is not None:
            found.append((Span(began.at_ms, NEVER), (began,)))
        return found

    @cached_property
    def entries(self) -> dict[tuple[str, int], list[Entry]]:
        """The journal by run and claim."""
        found: dict[tuple[str, int], list[Entry]] = defaultdict(list)
        for entry in self.journal:
            found[entry.run, entry.claim_no].append(entry)
        return dict(found)

    @cached_property
    def claims(self) -> dict[str, list[int]]:
        """By run the claims that the journal knows."""
        found: dict[str, list[int]] = defaultdict(list)
        for run_id, claim_no in self.entries:
            found[run_id].append(claim_no)
        return dict(found)

    @cached_property
    def changes_of_runs(self) -> dict[str, list[Change]]:
        """The audit by run, where it is of one."""
        found: dict[str, list[Change]] = defaultdict(list)
        for change in self.changes:
            if "run" in change.after:
                found[str(change.after["run"])].append(change)
        return dict(found)

    @cached_property
    def deaths(self) -> dict[str, Change]:
        """By node the first line that says that it was found dead."""
        found = dict(self.known_deaths)
        for change in self.changes:
            if change.after.get("died"):
                node_id = str(change.after.get("node_id"))
                found[node_id] = min(found.get(node_id, change), change, key=lambda each: each.at_ms)
        return found

    @cached_property
    def node_by_id(self) -> dict[str, Node]:
        """The nodes."""
        return {node.id: node for node in self.nodes}

    def revision(self, number: int | None) -> Schedule | None:
        """A definition by its number; None where it is forgotten."""
        return next((each for each in self.definitions if each.revision == number), None)

    @cached_property
    def definitions(self) -> tuple[Schedule, ...]:
        """All that are known, oldest first, the one in force included."""
        if self.schedule is None or any(each.revision == self.schedule.revision for each in self.revisions):
            return self.revisions
        return (*self.revisions, self.schedule)

    def policies_at(self, at_ms: int) -> list[Policy]:
        """The policies in force at a moment: two where it was changed within the slack."""
        policies = []
        for number, each in enumerate(self.definitions):
            later = self.definitions[number + 1 : number + 2]
            begins_ms = each.updated_ms if number else 0
            if begins_ms <= at_ms + self.slack_ms and all(at_ms - self.slack_ms <= next_.updated_ms for next_ in later):
                policies.append(each.policy)
        return policies


def longest_transaction_ms(slack_ms: int) -> int:
    """Servers end one that does nothing for two seconds."""
    return slack_ms * 50


def is_part(run: Run) -> bool:
    """Whether it is a step of a flow, or a shard of a broadcast, which holds the slot for it."""
    return run.is_step


def takes_slot(run: Run) -> bool:
    """Whether it counts beside the runs of its schedule: also a tick that was filled in, unless it was meant not to."""
    beside = run.policy.overlap == "concurrent" and run.policy.max_concurrent_runs is None
    return not run.is_step or (run.cause == "backfill" and run.schedule_id is not None and not beside)


def holds_of(run: Run, now_ms: int) -> Iterator[Hold]:
    """When this run was under way. Of what has no owner only its last beginning is kept: where it was begun again, when
    it stood still between is not known, and nothing is said."""
    if run.is_flow:
        if run.started_ms is not None and run.state is not State.WAITING and run.claim_no <= 1:
            yield Hold(run.started_ms, _or_now(run.finished_ms, run.started_ms, now_ms), run, None)
        return
    for attempt in run.attempts:
        yield Hold(attempt.started_ms, _or_now(attempt.ended_ms, attempt.started_ms, now_ms), run, attempt)


def _or_now(ended_ms: int | None, began_ms: int, now_ms: int) -> int:
    return max(now_ms, began_ms) if ended_ms is None else ended_ms


def trigger_of(schedule: Schedule) -> Trigger | None:
    """None where it cannot be read."""
    try:
        return decode(schedule.trigger)
    except TriggerError:
        return None
