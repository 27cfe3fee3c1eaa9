"""onthedot runs Python functions, shell commands and HTTP calls at the right moment, once, on the right machine."""

import importlib
import typing

from onthedot.errors import (
    ArgumentsError,
    Conflict,
    DurationError,
    ExtraMissing,
    FileError,
    ForecastTooLarge,
    MomentError,
    NotFound,
    OnthedotError,
    RunNotFound,
    ScheduleNotFound,
    SettingsError,
    StoreError,
    StoreUnavailable,
    TaskNotFound,
    TriggerError,
    TriggerTooNew,
)
from onthedot.triggers import Trigger, at, calendar, cron, dates, every, named

if typing.TYPE_CHECKING:
    from onthedot.app.alerting import alert
    from onthedot.app.app import App
    from onthedot.app.calendar_sources import holidays_of, ics
    from onthedot.app.flows.flow import Flow
    from onthedot.app.flows.references import item
    from onthedot.app.tasks import Task
    from onthedot.execution.context import Context, GiveUp, Retry, Skip, current
    from onthedot.model.alert import Alert
    from onthedot.model.run import Run
    from onthedot.model.schedule import Schedule

__all__ = [
    "Alert",
    "App",
    "ArgumentsError",
    "Conflict",
    "Context",
    "DurationError",
    "ExtraMissing",
    "FileError",
    "Flow",
    "ForecastTooLarge",
    "GiveUp",
    "MomentError",
    "NotFound",
    "OnthedotError",
    "Retry",
    "Run",
    "RunNotFound",
    "Schedule",
    "ScheduleNotFound",
    "SettingsError",
    "Skip",
    "StoreError",
    "StoreUnavailable",
    "Task",
    "TaskNotFound",
    "Trigger",
    "TriggerError",
    "TriggerTooNew",
    "alert",
    "at",
    "calendar",
    "cron",
    "current",
    "dates",
    "every",
    "holidays_of",
    "ics",
    "item",
    "named",
]
__version__ = "0.1.0.dev0"

# What needs more than triggers is imported when it is first asked for: `onthedot next` should not wait for asyncio.
_LATER = {
    "App": "onthedot.app.app",
    "Flow": "onthedot.app.flows.flow",
    "item": "onthedot.app.flows.references",
    "alert": "onthedot.app.alerting",
    "Task": "onthedot.app.tasks",
    "Context": "onthedot.execution.context",
    "GiveUp": "onthedot.execution.context",
    "Retry": "onthedot.execution.context",
    "Skip": "onthedot.execution.context",
    "current": "onthedot.execution.context",
    "Alert": "onthedot.model.alert",
    "Run": "onthedot.model.run",
    "Schedule": "onthedot.model.schedule",
    "holidays_of": "onthedot.app.calendar_sources",
    "ics": "onthedot.app.calendar_sources",
}


def __getattr__(name: str) -> typing.Any:
    if name not in _LATER:
        raise AttributeError(f"module 'onthedot' has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)
