"""Histories from a store, in pages: a million runs are judged with some thousands of them in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from onthedot.insight.explain import explain
from onthedot.model.change import Change
from onthedot.model.mark import Mark
from onthedot.model.node import Node
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.schedule import Schedule
from onthedot.stores.base import Store
from onthedot.testing.history.history import NEVER, History, is_part, longest_transaction_ms
from onthedot.testing.history.journal_index import JournalIndex

PAGE = 1000
_MOST_CHANGES = 10_000
_MOST_DECISIONS = 10_000
_NEARLY_ALL = 9000
"""From so many kept decisions on, older ones may have been pruned."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a store is read."""

    since_ms: int
    journal: JournalIndex = field(default_factory=JournalIndex)
    journalled: frozenset[str] = frozenset()
    journal_until_ms: int = NEVER
    explained: int = 50
    """Of so many ticks of each schedule, at most, it is asked why they did or did not run."""
    slack_ms: int = 100
    is_over: bool = False
    page: int = PAGE
    deaths: Mapping[str, Change] = field(default_factory=dict)
    """By node the first line that is kept of its death."""


class ScheduleReader:
    """The pages of one schedule's history, oldest first. Of `explained` ticks it is asked why they did or did not run,
    spread over the pages."""

    def __init__(self, store: Store, schedule: Schedule, how: Reading, nodes: Sequence[Node], explained: int) -> None:
        self._store = store
        self._schedule = schedule
        self._how = how
        self._nodes = tuple(nodes)
        self._explained = explained
        self.pruned_through_ms: int | None = None
        """Up to where ticks cannot be judged, since history is forgotten; None where nothing is."""
        self._kept, self._oldest_end_ms = 0, NEVER
        """Of tick runs: how many are kept, and when the first of them ended."""
        self.ticks = self.told = 0
        """Of how many ticks it could be asked why they did or did not run, and of how many it was."""

    def pages(self) -> Iterator[History]:
        """Rows are read before what explains them: what is judged is known whole, also while nodes go on."""
        now_ms = self._store.now_ms()
        borders = self._borders()
        since_ms = self._judged_from()
        carried = self._under_way(self._before(), self._how.since_ms)
        for number, (first_ms, last_ms) in enumerate(pairwise(borders), 1):
            page = self._page(now_ms, first_ms, last_ms, carried)
            share = self._explained * number // (len(borders) - 1) - self.told
            page = self._with_told(_with(page, since_ms=max(since_ms, first_ms)), share)
            yield page
            carried = self._under_way((*carried, *page.runs), last_ms)

    def _before(self) -> tuple[Run, ...]:
        """The latest runs of before what is asked for."""
        marks = self._store.ticks([self._schedule.id], last_ms=self._how.since_ms, each=self._how.page).marks
        return self._whole([mark.id for mark in marks])

    def _under_way(self, runs: Sequence[Run], at_ms: int) -> tuple[Run, ...]:
        """Those that had not ended then, as far as others saw."""
        seen_ms = at_ms - longest_transaction_ms(self._how.slack_ms)
        return tuple(run for run in runs if not is_part(run) and (run.finished_ms or NEVER) > seen_ms)

    def _borders(self) -> list[int]:
        """Nominal moments with about a page of runs between them, the first and last included."""
        borders, last_ms = [NEVER], NEVER
        while True:
            first_ms = self._how.since_ms + 1
            marks = self._store.ticks(
                [self._schedule.id], first_ms=first_ms, last_ms=last_ms, each=self._how.page
            ).marks
            if len(marks) < self._how.page:
                self._note_kept(marks)
                return [self._how.since_ms, *reversed(borders)]
            oldest = min(mark.scheduled_ms for mark in marks)
            last_ms = oldest if oldest < last_ms else oldest - 1
            self._note_kept([mark for mark in marks if mark.scheduled_ms > last_ms])
            borders.append(last_ms)

    def _note_kept(self, marks: Sequence[Mark]) -> None:
        ends = [mark.finished_ms or NEVER for mark in marks if mark.cause == "tick"]
        self._kept += len(ends)
        self._oldest_end_ms = min([self._oldest_end_ms, *ends])

    def _page(self, now_ms: int, first_ms: int, last_ms: int, carried: tuple[Run, ...]) -> History:
        store, schedule = self._store, self._schedule
        marks = store.ticks([schedule.id], first_ms=first_ms + 1, last_ms=last_ms, each=2 * self._how.page).marks
        runs = self._whole([mark.id for mark in marks])
        decisions = store.decisions(schedule.id, first_ms=first_ms + 1, last_ms=last_ms, limit=_MOST_DECISIONS)
        changes = store.changes(name=schedule.name, limit=_MOST_CHANGES)
        return History(
            now_ms,
            schedule,
            since_ms=first_ms,
            until_ms=last_ms,
            revisions=tuple(store.revisions(schedule.id)),
            runs=runs,
            carried=carried,
            forgotten_ms=self.pruned_through_ms or 0,
            decisions=tuple(decisions),
            changes=tuple(reversed(changes)),
            changes_since_ms=changes[-1].at_ms if len(changes) == _MOST_CHANGES else 0,
            freezes=tuple(store.freezes()),
            nodes=self._nodes,
            known_deaths=self._how.deaths,
            journal=self._how.journal.of([run.id for run in runs]),
            journalled=self._how.journalled,
            journal_until_ms=self._how.journal_until_ms,
            slack_ms=self._how.slack_ms,
            is_over=self._how.is_over,
        )

    def _whole(self, ids: Sequence[str]) -> tuple[Run, ...]:
        """The runs; those that cannot be read are left out. Steps and shards have no schedule: they are read with other
        work that has none."""
        size = self._how.page
        found = [
            run for at in range(0, len(ids), size) for run in self._store.runs(ids=ids[at : at + size], limit=size)
        ]
        return tuple(run for run in found if not isinstance(run, UnreadableRun))

    # what is forgotten

    def _judged_from(self) -> int:
        """Since when nothing is forgotten. The oldest end that is kept says how far pruning has come, whether it goes
        by age, by number or by id: what was due after it has ended after it."""
        schedule, since_ms = self._schedule, self._how.since_ms
        judged_ms = max(since_ms, self._decisions_kept_from())
        older = self._store.ticks([schedule.id], last_ms=since_ms, each=1)
        if not older.marks and self._kept < schedule.planned_runs:
            oldest_ms = min(self._oldest_end_ms, schedule.settled_ms)
            judged_ms = max(judged_ms, oldest_ms + self._pruned_meanwhile_ms(oldest_ms))
        self.pruned_through_ms = judged_ms if judged_ms > max(since_ms, schedule.created_ms) else None
        return judged_ms

    def _pruned_meanwhile_ms(self, oldest_ms: int) -> int:
        """Nodes go on to prune while this is read, at times a tenth of what is kept: twice that is left out."""
        return 0 if self._how.is_over else (self._schedule.settled_ms - oldest_ms) // 5

    def _decisions_kept_from(self) -> int:
        decisions = self._store.decisions(self._schedule.id, limit=_MOST_DECISIONS)
        return min(each.last_ms for each in decisions) if len(decisions) >= _NEARLY_ALL else 0

    # why

    def _with_told(self, page: History, share: int) -> History:
        """The page with what `explain` says of some of its ticks."""
        decided = [each.first_ms for each in page.decisions] + [each.last_ms for each in page.decisions]
        ended = [moment for moment, runs in page.tick_runs.items() if all(run.is_final for run in runs)]
        moments = sorted({each for each in (*decided, *ended) if page.since_ms < each <= page.until_ms})
        chosen = moments[:: max(-(-len(moments) // share), 1)] if share > 0 else []
        self.ticks += len(moments)
        self.told += len(chosen)
        return _with(page, told={each: explain(self._store, self._schedule, each).text for each in chosen})


def _with(page: History, **values: object) -> History:
    """`dataclasses.replace`, without what was derived before."""
    fields = {name: getattr(page, name) for name in page.__dataclass_fields__}
    return History(**{**fields, **values})


# runs of all schedules, and of none


@dataclass(frozen=True, slots=True)
class Slice:
    """What was made in a time, oldest first, whatever it is of."""

    now_ms: int
    runs: tuple[Run, ...]
    until_ms: int


def slices(store: Store, since_ms: int, page: int = PAGE) -> Iterator[Slice]:
    """All runs by when they were made, oldest first: a time with too many is halved until they fit."""
    now_ms = store.now_ms()
    times = [(since_ms, now_ms + 1)]
    while times:
        first_ms, end_ms = times.pop()
        runs = store.runs(since_ms=first_ms, until_ms=end_ms, limit=page)
        if len(runs) < page:
            yield Slice(now_ms, tuple(reversed(runs)), end_ms)
        elif end_ms - first_ms > 1:
            middle = (first_ms + end_ms) // 2
            times += [(middle, end_ms), (first_ms, middle)]
        else:
            yield Slice(now_ms, tuple(_all_of(store, first_ms, page)), end_ms)


def _all_of(store: Store, at_ms: int, page: int) -> Iterator[Run]:
    """All that were made in one millisecond."""
    before: str | None = None
    while runs := store.runs(since_ms=at_ms, until_ms=at_ms + 1, before=before, limit=page):
        yield from runs
        before = runs[-1].id


def flow_with_steps(store: Store, flow: Run, slack_ms: int, page: int = PAGE) -> History | None:
    """A flow and all of its steps; None where they cannot be told together: it went on, is gone, or cannot be read."""
    graph = None if flow.graph is None else store.graph(flow.graph)
    steps: list[Run] = []
    before: str | None = None
    while graph is not None and (found := store.runs(parent=flow.id, before=before, limit=page)):
        steps += found
        before = found[-1].id
    after = store.runs(ids=[flow.id], limit=1)
    went_on = [(each.claim_no, each.state, each.ledger) for each in after] != [(flow.claim_no, flow.state, flow.ledger)]
    if graph is None or went_on or any(isinstance(each, UnreadableRun) for each in steps):
        return None
    return History(store.now_ms(), runs=(flow, *steps), graphs={graph.hash: graph}, slack_ms=slack_ms)


def deaths_of(store: Store) -> dict[str, Change]:
    """By node the first line of the latest thousands that says that it was found dead."""
    lines = store.changes(limit=_MOST_CHANGES)  # newest first: the oldest stays
    return {str(each.after.get("node_id")): each for each in lines if each.after.get("died")}


def changes_of_none(store: Store) -> tuple[Change, ...]:
    """The audit of work without a schedule, oldest first."""
    return tuple(reversed(store.changes(name="", limit=_MOST_CHANGES)))
