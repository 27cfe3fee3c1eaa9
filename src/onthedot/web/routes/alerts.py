"""Who is told when schedules go wrong."""

from __future__ import annotations

from onthedot.app.json_documents import alert_document, schedule_alert_document
from onthedot.web import models
from onthedot.web.reading import run_model
from onthedot.web.routes.router import OPERATOR, VIEWER, new_router
from onthedot.web.security import TheApp

router = new_router()


@router.get("/alerts", **VIEWER)
def list_alerts(app: TheApp) -> models.Alerts:
    """All alerts of schedules, with what each has told; those that tell of something now come first."""
    return models.Alerts(alerts=[models.Alert(**alert_document(each)) for each in app.alerts.list()])


@router.post("/alerts/{name}/test", **OPERATOR)
def try_alert(app: TheApp, name: str) -> models.Run:
    """Send an alert now, to see that it arrives; it says that it is only a test. The run that sends it."""
    return run_model(app.alerts.test(name))


@router.get("/schedules/{name}/alerts", **VIEWER)
def alerts_of(app: TheApp, name: str) -> models.ScheduleAlerts:
    """The alerts of one schedule, with what each has told of it."""
    found = [models.ScheduleAlert(**schedule_alert_document(each)) for each in app.alerts.of(name)]
    return models.ScheduleAlerts(name=name, alerts=found)
