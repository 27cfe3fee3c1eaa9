"""Who plans and runs: leases, clocks, load; who died lately, and what the doctor says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request
from markupsafe import Markup
from starlette.responses import HTMLResponse

from onthedot.insight.node_history import labels_of
from onthedot.insight.pool_use import PoolUse
from onthedot.model.change import Change
from onthedot.model.minute import Minute
from onthedot.model.node import SKEW_LABEL, ZONES_LABEL, Node, NodeState
from onthedot.web.dashboard.addresses import Addresses
from onthedot.web.dashboard.charts.lease import clock_needle, lease_ring, skew_text
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.dashboard.prose import prose
from onthedot.web.dashboard.stage import stage_of
from onthedot.web.dashboard.state import Dashboard
from onthedot.web.dashboard.zones import zone_of
from onthedot.web.routes.router import VIEWER
from onthedot.web.security import TheApp

router = new_pages()

_LATELY_MS = 86_400_000
_MOST_GONE = 5
_MOST_SHARES = 12
_HOUR_MS = 3_600_000
_FORGOTTEN = "nodes no longer known"


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node as the page shows it."""

    node: Node
    name: str
    state: str
    """alive, draining, expired or dead."""
    pools: Sequence[PoolUse]
    """Those that anything goes to."""
    lease: Markup
    needle: Markup
    skew: str
    skewed: bool
    taken_over: tuple[Change, ...] = ()
    """Of a dead one: what became of its runs."""

    @property
    def about(self) -> str:
        """Roles and group, in one line."""
        group = "" if self.node.group is None else f"group {self.node.group}"
        return " · ".join(part for part in (", ".join(self.node.roles), group) if part)

    @property
    def zones(self) -> str:
        """The version of its time zone data."""
        return self.node.labels.get(ZONES_LABEL, "")

    @property
    def running(self) -> int:
        """How many runs it has."""
        return sum(each.running for each in self.pools)


@router.get("/nodes", **VIEWER)
def nodes_page(request: Request, app: TheApp) -> HTMLResponse:
    """All that live, and those that died within a day."""
    dashboard: Dashboard = request.app.state.dashboard
    store = app.open_store()
    now_ms, live = store.now_ms(), app.nodes.list()
    pools = app.nodes.pools()
    gone = app.nodes.gone(200)
    dead = [each for each in gone if is_recent_death(each, now_ms)][:_MOST_GONE]
    lines = app.schedules.changes(limit=200).items if dead else ()
    views = [view_of(each, pools.get(each.id, ()), now_ms, labels_of(live)) for each in live]
    return render(
        request,
        "nodes.html",
        page="nodes",
        live="nodes runs",
        nodes=views,
        gone=[gone_view(each, lines) for each in dead],
        heading=heading(views, len(dead)),
        room=sum(pool.free for each in views if each.state == "alive" for pool in each.pools),
        examination=dashboard.examination.read(store),
        say=lambda text: prose(text, Addresses.of(request), now_ms, zone_of(request).at()),
        shares=shares(store.minutes(now_ms - _HOUR_MS, now_ms), {each.id: each.name for each in (*live, *gone)}),
        stage=stage_of(request),
    )


def is_recent_death(node: Node, now_ms: int) -> bool:
    """Whether it died within the last day."""
    return node.state is NodeState.DEAD and node.renewed_ms > now_ms - _LATELY_MS


def view_of(node: Node, pools: Iterable[PoolUse], now_ms: int, names: Mapping[str, str]) -> NodeView:
    """A node that is not gone."""
    state = "expired" if node.expired(now_ms) else str(node.state)
    skew = _skew_of(node)
    return NodeView(
        node,
        names.get(node.id, node.name),
        state,
        [each for each in pools if each.is_needed],
        lease_ring(0 if node.expired(now_ms) else node.renewed_ms + node.lease_ms, node.lease_ms, now_ms),
        clock_needle(skew),
        "" if skew is None else skew_text(skew),
        skew is not None and abs(skew) >= 1000,
    )


def gone_view(node: Node, lines: Iterable[Change]) -> NodeView:
    """One that died, with what was taken over from it."""
    taken = tuple(each for each in lines if each.after.get("node_id") == node.id and "run" in each.after)
    return NodeView(node, node.name, "dead", (), lease_ring(0, node.lease_ms, 0), Markup(""), "", False, taken)


def _skew_of(node: Node) -> int | None:
    try:
        return int(node.labels[SKEW_LABEL])
    except (KeyError, ValueError):  # of an older version, or of somebody else's making
        return None


def heading(views: Sequence[NodeView], died: int) -> tuple[str, str]:
    """The finding, and what it is made of."""
    taking = sum(each.state == "alive" for each in views)
    drain, silent = (sum(each.state == state for each in views) for state in ("draining", "expired"))
    parts = [_some(drain, "drains", "drain"), _some(silent, "is silent", "are silent"), _some(died, "died", "died")]
    told = ", ".join(part for part in parts if part)
    if not views:
        return "None is alive: nothing will run", f"{told.capitalize()} within the last day." if told else ""
    if taking == 0:
        return "No node takes runs: nothing will run", f"{told.capitalize()}."
    everybody = len(views) + died
    finding = f"{taking:,} of {everybody:,} nodes take runs" if taking < everybody else _all(taking)
    return finding, f"{told.capitalize()}." if told else ""


def _all(taking: int) -> str:
    words = {1: "One node takes runs", 2: "Both nodes take runs"}
    return words.get(taking, f"All {taking:,} nodes take runs")


def _some(number: int, one: str, many: str) -> str:
    return "" if number == 0 else f"one {one}" if number == 1 else f"{number:,} {many}"


@dataclass(frozen=True, slots=True)
class Share:
    """How much of the work one node did."""

    name: str
    runs: int
    part: float
    """Of what the busiest did."""


def shares(minutes: Iterable[Minute], names: Mapping[str, str]) -> list[Share]:
    """Who began what in these minutes, the busiest first; incarnations of one name together, and those that are
    forgotten."""
    begun: Counter[str] = Counter()
    for each in minutes:
        begun[names.get(each.node_id, _FORGOTTEN)] += each.begun
    most = max(begun.values(), default=0) or 1
    return [Share(name, count, count / most) for name, count in begun.most_common(_MOST_SHARES)]
