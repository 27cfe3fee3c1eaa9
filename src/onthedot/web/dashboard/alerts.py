"""Who is told when schedules go wrong, what has been told, and trying it out."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request, Response
from starlette.responses import HTMLResponse

from onthedot.insight.alerts import AlertStanding
from onthedot.model.alert import Alert
from onthedot.model.run import Run
from onthedot.web.dashboard.acts import done
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.moments import duration
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.dashboard.tasks import who_has
from onthedot.web.dashboard.toast import Undo
from onthedot.web.routes.router import OPERATOR, VIEWER
from onthedot.web.security import TheApp

router = new_pages()

_NAMED = 5
_LATELY = 20


@router.get("/alerts", **VIEWER)
def alerts_page(request: Request, app: TheApp) -> HTMLResponse:
    """All alerts of schedules, and the last that were sent."""
    standings, nodes = app.alerts.list(), app.nodes.list()
    tasks = sorted({each.alert.task for each in standings})
    return render(
        request,
        "alerts.html",
        page="alerts",
        live="runs schedules",
        alerts=standings,
        unable={task for task in tasks if not who_has(task, nodes)},
        rule=rule_of,
        most=_NAMED,
        telling=[each for each in standings if each.is_open],
        wrong=_wrong(standings),
        sent=_sent(app, tasks),
    )


@router.post("/alerts/{name}/test", **OPERATOR)
def send_test(request: Request, app: TheApp, name: str) -> Response:
    """Send it now; it says that it is only a test."""
    run = app.alerts.test(name)
    undo = Undo(f"/runs/{run.id}/cancel", {"reason": "only a test"}, "Cancel it")
    return done(request, f"A test of {name} is on its way", undo, to="/alerts")


def rule_of(alert: Alert) -> str:
    """When it is sent, for people."""
    words = {"failure": "a failure" if alert.after == 1 else f"{alert.after} bad ends in a row"}
    words |= {"recovery": "a recovery", "misfire": "ticks left out", "overdue": "no success"}
    if alert.overdue_ms is not None:
        words["overdue"] += f" for {duration(alert.overdue_ms)}"
    return ", ".join(words[kind] for kind in alert.on)


def _wrong(standings: Sequence[AlertStanding]) -> int:
    """How many schedules something is told of now."""
    return len({name for each in standings for name in (*each.failing, *each.overdue)})


def _sent(app: TheApp, tasks: Sequence[str]) -> list[Run]:
    """The last alerts, newest first."""
    found = [run for task in tasks for run in app.open_store().runs(task=task, limit=_LATELY) if run.cause == "alert"]
    return sorted(found, key=lambda run: run.id, reverse=True)[:_LATELY]
