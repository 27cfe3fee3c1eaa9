"""Who changed what: the audit, newest first, by cursor."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import HTMLResponse

from onthedot.storable import can_be_kept
from onthedot.stores.base import Change
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
    wanted = name or None
    found: list[Change] = []
    if wanted is None or can_be_kept(wanted):
        found = app.open_store().changes(name=wanted, before=cursor or None, limit=_PAGE + 1)
    more = len(found) > _PAGE
    return render(
        request,
        "changes.html",
        page="changes",
        live="changes",
        lines=[line_of(each) for each in found[:_PAGE]],
        name=name,
        cursor=cursor,
        next=found[_PAGE - 1].id if more else None,
    )
