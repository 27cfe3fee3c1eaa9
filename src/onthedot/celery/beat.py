"""The scheduler of `celery beat -S onthedot`: a shell around an ordinary node, of which there may be any number.

Celery's own heap is not used: it sends whatever its claim says, forgets what could not be sent, and counts from the
local clock. What Celery asks of a scheduler is answered here, and the node does the work.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from threading import Event
from typing import Any, TypeVar

from celery.beat import ScheduleEntry
from celery.beat import Scheduler as CeleryScheduler
from celery.schedules import BaseSchedule
from celery.utils.log import get_logger

from onthedot.app.app import App
from onthedot.celery.brokers import labels_of
from onthedot.celery.entries import TAG
from onthedot.celery.jobs import jobs_of
from onthedot.celery.settings import settings_of
from onthedot.errors import OnthedotError
from onthedot.model.schedule import Schedule
from onthedot.moments import from_ms
from onthedot.stores.open import mask_url
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import decode

T = TypeVar("T")

_LOOK_S = 1.0
_log = get_logger(__name__)


class Scheduler(CeleryScheduler):  # type: ignore[misc]  # Celery has no types
    """Named `onthedot` for `-S`. Settings: `onthedot_store`, `onthedot_on_doubt`, `onthedot_defaults`."""

    max_interval = 5
    """Seconds between two looks at the node's health; unless the app says otherwise."""

    jobs: App | None = None
    """What plans and sends; None until the schedule is set up."""

    def __init__(self, app: Any, *args: Any, lazy: bool = False, **kwargs: Any) -> None:
        if lazy:  # for the banner, which would show a traceback of what is told here
            _unless_refused(lambda: (settings_of(app), labels_of(app)))
        super().__init__(app, *args, lazy=lazy, **kwargs)

    def setup_schedule(self) -> None:
        """Declare the entries of the app. What is wrong with them or the settings ends the beat, in one line."""
        jobs = _unless_refused(lambda: jobs_of(self.app))
        _unless_refused(lambda: jobs.open_store(create=True))
        self.jobs = jobs

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Start the node when called first, so after any fork; come back while it is healthy, and not before: then
        `celery inspect ping` finds this beat silent."""
        jobs = self._set_up()
        if jobs.runner is None:
            try:
                jobs.start()
            except OnthedotError as error:
                _log.error("onthedot: %s", error)
                return float(self.max_interval)
        self._wait_for_health(jobs)
        return float(self.max_interval)

    def _wait_for_health(self, jobs: App) -> None:
        runner, told = jobs.runner, False
        while runner is not None and not runner.is_healthy:
            if runner.is_drained:
                raise SystemExit(0)
            if not told:
                _log.error("onthedot: this beat waits: %s", "; ".join(runner.problems()))
            told = True
            Event().wait(_LOOK_S)
        if runner is not None and runner.is_drained:
            raise SystemExit(0)

    def _set_up(self) -> App:
        if self.jobs is None:
            self.setup_schedule()
        assert self.jobs is not None
        return self.jobs

    # what Celery would have its heap, and its file, for

    def get_schedule(self) -> dict[str, ScheduleEntry]:
        """Every schedule in the store that came from Celery, with when it was last due: a view, which may be stale."""
        if self.jobs is None:
            return {}
        page = self.jobs.schedules.list(tag=TAG, limit=1000)
        return {each.name: self._entry(each) for each in page}

    def set_schedule(self, schedule: object) -> None:
        """Nothing: schedules are changed by `onthedot`, or in the app's configuration."""

    schedule = property(get_schedule, set_schedule)

    def _entry(self, schedule: Schedule) -> ScheduleEntry:
        told = schedule.args
        last = schedule.last_run_ms
        return self.Entry(
            name=schedule.name,
            task=told.get("task"),
            args=told.get("args"),
            kwargs=told.get("kwargs"),
            options=told.get("options"),
            schedule=_Stored(decode(schedule.trigger), self.app),
            last_run_at=None if last is None else from_ms(last),
            total_run_count=schedule.planned_runs,
            app=self.app,
        )

    def sync(self) -> None:
        """Nothing: what happened is in the store already."""

    def close(self) -> None:
        """Drain: what is being sent is sent, and the others go on without this beat."""
        jobs, self.jobs = self.jobs, None
        if jobs is not None:
            jobs.stop()
            jobs.close()
        super().close()

    @property
    def info(self) -> str:
        """A line of the banner."""
        return f"    . store -> {mask_url(settings_of(self.app).store)}"


class _Stored(BaseSchedule):  # type: ignore[misc]
    """A trigger of ours, for those who look at entries."""

    def __init__(self, trigger: Trigger, app: Any) -> None:
        super().__init__(app=app)
        self._trigger = trigger

    def is_due(self, last_run_at: datetime) -> tuple[bool, float | None]:
        """Never by itself: the node decides. When it will be, in seconds."""
        coming = self._trigger.next(self.now())
        return False, None if coming is None else (coming - self.now()).total_seconds()

    def __repr__(self) -> str:
        return str(self._trigger)


def _unless_refused(act: Callable[[], T]) -> T:
    """What it gives; what is wrong ends the beat in one line, without the traceback that Celery would log."""
    try:
        return act()
    except OnthedotError as error:
        raise SystemExit(f"onthedot: {error}") from None
