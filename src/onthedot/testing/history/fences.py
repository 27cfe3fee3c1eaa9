"""Fences: each start of a schedule has a higher one than those before it, so that others can refuse the superseded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from onthedot.testing.history.broken import Broken, Line, attempt_lines, entry_line, in_order, run_line
from onthedot.testing.history.history import History, is_part

FENCES = "fences grow with every start"


class _Start(NamedTuple):
    """A start of the schedule, as far as its fence is known."""

    at_ms: int
    fence: int
    claim: tuple[str, int]
    lines: tuple[Line, ...]


def fences_grow(history: History) -> Iterator[Broken]:
    """No two starts of a schedule have one fence, and none a lower one than a start before it: by the store, which
    keeps that of the latest attempt, and by the journal, which has all that tasks were given."""
    highest: _Start | None = None
    known: dict[int, _Start] = {}
    for start in sorted(_starts(history)):
        before = known.setdefault(start.fence, start)
        if before.claim == start.claim and highest is not None and start.at_ms > highest.at_ms + history.transaction_ms:
            before = highest
        if before.claim != start.claim and start.fence <= before.fence:
            what = f"run {start.claim[0]} began with fence {start.fence} after run {before.claim[0]} had begun"
            what += f" with {before.fence}"
            yield Broken(FENCES, what, history.name, in_order((*before.lines, *start.lines)))
            return  # one is enough to show it
        if highest is None or start.fence > highest.fence:
            highest = start


def _starts(history: History) -> Iterator[_Start]:
    if history.schedule is None:
        return
    for run in (*history.carried, *history.runs):
        if is_part(run):
            continue
        for attempt in run.attempts:
            entries = history.entries.get((run.id, attempt.claim_no), ())
            told = [each for each in entries if each.what == "begin" and each.fence]
            is_latest = attempt.claim_no == run.claim_no
            fence = told[0].fence if told else run.fence if is_latest else 0
            if fence:
                lines = (run_line(run), *attempt_lines(run, attempt), *map(entry_line, told))
                yield _Start(attempt.started_ms, fence, (run.id, attempt.claim_no), lines)
