"""Problems of the HTTP API as the errors that they were."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from onthedot import errors
from onthedot.errors import NotAllowed, OnthedotError, StoreUnavailable

_PREFIX = "urn:onthedot:problem:"
Values = Mapping[str, Any]


def _named(kind: Callable[..., OnthedotError], *names: str) -> Callable[[Values], OnthedotError]:
    def make(values: Values) -> OnthedotError:
        given = (values.get(name) for name in names)
        return kind(*(tuple(each) if isinstance(each, list) else each for each in given))

    return make


def _trigger(values: Values) -> OnthedotError:
    column = values.get("column")
    at = None if column is None else column - 1  # people count from one
    return errors.TriggerError(values.get("reason") or values["detail"], values.get("text"), at, values.get("hint"))


_MAKERS: Mapping[str, Callable[[Values], OnthedotError]] = {
    "trigger-too-new": _named(errors.TriggerTooNew, "version", "known"),
    "trigger": _trigger,
    "duration": _named(errors.DurationError, "detail"),
    "moment": _named(errors.MomentError, "detail"),
    "file": _named(errors.FileError, "path", "problems"),
    "forecast-too-large": _named(errors.ForecastTooLarge, "max_runs"),
    "arguments": _named(errors.ArgumentsError, "detail"),
    "schedule-not-found": _named(errors.ScheduleNotFound, "name", "nearest"),
    "task-not-found": _named(errors.TaskNotFound, "name"),
    "run-not-found": _named(errors.RunNotFound, "run_id"),
    "node-not-found": _named(errors.NodeNotFound, "node"),
    "value-not-found": _named(errors.ValueNotFound, "kind", "name", "known"),
    "token-not-found": _named(errors.TokenNotFound, "name"),
    "freeze-not-found": _named(errors.FreezeNotFound, "name"),
    "alert-not-found": _named(errors.AlertNotFound, "name", "known"),
    "not-found": _named(errors.NotFound, "detail"),
    "no-such-path": _named(errors.NotFound, "detail"),
    "settings": _named(errors.SettingsError, "detail"),
    "request": _named(errors.SettingsError, "detail"),
    "not-allowed": _named(NotAllowed, "detail"),
    "value-moved": _named(errors.ValueMoved, "kind", "name"),
    "stale-revision": _named(errors.StaleRevision, "name", "expected", "actual"),
    "conflict": _named(errors.Conflict, "detail"),
    "store-busy": _named(errors.Clash, "detail"),
    "store-unavailable": _named(StoreUnavailable, "detail"),
    "schema": _named(errors.SchemaError, "detail"),
    "driver-missing": _named(errors.DriverMissing, "scheme", "package", "extra"),
    "node-dead": _named(errors.NodeDead, "node_id"),
    "store": _named(errors.StoreError, "detail"),
    "extra-missing": _named(errors.ExtraMissing, "what", "package", "extra"),
    "error": _named(OnthedotError, "detail"),
}
_SPEAKS_ITSELF = (errors.TriggerError, errors.FileError)
"""Their text is made from their values when it is asked for."""


def error_of(document: Values, status: int) -> OnthedotError:
    """The error that a problem tells of, with the words of whoever raised it."""
    kind = str(document.get("type", "")).removeprefix(_PREFIX)
    said = {"detail": f"the server answered {status}", **document}
    maker = _MAKERS.get(kind)
    if maker is None:
        return _of_status(status, str(said["detail"]))
    try:
        made = maker(said)
    except (TypeError, ValueError):  # values that no problem of ours has
        return _of_status(status, str(said["detail"]))
    if not isinstance(made, _SPEAKS_ITSELF):
        made.args = (said["detail"],)
    return made


def _of_status(status: int, detail: str) -> OnthedotError:
    if status == 401:
        return NotAllowed(f"{detail}; here it is given by token= or ONTHEDOT_TOKEN")
    if status == 403:
        return NotAllowed(detail)
    return StoreUnavailable(detail) if status in (429, 502, 503, 504) else OnthedotError(detail)
