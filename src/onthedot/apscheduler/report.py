"""What came out: schedules to put, jobs that stay, and a program that says the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onthedot.app.moving.program import program_of
from onthedot.app.moving.report import Report as Found

if TYPE_CHECKING:
    from onthedot.app.app import App
    from onthedot.app.moving.taking import Taken
    from onthedot.app.schedules import Put

_STORE = "sqlite:///jobs.db"


@dataclass(frozen=True, slots=True)
class Report(Found):
    """All jobs of a scheduler or a store of APScheduler."""

    functions: Mapping[str, str] = field(default_factory=dict)
    """Where the function of each task is: {"tick": "shop.jobs:tick"}."""

    @property
    def puts(self) -> tuple[Put, ...]:
        """The schedules, as they are put."""
        return tuple(move.put(self.policies) for move in self.moves)

    def apply(self, app: App, *, dry_run: bool = False) -> Taken:
        """Write the schedules into the app's store; each goes on where it was. Stop APScheduler before.

        Their tasks must be declared by the app that runs them; `as_code` shows how.
        """
        return app.schedules.take(self, dry_run=dry_run)

    def as_code(self, store: str | None = None) -> str:
        """A program that declares the same schedules; what was refused stands in it as comments."""
        variables = {task: "".join(each if each.isalnum() else "_" for each in task) for task in self.functions}
        modules = sorted({each.partition(":")[0] for each in self.functions.values()})
        preamble = [*(f"import {each}" for each in modules), "", f'app = App("{store or _STORE}")', ""]
        for task, reference in self.functions.items():
            place = reference.replace(":", ".")
            named = "" if place.rpartition(".")[2] == task else f'(name="{task}")'
            preamble.append(f"{variables[task]} = app.task{named}({place})")
        heading = f"Schedules that were APScheduler's: {self.source}."
        return program_of(self, heading, preamble, lambda move: variables[move.task])
