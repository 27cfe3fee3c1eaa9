"""Freezes: windows in which no tick of certain schedules becomes a run."""

from __future__ import annotations

from onthedot.app.json_documents import freeze_document
from onthedot.web import models
from onthedot.web.reading import now_ms_of
from onthedot.web.routes.router import OPERATOR, VIEWER, new_router
from onthedot.web.security import TheApp

router = new_router()


@router.get("/freezes", **VIEWER)
def list_freezes(app: TheApp) -> models.Freezes:
    """Those to come, those that last, and for a month those that are over."""
    now_ms = now_ms_of(app)
    return models.Freezes(freezes=[models.Freeze(**freeze_document(each, now_ms)) for each in app.freezes.list()])


@router.put("/freezes/{name}", **OPERATOR)
def put_freeze(app: TheApp, name: str, wanted: models.NewFreeze) -> models.Freeze:
    """Freeze schedules; the same name again is another window instead."""
    where = None if wanted.where is None else wanted.where.model_dump(exclude_none=True)
    kept = app.freezes.put(name, wanted.start, wanted.end, where=where)
    return models.Freeze(**freeze_document(kept, now_ms_of(app)))


@router.delete("/freezes/{name}", status_code=204, **OPERATOR)
def thaw(app: TheApp, name: str) -> None:
    """It ends now, or never begins; what it left out is not caught up."""
    app.freezes.thaw(name)
