"""WHEN? Triggers are pure values: they take moments and return moments."""

from onthedot.triggers.at import at
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import decode, encode
from onthedot.triggers.cron.trigger import cron
from onthedot.triggers.dates import calendar, dates
from onthedot.triggers.every import every
from onthedot.triggers.named import named

__all__ = ["Trigger", "at", "calendar", "cron", "dates", "decode", "encode", "every", "named"]
