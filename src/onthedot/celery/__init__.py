"""Celery: schedules that send to its workers, from any number of beats at once.

celery -A proj beat -S onthedot       beat, as many as you like; workers, tasks and broker stay as they are
sender(app, celery_app)               the same for a program of your own: a task that sends
CeleryEngine(celery_app)              runs that its workers execute, with their results: app.engine("workers", …)
Once                                  a base for tasks: of a message that was sent twice, one begins
"""

from __future__ import annotations

try:
    import celery as _celery
except ModuleNotFoundError as error:
    if error.name != "celery":
        raise
    from onthedot.errors import ExtraMissing

    raise ExtraMissing("onthedot.celery", "celery", "celery") from None

from onthedot.celery.beat import Scheduler
from onthedot.celery.engine import CeleryEngine
from onthedot.celery.messages import message
from onthedot.celery.once import Once
from onthedot.celery.sending import sender, task_id_of

__all__ = ["CeleryEngine", "Once", "Scheduler", "message", "sender", "task_id_of"]

del _celery
