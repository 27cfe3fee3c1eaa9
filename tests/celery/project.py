"""A Celery project in a folder, and real `celery` processes of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.patience import LONGEST_S

from onthedot import App
from onthedot.errors import SchemaError
from onthedot.model.run import Run

PROJECT = """
import os, signal
from pathlib import Path

from celery import Celery
from celery.schedules import crontab
from celery.signals import after_task_publish

from onthedot.celery import Once

folder = Path(__file__).parent
app = Celery("proj", broker=os.environ["BROKER"])
app.conf.update(
    broker_connection_timeout=1,
    broker_connection_retry_on_startup=True,
    onthedot_store=f"sqlite:///{Path(os.environ.get('STORE', folder)) / 'jobs.db'}",
    onthedot_defaults={"misfire": "catch_up", "tags": ["celery"]},  # a busy machine may be late
    result_expires=None,
    beat_schedule={
        "one": {"task": "proj.note", "schedule": 1, "args": ("one",)},
        "two": {"task": "proj.note", "schedule": 1.0, "args": ("two",), "options": {"headers": {"mine": "yes"}}},
        "minutely": {"task": "elsewhere.unknown", "schedule": crontab()},
    },
)

@app.task(base=Once, bind=True, shared=False)
def note(self, text, again=False):
    with (folder / "notes").open("a") as notes:
        notes.write(f"{text} {self.request.id}\\n")
    if again and self.request.retries == 0:
        raise self.retry(countdown=0)

if "DIE_AFTER" in os.environ:
    left = [int(os.environ["DIE_AFTER"])]

    @after_task_publish.connect
    def die(**_):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
"""


class Project:
    """Its processes live on a store in SQLite, with a short lease."""

    def __init__(self, folder: Path, broker: str, text: str = PROJECT) -> None:
        self.folder = folder
        self.broker = broker
        self.processes: list[subprocess.Popen[bytes]] = []
        (folder / "proj.py").write_text(text, encoding="utf-8")
        self.app = App(f"sqlite:///{folder / 'jobs.db'}")

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ONTHEDOT_")}
        short = {"ONTHEDOT_LEASE": "4s", "ONTHEDOT_HEARTBEAT": "1s", "ONTHEDOT_POLL": "200ms"}
        return kept | short | {"BROKER": self.broker, **more}

    def start(self, *words: str, **more: str) -> subprocess.Popen[bytes]:
        """`celery -A proj …`; what it says goes into a file."""
        command = [sys.executable, "-m", "celery", "-A", "proj", *words]
        with (self.folder / "said.log").open("ab") as said:
            process = subprocess.Popen(command, cwd=self.folder, env=self.environment(**more), stdout=said, stderr=said)
        self.processes.append(process)
        return process

    def beat(self, **more: str) -> subprocess.Popen[bytes]:
        return self.start("beat", "-S", "onthedot", "-l", "INFO", "--max-interval", "1", **more)

    def runs(self) -> list[Run]:
        try:
            return [*self.app.runs.list(limit=1000)]
        except SchemaError:  # no beat has made it yet
            return []

    def notes(self) -> list[str]:
        """What tasks have written down, without the ids."""
        path = self.folder / "notes"
        return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []

    def said(self) -> str:
        return (self.folder / "said.log").read_text(encoding="utf-8", errors="replace")

    def until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + LONGEST_S
        while not holds():
            assert time.monotonic() < end, f"it did not come true:\n{self.said()[-4000:]}"
            time.sleep(0.1)

    def stop(self, process: subprocess.Popen[bytes]) -> int:
        process.send_signal(signal.SIGTERM)
        return process.wait(LONGEST_S)

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.app.close()


@contextmanager
def project(folder: Path, broker: str, text: str = PROJECT) -> Iterator[Project]:
    with closing(Project(folder, broker, text)) as made:
        yield made
