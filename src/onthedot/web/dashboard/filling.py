"""How far a backfill is: what its run's page shows of its ticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onthedot.insight.run_report import RunReport, Shard
from onthedot.rules import backfill

_MOST = 40


@dataclass(frozen=True, slots=True)
class Filling:
    """Of its ticks, how many have ended, how many of those badly, and their runs."""

    schedule: str
    total: int
    ended: int
    bad: int
    made: int
    """How many have a run."""
    runs: Sequence[Shard]
    """The first of them."""

    @property
    def told(self) -> str:
        """ "12 of 31, 1 bad"."""
        return f"{self.ended:,} of {self.total:,}" + (f", {self.bad:,} bad" if self.bad else "")

    @property
    def part(self) -> float:
        return self.ended / self.total if self.total else 1.0

    @property
    def unshown(self) -> int:
        return max(self.made - len(self.runs), 0)

    @property
    def unmade(self) -> int:
        return max(self.total - self.made, 0)


def filling_of(report: RunReport) -> Filling | None:
    """None for a run that is no backfill. Its ledger knows all ticks; runs that were read, only the newest of many."""
    run = report.run
    if run.task != backfill.TASK:
        return None
    steps = run.steps
    ended, bad = sum(each.ended for each in steps), sum(each.failed for each in steps)
    seen = len(report.filled_in)
    return Filling(
        schedule=str(run.args.get("schedule", "")),
        total=len(backfill.ticks_of(run)),
        ended=ended,
        bad=bad,
        made=max(seen, ended),
        runs=report.filled_in[:_MOST],
    )
