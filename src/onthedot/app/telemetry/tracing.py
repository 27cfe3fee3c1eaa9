"""OpenTelemetry: a span where a run is asked for, and one for each attempt, in one trace.

Only the API package is needed; without an SDK its spans are recorded nowhere, and cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from onthedot.errors import ExtraMissing
from onthedot.execution.context import Context, Skip
from onthedot.execution.execute import outcome_of

if TYPE_CHECKING:
    from opentelemetry.context import Context as OtelContext
    from opentelemetry.trace import Span

Asking = Callable[[str, str | None], AbstractContextManager[str | None]]
"""From the task and the schedule of a run that is asked for to a block, which gets what the run is to remember."""


@contextmanager
def untraced(task: str, schedule: str | None) -> Iterator[str | None]:
    """Nobody traces."""
    yield None


class Tracing:
    """Spans from the tracer "onthedot" of whatever provider the program has set up."""

    def __init__(self) -> None:
        try:
            from opentelemetry import trace
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ImportError:
            raise ExtraMissing("tracing", "opentelemetry-api", "otel") from None
        self._tracer = trace.get_tracer("onthedot")
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def asking(self, task: str, schedule: str | None) -> Iterator[str | None]:
        """A span in the caller's trace around the writing of a run."""
        from opentelemetry.trace import SpanKind

        with self._tracer.start_as_current_span(f"enqueue {task}", kind=SpanKind.PRODUCER) as span:
            span.set_attribute("onthedot.task", task)
            if schedule is not None:
                span.set_attribute("onthedot.schedule", schedule)
            carrier: dict[str, str] = {}
            self._propagator.inject(carrier)
            yield carrier.get("traceparent")

    def around(self, context: Context) -> Iterator[None]:
        """A span around one attempt; a run that nobody asked for, since its moment had come, begins a trace."""
        from opentelemetry.trace import SpanKind

        run = context.run
        with self._tracer.start_as_current_span(
            f"run {run.task}",
            context=self._parent(run.trace),
            kind=SpanKind.CONSUMER,
            attributes={
                "onthedot.run_id": run.id,
                "onthedot.task": run.task,
                "onthedot.attempt": run.attempt,
                "onthedot.cause": run.cause,
                **({} if run.schedule is None else {"onthedot.schedule": run.schedule}),
            },
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield
            except BaseException as error:
                _note(span, context, error)
                raise
            span.set_attribute("onthedot.outcome", "succeeded")

    def _parent(self, trace: str | None) -> OtelContext:
        """An empty one where there is none: what this thread did before is not the cause of the run."""
        from opentelemetry.context import Context as OtelContext

        return self._propagator.extract({"traceparent": trace} if trace else {}, OtelContext())


def _note(span: Span, context: Context, error: BaseException) -> None:
    from opentelemetry.trace import StatusCode

    outcome = outcome_of(context, error)
    span.set_attribute("onthedot.outcome", outcome.ending)
    if not isinstance(error, Skip) and outcome.ending != "cancelled":
        span.record_exception(error)
        span.set_status(StatusCode.ERROR, f"{type(error).__name__}: {error}")
