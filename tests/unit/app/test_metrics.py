"""What Prometheus sees of a node: bounded labels, true numbers."""

from __future__ import annotations

import socket
import sys
import urllib.error
import urllib.request

import pytest
from tests.patience import LONGEST, LONGEST_S

from onthedot import App, ExtraMissing, SettingsError, Skip, every
from onthedot.app.telemetry.metrics import Metrics
from onthedot.events import Emitter, Failure, LeaseLost, Misfired, OutcomeRefused, RunSkipped, TookOver


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"onthedot_{name}", labels)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=LONGEST_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_runs_are_counted_by_task_and_outcome_with_their_lateness_and_duration() -> None:
    app = App("memory://")
    metrics = app.metrics

    @app.task
    def good() -> None: ...

    @app.task(retries=1, backoff="1ms")
    def bad() -> None:
        raise ValueError("no luck")

    @app.task
    def idle() -> None:
        raise Skip("nothing to do")

    with app.running():
        for task in (good, bad, idle):
            app.runs.wait(app.enqueue(task).id, timeout=LONGEST)
    assert value(metrics, "runs_total", task="good", outcome="succeeded") == 1
    assert value(metrics, "runs_total", task="bad", outcome="failed") == 1
    assert value(metrics, "attempts_total", task="bad", outcome="failed") == 2
    assert value(metrics, "runs_total", task="idle", outcome="skipped") == 1
    assert value(metrics, "run_lateness_seconds_count", task="bad") == 2
    assert value(metrics, "run_duration_seconds_count", task="good") == 1


def test_planning_pools_and_the_clock_are_seen_while_the_node_runs() -> None:
    app = App("memory://")
    metrics = app.metrics

    @app.schedule(every("1s"))
    def tick() -> None: ...

    assert value(metrics, "pool_size", pool="fast") is None
    with app.running():
        while not app.runs.list(schedule="tick", state="succeeded").items:
            app.runs.list(limit=1)
        assert value(metrics, "pool_size", pool="fast") == 200
        assert value(metrics, "pool_running", pool="fast") == 0
        assert value(metrics, "pool_queued", pool="slow") == 0
        assert value(metrics, "clock_offset_seconds") is not None
        assert value(metrics, "lease_age_seconds") is not None
    assert (value(metrics, "plan_duration_seconds_count") or 0) >= 1
    assert (value(metrics, "planned_runs_total") or 0) >= 1


def test_what_goes_wrong_is_counted() -> None:
    emitter = Emitter(lambda event, error: None)
    metrics = Metrics(emitter, lambda: None)
    for event in (
        Misfired("s", "misfire", 10),
        Misfired("s", "paused", None),
        RunSkipped("id", "job", "s", "misfire"),
        LeaseLost("n", "node", 3),
        TookOver("n", 4),
        OutcomeRefused("id"),
        Failure("plan of a schedule with a long name", ValueError("x")),
    ):
        emitter.emit(event)
    assert value(metrics, "decisions_total", reason="misfire") == 1
    assert value(metrics, "ticks_left_out_total", reason="misfire") == 10
    assert value(metrics, "decisions_total", reason="paused") == 1
    assert value(metrics, "runs_total", task="job", outcome="skipped") == 1
    assert value(metrics, "leases_lost_total") == 1
    assert value(metrics, "runs_taken_over_total") == 4
    assert value(metrics, "outcomes_refused_total") == 1
    assert value(metrics, "errors_total", stage="plan") == 1


def test_names_of_schedules_are_labels_only_if_asked_for() -> None:
    for by_schedule in (False, True):
        emitter = Emitter(lambda event, error: None)
        metrics = Metrics(emitter, lambda: None, by_schedule=by_schedule)
        emitter.emit(Misfired("secret-name", "overlap", 1))
        emitter.emit(RunSkipped("id", "job", "secret-name", None))
        assert ("secret-name" in metrics.text()[0].decode()) is by_schedule


def test_a_node_serves_its_metrics_and_its_health_and_nothing_else() -> None:
    port = free_port()
    app = App("memory://", metrics_port=port)
    with app.running():
        code, text = get(port, "/metrics")
        assert (code, "onthedot_pool_free" in text) == (200, True)
        assert get(port, "/healthz") == (200, "ok\n")
        assert get(port, "/etc/passwd") == (404, "there are /metrics and /healthz\n")
    with pytest.raises(urllib.error.URLError):
        get(port, "/metrics")


def test_a_port_that_is_taken_is_told_before_anything_starts() -> None:
    with socket.socket() as other:
        other.bind(("0.0.0.0", 0))
        other.listen()
        port = int(other.getsockname()[1])
        app = App("memory://", metrics_port=port)
        with pytest.raises(
            SettingsError, match=rf"^metrics cannot be served on 0.0.0.0:{port}: address already in use"
        ):
            app.start()
        assert app.runner is None


def test_without_the_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'onthedot\[metrics\]'"):
        App("memory://", metrics_port=free_port()).start()
