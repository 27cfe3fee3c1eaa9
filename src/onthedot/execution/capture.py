"""What is said inside a run is kept with it: records of the `logging` module and, where it is asked, prints."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, TextIO

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


@contextmanager
def prints_kept() -> Iterator[None]:
    """In the block what a task prints is kept with its run, and printed; so it is in processes for tasks."""
    printed = sys.stdout
    keep_prints()
    in_children.append(keep_prints)
    try:
        yield
    finally:
        in_children.remove(keep_prints)
        sys.stdout = printed


def keep_prints() -> None:
    """From now on, in this process."""
    sys.stdout = _Stdout(sys.stdout)


in_children: list[Callable[[], object]] = []
"""What a process for tasks does first, as it was done here; they can be pickled."""


class _Stdout:
    """A stream that also keeps what is written inside a run; all else is asked of the one that it was."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        context = entered()
        if context is not None and isinstance(text, str):
            context.write(text)
        return self._stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


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
