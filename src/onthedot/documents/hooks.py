"""What users are told: hooks over events, none of which can stop the work."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onthedot.events import Emitter, Event
from onthedot.storable import clean, shown

_log = logging.getLogger("onthedot.documents")


@dataclass(frozen=True, slots=True)
class Started(Event):
    """This process has begun to look for documents."""


@dataclass(frozen=True, slots=True)
class Stopped(Event):
    """This process works no further document, and has written what became of those it had."""


@dataclass(frozen=True, slots=True)
class Idled(Event):
    """Nothing is due and nothing is worked here; once per idle period."""


@dataclass(frozen=True, slots=True)
class Failed(Event):
    """Something went wrong with a document, or (None) with the store."""

    error: BaseException
    document: Any = None


class Hooks:
    """Any number of functions for each event, called in the thread in which it happened: a start is over before the
    first document is worked. What they raise, `SystemExit` too, is logged.
    """

    def __init__(self) -> None:
        self._emitter = Emitter(self._on_broken_hook)
        self.emit = self._emitter.emit

    def call(self, kind: type[Event], hook: Callable[[], object]) -> None:
        """Call it without arguments."""
        self._emitter.subscribe(kind, lambda _: hook())

    def call_with_error(self, hook: Callable[[BaseException, Any], object]) -> None:
        """Call it with the error and the document, which is None where no document can be blamed."""

        def told(event: Event) -> object:
            assert isinstance(event, Failed)
            return hook(event.error, event.document)

        self._emitter.subscribe(Failed, told)

    def fail(self, error: BaseException, document: Any = None) -> None:
        """Tell it to the log and to who asked."""
        _log.warning(
            "%s: %s", "a document failed" if document is not None else "cannot go on just now", clean(shown(error))
        )
        self.emit(Failed(error, document))

    def _on_broken_hook(self, event: Event, error: BaseException) -> None:
        _log.error("a hook for %s failed", type(event).__name__, exc_info=error)
