"""`app.alerts`: who is told when schedules go wrong, what has been told, and trying it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches

from onthedot.app.alerting import TOLD, AppAlerts
from onthedot.app.schedules import Schedules
from onthedot.errors import AlertNotFound
from onthedot.insight.alerts import AlertStanding, ScheduleAlert, alerts_of, read_alerts
from onthedot.model.alert import Alert, AlertState
from onthedot.model.change import Author
from onthedot.model.ids import new_id
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.moments import iso
from onthedot.stores.base import Store


class Alerts:
    """May be called from any process that can reach the store."""

    def __init__(
        self, open_store: Callable[[], Store], schedules: Schedules, declared: AppAlerts, by: Callable[[str], Author]
    ) -> None:
        self._open_store = open_store
        self._schedules = schedules
        self._declared = declared
        self._by = by

    def list(self) -> Sequence[AlertStanding]:
        """All that schedules have, each once, with what it has told; those that tell of something now come first."""
        return read_alerts(self._open_store())

    def of(self, schedule: str) -> Sequence[ScheduleAlert]:
        """Those of one schedule, with what each has told of it."""
        found = self._schedules.get(schedule)
        state = self._open_store().alert_states([found.id]).get(found.id, AlertState())
        return alerts_of(found, state)

    def test(self, name: str) -> Run:
        """Send an alert now, to see that it arrives: a run of its task, which says that it is only a test.

        `AlertNotFound` if neither a schedule nor this app has one of that name.
        """
        store = self._open_store()
        known = {each.alert.name: each.alert for each in reversed(self.list())}
        known |= {each.name: each for each in self._declared.all()}
        if name not in known:
            raise AlertNotFound(name, tuple(get_close_matches(name, known, n=2)) or tuple(sorted(known)[:5]))
        now_ms = store.now_ms()
        published = next((each.policy for each in store.tasks() if each.name == known[name].task), {})
        return store.enqueue([_test_of(known[name], Policy.from_json(published), now_ms)], by=self._by("test"))[0]


def _test_of(alert: Alert, policy: Policy, now_ms: int) -> Run:
    told = {**dict.fromkeys(TOLD), "in_a_row": 0, "held_back": 0, "missed": 0}
    text = f"this is a test of the alert {alert.name}: nothing is wrong"
    args = {**told, "alert": alert.name, "on": "test", "schedule": "", "moment": iso(now_ms), "text": text}
    return Run(
        id=new_id(now_ms),
        task=alert.task,
        cause="alert",
        scheduled_ms=now_ms,
        due_ms=now_ms,
        args=args,
        policy=policy,
        created_ms=now_ms,
    )
