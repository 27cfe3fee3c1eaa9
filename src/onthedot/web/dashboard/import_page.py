"""Take schedules in from a document: first what would differ, then the act."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from starlette.responses import HTMLResponse

from onthedot.app.import_export import Imported
from onthedot.errors import FileError
from onthedot.texts import counted
from onthedot.web.dashboard.acts import done
from onthedot.web.dashboard.forms import TheForm, read_json
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.importing import import_known
from onthedot.web.routes.router import ADMIN
from onthedot.web.security import TheApp

router = new_pages()

_MOST_SHOWN = 100


@router.get("/import", **ADMIN)
def import_page(request: Request) -> HTMLResponse:
    """An empty field."""
    return _page(request, "")


@router.post("/import", **ADMIN)
def import_schedules(request: Request, app: TheApp, form: TheForm) -> Response:
    """Look first: `do=import` writes, everything else only says what would differ."""
    text = form["document"]
    try:
        document = read_json(text)
        found = import_known(app, document, dry_run=form["do"] != "import")
    except ValueError as error:
        return _page(request, text, problems=[f"this is no JSON: {error}"], status=422)
    except FileError as error:
        return _page(request, text, problems=[str(each) for each in error.problems], status=422)
    if not found.written:
        return _page(request, text, found)
    return done(request, f"Imported: {_told(found)}", to="/schedules")


def _told(found: Imported) -> str:
    return f"{counted(len(found.created), 'schedule')} created, {len(found.changed):,} changed"


def _page(
    request: Request, text: str, found: Imported | None = None, problems: list[str] | None = None, status: int = 200
) -> HTMLResponse:
    values: dict[str, Any] = {"document": text, "found": found, "problems": problems or [], "most": _MOST_SHOWN}
    return render(request, "import.html", status, page="schedules", **values)
