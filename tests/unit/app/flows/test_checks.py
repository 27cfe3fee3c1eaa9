"""What no flow may be, where it takes more than one to be so."""

from __future__ import annotations

from typing import Any

import pytest

from onthedot import App, Conflict, Flow, SettingsError, every
from onthedot.app.flows.checks import refuse_shared_limit


def an_app() -> tuple[App, Any]:
    app = App("memory://")

    @app.task
    def tidy() -> None: ...

    return app, tidy


def nested(app: App, innermost: Any, deep: int) -> Flow[...]:
    inner = innermost
    for number in range(deep):
        outer = app.flow(f"flow-{number}")
        outer.step(inner)
        inner = outer
    flow: Flow[...] = inner
    return flow


def test_flows_are_called_in_flows_five_deep_and_no_deeper() -> None:
    app, tidy = an_app()
    assert len(nested(app, tidy, 5).graphs) == 5
    app, tidy = an_app()
    with pytest.raises(SettingsError, match="flows are called in flows 6 deep; the most is 5"):
        nested(app, tidy, 6).graph  # noqa: B018


def test_a_limit_that_a_flow_shares_with_a_step_deep_in_it_is_refused() -> None:
    app, _ = an_app()

    @app.task(limit="db:4")
    def load() -> None: ...

    outer = nested(app, load, 3)
    refuse_shared_limit(outer, "mail")
    with pytest.raises(SettingsError, match="flow 'flow-2' and its step 'load' share the limit 'db'"):
        refuse_shared_limit(outer, "db")
    with pytest.raises(SettingsError, match="share the limit 'db'"):
        app.schedules.define(_put(outer, limit="db:9"))


def test_a_limit_that_a_subflow_is_given_where_it_is_called_counts_for_its_steps() -> None:
    app, _ = an_app()

    @app.task(limit="db:4")
    def load() -> None: ...

    inner = nested(app, load, 1)
    outer = app.flow("outer")
    outer.step(inner, limit="db:2")
    with pytest.raises(SettingsError, match="flow 'flow-0' and its step 'load' share the limit 'db'"):
        outer.graph  # noqa: B018


def test_a_flow_is_not_declared_inside_another() -> None:
    app, tidy = an_app()

    def outer() -> None:
        @app.flow
        def inner() -> None:
            tidy()

    with pytest.raises(SettingsError, match="flow 'inner' is declared inside another"):
        app.flow(outer)


def test_a_task_and_a_flow_cannot_have_one_name() -> None:
    app, tidy = an_app()
    app.flow("etl").step(tidy)
    with pytest.raises(Conflict, match="a flow is named 'etl' too"):
        app.task(name="etl")(tidy.function)
    with pytest.raises(SettingsError, match="begins with '@'"):
        app.task(name="@etl")(tidy.function)


def test_a_schedule_of_a_flow_carries_its_graph_and_what_belongs_to_steps_is_refused() -> None:
    app, tidy = an_app()
    flow = app.flow("etl")
    flow.step(tidy)
    defined = app.schedules.define(_put(flow))
    assert (defined.task, defined.kind, defined.graph) == ("@etl", "flow", flow.graph.hash)
    with pytest.raises(SettingsError, match="etl: retries belongs to the steps of a flow"):
        app.schedules.define(_put(flow, retries=3))
    with pytest.raises(SettingsError, match="etl: a flow needs the store: leave out mode='local'"):
        app.schedules.define(_put(flow, mode="local"))


def _put(flow: Flow[...], **options: Any) -> Any:
    from onthedot.app.schedules import Put

    return Put(flow.name, flow, every("1h"), None, options)
