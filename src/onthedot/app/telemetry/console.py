"""Records of the standard `logging` module, in one line each on stderr, as `onthedot run` shows them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from onthedot.execution.capture import in_children
from onthedot.execution.context import entered
from onthedot.moments import from_ms, iso


@contextmanager
def records_shown(log_format: str) -> Iterator[None]:
    """In the block, also in processes for tasks; but where the program has configured `logging`, that counts alone."""
    root = logging.getLogger()
    if root.handlers:
        yield
        return
    show = partial(show_records, log_format)
    handler = show()
    in_children.append(show)
    try:
        yield
    finally:
        in_children.remove(show)
        root.removeHandler(handler)


def show_records(log_format: str) -> logging.Handler:
    """From now on, in this process; what does it."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if log_format == "json" else Lines())
    handler.addFilter(_is_shown_by_nobody_else)
    logging.getLogger().addHandler(handler)
    return handler


def _is_shown_by_nobody_else(record: logging.LogRecord) -> bool:
    """Whether no logger on the way to the root has a handler of its own."""
    logger: logging.Logger | None = logging.getLogger(record.name)
    while logger is not None and logger.parent is not None:
        if logger.handlers:
            return False
        logger = logger.parent
    return True


class Lines(logging.Formatter):
    """When, the level, and whose record it is: a run's, or a logger's. A traceback stands below."""

    def format(self, record: logging.LogRecord) -> str:
        context = entered()
        whose = (
            record.name if context is None else f"{context.schedule or context.run.task} (run {context.run_id[-12:]})"
        )
        at = from_ms(int(record.created * 1000))
        return f"{at:%Y-%m-%d %H:%M:%S}Z {record.levelname:<9} {whose}: {super().format(record)}"


class JsonLines(logging.Formatter):
    """One JSON document: `at`, `event` (it is "log"), `level`, `logger`, `text`, and the run that says it."""

    def format(self, record: logging.LogRecord) -> str:
        context = entered()
        said: dict[str, str | None] = {
            "at": iso(int(record.created * 1000)),
            "event": "log",
            "level": record.levelname,
            "logger": record.name,
            "text": super().format(record),
        }
        if context is not None:
            said |= {"run_id": context.run_id, "task": context.run.task, "schedule": context.schedule}
        return json.dumps(said, ensure_ascii=False)
