"""The task that sends: a message for each run, under an id that follows from the run's. Sent twice, it is the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

from celery.beat import BeatLazyFunc
from kombu.exceptions import EncodeError

from celery import Celery
from onthedot.app.app import App
from onthedot.app.tasks import Task
from onthedot.celery.brokers import broker_of
from onthedot.celery.messages import unpacked
from onthedot.errors import SettingsError
from onthedot.execution.context import Context, GiveUp, WorkFailed
from onthedot.moments import iso
from onthedot.storable import brief

if TYPE_CHECKING:
    from celery.result import AsyncResult

TASK = "celery"
"""The name of the task that sends."""
RUN, SCHEDULED_AT, ATTEMPT = "onthedot_run", "onthedot_scheduled_at", "onthedot_attempt"
"""Headers of what is sent."""
GIVEN = "onthedot_given"
"""One more, of what an engine sends: it differs where one attempt is sent twice."""
SENDING = {
    "overlap": "concurrent",
    "retries": 20,
    "backoff": "1s",
    "max_backoff": "1m",
    "timeout": "1m",
}
"""How runs that send are treated: a broker that is away for a quarter of an hour costs no message."""
_IDS = UUID("6f6e7468-6564-6f74-8000-63656c657279")


def task_id_of(run_id: str) -> str:
    """The id under which a run's message is sent, however often."""
    return str(uuid5(_IDS, run_id))


def sender(app: App, celery_app: Celery, *, name: str = TASK, **options: Any) -> Task[..., dict[str, str]]:
    """Register a task that sends to the workers of a Celery app; what it is to send are its arguments (`message`).

    An error of the broker fails the run, which is tried again up to 20 times. Options are those of `app.task`.
    """
    if not isinstance(celery_app, Celery):
        raise SettingsError(f"sender: {brief(celery_app)} is no Celery app")
    return app.task(name=name, **{**SENDING, **options})(Sender(celery_app).send)


class Sender:
    """Sends through an app's own pool of producers, from any number of threads."""

    def __init__(self, celery_app: Celery) -> None:
        self._app = celery_app

    def send(
        self,
        context: Context,
        *,
        task: str,
        args: list[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
        entry: str | None = None,
        lazy: list[Any] | None = None,
    ) -> dict[str, str]:
        """Send a message to the workers of a Celery app: the task's name, its arguments and how it travels."""
        places, names = unpacked(args or []), unpacked(kwargs or {})
        for place in lazy or ():
            (places if isinstance(place, int) else names)[place] = self._called(entry, place)
        travel = unpacked(options or {})
        run = context.run
        told = headers_of(run.id, run.attempt, iso(run.scheduled_ms), by_schedule=run.schedule is not None)
        travel["headers"] = {**(travel.get("headers") or {}), **told}
        task_id = task_id_of(context.run_id)
        try:
            sending_of(self._app, task)(places, names, task_id=task_id, **travel)
        except (TypeError, EncodeError) as error:  # which no repeat would mend
            raise GiveUp(f"{task} cannot be sent so: {error}") from None
        except Exception as error:
            said = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise WorkFailed(f"{broker_of(self._app)} did not take {task}: {said}") from None
        return {"task_id": task_id}

    def _called(self, entry: str | None, place: int | str) -> Any:
        """What a `BeatLazyFunc` gives now: of the entry as this process has it, since a function cannot be kept.

        Where it has none, another beat may: they do not all have the same code while a new version is rolled out.
        """
        told = self._app.conf.beat_schedule.get(entry) or {}
        values: Any = told.get("args" if isinstance(place, int) else "kwargs") or ()
        try:
            function = values[place]
        except (IndexError, KeyError):
            function = None
        if not isinstance(function, BeatLazyFunc):
            raise WorkFailed(f"beat_schedule[{entry!r}] of this beat has no BeatLazyFunc at {place!r}; deploy it anew")
        return function()


def sending_of(celery_app: Celery, task: str) -> Callable[..., AsyncResult]:
    """As beat does: a task that is known here by its own options, any other by its name."""
    known = celery_app.tasks.get(task)
    if known is not None:
        by_task: Callable[..., AsyncResult] = known.apply_async
        return by_task
    return lambda *args, **options: celery_app.send_task(task, *args, **options)


def headers_of(run_id: str, attempt: int, scheduled_at: str, *, by_schedule: bool) -> Mapping[str, Any]:
    """What a message says of its run."""
    of_beat = {"celery_beat_task": True} if by_schedule else {}
    return {**of_beat, RUN: run_id, SCHEDULED_AT: scheduled_at, ATTEMPT: attempt}
