"""`/runs`: what ran, runs and waits, newest first; chosen by state, schedule, task, node and time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fastapi import Request
from starlette.responses import HTMLResponse

from onthedot.app.app import App
from onthedot.app.page import Page
from onthedot.insight.explain import words_of
from onthedot.insight.node_history import NodeHistory, read_nodes
from onthedot.model.minute import Minute
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.tracebacks import telling_line
from onthedot.moments import from_ms
from onthedot.stores.base import Store
from onthedot.stores.counts import LATE_MS, RunCounts
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.own_zones import own_zones
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.dashboard.run_filters import FACETS, SPANS, Filters, read_filters
from onthedot.web.dashboard.zones import zone_of
from onthedot.web.routes.router import VIEWER
from onthedot.web.security import TheApp

router = new_pages()

SHOWN = 40
_HOUR_MS = 3_600_000
_WRONG = ("failed", "timed_out", "lost")
_ENDS = {"node_died": "its node died", "node_stopped": "its node stopped", "handed_back": "its node handed it back"}
_WAITS_FOR = {
    "slot": "for another run of it to end",
    "limit": "for a place of its limit",
    "resume": "until it is resumed",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One run as the list shows it."""

    run: Run
    node: str
    """What people call it; empty where none has it."""
    note: str
    """What failed, how far it is, or what it waits for, in one line."""
    own: str | None
    """The zone of its schedule."""

    @property
    def is_late(self) -> bool:
        """Whether that is worth a colour."""
        return (self.run.lateness_ms or 0) > LATE_MS


@router.get("/runs", **VIEWER)
def runs_page(request: Request, app: TheApp, cursor: str | None = None) -> HTMLResponse:
    """A page of them; the address says which."""
    store = app.open_store()
    now_ms, zone = store.now_ms(), zone_of(request)
    filters = read_filters(request.query_params, now_ms, zone.at())
    nodes = read_nodes(store, now_ms)
    if filters.node and not (nodes.knows(filters.node) or store.runs(node=filters.node, limit=1)):
        filters = replace(filters, wrong=(*filters.wrong, f"No node named {filters.node!r} is remembered."))
    page, counts = _page(app, filters, cursor), store.count_runs()
    zones = own_zones(store, page.items) if zone.kind == "own" else {}
    is_all = not filters.any and not filters.wrong and cursor is None
    return render(
        request,
        "runs.html",
        422 if filters.wrong else 200,
        page="runs",
        live="runs",
        filters=filters,
        facets=FACETS,
        spans=SPANS,
        heading=_at_large(store, counts, now_ms) if is_all else _heading(filters, page),
        lines=[_line(run, nodes, zones.get(run.schedule or "")) for run in page],
        cursor=page.cursor,
        live_counts=counts,
        is_first=cursor is None,
    )


def _page(app: App, filters: Filters, cursor: str | None) -> Page[Run]:
    """None where the filters cannot be understood."""
    if filters.wrong:
        return Page([])
    is_late = filters.state == "late"
    return app.runs.list(
        schedule=filters.schedule or None,
        task=filters.task or None,
        node=filters.node or None,
        parent=filters.parent or None,
        step=filters.step or None,
        steps=filters.has_steps,
        state=None if is_late or not filters.state else filters.state,
        late=is_late,
        since=None if filters.since_ms is None else from_ms(filters.since_ms),
        until=None if filters.until_ms is None else from_ms(filters.until_ms),
        cursor=cursor,
        limit=SHOWN,
    )


# the finding


def _heading(filters: Filters, page: Page[Run]) -> str:
    if filters.wrong:
        return "These filters cannot be understood"
    return filters.finding(len(page), page.cursor is not None)


def _at_large(store: Store, counts: RunCounts, now_ms: int) -> str:
    """What is under way, and how the last hour went."""
    under_way = f"{counts.running:,} under way" if counts.running else "Nothing is under way"
    waits = f"{counts.waiting:,} {'waits' if counts.waiting == 1 else 'wait'}" if counts.waiting else ""
    hour = _of_the_hour(store.minutes(now_ms - _HOUR_MS, now_ms))
    return ", ".join(filter(None, [under_way, waits])) + (f"; {hour}" if hour else "")


def _of_the_hour(minutes: Iterable[Minute]) -> str:
    ended: dict[str, int] = {}
    for minute in minutes:
        for state, count in minute.listed.items():
            ended[state] = ended.get(state, 0) + count
    total, wrong = sum(ended.values()), sum(ended.get(state, 0) for state in _WRONG)
    if not total:
        return ""
    if not wrong:
        return f"{'the one' if total == 1 else f'all {total:,}'} of the last hour went well"
    return f"{wrong:,} of the last hour's {total:,} failed"


# one line


def _line(run: Run, nodes: NodeHistory, own: str | None) -> Line:
    return Line(run, "" if run.owner is None else nodes.name(run.owner), _note(run), own)


def _note(run: Run) -> str:
    match run.state:
        case State.RUNNING:
            asked = "asked to stop" if run.cancel_requested_ms is not None else ""
            return asked or (run.progress or "").replace("%", " %", 1)
        case State.WAITING:
            return _waits(run)
        case State.SUCCEEDED:
            return ""
        case _:
            return words_of(run.reason) if run.reason else telling_line(run.error)


def _waits(run: Run) -> str:
    what, _, name = (run.waits_for or "").partition(":")
    told = f"for {name} to succeed" if what == "success" else _WAITS_FOR.get(what, "")
    if told or not run.earlier:
        return told
    last = run.earlier[-1]
    return f"{last.error or _ENDS.get(last.outcome or '', last.outcome)}; it will be tried again"
