"""`app.alerts` over HTTP."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.app.alerts import Alerts
from onthedot.app.remote.connection import Connection, Document
from onthedot.app.remote.values import ms, of_onthedot, run_of
from onthedot.insight.alerts import AlertStanding, ScheduleAlert
from onthedot.model.alert import Alert, Told
from onthedot.model.run import Run


class RemoteAlerts(Alerts):
    """Each call is one request."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._open_store = connection.no_store

    def list(self) -> Sequence[AlertStanding]:
        return [_standing(each) for each in self._connection.get("alerts").all("alerts")]

    def of(self, schedule: str) -> Sequence[ScheduleAlert]:
        return [_of_schedule(each) for each in self._connection.get("schedules", schedule, "alerts").all("alerts")]

    def test(self, name: str) -> Run:
        return run_of(self._connection.post("alerts", name, "test"))


@of_onthedot
def _standing(said: Document) -> AlertStanding:
    schedules, failing, late = (tuple(said[key]) for key in ("schedules", "failing", "late"))
    return AlertStanding(Alert.from_json(said), schedules, failing, late, ms(said["sent_at"]), said["held_back"])


@of_onthedot
def _of_schedule(said: Document) -> ScheduleAlert:
    told = Told(ms(said["sent_at"]), said["held_back"], said["is_failing"], said["is_late"])
    return ScheduleAlert(Alert.from_json(said), told, said["bad_ends"])
