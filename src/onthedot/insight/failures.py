"""What failed lately, grouped: one line for each schedule or task, however often it did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from onthedot.insight.node_history import at
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.tracebacks import telling_line
from onthedot.stores.base import Store

LATELY_MS = 86_400_000
MOST_COUNTED = 10_000

_PAGE = 1000
_FAILED = (State.FAILED, State.TIMED_OUT, State.LOST)


@dataclass(frozen=True, slots=True)
class Failures:
    """The failed, timed out and lost runs of one schedule or task within the last day."""

    name: str
    count: int
    since_ms: int
    """When the first of them ended."""
    last: Run

    def __str__(self) -> str:
        told = f"{self.name} failed once" if self.count == 1 else f"{self.name} failed {self.count:,} times"
        when = f", at {at(self.since_ms)}" if self.count == 1 else f" since {at(self.since_ms)}, last"
        why = self.last.reason or telling_line(self.last.error) or str(self.last.state)
        return f"{told}{when}: {why}"


def read_failures(store: Store, now_ms: int) -> tuple[Failures, ...]:
    """Of the last day; who failed last comes first. Of each way to fail up to MOST_COUNTED are looked at."""
    runs = [run for state in _FAILED for run in _recent(store, state, now_ms - LATELY_MS)]
    return tuple(group(runs))


def group(runs: Iterable[Run]) -> list[Failures]:
    """One for each name, who failed last first."""
    in_order = sorted(runs, key=lambda run: (_ended_ms(run), run.is_shard, run.id))  # a shard says more
    broadcasts = {run.id: run for run in in_order if run.is_broadcast}
    by_name: dict[str, list[Run]] = {}
    for run in in_order:
        whole = broadcasts.get(run.parent_id or "", run) if run.is_shard else run
        by_name.setdefault(whole.schedule or whole.task, []).append(run)
    groups = [Failures(name, _count(each), _ended_ms(each[0]), each[-1]) for name, each in by_name.items()]
    return sorted(groups, key=lambda each: _ended_ms(each.last), reverse=True)


def _count(runs: Sequence[Run]) -> int:
    """A broadcast fails once, with however many of its shards; they count where it has not ended yet."""
    ended = {run.id for run in runs}
    return sum(not run.is_shard or run.parent_id not in ended for run in runs)


def _recent(store: Store, state: State, after_ms: int) -> Iterator[Run]:
    """Newest first, until a whole page is older: runs are listed by when they were made, not by when they ended."""
    before: str | None = None
    for _ in range(MOST_COUNTED // _PAGE):
        page = store.runs(state=state, before=before, limit=_PAGE)
        recent = [run for run in page if _ended_ms(run) > after_ms]
        yield from recent
        if not recent or len(page) < _PAGE:
            return
        before = page[-1].id


def _ended_ms(run: Run) -> int:
    return run.finished_ms or 0
