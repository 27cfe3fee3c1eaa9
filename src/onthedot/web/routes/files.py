"""Files of schedules: checked, taken out of the store, taken in."""

from __future__ import annotations

from typing import Any

from onthedot.app.app import App
from onthedot.app.files import read_text
from onthedot.app.files.notes import notes_of
from onthedot.app.json_documents import finite, imported_document
from onthedot.errors import FileError
from onthedot.triggers.zones import get_zone
from onthedot.web import models
from onthedot.web.reading import now_ms_of
from onthedot.web.routes.router import ADMIN, OPERATOR, VIEWER, new_router
from onthedot.web.security import TheApp

router = new_router()

_DOCUMENT = "the document"


@router.post("/check", **OPERATOR)
def check(app: TheApp, given: models.FileText) -> models.Checked:
    """What a jobs.toml or a crontab says; 422 with all that is wrong with it. Nothing is kept, nothing imported."""
    zone = given.timezone or "UTC"
    get_zone(zone)
    job_file = read_text(given.text, "the file", system=False, timezone=zone)
    return models.Checked(
        schedules=[entry.name for entry in job_file.entries],
        notes=notes_of(job_file, now_ms_of(app)),
        problems=[str(each) for each in job_file.refused],
    )


@router.get("/export", **VIEWER)
def export(app: TheApp) -> dict[str, Any]:
    """All definitions, with their pauses, as one document that import takes."""
    document: dict[str, Any] = finite(app.schedules.export())
    return document


@router.post("/import", **ADMIN)
def import_document(app: TheApp, document: dict[str, Any], dry_run: bool = False) -> models.Imported:
    """Make schedules as an export says, and tell how they differ; others stay. Their tasks must be known."""
    would = app.schedules.import_document(document, dry_run=True, path=_DOCUMENT)
    _refuse_unknown_tasks(app, document, {*would.created, *(each.name for each in would.changed)})
    done = would if dry_run else app.schedules.import_document(document, path=_DOCUMENT)
    return models.Imported(**finite(imported_document(done)))


def _refuse_unknown_tasks(app: App, document: dict[str, Any], names: set[str]) -> None:
    """Over HTTP only what somebody has declared can be scheduled."""
    known = {task.name for task in app.tasks.list()}
    wanted = [each for each in document["schedules"] if each["name"] in names]
    problems = [f"{each['name']}: nobody has the task {each['task']!r}" for each in wanted if each["task"] not in known]
    if problems:
        raise FileError(_DOCUMENT, problems)
