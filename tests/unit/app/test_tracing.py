"""One trace from where a run is asked for to its outcome, on whichever node that is."""

from __future__ import annotations

import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.patience import LONGEST

from onthedot import App, ExtraMissing, every

_exporter = InMemorySpanExporter()


@pytest.fixture(scope="module", autouse=True)
def _provider() -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(_exporter))
    trace.set_tracer_provider(provider)


@pytest.fixture
def spans() -> InMemorySpanExporter:
    _exporter.clear()
    return _exporter


def named(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in spans.get_finished_spans() if span.name == name]


def test_a_run_and_the_place_where_it_was_asked_for_are_in_one_trace(spans: InMemorySpanExporter) -> None:
    app = App("memory://", tracing=True)
    seen: list[int] = []

    @app.task(retries=1, backoff="1ms")
    async def flaky(fail: bool = True) -> None:
        seen.append(trace.get_current_span().get_span_context().trace_id)
        if fail and len(seen) == 1:
            raise ValueError("no luck")

    with app.running(), trace.get_tracer("web").start_as_current_span("request") as request:
        run = app.runs.wait(app.enqueue(flaky).id, timeout=LONGEST)
    asked = named(spans, "enqueue flaky")[0]
    first, second = named(spans, "run flaky")
    trace_id = request.get_span_context().trace_id
    assert {asked.context.trace_id, first.context.trace_id, second.context.trace_id, *seen} == {trace_id}
    assert first.parent is not None
    assert first.parent.span_id == asked.context.span_id
    assert (first.attributes or {})["onthedot.outcome"] == "failed"
    assert first.status.status_code is trace.StatusCode.ERROR
    assert (second.attributes or {})["onthedot.outcome"] == "succeeded"
    assert (second.attributes or {})["onthedot.run_id"] == run.id
    assert run.trace is not None
    assert f"{trace_id:032x}" in run.trace


def test_a_tick_that_nobody_asked_for_begins_a_trace_of_its_own(spans: InMemorySpanExporter) -> None:
    app = App("memory://", tracing=True)

    @app.schedule(every("1s"))
    def tick() -> None: ...

    with app.running():
        manual = app.runs.wait(app.schedules.trigger("tick").id, timeout=LONGEST)
        while not any(run.cause == "tick" and run.is_final for run in app.runs.list()):
            app.runs.list(limit=1)
    ticks = [span for span in named(spans, "run tick") if (span.attributes or {})["onthedot.cause"] == "tick"]
    assert ticks[0].parent is None
    assert manual.trace is not None
    assert named(spans, "enqueue tick")[0].attributes == {"onthedot.task": "tick", "onthedot.schedule": "tick"}


def test_nothing_is_traced_unless_asked_for(spans: InMemorySpanExporter) -> None:
    app = App("memory://")

    @app.task
    def job() -> None: ...

    with app.running():
        assert app.runs.wait(app.enqueue(job).id, timeout=LONGEST).trace is None
    assert spans.get_finished_spans() == ()


def test_without_the_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'onthedot\[otel\]'"):
        App("memory://", tracing=True)
