"""What the standard `logging` module records inside a run is kept with the run."""

from __future__ import annotations

import logging
import traceback
from threading import Lock
from typing import Any

from onthedot.execution.context import entered
from onthedot.storable import shown

_installing = Lock()
_installed = False


def capture_logging() -> None:
    """From now on, in this process. Doing it twice is doing it once.

    Done where records are made and not with a handler: a handler at the root would keep `basicConfig`, and the warnings
    that Python prints where nothing is configured, from working.
    """
    global _installed  # noqa: PLW0603  (the record factory is of the whole process too)
    with _installing:
        if _installed:
            return
        _installed = True
        make_record = logging.getLogRecordFactory()

        def make_and_keep(*args: Any, **kwargs: Any) -> logging.LogRecord:
            record = make_record(*args, **kwargs)
            context = entered()
            if context is not None:
                context.keep(shown(record.levelname), _text(record))
            return record

        logging.setLogRecordFactory(make_and_keep)


def _text(record: logging.LogRecord) -> str:
    """What is said, whatever the message and its arguments are: they are the user's own, and may raise."""
    try:
        text = record.getMessage()
    except Exception:  # the message does not fit its arguments: logging says so itself, where it prints it
        text = shown(record.msg)
    if record.exc_info and record.exc_info[1] is not None:
        text += "\n" + _traceback(record.exc_info[1])
    return text


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error)).rstrip()
    except Exception:
        return shown(error)
