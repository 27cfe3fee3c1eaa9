"""The primary is killed in the middle of the work: nothing is lost, and nothing is done twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.cluster.cluster import TICKING, Cluster
from tests.cluster.test_documents_processes import until
from tests.cluster.test_processes import BY, Processes, hear, tell
from tests.patience import LONGEST_S
from tests.servers.mongodb_set import ReplicaSet, client_of

from onthedot import at
from onthedot.documents import Documents
from onthedot.errors import StoreUnavailable
from onthedot.model.ids import new_id
from onthedot.model.run import Run
from onthedot.rules import edits
from onthedot.stores.base import Store
from onthedot.stores.open import open_store

PLAN_THROUGH = """
from onthedot.errors import StoreUnavailable
store = open_store(url, create=False)
node = store.join(Node(new_id(now_ms()), name), [])
while True:
    try:
        planned = store.plan_due(node.id, 5, 0, decide)
    except StoreUnavailable:
        continue
    for effects in planned.effects:
        for run in effects.runs:
            say(run.schedule_id)
    if not planned.effects and not planned.passed_over:
        break
store.close()
"""


@pytest.fixture
def store(mongodb_set: ReplicaSet) -> Iterator[Store]:
    with closing(open_store(mongodb_set.url, create=True)) as store:
        yield store


def test_planners_and_callers_outlive_the_primary(mongodb_set: ReplicaSet, store: Store) -> None:
    once = edits.put(edits.Definition("task", at("2026-01-01T00:00Z")))
    store.change([f"schedule {number}" for number in range(1000)], once, BY)
    processes = Processes(mongodb_set.url)
    try:
        for number in range(3):
            tell(processes.start(PLAN_THROUGH, f"planner {number}"))
        said = [hear(process) for process in processes.running]
        mongodb_set.kill_primary()
        runs = [Run(new_id(0), "other", "enqueue", 0, 0, key=f"k{number}") for number in range(100)]
        answers = [_enqueue(store, run) for run in runs]
        for process in processes.running:
            output, errors = process.communicate(timeout=LONGEST_S)
            assert (process.returncode, errors) == (0, "")
            said += output.split()
    finally:
        processes.close()
    assert [run.id for run in answers] == [run.id for run in runs]
    found = Counter(run.schedule_id for run in store.runs(limit=5000))
    assert found.pop(None) == 100
    assert Counter(found.values()) == Counter({1: 1000}), "a tick was lost, or run twice"
    assert set(Counter(said).values()) == {1}, "two planners were told that they made the same run"
    assert {row.planned_runs for row in store.schedules(limit=2000)} == {1}


def _enqueue(store: Store, run: Run) -> Run:
    """As a caller does who does not know whether it was heard: the same run once more."""
    while True:
        try:
            return store.enqueue([run])[0]
        except StoreUnavailable:
            continue


def test_every_tick_of_two_nodes_becomes_one_run_while_the_primary_changes(
    mongodb_set: ReplicaSet, tmp_path: Path
) -> None:
    world = Cluster(tmp_path, mongodb_set.url, TICKING)
    try:
        world.start()
        world.start()
        world.until(lambda: len(world.notes()) >= 3)
        killed = mongodb_set.kill_primary()
        _for_some_ticks(world, 4)
        killed.start()  # it comes back as one of the others
        mongodb_set.kill_primary()
        _for_some_ticks(world, 4)
        schedule = world.app.schedules.get("tick")
        ticks = Counter(run.scheduled_ms for run in world.runs("tick"))
        decided = world.app.open_store().decisions(schedule.id)
        assert set(ticks.values()) == {1}, "a tick was run twice"
        covered = set(ticks) | {ms for each in decided for ms in range(each.first_ms, each.last_ms + 1, 1000)}
        assert covered >= set(range(min(ticks), max(ticks) + 1, 1000)), "a tick vanished"
        claims = Counter((words[0], words[1]) for words in world.notes())
        assert set(claims.values()) == {1}, "one attempt was executed twice"
    finally:
        world.close()


def _for_some_ticks(world: Cluster, count: int) -> None:
    before = len(world.notes())
    world.until(lambda: len(world.notes()) >= before + count)


def test_a_call_made_while_there_is_no_primary_waits_for_the_next_one_and_listeners_go_on(
    mongodb_set: ReplicaSet, store: Store
) -> None:
    heard = Event()
    end = store.listen(heard.set)
    mongodb_set.kill_primary()
    asked: list[Callable[[], object]] = [store.now_ms, store.schedules, store.runs, store.nodes]
    assert [bool(ask()) for ask in asked] == [True, False, False, False]
    with closing(open_store(mongodb_set.url, create=False)) as other:
        other.enqueue([Run("run", "task", "enqueue", 0, 0)])
        for number in range(int(LONGEST_S / 0.2)):
            heard.clear()
            other.enqueue([Run(f"run {number}", "task", "enqueue", 0, 0)])
            if heard.wait(0.2):
                break
    assert heard.is_set()
    end()


def test_documents_of_a_collection_outlive_the_primary(mongodb_set: ReplicaSet) -> None:
    """A lock whose answer is lost with the primary is found again, not waited for: it would last an hour."""
    with closing(client_of(mongodb_set.url)) as client:
        mails = client.onthedot_documents.mails
        mails.insert_many([{"_id": number, "sleep_until": datetime.now(UTC)} for number in range(300)])
        worked: Counter[int] = Counter()
        documents = Documents(mails, workers=4, lock_duration="1h", idle_delay="20ms")

        @documents.on_document
        def work(document: dict[str, Any]) -> None:
            worked[document["_id"]] += 1
            if sum(worked.values()) == 50:
                mongodb_set.kill_primary()

        with documents.running():
            until(lambda: mails.count_documents({"sleep_until": {"$ne": None}}) == 0)
    assert worked.keys() == set(range(300))
