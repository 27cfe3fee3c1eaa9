"""Events as records of the standard `logging` module, for programs that start their node themselves."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable

from onthedot.app.telemetry.event_text import document, level_of, told
from onthedot.clock import Clock
from onthedot.events import NAMES, Event

LOGGER = "onthedot.events"


def event_logger(logger: logging.Logger, store: str, log_format: str, clock: Clock) -> Callable[[Event], None]:
    """A subscriber that makes one record of each event: its text or its JSON as the message, its values beside it.

    The record has the event's name as `event` and its JSON values as `values`, for formatters and filters.
    """

    def log(event: Event) -> None:
        level = level_of(event)
        if not logger.isEnabledFor(level):
            return
        values = document(event, clock.now_ms())
        word, text = told(event, store)
        message = json.dumps(values, ensure_ascii=False) if log_format == "json" else f"{word} {text}"
        logger.log(level, "%s", message, extra={"event": NAMES[type(event)], "values": values})

    return log
