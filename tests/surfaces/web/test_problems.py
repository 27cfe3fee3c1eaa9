"""Every error of ours has a status and carries its own values."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from tests.surfaces.web.client import Client, kind_of

from onthedot import errors
from onthedot.web.problems import TABLE, problem_of

E = errors
CASES: list[tuple[errors.OnthedotError, int, dict[str, Any]]] = [
    (E.TriggerError("bad", "30 2 * * 8", 9, "0-7"), 422, {"text": "30 2 * * 8", "column": 10, "hint": "0-7"}),
    (E.TriggerTooNew(9, 1), 422, {"version": 9, "known": 1}),
    (E.DurationError("10 parsecs"), 422, {}),
    (E.MomentError("no zone"), 422, {}),
    (E.FileError("jobs.toml", ["a", "b"]), 422, {"path": "jobs.toml", "problems": ("a", "b")}),
    (E.ForecastTooLarge(10), 422, {"max_runs": 10}),
    (E.ArgumentsError("no such"), 422, {}),
    (E.NotFound("gone"), 404, {}),
    (E.ScheduleNotFound("nihgtly", ("nightly",)), 404, {"name": "nihgtly", "nearest": ("nightly",)}),
    (E.TaskNotFound("reprot", ("report",)), 422, {"name": "reprot", "nearest": ["report"]}),
    (E.RunNotFound("r"), 404, {"run_id": "r"}),
    (E.NodeNotFound("n"), 404, {"node": "n"}),
    (E.ValueNotFound("calendar", "ed", ("de",)), 404, {"kind": "calendar", "name": "ed", "known": ("de",)}),
    (E.TokenNotFound("t"), 404, {"name": "t"}),
    (E.FreezeNotFound("xmas"), 404, {"name": "xmas"}),
    (E.AlertNotFound("opps", ("ops",)), 404, {"name": "opps", "known": ("ops",)}),
    (E.SettingsError("no option"), 422, {}),
    (E.NotAllowed("admin is needed"), 403, {}),
    (E.Conflict("first"), 409, {}),
    (E.ValueMoved("calendar", "de"), 409, {"kind": "calendar", "name": "de"}),
    (E.StaleRevision("nightly", 1, 2), 412, {"name": "nightly", "expected": 1, "actual": 2}),
    (E.StoreError("odd"), 503, {}),
    (E.StoreUnavailable("away"), 503, {}),
    (E.Clash("again"), 503, {}),
    (E.SchemaError("old"), 503, {}),
    (E.DriverMissing("redis", "redis", "redis"), 501, {"package": "redis", "extra": "redis"}),
    (E.NodeDead("n"), 409, {"node_id": "n"}),
    (E.ExtraMissing("forecast", "numpy", "forecast"), 501, {"what": "forecast", "extra": "forecast"}),
    (E.OnthedotError("odd"), 500, {}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: type(case[0]).__name__)
def test_each_error_is_a_problem_with_its_values(case: tuple[errors.OnthedotError, int, dict[str, Any]]) -> None:
    error, status, values = case
    problem = problem_of(error)
    document = problem.document()
    assert (problem.status, document["status"]) == (status, status)
    if not isinstance(error, E.TaskNotFound):  # whose remedy is another over HTTP
        assert document["detail"].splitlines() == str(error).splitlines()[: len(document["detail"].splitlines())]
    assert {name: document[name] for name in values} == {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }
    assert (problem.headers.get("Retry-After") is not None) == (status == 503)


def test_no_error_was_forgotten() -> None:
    every = {each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, errors.OnthedotError)}
    assert {type(error) for error, _, _ in CASES} == every == {row.error for row in TABLE}


def test_what_nobody_foresaw_is_told_to_the_log_only(caplog: pytest.LogCaptureFixture) -> None:
    document = problem_of(KeyError("secret")).document()
    assert document["status"] == 500
    assert "secret" not in str(document)
    assert "secret" in caplog.text


def test_what_is_wrong_with_a_request_is_told_with_its_place(admin: Client) -> None:
    answer = admin.post("/schedules", {"name": "a", "task": "report", "trigger": "every 1h", "tirgger": 1})
    assert (answer.status_code, kind_of(answer)) == (422, "request")
    assert answer.json()["errors"] == [{"where": ["body", "tirgger"], "what": "this field is not known here"}]


def test_unknown_paths_and_methods_are_problems_too(admin: Client) -> None:
    assert (admin.get("/nothing").status_code, kind_of(admin.get("/nothing"))) == (404, "no-such-path")
    assert admin.ask("DELETE", "/healthz").status_code == 405


def test_a_problem_is_told_in_words_for_whoever_writes_http(admin: Client) -> None:
    unknown = admin.post("/runs", {"task": "nope"}).json()["detail"]
    assert unknown.startswith("No task named 'nope'.")
    assert unknown.endswith("Start a node that declares it.")
    assert "/openapi.json" in admin.get("/nothing").json()["detail"]
