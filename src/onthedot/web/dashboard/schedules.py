"""The list of schedules: found, sorted, picked."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import HTMLResponse

from onthedot.texts import counted, many
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.dashboard.schedule_filter import Filter, not_understood, read_filter
from onthedot.web.dashboard.schedule_list import Part, SchedulePage, Standing, count_parts, read_page
from onthedot.web.routes.router import VIEWER
from onthedot.web.security import TheApp

router = new_pages()

_SORTS = (("need", "by need"), ("name", "by name"), ("next", "by next"))
_MARKS = {"failing": "failed", "leaving_out": "skipped"}
_ORDERS = {"need": "by need, then by name", "name": "by name", "next": "by their next moment"}

Text = Annotated[str, Query(max_length=1000)]


@router.get("/schedules", **VIEWER)
def schedules_page(
    request: Request, app: TheApp, *, q: Text = "", state: Text = "", tag: Text = "", task: Text = "", sort: Text = "",
    cursor: Text = "",
) -> HTMLResponse:  # fmt: skip
    """A page of them."""
    store = app.open_store()
    wanted = read_filter(q, state, tag, task, sort)
    standing = request.app.state.dashboard.standing.read(store)
    page = read_page(store, wanted, cursor, standing)
    is_counted = not page.rows and (cursor or len(wanted.parts()) > 1)  # else it is known: nothing has it
    parts = count_parts(store, wanted, standing.failing) if is_counted else []
    return render(
        request,
        "schedules.html",
        page="schedules",
        live="schedules runs",
        finding=_finding(standing, wanted),
        total=standing.counts.total,
        wanted=wanted,
        facets=_facets(standing, wanted),
        marks=_MARKS,
        sorts=_SORTS,
        rows=page.rows,
        cursor=page.cursor,
        first=not cursor,
        shown=_shown(page, wanted),
        parts=parts,
        parts_told=_parts_told(parts),
        asked=" ".join(word for word, _ in wanted.parts()),
        not_understood=not_understood(state, sort),
    )


def _finding(standing: Standing, wanted: Filter) -> str:
    """The heading: what there is to know, before anything is read."""
    total, parked, failing = standing.counts.total, standing.counts.parked, len(standing.failing.names)
    if not total:
        return "Nothing is scheduled yet"
    all_of_them = f"{many(total)} schedule{'' if total == 1 else 's'}"
    cannot = f"{many(parked)} cannot be planned" if parked else ""
    failed = (
        f"{many(failing)}{'' if standing.failing.is_whole else ' or more'} failed in the last day" if failing else ""
    )
    undeclared = f"{many(standing.counts.undeclared)} undeclared" if standing.counts.undeclared else ""
    told = [each for each in (cannot, undeclared, failed) if each]
    found = ", ".join(told[:-1]) + (" and " if told[1:] else "") + "".join(told[-1:]) or "none failed in the last day"
    return f"{all_of_them}: {found}"


def _facets(standing: Standing, wanted: Filter) -> list[tuple[str, str | None, int]]:
    """Words, states and counts; one without any is left out, except the first two and what is asked for."""
    counts = standing.counts
    all_of_them: list[tuple[str, str | None, int]] = [
        ("All", None, counts.total),
        ("Active", "active", counts.active),
        ("Failed, 24 h", "failing", len(standing.failing.names)),
        ("Left out, 24 h", "leaving_out", counts.leaving_out),
        ("Paused", "paused", counts.paused),
        ("Frozen now", "frozen", counts.frozen),
        ("Parked", "parked", counts.parked),
        ("Undeclared", "undeclared", counts.undeclared),
        ("Ended", "ended", counts.ended),
    ]
    return [each for each in all_of_them if each[2] or each[1] in (None, "active", wanted.state)]


def _shown(page: SchedulePage, wanted: Filter) -> str:
    of_all = f" of {many(page.standing.counts.total)}" if wanted.is_any else ""
    return f"{len(page.rows)}{of_all}: {_ORDERS[wanted.sort]}"


def _parts_told(parts: list[Part]) -> str:
    """ "37 have the tag, 1 is parked, none is both": what to drop."""
    if len(parts) < 2:
        return "Nothing has it."
    each = [f"{counted(part.count, 'schedule')}{' or more' if part.is_more else ''} for {part.word}" for part in parts]
    return f"{', '.join(each)}; none for all of it."
