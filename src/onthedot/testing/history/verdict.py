"""The verdict on a store: which promises are broken, how much was judged, and what cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onthedot.clock import Clock, SystemClock
from onthedot.model.change import Author
from onthedot.model.node import Node
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.schedule import Schedule
from onthedot.rules import edits
from onthedot.stores.base import Store
from onthedot.testing.history.broken import Broken, entry_line, in_order
from onthedot.testing.history.execution import DONE
from onthedot.testing.history.followers import Followed
from onthedot.testing.history.history import History
from onthedot.testing.history.journal import Entry, read_journals, this_machine, told_by
from onthedot.testing.history.journal_index import JournalIndex
from onthedot.testing.history.judging import judge_apart, judge_flow
from onthedot.testing.history.reading import (
    Reading,
    ScheduleReader,
    Slice,
    changes_of_none,
    deaths_of,
    flow_with_steps,
    slices,
)
from onthedot.testing.history.starts import limits_held
from onthedot.texts import counted

MOST_SHOWN = 100
"""So many broken promises are kept; the others are counted."""
MOST_EXPLAINED = 5000
"""Of so many ticks in all it is asked why they did or did not run: an answer costs as much as judging fifty."""
_PAGE = 500


@dataclass(slots=True)
class Verdict:
    """What came of it."""

    broken: list[Broken] = field(default_factory=list)
    """The first hundred."""
    count: int = 0
    """All of them."""
    unjudged: list[str] = field(default_factory=list)
    """What could not be judged, and why."""
    schedules: int = 0
    runs: int = 0
    flows: int = 0
    """Those that were judged with all of their steps: what went on while it was read is not."""
    explained: int = 0
    entries: int = 0

    @property
    def holds(self) -> bool:
        """Whether no promise was seen broken."""
        return not self.count

    def add(self, found: Iterable[Broken]) -> None:
        """Count them, and keep the first ones."""
        for each in found:
            self.count += 1
            if len(self.broken) < MOST_SHOWN:
                self.broken.append(each)

    def __str__(self) -> str:
        looked = (
            f"{counted(self.schedules, 'schedule')}, {counted(self.runs, 'run')}, {counted(self.flows, 'flow')},"
            f" {counted(self.entries, 'line')} of the journal, {counted(self.explained, 'explanation')} judged"
        )
        how = "no promise broken" if self.holds else f"{counted(self.count, 'broken promise')}"
        return "\n".join(
            [f"{looked}: {how}", *map(str, self.broken), *(f"not judged: {each}" for each in self.unjudged)]
        )


def verify(
    store: Store,
    *,
    since_ms: int = 0,
    journal: str | Path | Iterable[Entry] | None = None,
    journalled: Iterable[str] = (),
    explained: int = 50,
    slack_ms: int = 100,
    is_over: bool = False,
    clock: Clock | None = None,
    page: int = 1000,
) -> Verdict:
    """Judge what a store holds since that moment, and the journals in a folder, page by page. Entries that are given
    instead of a folder have their moments already.

    `journalled` names the tasks that write the journal; `is_over` says that all nodes have stopped. Two moments of the
    store may be out of order by `slack_ms`.
    """
    read_ms = store.now_ms()
    index = _index(store, journal, clock or SystemClock())
    try:
        how = Reading(
            since_ms,
            index,
            frozenset(journalled),
            read_ms,
            explained=explained,
            slack_ms=slack_ms,
            is_over=is_over,
            page=page,
            deaths=deaths_of(store),
        )
        return _Verifying(store, how, without_journal=journal is None).run()
    finally:
        index.close()


def _index(store: Store, folder: str | Path | Iterable[Entry] | None, clock: Clock) -> JournalIndex:
    if folder is None:
        return JournalIndex()
    if not isinstance(folder, str | Path):
        return JournalIndex(folder)
    before_ms = clock.monotonic_ms()
    store_ms = store.now_ms()
    offset_ms = store_ms - (before_ms + clock.monotonic_ms()) // 2
    return JournalIndex(told_by(read_journals(folder), offset_ms, this_machine()))


class _Verifying:
    """One pass over a store."""

    def __init__(self, store: Store, how: Reading, *, without_journal: bool) -> None:
        self._store = store
        self._how = how
        self._verdict = Verdict(entries=len(how.journal))
        self._nodes: Sequence[Node] = (*store.nodes(), *store.gone_nodes())
        schedules = max(store.count_schedules().total, 1)
        self._explained = min(how.explained, max(MOST_EXPLAINED // schedules, 1))
        self._pruned: dict[str, int] = {}
        """By schedule up to where its history is forgotten."""
        self._local: list[str] = []
        self._ticks = 0
        self._followed = Followed()
        if without_journal:
            self._verdict.unjudged.append(
                "there is no journal: that tasks were entered once under each claim, by their owner and in time,"
                " and that failures beyond `retries` were asked for by the task, the store alone cannot show"
            )

    def run(self) -> Verdict:
        names = self._judge_together()
        for schedule in self._schedules(names):
            self._verdict.schedules += 1
            if schedule.mode == "local":
                self._local.append(schedule.name)
            self._judge_schedule(schedule)
        self._judge_ghosts()
        self._tell_unjudged()
        return self._verdict

    def _judge_schedule(self, schedule: Schedule) -> None:
        explained = min(self._explained, MOST_EXPLAINED - self._verdict.explained)
        reader = ScheduleReader(self._store, schedule, self._how, self._nodes, explained)
        for page in reader.pages():
            self._verdict.add(judge_apart(page))
        self._ticks += reader.ticks
        self._verdict.explained += reader.told
        if reader.pruned_through_ms is not None:
            self._pruned[schedule.name] = reader.pruned_through_ms

    # what goes beyond one schedule

    def _judge_together(self) -> set[str]:
        """Limits of groups, and work without a schedule; the names of all schedules that had runs."""
        names: set[str] = set()
        carried: tuple[Run, ...] = ()
        for each in slices(self._store, self._how.since_ms, self._how.page):
            self._verdict.runs += len(each.runs)
            names |= {run.schedule for run in each.runs if run.schedule is not None}
            limited = tuple(run for run in each.runs if run.policy.group_limit is not None)
            self._judge_limits(each.now_ms, limited, carried)
            carried = tuple(run for run in (*carried, *limited) if (run.finished_ms or each.until_ms) >= each.until_ms)
            self._judge_flows(each.runs)
            self._judge_followers(each)
            self._judge_one_off(each.now_ms, tuple(run for run in each.runs if run.schedule_id is None))
        return names

    def _judge_limits(self, now_ms: int, limited: tuple[Run, ...], carried: tuple[Run, ...]) -> None:
        journal = self._how.journal.of([run.id for run in (*carried, *limited)])
        history = History(now_ms, runs=limited, carried=carried, journal=journal, slack_ms=self._how.slack_ms)
        self._verdict.add(limits_held(history))

    def _judge_followers(self, slice_: Slice) -> None:
        following = tuple(run for run in slice_.runs if run.cause in ("alert", "chain", "ping") and run.parent_id)
        if following:
            ids = sorted({run.parent_id or "" for run in following})
            ended = {run.id: run for run in self._store.runs(ids=ids, limit=len(ids))}
            self._verdict.add(self._followed.judge(History(slice_.now_ms, runs=following, followed=ended)))

    def _judge_flows(self, runs: Iterable[Run]) -> None:
        for run in runs:
            if run.is_flow and not isinstance(run, UnreadableRun):
                history = flow_with_steps(self._store, run, self._how.slack_ms, self._how.page)
                if history is not None:
                    self._verdict.flows += 1
                    self._verdict.add(judge_flow(history))

    def _judge_one_off(self, now_ms: int, runs: tuple[Run, ...]) -> None:
        if not runs:
            return
        history = History(
            now_ms,
            runs=runs,
            since_ms=self._how.since_ms,
            changes=changes_of_none(self._store),
            nodes=tuple(self._nodes),
            known_deaths=self._how.deaths,
            journal=self._how.journal.of([run.id for run in runs]),
            journalled=self._how.journalled,
            journal_until_ms=self._how.journal_until_ms,
            slack_ms=self._how.slack_ms,
            is_over=self._how.is_over,
        )
        self._verdict.add(judge_apart(history))

    def _judge_ghosts(self) -> None:
        """Every run that the journal knows is one of the store's, unless it is old enough to be forgotten."""
        some: list[str] = []
        for run_id in self._how.journal.runs():
            some.append(run_id)
            if len(some) == _PAGE:
                self._judge_known(some)
                some = []
        self._judge_known(some)

    def _judge_known(self, ids: list[str]) -> None:
        known = {run.id for run in self._store.runs(ids=ids, limit=len(ids))} if ids else set()
        for run_id in ids:
            entries = self._how.journal.of([run_id]) if run_id not in known else ()
            forgotten_ms = self._pruned.get((entries[0].schedule if entries else None) or "", self._how.since_ms)
            if entries and entries[0].scheduled_ms > max(forgotten_ms, self._how.since_ms):
                what = f"run {run_id} was executed, and the store does not know it"
                self._verdict.add([Broken(DONE, what, entries[0].schedule, in_order(map(entry_line, entries)))])

    def _schedules(self, had_runs: set[str]) -> Iterator[Schedule]:
        """All that there are, then those that are gone and had runs since."""
        after = ""
        while found := self._store.schedules(after=after, limit=_PAGE):
            for schedule in found:
                had_runs.discard(schedule.name)
                yield schedule
            after = found[-1].name
        for name in sorted(had_runs):
            (effects,) = self._store.change([name], edits.look(), Author("verify", "testing", "look"))
            if isinstance(effects.answer, Schedule):
                yield effects.answer

    def _tell_unjudged(self) -> None:
        unjudged = self._verdict.unjudged
        if self._pruned:
            unjudged.append(f"older ticks of {_some([*self._pruned])}: their history is pruned")
        if self._local:
            unjudged.append(f"how nodes computed the ticks of {_some(self._local)} in memory: mode is local")
        if self._verdict.explained < self._ticks:
            asked = f"{self._verdict.explained:,} of {self._ticks:,}"
            unjudged.append(f"what explain says of every tick: it was asked of {asked}")
        if self._how.journal.elsewhere:
            unjudged.append("when tasks were entered on other machines: their clocks have another beginning")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
