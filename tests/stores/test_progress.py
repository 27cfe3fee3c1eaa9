"""What a run says of its progress stands in its row, whoever writes that beside: nothing is lost, nobody is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from onthedot.model.log_line import PROGRESS, LogLine
from onthedot.model.minute import Minute
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance.scene import BY, START_MS, Scene

STORES = ["sqlite", "postgresql_15_url", "mariadb_url", "mongodb_url", "redis_url"]
RUNS, TIMES = 8, 6


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture(params=STORES)
def opened(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Callable[[], Store]]:
    """Opens the same store once more, as another process would."""
    url = f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else request.getfixturevalue(request.param)
    stores: list[Store] = []

    def opened() -> Store:
        stores.append(open_store(url, create=True, now_ms=clock))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()


@pytest.fixture
def scene(opened: Callable[[], Store], clock: ManualClock) -> Scene:
    return Scene(opened(), clock)


def said(run: Run, text: str, claim_no: int | None = None) -> LogLine:
    return LogLine(run.id, run.claim_no if claim_no is None else claim_no, 0, PROGRESS, text)


def test_what_was_said_elsewhere_is_kept_by_who_remembers_the_run_from_before(
    scene: Scene, opened: Callable[[], Store]
) -> None:
    node = scene.node()
    ended, stopped, failed = (scene.waiting_run() for _ in range(3))
    started = {run.id: run for run in scene.start(node)}
    assert opened().log(node, [said(run, "62%") for run in started.values()]) == 3
    scene.store.request_cancel(stopped.id, "enough", BY)
    assert scene.run(stopped).progress == "62%"
    scene.end(started[ended.id])
    scene.end(started[failed.id], "failed", error="no", final=True)
    assert [scene.run(run).progress for run in (ended, stopped, failed)] == ["62%"] * 3


def test_only_the_owner_is_heard_under_its_claim_and_while_it_runs(scene: Scene) -> None:
    node, other = scene.node(), scene.node("other")
    scene.waiting_run()
    (run,) = scene.start(node)
    assert scene.store.log(node, [said(run, "10%")]) == 1
    assert scene.store.log(other, [said(run, "20%")]) == 0
    assert scene.store.log(node, [said(run, "30%", run.claim_no - 1)]) == 0
    assert scene.run(run).progress == "10%"
    scene.end(run)
    assert scene.store.log(node, [said(run, "40%")]) == 0
    assert scene.run(run).progress == "10%"


def test_in_one_step_with_its_end_it_is_kept(scene: Scene) -> None:
    node = scene.node()
    first, second = scene.waiting_run(), scene.waiting_run()
    (run,) = scene.start(node, limit=1)
    scene.store.log(node, [said(run, "10%"), said(run, "x" * 60_000)])
    scene.store.finish_and_start(node, [Outcome(run.id, run.claim_no, "succeeded")], ["job"], 1)
    ended, begun = (scene.run(each) for each in (first, second))
    assert (ended.state, begun.state) == ("succeeded", "running")
    assert (ended.progress, begun.progress) == ("x" * 60_000, None)


def test_beside_ends_in_threads_nothing_is_lost_and_nobody_is_refused(scene: Scene) -> None:
    node = scene.node()
    for _ in range(RUNS):
        scene.waiting_run()
    runs = scene.start(node)

    def speak(number: int) -> int:
        return sum(scene.store.log(node, [said(run, f"{number}%") for run in runs]) for _ in range(TIMES))

    def end(run: Run) -> tuple[str, ...]:
        return scene.store.finish(node, [Outcome(run.id, run.claim_no, "succeeded")]).refused

    with ThreadPoolExecutor(6) as threads:
        heard = [threads.submit(speak, number) for number in (1, 2)]
        refused = [threads.submit(end, run) for run in runs]
        lines = sum(each.result() for each in heard)
        assert [each.result() for each in refused] == [()] * RUNS
    assert {scene.run(run).state for run in runs} == {"succeeded"}
    assert sum(len(scene.store.logs(run.id)) for run in runs) == lines
    for run in runs:
        kept = scene.store.logs(run.id)
        assert scene.run(run).progress == (kept[-1].text if kept else None)


def test_nodes_count_their_minutes_at_the_same_time(scene: Scene) -> None:
    def tally(number: int) -> None:
        for begun in range(TIMES):
            scene.store.tally([Minute(START_MS, f"n{number}", begun), Minute(START_MS + 60_000, f"n{number}", begun)])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(tally, range(4)))
    assert [each.begun for each in scene.store.minutes(0, START_MS * 2)] == [TIMES - 1] * 8
