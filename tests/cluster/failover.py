"""Three nodes with some dozens of schedules a second, while their database chooses another primary; then the verdict.

The tasks write a journal of their own, so that a run which the database has forgotten is known: what the store says and
what was done are judged together, and no tick may have been done under two runs.
"""

from __future__ import annotations

import signal
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cluster.cluster import LONG_LEASE_MS, Cluster
from tests.patience import LONGEST_S

from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.testing.history import Entry, read_journals, verify

SCHEDULES = 24
_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where the journal is: servers are killed here and the machine is not, and disks are for the database."""
_BEFORE_MS = 60_000
"""The store's clock may be so far behind."""

PROGRAM = """
from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.testing.history import Journal

journal = Journal(os.environ["STORM_JOURNAL"])

@app.task
async def work(ctx: Context) -> None:
    with journal.entry(ctx):
        pass

for number in range(24):
    app.schedule(every("1s"), name=f"s{number:02}", overlap="concurrent", crash_retries=100)(work)
"""


@dataclass(frozen=True, slots=True)
class Told:
    """What a storm was like, for those who want figures."""

    runs: int
    left_out: int
    """Ticks with a recorded reason instead of a run."""
    silence_ms: int
    """The longest time in which no task began."""

    def __str__(self) -> str:
        return f"{self.runs:,} runs, {self.left_out} ticks left out, {self.silence_ms / 1000:.1f} s of silence"


class Storm:
    """The nodes and their journal, from the first start to the verdict."""

    def __init__(self, folder: Path, url: str) -> None:
        self._world = Cluster(folder, url, PROGRAM, LONG_LEASE_MS)
        self._began_ms = self._world.app.open_store().now_ms()
        self._memory = TemporaryDirectory(prefix="onthedot-journal-", dir=_MEMORY)
        self._journal = Path(self._memory.name)

    def start(self, nodes: int = 3) -> None:
        """Come back when all of them are at work."""
        for _ in range(nodes):
            self._world.start(STORM_JOURNAL=self._memory.name)
        self._world.until(lambda: len(list(self._journal.glob("*.jsonl"))) == nodes)
        self.goes_on()

    def goes_on(self, ticks: int = 3) -> None:
        """Wait until every schedule has had so many more runs."""
        before = self._begun()
        self._world.until(lambda: self._has_grown(before, ticks))

    def _has_grown(self, before: dict[str, int], by: int) -> bool:
        now = self._begun()
        return len(now) == SCHEDULES and all(now[each] >= before.get(each, 0) + by for each in now)

    def _begun(self) -> dict[str, int]:
        found: dict[str, int] = defaultdict(int)
        for entry in self._entries():
            found[entry.schedule or ""] += 1
        return found

    def _entries(self) -> list[Entry]:
        return [each for each in read_journals(self._journal) if each.what == "begin"]

    def end(self) -> Told:
        """Stop the nodes, which must end well, and judge: nothing doubled, and what was left out has its reason."""
        for process in self._world.processes:
            process.send_signal(signal.SIGTERM)
        assert [process.wait(LONGEST_S) for process in self._world.processes] == [0] * len(self._world.processes)
        assert self._done_twice() == {}, "a tick was done under two runs"
        store = self._anew()
        verdict = verify(
            store,
            since_ms=self._began_ms - _BEFORE_MS,
            journal=self._journal,
            journalled=["work"],
            explained=5,
            is_over=True,
        )
        assert verdict.holds, str(verdict)
        told = self._told(store)
        store.close()
        return told

    def _anew(self) -> Store:
        """By a new connection: the old one may be to a server that has been left, and shows the past."""
        return open_store(self._world.url, create=False)

    def _done_twice(self) -> dict[tuple[str | None, int], set[str]]:
        runs = defaultdict(set)
        for entry in self._entries():
            runs[entry.schedule, entry.scheduled_ms].add(entry.run)
        return {tick: ids for tick, ids in runs.items() if len(ids) > 1}

    def _told(self, store: Store) -> Told:
        moments = sorted(each.wall_ms for each in self._entries())
        left_out = sum(
            decision.count or 0
            for schedule in store.schedules(limit=1000)
            for decision in store.decisions(schedule.id, limit=10_000)
        )
        return Told(len(moments), left_out, max(second - first for first, second in pairwise(moments)))

    def close(self) -> None:
        self._world.close()
        self._memory.cleanup()


@contextmanager
def storm(folder: Path, url: str) -> Iterator[Storm]:
    """Three nodes at work; at the end they are stopped and judged. What came of it is printed."""
    nodes = Storm(folder, url)
    try:
        nodes.start()
        yield nodes
        print(nodes.end())  # noqa: T201 - figures, where somebody asks for them with -s
    finally:
        nodes.close()
