"""Who changed what: the audit, newest first, by cursor."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import HTMLResponse

from onthedot.web.dashboard.change_lines import line_of
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.routes.router import VIEWER
from onthedot.web.security import TheApp

router = new_pages()

_PAGE = 50


@router.get("/changes", **VIEWER)
def changes_page(request: Request, app: TheApp, name: str = "", cursor: str = "") -> HTMLResponse:
    """Of all, or of one schedule."""
    found = app.schedules.changes(name or None, cursor=cursor or None, limit=_PAGE + 1).items
    return render(
        request,
        "changes.html",
        page="changes",
        live="changes",
        lines=[line_of(each) for each in found[:_PAGE]],
        name=name,
        cursor=cursor,
        next=found[_PAGE - 1].id if len(found) > _PAGE else None,
    )
