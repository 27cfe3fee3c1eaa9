"""Files of schedules: checked, taken out of the store, taken in."""

from __future__ import annotations

from typing import Any

from onthedot.app.files import read_text
from onthedot.app.files.notes import notes_of
from onthedot.app.json_documents import finite, imported_document
from onthedot.triggers.zones import get_zone
from onthedot.web import models
from onthedot.web.importing import import_known
from onthedot.web.reading import now_ms_of
from onthedot.web.routes.router import ADMIN, OPERATOR, VIEWER, new_router
from onthedot.web.security import TheApp

router = new_router()


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
    return models.Imported(**finite(imported_document(import_known(app, document, dry_run=dry_run))))
