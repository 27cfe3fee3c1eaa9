"""What was measured: tables for people, JSON for programs, Markdown for the docs."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

Cell = str | float | int


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure that we set ourselves, and what came out. `reached` is decided by who measured."""

    text: str
    measured: str
    reached: bool


@dataclass(slots=True)
class Section:
    """One table, with a sentence on how it was taken."""

    title: str
    how: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """All tables of one run, and where it ran."""

    command: str
    machine: dict[str, str]
    sections: list[Section] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)

    def section(self, title: str, how: str, *columns: str) -> Section:
        self.sections.append(Section(title, how, columns))
        return self.sections[-1]

    def goal(self, text: str, measured: str, reached: bool) -> None:
        self.goals.append(Goal(text, measured, bool(reached)))

    def show(self, console: Console) -> None:
        for section in self.sections:
            table = RichTable(title=section.title, caption=section.how, title_justify="left", caption_justify="left")
            for number, column in enumerate(section.columns):
                table.add_column(column, justify="right" if number else "left")
            for row in section.rows:
                table.add_row(*map(_text, row))
            console.print(table)
        for goal in self.goals:
            mark = "[green]reached[/]" if goal.reached else "[bold red]missed[/]"
            console.print(f"{mark}  {goal.text}: {goal.measured}")

    def as_json(self) -> dict[str, Any]:
        tables = [
            {
                "title": each.title,
                "how": each.how,
                "rows": [dict(zip(each.columns, row, strict=True)) for row in each.rows],
            }
            for each in self.sections
        ]
        goals = [{"goal": goal.text, "measured": goal.measured, "reached": goal.reached} for goal in self.goals]
        return {"command": self.command, "machine": self.machine, "tables": tables, "goals": goals}

    def as_markdown(self) -> str:
        lines = [f"# What `{self.command}` measured", ""]
        lines += [f"Written by `{self.command} --markdown`; nothing here is typed by hand.", ""]
        lines += [f"- {name}: {value}" for name, value in self.machine.items()]
        for section in self.sections:
            lines += ["", f"## {section.title}", "", section.how, "", _row(section.columns)]
            lines += [_row(["---", *["---:"] * (len(section.columns) - 1)])]
            lines += [_row([_text(cell) for cell in row]) for row in section.rows]
        lines += ["", "## Goals", "", _row(["goal", "measured", ""]), _row(["---", "---", "---"])]
        lines += [_row([goal.text, goal.measured, "reached" if goal.reached else "**missed**"]) for goal in self.goals]
        return "\n".join(lines) + "\n"


def machine() -> dict[str, str]:
    """Where and with what this runs."""
    names = Path("/proc/cpuinfo").read_text().split("model name\t: ")[1:2] if Path("/proc/cpuinfo").exists() else []
    packages = (
        *("numpy", "croniter", "cronsim", "APScheduler", "huey", "arq", "pgqueuer", "procrastinate"),
        *("SQLAlchemy", "psycopg", "PyMySQL", "pymongo", "redis"),
    )
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": f"{names[0].splitlines()[0] if names else platform.machine()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "packages": ", ".join(filter(None, map(_version, packages))),
        "load when it began": " ".join(f"{load:.1f}" for load in os.getloadavg()),
    }


def _version(package: str) -> str:
    """With its name; nothing where it is not installed: not every bench needs all of them."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return ""


def _row(cells: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _text(cell: Cell) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.0f}" if cell >= 100 else f"{cell:.1f}" if cell >= 10 else f"{cell:.2f}"
