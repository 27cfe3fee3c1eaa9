"""A real Redis that is restarted, killed, frozen or full: nothing is lost or doubled but what the guide says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Event, Thread

import pytest
import redis
from tests.patience import LONGEST_S
from tests.servers.redis import DURABLE, RedisServer, running
from tests.stores.redis_indexes import check_indexes

from onthedot.errors import StoreUnavailable
from onthedot.model.change import Author
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.rules.effects import Before, Effects, Situation
from onthedot.rules.plain import begins_plainly
from onthedot.rules.plan import Decider
from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.stores.redis import plain
from onthedot.triggers.every import every

NOW_MS = 1_800_000_000_000
BY = Author("test", "test", "put")
PUT = edits.put(edits.Definition("task", every("1m")))


class Times:
    """A clock that the test sets."""

    now_ms = NOW_MS

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def server() -> Iterator[RedisServer]:
    # What it has answered must be on the disk when it is killed, also on one that is slow to write.
    with running((*DURABLE, "--appendfsync", "always")) as server:
        yield server


@pytest.fixture
def store(server: RedisServer, times: Times) -> Iterator[Store]:
    store = open_store(f"{server.url}?namespace=a", create=True, now_ms=times)
    yield store
    store.close()


def _node(store: Store) -> Node:
    return store.join(Node(new_id(NOW_MS), "node", tasks=("task",)), [])


decide = Decider(lambda: new_id(NOW_MS))


def test_a_restart_forgets_the_scripts_and_nothing_else(server: RedisServer, store: Store, times: Times) -> None:
    node = _node(store)
    store.change(["s"], PUT, BY)
    times.now_ms += 60_000
    (planned,) = store.plan_due(node.id, 10, 0, decide).effects
    server.kill()
    server.start()
    assert [run.id for run in store.runs()] == [run.id for run in planned.runs]
    assert store.plan_due(node.id, 10, 0, decide).effects == (), "a tick came back"
    (run,) = store.start_due(node.id, ["task"], 10).runs
    assert store.finish(node.id, [Outcome(run.id, run.claim_no, "succeeded")]).recorded
    check_indexes(f"{server.url}?namespace=a")


def test_scripts_that_are_flushed_are_sent_anew(server: RedisServer, store: Store) -> None:
    store.change(["s"], PUT, BY)
    with redis.Redis.from_url(server.url) as client:
        client.script_flush()
    store.change(["t"], PUT, BY)
    with redis.Redis.from_url(server.url) as client:
        client.script_flush()
    assert [row.name for row in store.schedules()] == ["s", "t"]


def test_a_server_that_is_away_is_said_so_and_found_again_when_it_is_back(server: RedisServer, store: Store) -> None:
    store.change(["s"], PUT, BY)
    server.stop()
    for ask in (store.schedules, store.nodes, lambda: store.change(["t"], PUT, BY)):
        with pytest.raises(StoreUnavailable, match="does not answer") as caught:
            ask()
        assert "\n" not in str(caught.value)
    server.start()
    assert [row.name for row in store.schedules()] == ["s"]


def test_a_plan_whose_answer_is_lost_is_made_once_and_found_at_the_next_renewal(
    server: RedisServer, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onthedot.stores.redis.connect._ANSWER_S", 3)
    store = open_store(f"{server.url}?namespace=a", create=True, now_ms=times)
    node = _node(store)
    store.change(["s"], PUT, BY)
    times.now_ms += 60_000

    def decide_and_freeze(rows: Sequence[Before], situation: Situation) -> Sequence[Effects]:
        effects = decide(rows, situation)
        server.freeze()  # what is sent now is done when it thaws, and nobody hears the answer
        return effects

    with pytest.raises(StoreUnavailable, match="does not answer"):
        store.plan_due(node.id, 10, 1, decide_and_freeze)
    server.thaw()
    assert store.plan_due(node.id, 10, 1, decide).effects == ()
    (own,) = store.renew(node).own
    assert (own.schedule, own.state, own.scheduled_ms) == ("s", State.RUNNING, times.now_ms)
    assert [run.id for run in store.runs()] == [own.id]
    store.close()


def test_plain_starts_and_ends_whose_answer_is_lost_happen_once(
    server: RedisServer, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What began is told by the next renewal, and a repeated outcome is refused."""
    monkeypatch.setattr("onthedot.stores.redis.connect._ANSWER_S", 3)
    store = open_store(f"{server.url}?namespace=a", create=True, now_ms=times)
    node = _node(store)
    store.enqueue([Run("first", "task", "enqueue", times.now_ms, times.now_ms)])
    (first,) = store.start_due(node.id, ["task"], 10).runs  # the server knows the script from here on
    server.freeze()  # what is sent now is done when it thaws, and nobody hears the answer
    with pytest.raises(StoreUnavailable, match="does not answer"):
        store.finish(node.id, [Outcome("first", first.claim_no, "succeeded")])
    server.thaw()
    assert store.finish(node.id, [Outcome("first", first.claim_no, "succeeded")]).refused == ("first",)
    store.enqueue([Run("second", "task", "enqueue", times.now_ms, times.now_ms)])

    def judge_and_freeze(run: Run) -> bool:
        server.freeze()
        return begins_plainly(run)

    monkeypatch.setattr(plain, "begins_plainly", judge_and_freeze)
    with pytest.raises(StoreUnavailable, match="does not answer"):
        store.start_due(node.id, ["task"], 10)
    server.thaw()
    assert not store.start_due(node.id, ["task"], 10).runs
    assert [(run.id, run.state, run.claim_no) for run in store.renew(node).own] == [("second", State.RUNNING, 1)]
    assert {run.id: run.state for run in store.runs()} == {"first": State.SUCCEEDED, "second": State.RUNNING}
    store.close()


def test_a_put_whose_answer_is_lost_can_be_repeated(
    server: RedisServer, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onthedot.stores.redis.connect._ANSWER_S", 3)
    store = open_store(f"{server.url}?namespace=a", create=True, now_ms=times)

    def put_and_freeze(before: Before, now_ms: int) -> Effects:
        server.freeze()
        return PUT(before, now_ms)

    with pytest.raises(StoreUnavailable):
        store.change(["s"], put_and_freeze, BY)
    server.thaw()
    store.change(["s"], PUT, BY)
    assert [row.revision for row in store.schedules()] == [1]
    assert len(store.changes()) == 1
    store.close()


def test_a_full_server_takes_a_transaction_whole_or_not_at_all(server: RedisServer, store: Store) -> None:
    node = _node(store)
    store.enqueue([Run("r", "task", "enqueue", 0, 0, key="k:task:r")])
    (run,) = store.start_due(node.id, ["task"], 1).runs
    with redis.Redis.from_url(server.url) as client:
        client.config_set("maxmemory", "1mb")
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="out of memory"):
                store.finish(node.id, [Outcome(run.id, run.claim_no, "succeeded")])
        client.config_set("maxmemory", "0")
    check_indexes(f"{server.url}?namespace=a")
    assert [each.state for each in store.runs()] == [State.RUNNING]
    assert len(store.finish(node.id, [Outcome(run.id, run.claim_no, "succeeded")]).recorded) == 1


def test_other_processes_hear_of_new_work_also_after_a_restart(server: RedisServer, store: Store) -> None:
    other = open_store(f"{server.url}?namespace=a", create=True)
    heard = Event()
    stop = other.listen(heard.set)
    assert _tells_until(store, heard)
    server.kill()
    server.start()
    heard.clear()
    assert _tells_until(store, heard)
    stop()
    other.close()
    store.close()


def _tells_until(store: Store, heard: Event) -> bool:
    """Whether it was heard; told again and again, since a hint that comes before anybody subscribed is lost."""
    over = Event()

    def tell() -> None:
        while not over.wait(0.05):
            try:
                store.enqueue([Run(new_id(NOW_MS), "task", "enqueue", 0, 0)])
            except StoreUnavailable:
                continue

    teller = Thread(target=tell)
    teller.start()
    try:
        return heard.wait(LONGEST_S)
    finally:
        over.set()
        teller.join()


def test_without_an_append_only_file_a_restart_repeats_ticks_as_the_guide_says(times: Times) -> None:
    with running(["--save", "", "--appendonly", "no"]) as server:
        store = open_store(f"{server.url}?allow_no_aof=yes", create=True, now_ms=times)
        node = _node(store)
        store.change(["s"], PUT, BY)
        with redis.Redis.from_url(server.url) as client:
            client.save()  # the last snapshot before the crash
        times.now_ms += 60_000
        first = _plan_and_run(store, node)
        server.kill()
        server.start()
        again = _plan_and_run(store, node)
        assert (first.schedule, first.scheduled_ms) == (again.schedule, again.scheduled_ms)
        assert first.id != again.id
        store.close()


def _plan_and_run(store: Store, node: Node) -> Run:
    (effects,) = store.plan_due(node.id, 10, 1, decide).effects
    (run,) = effects.runs
    (ended,) = store.finish(node.id, [Outcome(run.id, run.claim_no, "succeeded")]).recorded
    return ended
