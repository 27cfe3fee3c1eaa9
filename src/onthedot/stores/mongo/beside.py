"""What is live of schedules, as far as a decision may rest on it: read page by page, never a whole crowd."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.stores.mongo.mapping import Document
from onthedot.stores.transaction import LiveRuns, most_waiting

_FEW = 20
"""What one schedule mostly has at the most; two of each are read on top of that."""

Read = Callable[[Document, int], list[Run]]
"""Live runs, at most so many, in the order of `IN_ORDER`."""
IN_ORDER = [("schedule_id", 1), ("state", 1), ("due_ms", 1), ("_id", 1)]
"""Those that run stand before those that wait."""

_Found = dict[str, list[Run]]
"""By the id of their schedule."""


def live_beside(read: Read, schedules: Sequence[Schedule]) -> dict[str, LiveRuns]:
    """Of each schedule what `Transaction.live_beside` promises; those of which nothing is live are left out."""
    most = {each.id: most_waiting(each.policy) for each in schedules}

    def has_enough(schedule_id: str, runs: Sequence[Run]) -> bool:
        return len(_waiting(runs)) > most[schedule_id]

    counted = [each.id for each in schedules if each.policy.slots is not None]
    found = _pages(read, {}, counted, has_enough)
    others = most.keys() - counted
    if others:  # any number may run: that one does is enough
        running = _pages(read, {"state": State.RUNNING.value}, others, lambda schedule_id, runs: True)
        waiting = _pages(read, {"state": State.WAITING.value}, others, has_enough)
        found |= {each: [*running.get(each, ()), *waiting.get(each, ())] for each in (*running, *waiting)}
    return {each: _live(runs, most[each]) for each, runs in found.items()}


def _pages(
    read: Read, also: Document, ids: Collection[str], has_enough: Callable[[str, Sequence[Run]], bool]
) -> _Found:
    """The first of each schedule, going on with the next one when one has enough."""
    found: _Found = {}
    left = sorted(ids)
    size = _FEW + 2 * len(left)
    while left:
        page = read({"schedule_id": {"$in": left}, **also}, size)
        found |= _by_schedule(page)
        if len(page) < size:
            break
        last = page[-1].schedule_id or ""
        if has_enough(last, found[last]):
            left = [each for each in left if each > last]
        else:
            left = [each for each in left if each >= last]
            size *= 2
    return found


def _by_schedule(page: Iterable[Run]) -> _Found:
    found: _Found = {}
    for run in page:
        found.setdefault(run.schedule_id or "", []).append(run)
    return found


def _live(runs: Sequence[Run], most: int) -> LiveRuns:
    running = [run for run in runs if run.state is State.RUNNING]
    waiting = _waiting(runs)
    return LiveRuns((*running, *waiting[:most]), more=len(waiting) > most)


def _waiting(runs: Iterable[Run]) -> list[Run]:
    return [run for run in runs if run.state is State.WAITING]
