"""The timeline: what is to come, a square a minute, where it crowds, and what `H` would do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import Request
from starlette.responses import HTMLResponse, PlainTextResponse

from onthedot.app.outlook import notes_on
from onthedot.errors import ExtraMissing, MomentError
from onthedot.model.node import NodeState
from onthedot.moments import END_MS, FIRST_MS, floor_ms, from_ms, iso
from onthedot.web.dashboard import timeline_view as view
from onthedot.web.dashboard.charts import heat, spread, strip
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.dashboard.squares import Square
from onthedot.web.dashboard.zones import Zone, zone_of
from onthedot.web.routes.router import VIEWER
from onthedot.web.snapshot import Snapshot
from onthedot.web.watching import TheWatcher, Watcher

if TYPE_CHECKING:
    from onthedot.forecast.spreading import Spread

router = new_pages()

_MOST_LINES = 50
_MOST_NAMES = 60
_MOST_TAGS = 30


@router.get("/timeline", **VIEWER)
def timeline_page(request: Request, watcher: TheWatcher) -> HTMLResponse:
    """All of it follows from the address: `range`, `at`, `tag`."""
    try:
        values = _values(request, watcher, zone_of(request))
    except ExtraMissing as error:
        return render(request, "no_forecast.html", page="timeline", problem=str(error))
    return render(request, "timeline.html", page="timeline", live="schedules minute", **values)


@router.get("/timeline/lines", **VIEWER)
def lines_page(request: Request, watcher: TheWatcher) -> PlainTextResponse:
    """All new lines of the chosen square, as plain text."""
    found = _values(request, watcher, zone_of(request))["spread"]
    return PlainTextResponse("".join(f"{line}\n" for line in _lines(found)) if found is not None else "")


def _values(request: Request, watcher: Watcher, zone: Zone) -> dict[str, Any]:
    query = request.query_params
    shown = view.RANGES.get(query.get("range", ""), view.RANGES[view.USUAL])
    at_ms, tag = _moment(query.get("at", "")), query.get("tag") or None
    now_ms, planned, snapshot = watcher.now_ms(), watcher.planned(), watcher.snapshot()
    kinds: view.Kinds = request.app.state.dashboard.kinds.of(planned)
    days = strip.days_from(now_ms, zone.at(), view.jumps_in(kinds.zones, now_ms, now_ms + 7 * view.DAY_MS))
    outlook = watcher.outlook() if tag is None else watcher.outlook_tagged(tag, now_ms - view.HOUR_MS, days[-1].end_ms)
    window = view.window_of(shown, now_ms, at_ms, zone.at())
    grid = view.grid_of(shown, window, outlook, now_ms, at_ms)
    rows, busy = heat.rows_of(grid, zone.at()), heat.busiest(grid)
    square = request.app.state.dashboard.squares.tell(grid, outlook, planned, zone.name)
    return {
        "shown": shown,
        "notes": notes_on(kinds.needs, snapshot.nodes, snapshot.schedules.undeclared, now_ms),
        "not_understood": _not_understood(query.get("range", ""), query.get("at", "")),
        "ranges": tuple(view.RANGES.values()),
        "tag": tag,
        "tags": kinds.tags[:_MOST_TAGS],
        "runs": len(outlook.within(now_ms, now_ms + shown.span_ms)),
        "schedules": len(planned) if tag is None else len(outlook.index.names),
        "known_ms": outlook.end_ms if outlook.end_ms < min(window[1], days[-1].end_ms) - view.HOUR_MS else None,
        "sub": view.tell_busiest(busy, zone.at()),
        "grid": grid,
        "heat_svg": heat.draw(grid, f"Runs to come, {shown.square} each square, {shown.row} each row"),
        "rows": rows,
        "sums_svg": heat.draw_sums(rows),
        "tops": (*heat.tops_for(grid.counts), max(grid.counts, default=0)),
        "busy": busy,
        "days": days,
        "strip_svg": strip.draw(days, view.week_counts(outlook, days), window),
        "chosen": None if square is None else square.chosen,
        "can_begin": _can_begin(snapshot),
        "most_names": _MOST_NAMES,
        "iso": iso,
        **_spread(square, zone),
    }


def _spread(square: Square | None, zone: Zone) -> dict[str, Any]:
    """What `H` would do to the chosen square; None where it would do nothing."""
    if square is None or square.spread is None:
        return {"spread": None, "lines": []}
    found = square.spread
    ends = (f"{from_ms(at).astimezone(zone.at()):%H:%M}" for at in square.around_ms)
    return {
        "spread": found,
        "spread_svg": spread.draw(found.as_written, found.with_h, *ends),
        "lines": _lines(found, _MOST_LINES),
        "cut": len(square.chosen.names) > view.MOST_REWRITTEN,
    }


def _lines(found: Spread, most: int | None = None) -> list[str]:
    return [f"{each.name} = {each.after}" for each in found.lines[:most]]


def _can_begin(snapshot: Snapshot) -> int:
    """How many runs nodes can take at once."""
    taking = (node for node in snapshot.nodes if node.state is NodeState.ALIVE and not snapshot.is_silent(node))
    return sum(node.capacity for node in taking)


def _not_understood(range_name: str, at: str) -> list[str]:
    """What of the address nobody knows, a sentence each."""
    found = []
    if range_name and range_name not in view.RANGES:
        found.append(f"There is no range {range_name!r}: a day is shown. There are {', '.join(view.RANGES)}.")
    if at and _moment(at) is None:
        found.append(f"{at!r} is no moment; write it like 2026-12-24T18:00Z.")
    return found


def _moment(text: str) -> int | None:
    """What the address says; nothing where that is no moment."""
    try:
        at_ms = floor_ms(text) if text else None
    except MomentError:
        return None
    return at_ms if at_ms is not None and FIRST_MS <= at_ms < END_MS else None
