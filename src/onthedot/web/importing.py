"""Schedules from a document, over HTTP: only of tasks that somebody has declared."""

from __future__ import annotations

from typing import Any

from onthedot.app.app import App
from onthedot.app.import_export import Imported
from onthedot.errors import FileError

_DOCUMENT = "the document"


def import_known(app: App, document: Any, *, dry_run: bool) -> Imported:
    """Make schedules as an export says, and tell how they differ; `FileError` for a task that nobody has."""
    would = app.schedules.import_document(document, dry_run=True, path=_DOCUMENT)
    _refuse_unknown_tasks(app, document, {*would.created, *(each.name for each in would.changed)})
    return would if dry_run else app.schedules.import_document(document, path=_DOCUMENT)


def _refuse_unknown_tasks(app: App, document: dict[str, Any], names: set[str]) -> None:
    """Over HTTP only what somebody has declared can be scheduled."""
    known = {task.name for task in app.tasks.list()}
    wanted = [each for each in document["schedules"] if each["name"] in names]
    problems = [f"{each['name']}: nobody has the task {each['task']!r}" for each in wanted if each["task"] not in known]
    if problems:
        raise FileError(_DOCUMENT, problems)
