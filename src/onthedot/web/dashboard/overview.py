"""The overview: what needs you, the minute, what runs, what comes next, how late things began, and who is there."""

from __future__ import annotations

import json
from typing import Any

from fastapi import Request
from markupsafe import Markup
from starlette.responses import HTMLResponse

from onthedot.app.outlook import StoreOutlook
from onthedot.errors import ExtraMissing
from onthedot.insight.punctuality import Punctuality, tell_punctuality
from onthedot.model.policy import Policy
from onthedot.moments import iso
from onthedot.stores.base import Store
from onthedot.texts import counted
from onthedot.web.dashboard import overview_view as view
from onthedot.web.dashboard.charts import ribbon, ring
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.dashboard.zones import Zone, zone_of
from onthedot.web.routes.router import VIEWER
from onthedot.web.security import TheApp
from onthedot.web.snapshot import Snapshot
from onthedot.web.watching import TheWatcher, Watcher

router = new_pages()

_LIVE = "runs nodes schedules changes minute"
_FIRST_PROGRAM = """from onthedot import App, every

app = App("{store}")


@app.schedule(every("5s"))
def hello():
    print("hello")
"""


@router.get("/", **VIEWER)
def overview_page(request: Request, app: TheApp, watcher: TheWatcher) -> HTMLResponse:
    """Answers first: what needs somebody. Reads the watcher's last look, and asks the store a few small questions."""
    snapshot, store, zone = watcher.snapshot(), app.open_store(), zone_of(request)
    if not snapshot.schedules.total and not snapshot.recent and not snapshot.running:
        return render(
            request, "first_run.html", page="overview", live="schedules nodes", **_first_run(app.url, snapshot)
        )
    needs = request.app.state.dashboard.needs.read(store)
    values = {
        "needs": needs,
        "running": view.running_of(snapshot, len(needs)),
        "names": {node.id: node.name for node in snapshot.nodes},
        "snapshot": snapshot,
        "iso": iso,
        **_minute(store, watcher, snapshot, zone),
        **_hour(store, snapshot, zone, len(needs)),
    }
    return render(request, "overview.html", page="overview", live=_LIVE, **values)


def _first_run(url: str, snapshot: Snapshot) -> dict[str, Any]:
    shown = url if "@" not in url else "postgresql://…"
    return {"program": _FIRST_PROGRAM.format(store=shown), "alive": len(snapshot.nodes)}


def _minute(store: Store, watcher: Watcher, snapshot: Snapshot, zone: Zone) -> dict[str, Any]:
    """The ring, and what comes next."""
    now_ms, outlook = watcher.now_ms(), _outlook(watcher)
    left_out = _left_out(store, snapshot, now_ms, outlook)
    drawn = view.ring_of(snapshot, now_ms, outlook, left_out)
    day = None if outlook is None else len(outlook.within(now_ms, now_ms + view.DAY_MS))
    return {
        "ring": drawn,
        "ring_svg": ring.draw(drawn, zone.at(), zone.name),
        "ring_table": ring.table(drawn, zone.at()),
        "ring_data": _data(ring.document(drawn, zone.at(), zone.name)),
        "ring_sum": ring.summary(drawn),
        "ring_states": ring.legend(drawn),
        "next": view.read_next(store, outlook, snapshot.nodes, now_ms),
        "day_runs": day,
    }


def _left_out(store: Store, snapshot: Snapshot, now_ms: int, outlook: StoreOutlook | None) -> dict[int, int]:
    """Asked only where ticks of the last minute made no run."""
    names = view.missing_names(snapshot, now_ms, outlook)
    if not names or outlook is None:
        return {}
    schedules = store.schedules(names=names, limit=len(names))
    first_ms = (now_ms // 1000 + 1 - ring.SLOTS) * 1000
    ticks = store.ticks([each.id for each in schedules], first_ms=first_ms, last_ms=now_ms)
    return view.left_out_of(ticks, {each.id: each.name for each in schedules}, outlook, first_ms)


def _hour(store: Store, snapshot: Snapshot, zone: Zone, needs: int) -> dict[str, Any]:
    """How punctual runs began, and who was there."""
    now_ms = snapshot.now_ms
    minutes = store.minutes(now_ms - view.HOUR_MS, now_ms)
    died = view.recent_deaths(store.gone_nodes(limit=100), now_ms)
    shown = view.ribbon_of(minutes, now_ms, died)
    grace_ms = Policy().grace_ms
    return {
        "sub": tell_punctuality(Punctuality.of(minutes), needs),
        "ribbon_wide": ribbon.draw(shown, zone.at(), grace_ms=grace_ms, size=ribbon.WIDE),
        "ribbon_narrow": ribbon.draw(shown, zone.at(), grace_ms=grace_ms, size=ribbon.NARROW),
        "hour_runs": counted(sum(each.begun for each in minutes), "run"),
        "nodes": view.nodes_of(snapshot, died),
        "skew": view.skew_text,
    }


def _outlook(watcher: Watcher) -> StoreOutlook | None:
    try:
        return watcher.outlook()
    except ExtraMissing:
        return None


def _data(document: dict[str, Any]) -> Markup:
    """JSON inside a page: nothing in it may end the element that it stands in."""
    return Markup(json.dumps(document, separators=(",", ":")).replace("<", "\\u003c"))
