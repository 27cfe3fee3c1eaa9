"""What came out: schedules to put, jobs that stay, and a program that says the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onthedot.app.moving.program import literal, program_of
from onthedot.app.moving.report import Report as Found

if TYPE_CHECKING:
    from onthedot.app.app import App
    from onthedot.app.moving.taking import Taken
    from onthedot.app.schedules import Put

_STORE = "sqlite:///jobs.db"
_OURS = ("App", "app", "at", "cron", "every")
"""The names that such a program has already."""


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
        modules = sorted({each.partition(":")[0] for each in self.functions.values()})
        own = {each: each for each in modules if each.partition(".")[0] not in _OURS}
        taken = {*_OURS, *(each.partition(".")[0] for each in own)}
        places = own | _free_names([each for each in modules if each not in own], taken)
        variables = _free_names(self.functions, taken)
        preamble = [
            f"import {each}" if places[each] == each else f"import {each} as {places[each]}" for each in modules
        ]
        preamble += ["", f"app = App({literal(store or _STORE)})", ""]
        for task, reference in self.functions.items():
            module, _, function = reference.partition(":")
            named = "" if function.rpartition(".")[2] == task else f"(name={literal(task)})"
            preamble.append(f"{variables[task]} = app.task{named}({places[module]}.{function})")
        heading = f"Schedules that were APScheduler's: {self.source}."
        return program_of(self, heading, preamble, lambda move: variables[move.task])


def _free_names(things: Iterable[str], taken: set[str]) -> dict[str, str]:
    """A variable for each of them, which none of the others nor anything else has; they are taken then."""
    found = {}
    for thing in things:
        plain = name = "".join(each if each.isalnum() else "_" for each in thing)
        number = 1
        while name in taken:
            number += 1
            name = f"{plain}_{number}"
        taken.add(name)
        found[thing] = name
    return found
