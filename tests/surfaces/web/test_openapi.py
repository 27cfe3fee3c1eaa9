"""Whatever the OpenAPI document allows, and much that it does not, is answered: no answer is a fault of ours."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.generation import GenerationMode
from tests.surfaces.web.client import Callers, Client

from onthedot import App, every
from onthedot.model.node import Node
from onthedot.web.routes import ROUTES

EXAMPLES = 8
"""Of each route and kind; when a route is new more are of use."""
_WITHOUT_END = "/api/v1/events"
_MODES = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]


@pytest.fixture
def known(app: App, callers: Callers) -> Client:
    """An admin of a store with something in it."""
    app.schedules.put("nightly", "report", every("1h"), tags=["mail"])
    app.open_store().join(Node("n1", "web", lease_ms=10**9), app.tasks.infos())
    app.enqueue("report")
    return callers.admin


@pytest.mark.filterwarnings("default")  # those of the library that asks
@pytest.mark.parametrize("mode", _MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize(
    "route", [each for each in ROUTES if each.path != _WITHOUT_END], ids=lambda each: each.unique_id
)
def test_no_request_is_answered_with_a_fault_of_ours(known: Client, route: Any, mode: GenerationMode) -> None:
    (method,) = route.methods
    schema = schemathesis.openapi.from_asgi("/openapi.json", known.web)
    operation = schema[route.path][method]
    bearer = {"Authorization": f"Bearer {known.token}"}

    @seed(1)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        answer = case.call(headers=bearer)
        assert answer.status_code < 500, (case.as_curl_command(), answer.text)

    with suppress(Unsatisfiable):  # a route without parameters cannot be asked wrongly
        ask()


def test_each_route_tells_its_role_and_that_it_may_answer_with_a_problem(known: Client) -> None:
    document = known.ask("GET", "/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            assert said["x-role"], (method, path)
            assert {"4XX", "5XX"} <= set(said["responses"]), (method, path)
