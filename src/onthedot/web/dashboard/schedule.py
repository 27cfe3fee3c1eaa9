"""A placeholder: the page is built elsewhere."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import HTMLResponse

from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.routes.router import VIEWER

router = new_pages()


@router.get("/schedules/{name}", **VIEWER)
def schedule_page(request: Request) -> HTMLResponse:
    """Not yet."""
    return render(request, "soon.html", page="schedules")
