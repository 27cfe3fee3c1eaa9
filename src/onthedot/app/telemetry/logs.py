"""Events as records of the standard `logging` module, for programs that start their node themselves.

    onthedot.node        start and stop, a lost lease, what went wrong in a loop
    onthedot.runs        the end of a run, a retry, a failure with its traceback
    onthedot.schedules   ticks and runs that were left out, schedules that were parked
    onthedot.task.NAME   what a run of the task says: `ctx.log`

There are no handlers here: where a program configures nothing, Python shows what is a WARNING or worse.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Hashable
from dataclasses import fields
from threading import Lock
from types import TracebackType

from onthedot.app.telemetry.event_text import document, error_line, error_place, level_of, told
from onthedot.app.telemetry.repeats import Repeats, Told
from onthedot.clock import Clock
from onthedot.errors import OnthedotError
from onthedot.events import (
    NAMES,
    TOPICS,
    BatchPlanned,
    Emitter,
    Event,
    Failure,
    Idle,
    Misfired,
    OutcomeRefused,
    Parked,
    Paused,
    RunEnded,
    RunFinished,
    RunRetried,
    RunSkipped,
    RunStarted,
    Stopping,
)
from onthedot.hooks import LAST_WORDS_MS, Hook, drain

LOGGER = "onthedot.events"

_node, _runs, _schedules = (logging.getLogger(f"onthedot.{name}") for name in ("node", "runs", "schedules"))
_LOGGERS: dict[type[Event], logging.Logger] = {
    RunRetried: _runs,
    RunEnded: _runs,
    OutcomeRefused: _runs,
    RunSkipped: _schedules,
    Misfired: _schedules,
    Parked: _schedules,
    Paused: _schedules,
}
"""The others are of the node."""
_NOT_LOGGED = {RunStarted, RunFinished}
"""These cost something for each run; who wants them asks for them with `log_events`."""
_ONLY_TIME = {BatchPlanned, Idle}
"""Of these only the moment matters: what was held back may be told now."""


class EventLog:
    """Makes records while it is on. They are written in a thread of their own: handlers are the user's, and may block.

    A failure that repeats is one record a minute, with the number of those that were left out.
    """

    def __init__(self, emitter: Emitter, clock: Clock) -> None:
        self._clock = clock
        self._store = ""
        self.is_on = False
        self._lock = Lock()
        self._repeats: Repeats[Event] = Repeats()
        self._hook: Hook[Told[Event]] = Hook(self._write, lambda item, error: None)
        for kind in set(TOPICS.values()) - _NOT_LOGGED:
            emitter.subscribe(kind, self._note, wants_all=self._wants_all)

    def begin(self, store: str) -> None:
        """From now on; `store` is the store's address as it may be shown."""
        self._store, self.is_on = store, True

    def end(self) -> None:
        """No more; what was held back is told now. Waits a while until all is written."""
        self.is_on = False
        with self._lock:
            self._put(self._repeats.rest())
        drain([self._hook], LAST_WORDS_MS)

    def after_fork(self) -> None:
        """Off, and nothing held back: the node was the parent's, and so is what it has to tell."""
        self._store, self.is_on = "", False
        self._lock, self._repeats = Lock(), Repeats()

    def _wants_all(self) -> bool:
        return self.is_on and _runs.isEnabledFor(logging.INFO)

    def _note(self, event: Event) -> None:
        if not self.is_on:
            return
        level, now_ms = level_of(event), self._clock.monotonic_ms()
        says = type(event) not in _ONLY_TIME and _logger_of(event).isEnabledFor(level)
        with self._lock:
            if says and level >= logging.WARNING and not isinstance(event, Stopping):
                self._put(self._repeats.note(_cause(event), event, now_ms))
                return
            self._put(self._repeats.over(now_ms))
            if says:
                self._put([Told(event)])

    def _put(self, items: list[Told[Event]]) -> None:
        for item in items:
            self._hook.put(item)

    def _write(self, item: Told[Event]) -> None:
        event = item.item
        logger, level = _logger_of(event), level_of(event)
        word, text = told(event, self._store)
        more = f" (and {item.left_out:,} more like it, left out)" if item.left_out else ""
        extra = {
            "event": NAMES[type(event)],
            "values": document(event, self._clock.now_ms()),
            "left_out": item.left_out,
        }
        message = f"{word} {text}{more}"
        record = logger.makeRecord(logger.name, level, __file__, 0, "%s", (message,), _raised(event), None, extra)
        record.exc_text = _traceback(event)
        logger.handle(record)


def _logger_of(event: Event) -> logging.Logger:
    return _LOGGERS.get(type(event), _node)


def _raised(event: Event) -> tuple[type[BaseException], BaseException, TracebackType | None] | None:
    """What went wrong in a loop; an error of ours says what to do, and needs no traceback."""
    if not isinstance(event, Failure) or isinstance(event.error, OnthedotError):
        return None
    return type(event.error), event.error, event.error.__traceback__


def _traceback(event: Event) -> str | None:
    """What formatters show below the message: of a run that has failed for good, all that is known of its error."""
    if isinstance(event, RunEnded) and event.error is not None and "\n" in event.error.strip():
        return event.error.rstrip()
    return None


def _cause(event: Event) -> Hashable:
    """What two events have in common if the second tells nothing new."""
    kind = type(event)
    match event:
        case RunEnded() | RunRetried():
            error = event.error or ""
            return kind, event.task, event.outcome, error_place(error), error_line(error).partition(":")[0]
        case RunSkipped():
            return kind, event.task, event.schedule, event.reason
        case Failure():
            return kind, event.stage, type(event.error)
        case _:
            named = ("schedule", "reason", "stage", "path", "node_id", "runs")
            return kind, *(getattr(event, each.name) for each in fields(event) if each.name in named)


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
