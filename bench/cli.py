"""What a command costs before and after its question: processor time, beside that of importing SQLAlchemy alone."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.report import Report
from onthedot import App, cron

Say = Callable[[str], None]
GOAL_S = 0.35
TIMES = 9
SCHEDULES = 50
COMMANDS = (
    "status",
    "schedules list",
    "schedules show job-00",
    "schedules next job-00",
    "schedules pause job-01",
    "schedules trigger job-02",
    "enqueue report --delay 1h",
    "runs list",
    "explain job-00",
    "changes",
    "nodes list",
    "tasks",
    "stats",
    "calendars list",
    "freezes list",
    "alerts list",
    "flows",
    "export",
)


def run(report: Report, say: Say) -> None:
    """Each command several times; the cheapest counts, since other processes only add to it."""
    section = report.section(
        "Processor time of a command, user and system",
        f"SQLite store of {SCHEDULES} schedules; the least of {TIMES} times, with bytecode written before",
        "command",
        "s",
        "beside SQLAlchemy",
    )
    with TemporaryDirectory() as folder:
        _fill(Path(folder))
        environment = _environment(Path(folder))
        alone = _least([sys.executable, "-c", "import sqlalchemy"], environment)
        section.rows.append(("python -c 'import sqlalchemy'", round(alone, 3), "1.0"))
        slowest = 0.0
        for command in COMMANDS:
            say(command)
            took = _least([sys.executable, "-m", "onthedot", *command.split()], environment)
            slowest = max(slowest, took)
            section.rows.append((f"onthedot {command}", round(took, 3), f"{took / alone:.1f}"))
    report.goal(f"each command that asks a store: less than {GOAL_S} s", f"{slowest:.3f} s", slowest < GOAL_S)


def _fill(folder: Path) -> None:
    app = App(f"sqlite:///{folder}/jobs.db")
    app.open_store(create=True)
    for number in range(SCHEDULES):
        app.schedules.put(f"job-{number:02}", "report", cron(f"{number} 3 * * *"), unchecked=True)
    app.close()


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "ONTHEDOT_STORE": f"sqlite:///{folder}/jobs.db", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def _least(command: Sequence[str], environment: dict[str, str]) -> float:
    return min([_took(command, environment) for _ in range(TIMES + 1)][1:])


def _took(command: Sequence[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or "error:" in done.stderr:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
