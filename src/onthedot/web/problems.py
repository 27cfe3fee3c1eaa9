"""Errors as problems of RFC 9457: one table says the status of each, and which of its own values it carries."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from onthedot import errors
from onthedot.app.json_documents import finite

MEDIA_TYPE = "application/problem+json"
_log = logging.getLogger("onthedot.web")


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong, for a program and for a person."""

    status: int
    kind: str
    """One word or two with a dash; the last part of its `type`."""
    detail: str
    values: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """As it is sent."""
        head = {
            "type": f"urn:onthedot:problem:{self.kind}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        return {**finite(dict(self.values)), **head}

    def response(self) -> Response:
        """The answer: in ASCII, since it may show what no other encoding takes."""
        body = json.dumps(self.document(), allow_nan=False).encode("ascii")
        return Response(body, self.status, dict(self.headers), media_type=MEDIA_TYPE)


class Refused(Exception):
    """A request that is refused before anything is asked of the app."""

    def __init__(self, status: int, kind: str, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.problem = Problem(status, kind, detail, headers=headers or {})


@dataclass(frozen=True, slots=True)
class _Row:
    """How one kind of error is told."""

    error: type[errors.OnthedotError]
    status: int
    kind: str
    values: tuple[str, ...] = ()


TABLE = (
    _Row(errors.ValueNotFound, 404, "value-not-found", ("kind", "name", "known")),
    _Row(errors.TriggerTooNew, 422, "trigger-too-new", ("version", "known")),
    _Row(errors.TriggerError, 422, "trigger", ("reason", "text", "column", "hint")),
    _Row(errors.DurationError, 422, "duration"),
    _Row(errors.MomentError, 422, "moment"),
    _Row(errors.FileError, 422, "file", ("path", "problems")),
    _Row(errors.ForecastTooLarge, 422, "forecast-too-large", ("max_runs",)),
    _Row(errors.ArgumentsError, 422, "arguments"),
    _Row(errors.ScheduleNotFound, 404, "schedule-not-found", ("name", "nearest")),
    _Row(errors.TaskNotFound, 422, "task-not-found", ("name",)),
    _Row(errors.RunNotFound, 404, "run-not-found", ("run_id",)),
    _Row(errors.NodeNotFound, 404, "node-not-found", ("node",)),
    _Row(errors.TokenNotFound, 404, "token-not-found", ("name",)),
    _Row(errors.FreezeNotFound, 404, "freeze-not-found", ("name",)),
    _Row(errors.AlertNotFound, 404, "alert-not-found", ("name", "known")),
    _Row(errors.NotFound, 404, "not-found"),
    _Row(errors.SettingsError, 422, "settings"),
    _Row(errors.NotAllowed, 403, "not-allowed"),
    _Row(errors.StaleRevision, 412, "stale-revision", ("name", "expected", "actual")),
    _Row(errors.ValueMoved, 409, "value-moved", ("kind", "name")),
    _Row(errors.Conflict, 409, "conflict"),
    _Row(errors.Clash, 503, "store-busy"),
    _Row(errors.StoreUnavailable, 503, "store-unavailable"),
    _Row(errors.SchemaError, 503, "schema"),
    _Row(errors.DriverMissing, 501, "driver-missing", ("scheme", "package", "extra")),
    _Row(errors.NodeDead, 409, "node-dead", ("node_id",)),
    _Row(errors.StoreError, 503, "store"),
    _Row(errors.ExtraMissing, 501, "extra-missing", ("what", "package", "extra")),
    _Row(errors.OnthedotError, 500, "error"),
)
"""The first that fits counts: those with a parent stand before it."""
_RETRY_S = 5


def problem_of(error: Exception) -> Problem:
    """What is told of an error; of one that nobody foresaw only that it happened, the rest is in the log."""
    match error:
        case Refused():
            return error.problem
        case errors.OnthedotError():
            return _of_ours(error)
        case RequestValidationError():
            wrong = [{"where": list(each["loc"]), "what": _what(each)} for each in error.errors()]
            said = "; ".join(f"{'.'.join(map(str, each['where']))}: {each['what']}" for each in wrong[:3])
            return Problem(422, "request", said, {"errors": wrong})
        case HTTPException(status_code=404):
            return Problem(404, "no-such-path", "nothing is here; /openapi.json tells what is, all of it under /api/v1")
        case HTTPException():
            return Problem(error.status_code, "http", str(error.detail), headers=error.headers or {})
        case _:
            _log.error("a request failed", exc_info=error)
            return Problem(500, "internal", "something went wrong here; the log of the server says what")


_WORDS = {"extra_forbidden": "this field is not known here", "json_invalid": "the body is not JSON"}
"""In place of those of the library that reads requests."""


def _what(wrong: Mapping[str, Any]) -> str:
    return _WORDS.get(wrong["type"], str(wrong["msg"]))


def _of_ours(error: errors.OnthedotError) -> Problem:
    row = next(row for row in TABLE if isinstance(error, row.error))
    values = {name: getattr(error, name) for name in row.values}
    said = str(error)
    match error:
        case errors.TaskNotFound():
            values["nearest"] = get_close_matches(error.name, error.known, n=3)
            said = f"{error.said} Start a node that declares it."
        case errors.TriggerError():
            said = error.line
            if error.column is not None:
                values["column"] = error.column + 1  # as the sentence counts
        case _:
            pass
    headers = {"Retry-After": str(_RETRY_S)} if row.status == 503 else {}
    return Problem(row.status, row.kind, said, values, headers)
