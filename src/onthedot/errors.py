"""Every error that onthedot raises on purpose.

    OnthedotError
    ├── TriggerError        (ValueError)   a trigger that cannot be read, or can never fire
    │   └── TriggerTooNew                  written by a newer version: left alone, never deleted
    ├── DurationError       (ValueError)   "10 parsecs"
    ├── MomentError         (ValueError)   a naive datetime, or text that is no moment
    ├── FileError           (ValueError)   a crontab or jobs.toml that cannot be read
    ├── ForecastTooLarge    (ValueError)   more runs than the forecast may hold
    ├── ArgumentsError      (TypeError)    arguments that do not fit their task
    ├── NotFound            (LookupError)
    │   ├── ScheduleNotFound
    │   ├── TaskNotFound
    │   ├── RunNotFound
    │   ├── NodeNotFound
    │   ├── TokenNotFound
    │   ├── ValueNotFound                  no calendar, or no trigger, of that name
    │   ├── AlertNotFound
    │   └── FreezeNotFound
    ├── SettingsError                      an unknown setting or option, or a value that it cannot have
    ├── Conflict                           somebody else was first: look again
    │   ├── StaleRevision                  the definition was changed since it was read
    │   └── ValueMoved                     a calendar or trigger was changed just now
    ├── NotAllowed                         no token, or one whose role is not enough
    ├── StoreError
    │   ├── StoreUnavailable               the database does not answer; onthedot tries again by itself
    │   │   └── Clash                      it answers, but only with clashes of this transaction with others
    │   ├── SchemaError                    no tables there, or those of a newer onthedot
    │   ├── DriverMissing                  the package that talks to this database is not installed
    │   └── NodeDead                       this incarnation was declared dead; go on as another
    └── ExtraMissing        (ImportError)  an optional package is not installed

Each carries its values as attributes, and its text says what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Self

_MOST_LISTED = 10


class OnthedotError(Exception):
    """The root: `except OnthedotError` catches all that onthedot raises on purpose."""

    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls, *args)
        made._made_with = args, kwargs
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by what it was made with, since the message is made from that."""
        return _remade, (type(self), *self._made_with)


def _remade(kind: type[OnthedotError], args: tuple[Any, ...], kwargs: dict[str, Any]) -> OnthedotError:
    return kind(*args, **kwargs)


class TriggerError(OnthedotError, ValueError):
    """A trigger that cannot be read, or can never fire.

    `reason` is one line. Where a text was read, `text` is that text and `column` the first character (from 0) that
    could not be honoured; `str()` then shows both, with a caret below it.
    """

    def __init__(
        self, reason: str, text: str | None = None, column: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(reason, text, column, hint)
        self.reason = reason
        self.text = text
        self.column = column
        self.hint = hint

    @property
    def line(self) -> str:
        """The whole message in one line, without the picture."""
        where = "" if self.column is None else f" (column {self.column + 1})"
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.reason}{where}{hint}"

    @property
    def picture(self) -> str:
        """The text with a caret below the column, or nothing where no text was read."""
        if self.text is None or self.column is None:
            return ""
        return f"  {self.text}\n  {' ' * self.column}^"

    def __str__(self) -> str:
        return f"{self.line}\n{self.picture}" if self.picture else self.line


class TriggerTooNew(TriggerError):
    """The trigger was written by a newer version of onthedot; upgrade this node, or leave it to nodes that know it."""

    def __init__(self, version: object, known: int) -> None:
        super().__init__(
            f"trigger codec version {version} is newer than this node's {known}",
            hint="upgrade onthedot here, or leave it to nodes that know it",
        )
        self.version = version
        self.known = known


class DurationError(OnthedotError, ValueError):
    """A duration that cannot be read."""


class MomentError(OnthedotError, ValueError):
    """A moment that cannot be read, or that names no single moment because it lacks a zone."""


class FileError(OnthedotError, ValueError):
    """A file of schedules that cannot be read.

    `problems` are all that is wrong with it, not only the first; each is one line and begins with its place.
    """

    def __init__(self, path: str, problems: Iterable[str]) -> None:
        self.path = path
        self.problems = tuple(problems)
        super().__init__(path, self.problems)

    @property
    def lines(self) -> tuple[str, ...]:
        """Each problem with the file's name before it."""
        return tuple(f"{self.path}: {problem}" for problem in self.problems)

    def __str__(self) -> str:
        return "\n".join(self.lines)


class ForecastTooLarge(OnthedotError, ValueError):
    """The window holds more runs than the forecast may keep in memory."""

    def __init__(self, max_runs: int) -> None:
        super().__init__(f"more than {max_runs:,} runs in this window; shorten it, raise max_runs, or use stream()")
        self.max_runs = max_runs


class ArgumentsError(OnthedotError, TypeError):
    """Arguments that do not fit the task's parameters: refused when they are given, not when it runs."""


class NotFound(OnthedotError, LookupError):
    """Something that was asked for by name or id is not there."""


class ScheduleNotFound(NotFound):
    """No schedule has that name; `nearest` are the names of others that look like it."""

    def __init__(self, name: str, nearest: tuple[str, ...] = (), gone: str | None = None) -> None:
        hint = f" Did you mean {' or '.join(nearest)}?" if nearest else ""
        told = "" if gone is None else f": {gone}"
        super().__init__(f"No schedule named {name!r}{told}.{hint}")
        self.name = name
        self.nearest = nearest


class TaskNotFound(NotFound):
    """No task of that name is known here, nor was one published."""

    def __init__(self, name: str, known: tuple[str, ...] = (), where: str = "") -> None:
        place = f"{where}: no" if where else "No"
        self.said = f"{place} task named {name!r}.{_known(name, known)}"
        """Without the remedy, which is another where no Python is written."""
        super().__init__(f"{self.said} Import its module before start, or pass unchecked=True.")
        self.name = name
        self.known = known


def _known(name: str, known: tuple[str, ...]) -> str:
    """What there is instead: the nearest, or the first of them all."""
    near = get_close_matches(name, known, n=1)
    if near:
        return f" Did you mean {near[0]}?"
    more = f" and {len(known) - _MOST_LISTED:,} more" if len(known) > _MOST_LISTED else ""
    return f" Known: {', '.join(known[:_MOST_LISTED])}{more}." if known else ""


class RunNotFound(NotFound):
    """No run has that id, or it was pruned."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"No run {run_id}; it never was, or its history has been pruned.")
        self.run_id = run_id


class NodeNotFound(NotFound):
    """No node, or no live one, has that id or name."""

    def __init__(self, node: str, names: Iterable[str] = (), *, live: bool = True) -> None:
        known, what = ", ".join(names), "live node" if live else "node"
        super().__init__(
            f"No {what} {node}." + (f" There are: {known}." if known else " `onthedot nodes list` shows them.")
        )
        self.node = node


class ValueNotFound(NotFound):
    """No calendar, or no trigger, has that name; `known` are the names that there are."""

    def __init__(self, kind: str, name: str, known: tuple[str, ...] = (), where: str = "") -> None:
        place = f"{where}: no" if where else "No"
        remedy = f' Put it first: app.{kind}s.put("{name}", …), or onthedot {kind}s put.' if where else ""
        super().__init__(f"{place} {kind} named {name!r}.{_known(name, known)}{remedy}")
        self.kind = kind
        self.name = name
        self.known = known


class TokenNotFound(NotFound):
    """No token has that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"No token named {name!r}. `onthedot tokens list` shows them.")
        self.name = name


class FreezeNotFound(NotFound):
    """No freeze has that name, or it was thawed."""

    def __init__(self, name: str, known: tuple[str, ...] = ()) -> None:
        there = _known(name, known) or " `onthedot freezes list` shows them."
        super().__init__(f"No freeze named {name!r}.{there}")
        self.name = name


class AlertNotFound(NotFound):
    """No schedule and no app has an alert of that name."""

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        self.name, self.known = name, tuple(known)
        near = f" Did you mean {' or '.join(self.known)}?" if self.known else " No schedule has any."
        super().__init__(f"No alert named {name!r}.{near} `onthedot alerts list` shows them.")


class SettingsError(OnthedotError):
    """An unknown setting or option, or a value that it cannot have."""


class Conflict(OnthedotError):
    """Somebody else changed it first: look again, then decide."""


class StaleRevision(Conflict):
    """The definition is of another revision than the one that was to be changed; 0 where there is none."""

    def __init__(self, name: str, expected: int, actual: int) -> None:
        there = f"is at revision {actual}" if actual else "does not exist"
        wanted = f"not {expected}" if expected else "and was to be new"
        super().__init__(f"{name!r} {there}, {wanted}: look at it again, then decide.")
        self.name = name
        self.expected = expected
        self.actual = actual


class ValueMoved(Conflict):
    """A calendar or a named trigger was changed while a schedule was put that uses it: once more, with the new one."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"{kind} {name!r} was changed just now: try again.")
        self.kind = kind
        self.name = name


class NotAllowed(OnthedotError):
    """The HTTP API wants a token, or one with another role."""


class StoreError(OnthedotError):
    """The store could not do what was asked."""


class StoreUnavailable(StoreError):
    """The database does not answer, or answers only with clashes."""


class Clash(StoreUnavailable):
    """A transaction clashed again and again, with others or with what is there, and left nothing behind."""


class SchemaError(StoreError):
    """The tables of the store are not there, or not those that this version of onthedot knows."""


class DriverMissing(StoreError):
    """The package that talks to this database is not installed."""

    def __init__(self, scheme: str, package: str, extra: str) -> None:
        super().__init__(f"{scheme}:// needs {package}, which is not installed: pip install 'onthedot[{extra}]'")
        self.scheme = scheme
        self.package = package
        self.extra = extra


class NodeDead(StoreError):
    """This incarnation of a node was declared dead: it may not plan, start, renew or record any more."""

    def __init__(self, node_id: str) -> None:
        super().__init__(f"node {node_id} is not alive in the store: it must stop its runs and join anew")
        self.node_id = node_id


class ExtraMissing(OnthedotError, ImportError):
    """An optional package is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs {package}, which is not installed: pip install 'onthedot[{extra}]'")
        self.what = what
        self.package = package
        self.extra = extra
