"""Prometheus metrics of one node, fed by its events. Labels are bounded: task, outcome, reason, stage.

Names of schedules are labels only if asked for, since there may be a million of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from onthedot.app.nodes import Nodes
from onthedot.errors import ExtraMissing, OnthedotError
from onthedot.events import (
    BatchPlanned,
    Emitter,
    Event,
    Failure,
    LeaseLost,
    Misfired,
    OutcomeRefused,
    Parked,
    RunEnded,
    RunFinished,
    RunSkipped,
    RunStarted,
    TookOver,
)
from onthedot.insight.node_history import labels_of

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Histogram
    from prometheus_client.metrics_core import Metric

    from onthedot.node.node import Gauges

M = TypeVar("M", "Counter", "Histogram")


class Collector(Protocol):
    """What gives metrics when it is asked."""

    def collect(self) -> Iterable[Metric]:
        """As they are now."""


LATENESS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600)
DURATION_S = (0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200)
PLANNING_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)

_WORK: tuple[type[Event], ...] = (RunStarted, RunFinished, RunEnded, RunSkipped, Misfired, BatchPlanned)
_POOLS = {
    "size": "How many runs this pool may have at once.",
    "free": "How many more runs can begin now.",
    "running": "Runs that are inside their task.",
    "queued": "Runs that this node has taken and not begun.",
}
_NODE_POOLS = {
    "size": "How many runs this pool of a live node may have at once.",
    "running": "Runs that the node has there.",
}
_TROUBLE: tuple[type[Event], ...] = (Parked, LeaseLost, OutcomeRefused, TookOver, Failure)


class Metrics:
    """The metrics of one app, in a registry of their own: `registry` can be served beside a program's own."""

    def __init__(self, emitter: Emitter, gauges: Callable[[], Gauges | None], *, by_schedule: bool = False) -> None:
        try:
            from prometheus_client import CollectorRegistry, Counter, Histogram
        except ImportError:
            raise ExtraMissing("metrics", "prometheus_client", "metrics") from None
        self.registry: CollectorRegistry = CollectorRegistry()
        self._by_schedule = by_schedule
        task = ("task", "schedule") if by_schedule else ("task",)
        reason = ("reason", "schedule") if by_schedule else ("reason",)
        histogram = partial(Histogram, namespace="onthedot", registry=self.registry)
        counter = partial(Counter, namespace="onthedot", registry=self.registry)
        self._lateness = histogram(
            "run_lateness_seconds", "From when a run was due to when its task began.", task, buckets=LATENESS_S
        )
        self._duration = histogram("run_duration_seconds", "How long an attempt took.", task, buckets=DURATION_S)
        self._attempts = counter("attempts", "Attempts that ended, by how they ended.", (*task, "outcome"))
        self._runs = counter("runs", "Runs that ended for good, by outcome.", (*task, "outcome"))
        self._decisions = counter("decisions", "Decisions not to run ticks, by reason.", reason)
        self._ticks = counter("ticks_left_out", "Ticks that were not run, as far as counted.", reason)
        self._plan = histogram("plan_duration_seconds", "How long planning a batch took.", buckets=PLANNING_S)
        self._planned = counter("planned_runs", "Runs that this node planned.")
        self._parked = counter("parked_schedules", "Schedules that could not be planned and were parked.")
        self._leases = counter("leases_lost", "How often this node was declared dead.")
        self._refused = counter("outcomes_refused", "Outcomes of runs that were no longer this node's.")
        self._taken = counter("runs_taken_over", "Runs taken over from nodes that died.")
        self._errors = counter("errors", "Errors that no run can be blamed for, by stage.", ("stage",))
        self.registry.register(_Now(gauges))
        self.registry.register(_Dropped(emitter))
        self._subscribe(emitter)

    def text(self, accept: str = "", *beside: Collector) -> tuple[bytes, str]:
        """What a scrape answers, with what else is collected beside it; and its content type."""
        from prometheus_client.exposition import choose_encoder

        encode, content_type = choose_encoder(accept)
        return encode(_Together(self.registry, *beside)), content_type

    def _subscribe(self, emitter: Emitter) -> None:
        for kind in _WORK:
            emitter.subscribe(kind, self._note_work)
        for kind in _TROUBLE:
            emitter.subscribe(kind, self._note_trouble)

    def _note_work(self, event: Event) -> None:
        match event:
            case RunStarted():
                _labelled(self._lateness, *self._task(event)).observe(event.lateness_ms / 1000)
            case RunFinished():
                _labelled(self._duration, *self._task(event)).observe(event.duration_ms / 1000)
                _labelled(self._attempts, *self._task(event), event.outcome).inc()
            case RunEnded():
                _labelled(self._runs, *self._task(event), event.outcome).inc()
            case RunSkipped():
                self._runs.labels(*self._task(event), "skipped").inc()
            case Misfired():
                labels = (event.reason, event.schedule) if self._by_schedule else (event.reason,)
                self._decisions.labels(*labels).inc()
                self._ticks.labels(*labels).inc(event.count or 0)
            case BatchPlanned():
                self._plan.observe(event.duration_ms / 1000)
                self._planned.inc(event.runs)

    def _note_trouble(self, event: Event) -> None:
        match event:
            case Parked():
                self._parked.inc()
            case LeaseLost():
                self._leases.inc()
            case OutcomeRefused():
                self._refused.inc()
            case TookOver():
                self._taken.inc(event.runs)
            case Failure():
                self._errors.labels(event.stage.partition(" ")[0]).inc()  # "plan of NAME" is of the stage plan

    def _task(self, event: RunStarted | RunFinished | RunEnded | RunSkipped) -> tuple[str, ...]:
        return (event.task, event.schedule or "") if self._by_schedule else (event.task,)


@lru_cache(maxsize=10_000)
def _labelled(metric: M, *labels: str) -> M:
    """The metric under these labels; looking that up costs more than counting does."""
    return metric.labels(*labels)


class _Together:
    """Collectors as one."""

    def __init__(self, *collectors: Collector) -> None:
        self._collectors = collectors

    def collect(self) -> Iterator[Metric]:
        for each in self._collectors:
            yield from each.collect()


class NodePools:
    """The pools of all live nodes as the store tells of them; nothing while it does not answer."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    def collect(self) -> Iterator[Metric]:
        """Asks the store once for each scrape."""
        from prometheus_client.metrics_core import GaugeMetricFamily

        try:
            names, pools = labels_of(self._nodes.list()), self._nodes.pools()
        except OnthedotError:
            return
        for name, text in _NODE_POOLS.items():
            family = GaugeMetricFamily(f"onthedot_node_pool_{name}", text, labels=["node", "pool"])
            for node_id, used in pools.items():
                for each in used:
                    family.add_metric([names.get(node_id, node_id), each.pool], getattr(each, name))
            yield family


class _Now:
    """What is not counted but looked up when somebody asks; nothing while no node runs."""

    def __init__(self, gauges: Callable[[], Gauges | None]) -> None:
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import GaugeMetricFamily

        now = self._gauges()
        if now is None:
            return
        for name, text in _POOLS.items():
            family = GaugeMetricFamily(f"onthedot_pool_{name}", text, labels=["pool"])
            for pool, counts in now.pools.items():
                family.add_metric([pool], getattr(counts, name))
            yield family
        for name, text, ms in (
            ("clock_offset", "How far this wall clock is ahead of the store's.", now.clock_offset_ms),
            ("lease_age", "How long ago the lease was last renewed.", now.renewed_for_ms),
        ):
            yield GaugeMetricFamily(f"onthedot_{name}_seconds", text, value=ms / 1000)


class _Dropped:
    """What hooks were never told: counted where it happens."""

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily

        text = "Events that hooks were never told, because they did not keep up."
        yield CounterMetricFamily("onthedot_hook_events_dropped", text, value=self._emitter.dropped)
