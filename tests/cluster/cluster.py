"""Processes that run one program on one store, as the cluster tests need them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.patience import LONGEST_S

from onthedot import App
from onthedot.model.run import Run
from onthedot.stores.open import open_store

HEADER = """
import faulthandler, os, signal, sys, time
from pathlib import Path
from onthedot import App, Context, every
from onthedot.node.settings import NodeSettings

folder = Path(__file__).parent
threads = (folder / f"threads-{os.getpid()}").open("w")
faulthandler.register(signal.SIGUSR1, file=threads)
app = App(
    os.environ["CLUSTER_URL"],
    node=NodeSettings(
        name="same name", lease_ms=int(os.environ["CLUSTER_LEASE_MS"]), heartbeat_ms=500, poll_ms=200, drain_ms=60_000
    ),
)

def note(text):
    with (folder / "notes").open("a") as notes:
        notes.write(f"{text} {os.getpid()}\\n")
"""


LEASE_MS = 3000
"""Short: what the dead held is waited for. A busy machine may cost the living theirs: ticks are then run again."""
LONG_LEASE_MS = 8000
"""For tests in which nobody may lose it."""


class Cluster:
    """Processes that run one program on one store."""

    def __init__(self, folder: Path, url: str, body: str, lease_ms: int = LEASE_MS) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.program = folder / "jobs.py"
        self.program.write_text(HEADER + textwrap.dedent(body) + "\napp.run()\n")
        self.url = url
        self.lease_ms = lease_ms
        self._app: App | None = None

    @property
    def app(self) -> App:
        """For asking and enqueueing; it makes the store if no node has."""
        if self._app is None:
            self._app = App(self.url, store=open_store(self.url, create=True))
        return self._app

    def start(self, **environment: str) -> subprocess.Popen[bytes]:
        where = {**os.environ, "CLUSTER_URL": self.url, "CLUSTER_LEASE_MS": str(self.lease_ms), **environment}
        process = subprocess.Popen([sys.executable, str(self.program)], cwd=self.folder, env=where)
        self.processes.append(process)
        return process

    def notes(self) -> list[list[str]]:
        """What tasks have written down: words, the last one the process."""
        path = self.folder / "notes"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def runs(self, schedule: str | None = None) -> list[Run]:
        return list(self.app.runs.list(schedule=schedule, limit=10_000).items)

    def expect_every_tick_once(self, name: str) -> None:
        """From its first run to its last, each tick is one run or in a decision."""
        ticks = Counter(run.scheduled_ms for run in self.runs(name))
        decided = self.app.open_store().decisions(self.app.schedules.get(name).id, limit=10_000)
        assert set(ticks.values()) == {1}, "a tick was run twice"
        covered = set(ticks) | {ms for each in decided for ms in range(each.first_ms, each.last_ms + 1, 1000)}
        assert covered >= set(range(min(ticks), max(ticks) + 1, 1000)), "a tick vanished"

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something that must come true."""
        end = time.monotonic() + LONGEST_S
        while not holds():
            assert time.monotonic() < end, f"it did not come true:\n{self._scene()}"
            time.sleep(0.05)

    def _scene(self) -> str:
        """What was noted last, and where the threads of those that live are."""
        told = [" ".join(words) for words in self.notes()[-30:]]
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGUSR1)
                time.sleep(1)
                told.append((self.folder / f"threads-{process.pid}").read_text())
            else:
                told.append(f"{process.pid} ended with {process.returncode}")
        return "\n".join(told)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        if self._app is not None:
            self._app.open_store().close()


TICKING = """
@app.schedule(every("1s"), overlap="concurrent")
def tick(ctx: Context) -> None:
    note(f"{int(ctx.scheduled_at.timestamp())} {ctx.attempt}")
"""
