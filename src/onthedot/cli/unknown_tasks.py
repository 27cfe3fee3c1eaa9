"""What is said where no live node has a task: it may be deployed later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onthedot.app.flows.flow import PREFIX
from onthedot.cli.notes import show_note
from onthedot.cli.texts import visible

if TYPE_CHECKING:
    from onthedot.app.app import App


def is_unknown(app: App, task: str) -> bool:
    """Whether no live node has published a task or flow of that name: then its arguments cannot be checked, which is
    said."""
    known = [each.name for each in app.tasks.list()]
    if task in known or f"{PREFIX}{task}" in known:
        return False
    listed = f"; known are {', '.join(known)}" if known else ""
    show_note(f"no live node has a task {visible(task)!r}, so its arguments are not checked{listed}")
    return True


def note_if_nobody_has(app: App, task: str) -> None:
    """Say of a run that was made for a task of which no live node knows what becomes of it."""
    if task not in {each.name for each in app.tasks.list()}:
        show_note(f"no live node has a task {visible(task)!r}, so the run waits for one that has it")
