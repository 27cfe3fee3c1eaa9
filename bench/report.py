"""What was measured: tables for people, JSON for programs, Markdown for the docs."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

from bench import plots
from bench.plots import Plot

Cell = str | float | int


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure that we set ourselves, and what came out. `reached` is decided by who measured."""

    text: str
    measured: str
    reached: bool


@dataclass(frozen=True, slots=True)
class Peer:
    """Somebody else who did the same on the same machine, in the same run."""

    what: str
    """With its unit."""
    name: str
    ours: float
    theirs: float
    less_is_better: bool = False

    @property
    def better(self) -> str:
        """Who is."""
        return "onthedot" if (self.ours <= self.theirs) == self.less_is_better else self.name


@dataclass(slots=True)
class Section:
    """One table, some plots, or both, with a sentence on how it was taken."""

    title: str
    how: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """All tables of one run, and where it ran."""

    command: str
    machine: dict[str, str]
    sections: list[Section] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    peers: list[Peer] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """What a reader must know before any figure, such as that the machine was loaded."""

    def section(self, title: str, how: str, *columns: str) -> Section:
        self.sections.append(Section(title, how, columns))
        return self.sections[-1]

    def goal(self, text: str, measured: str, reached: bool) -> None:
        self.goals.append(Goal(text, measured, bool(reached)))

    def beside(self, what: str, peers: Mapping[str, float], ours: float, *, less_is_better: bool = False) -> None:
        """What each of them measured of the same thing."""
        self.peers += [Peer(what, name, ours, theirs, less_is_better) for name, theirs in peers.items()]

    def show(self, console: Console) -> None:
        for warning in self.warnings:
            console.print(f"[bold red]{warning}[/]")
        for section in filter(lambda section: section.columns, self.sections):
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
                "plots": {plot.title: plots.table(plot) for plot in each.plots},
            }
            for each in self.sections
        ]
        goals = [{"goal": goal.text, "measured": goal.measured, "reached": goal.reached} for goal in self.goals]
        said: dict[str, Any] = {"command": self.command, "machine": self.machine, "warnings": self.warnings}
        said |= {"peers": [asdict(each) for each in self.peers]}
        return {**said, "tables": tables, "goals": goals}

    def write(self, page: Path) -> None:
        """The page, and beside it a file for each of its plots."""
        page.write_text(self.as_markdown(page.stem), encoding="utf-8")
        for section in self.sections:
            for plot in section.plots:
                if not plot.is_empty:
                    (page.parent / plot.file_of(page.stem)).write_text(plots.draw(plot), encoding="utf-8")

    def as_markdown(self, page: str) -> str:
        """As a file of this name, without its ending, has it."""
        lines = [f"# What `{self.command}` measured", ""]
        lines += [f"Written by `{self.command} --markdown`; nothing here is typed by hand.", ""]
        for warning in self.warnings:
            lines += [f"**{warning}**", ""]
        lines += [f"- {name}: {value}" for name, value in self.machine.items()]
        for section in self.sections:
            lines += ["", f"## {section.title}", "", section.how]
            if section.columns:
                lines += ["", *_rows(section.columns, [[_text(cell) for cell in row] for row in section.rows])]
            for plot in section.plots:
                lines += picture(plot, page)
        if self.peers:
            rows = [[each.what, each.name, _text(each.ours), _text(each.theirs), each.better] for each in self.peers]
            lines += ["", "## Beside others", "", *_rows(("what", "who", "onthedot", "they", "better"), rows)]
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


def picture(plot: Plot, page: str) -> Iterator[str]:
    """With its figures under it, for those who cannot see it, or want to reckon with them."""
    if plot.is_empty:
        return
    head, *rows = plots.table(plot)
    yield from ("", f"![{plot.title}]({plot.file_of(page)})", "")
    yield from _rows(head, rows)


def _rows(head: tuple[str, ...], rows: list[Any]) -> Iterator[str]:
    yield _row(head)
    yield _row(["---", *["---:"] * (len(head) - 1)])
    yield from map(_row, rows)


def _row(cells: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _text(cell: Cell) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.0f}" if cell >= 100 else f"{cell:.1f}" if cell >= 10 else f"{cell:.2f}"
