"""What came of a real storm: one frozen summary, as text, as a page, and as JSON for plots."""

from __future__ import annotations

import itertools
import json
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from os import cpu_count
from pathlib import Path

from tests.chaos.conductor import Size, Told

from onthedot.model.run import Run, UnreadableRun
from onthedot.stores.base import Store
from onthedot.testing.history import Verdict
from onthedot.testing.history.reading import slices

_MOST_LINES = 30


@dataclass(frozen=True, slots=True)
class Summary:
    """All of it; durations in milliseconds unless a name says otherwise."""

    store: str
    seed: int
    minutes: float
    nodes: int
    schedules: int
    when: str
    machine: str
    faults: Mapping[str, int]
    faults_at: Sequence[tuple[float, str]]
    """Seconds after the beginning."""
    acts: Mapping[str, int]
    refused: Mapping[str, int]
    runs: Mapping[str, int]
    """By state, all causes and steps."""
    ticks: int
    left_out: Mapping[str, int]
    """Ticks that a decision left out, by reason."""
    taken_over: int
    handed_back: int
    lateness_ms: Mapping[str, int]
    """Of first attempts of tick runs that did not wait for anything else."""
    silence_ms: int
    """The longest time in which no run at all began."""
    started: Sequence[tuple[int, int, int]]
    """By second: how many runs began, and how late the latest of them was."""
    judged: str
    unjudged: Sequence[str]
    broken: int
    shown: Sequence[str]
    problems: Sequence[str]

    @property
    def holds(self) -> bool:
        """Whether no promise was broken."""
        return not self.broken and not self.problems

    def as_json(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"

    def as_text(self) -> str:
        return "\n".join(f"{name:12} {value}" for name, value in self._rows())

    def as_markdown(self) -> str:
        rows = "\n".join(f"| {name} | {value} |" for name, value in self._rows())
        told = "".join(f"\n```\n{text}\n```\n" for text in (*self.shown, *self.problems))
        return f"# {self.minutes:g} minutes of chaos on {self.store}\n\n| | |\n|---|---|\n{rows}\n{told}"

    def _rows(self) -> Iterator[tuple[str, str]]:
        verdict = "no promise broken" if self.holds else f"{self.broken + len(self.problems)} BROKEN"
        yield "verdict", verdict
        yield (
            "seed",
            f"{self.seed} (`scripts/chaos --store {self.store} --minutes {self.minutes:g} --seed {self.seed}`)",
        )
        yield "machine", f"{self.machine}; {self.when}"
        yield "nodes", f"{self.nodes} processes, {self.schedules} schedules"
        yield "faults", _listed(self.faults)
        yield "people", f"{_listed(self.acts)}; refused: {_listed(self.refused)}"
        yield "runs", f"{sum(self.runs.values()):,}: {_listed(self.runs)}"
        yield (
            "ticks",
            f"{self.ticks:,}, of which {sum(self.left_out.values()):,} were left out: {_listed(self.left_out)}",
        )
        yield "again", f"{self.taken_over:,} attempts were taken over, {self.handed_back:,} handed back"
        yield "late", ", ".join(f"{name} {value:,} ms" for name, value in self.lateness_ms.items())
        yield "silence", f"at most {self.silence_ms:,} ms without a start"
        yield "judged", self.judged
        for each in self.unjudged:
            yield "not judged", each


def _listed(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{count:,} {name}" for name, count in ordered) or "none"


def summary_of(
    store: Store, name: str, seed: int, seconds: float, size: Size, told: Told, verdict: Verdict, since_ms: int
) -> Summary:
    """Reads the store once more, page by page."""
    counted = _counted(store, since_ms)
    left_out = Counter[str]()
    after = ""
    while rows := store.schedules(after=after, limit=500):
        for row in rows:
            for decision in store.decisions(row.id, limit=10_000):
                left_out[decision.reason] += decision.count or 0
        after = rows[-1].name
    return Summary(
        store=name,
        seed=seed,
        minutes=round(seconds / 60, 2),
        nodes=size.nodes,
        schedules=verdict.schedules,
        when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        machine=f"{cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}",
        faults=dict(told.faults),
        faults_at=told.done_at,
        acts=dict(told.people),
        refused=dict(told.refused),
        runs=dict(counted.states),
        ticks=counted.ticks + sum(left_out.values()),
        left_out=dict(left_out),
        taken_over=counted.taken_over,
        handed_back=counted.handed_back,
        lateness_ms=_percentiles(counted.late),
        silence_ms=_silence(counted.starts, counted.starts[0] + int(seconds * 1000) if counted.starts else 0),
        started=_by_second(counted),
        judged=str(verdict).splitlines()[0],
        unjudged=verdict.unjudged,
        broken=verdict.count,
        shown=[_cut(str(each)) for each in verdict.broken[:20]],
        problems=told.problems,
    )


class _Counted:
    """What is counted of the runs."""

    def __init__(self) -> None:
        self.states: Counter[str] = Counter()
        self.ticks = self.taken_over = self.handed_back = 0
        self.starts: list[int] = []
        self.late: list[int] = []
        self.late_at: list[tuple[int, int]] = []

    def add(self, run: Run) -> None:
        self.states[run.state.value] += 1
        self.ticks += run.cause == "tick" and not run.is_step
        self.taken_over += sum(each.outcome == "node_died" for each in run.earlier)
        self.handed_back += sum(each.outcome == "handed_back" for each in run.earlier)
        self.starts += [each.started_ms for each in run.attempts]
        first = run.cause == "tick" and not run.earlier and run.started_ms is not None
        if first and run.policy.overlap == "concurrent" and run.policy.limit is None and not run.policy.depends_on:
            self.late.append(run.lateness_ms or 0)
            self.late_at.append((run.started_ms or 0, run.lateness_ms or 0))


def _counted(store: Store, since_ms: int) -> _Counted:
    counted = _Counted()
    for each in slices(store, since_ms):
        for run in each.runs:
            if not isinstance(run, UnreadableRun):
                counted.add(run)
    counted.starts.sort()
    counted.late.sort()
    return counted


def _percentiles(late: Sequence[int]) -> dict[str, int]:
    if not late:
        return {}
    return {name: late[min(int(len(late) * part), len(late) - 1)] for name, part in (("p50", 0.5), ("p99", 0.99))} | {
        "most": late[-1]
    }


def _silence(starts: Sequence[int], until_ms: int) -> int:
    """While the storm raged: afterwards schedules are paused."""
    raged = [each for each in starts if each <= until_ms]
    return max((after - before for before, after in itertools.pairwise(raged)), default=0)


def _by_second(counted: _Counted) -> list[tuple[int, int, int]]:
    if not counted.starts:
        return []
    first_ms = counted.starts[0]
    started = Counter((each - first_ms) // 1000 for each in counted.starts)
    latest: dict[int, int] = {}
    for at_ms, late_ms in counted.late_at:
        second = (at_ms - first_ms) // 1000
        latest[second] = max(latest.get(second, 0), late_ms)
    return [(second, started[second], latest.get(second, 0)) for second in sorted(started)]


def _cut(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(
        [*lines[:_MOST_LINES], *([f"  … {len(lines) - _MOST_LINES} lines more"] if len(lines) > _MOST_LINES else [])]
    )


def write(path: str, text: str) -> None:
    """A page, in a folder that may not be there yet."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
