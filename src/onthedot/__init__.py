"""onthedot runs Python functions, shell commands and HTTP calls at the right moment, once, on the right machine."""

from onthedot.errors import (
    DurationError,
    ExtraMissing,
    FileError,
    ForecastTooLarge,
    MomentError,
    OnthedotError,
    TriggerError,
    TriggerTooNew,
)
from onthedot.triggers import Trigger, at, calendar, cron, dates, every

__all__ = [
    "DurationError",
    "ExtraMissing",
    "FileError",
    "ForecastTooLarge",
    "MomentError",
    "OnthedotError",
    "Trigger",
    "TriggerError",
    "TriggerTooNew",
    "at",
    "calendar",
    "cron",
    "dates",
    "every",
]
__version__ = "0.1.0.dev0"
