"""What only a store on MongoDB can promise: bad documents, forks, shared transactions, the dead that hold on."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from threading import Event
from typing import Any

import pymongo
import pytest
from tests.patience import LONGEST_S
from tests.servers.mongodb import running
from tests.servers.mongodb_set import client_of

from onthedot import every
from onthedot.errors import Conflict, SchemaError, StoreError, StoreUnavailable
from onthedot.model.change import Author
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.rules import edits
from onthedot.rules.effects import Before, Effects
from onthedot.rules.plan import Decider
from onthedot.stores.mongo.reservations import Reservations
from onthedot.stores.mongo.store import MongoStore
from onthedot.stores.open import open_store
from onthedot.stores.retention import Retention
from onthedot.testing.clock import ManualClock

START_MS = 1_800_000_000_000
BY = Author("test", "test", "put")
Client = pymongo.MongoClient[dict[str, Any]]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture
def store(mongodb_url: str, clock: ManualClock) -> Iterator[MongoStore]:
    store = open_store(mongodb_url, create=True, now_ms=clock)
    assert isinstance(store, MongoStore)
    yield store
    store.close()


@pytest.fixture
def client(mongodb_url: str) -> Iterator[Client]:
    with closing(client_of(mongodb_url)) as client:
        yield client


def _put(store: MongoStore, *names: str) -> None:
    store.change(names, edits.put(edits.Definition("task", every("1m"))), BY)


def _run(run_id: str = "run", key: str | None = None) -> Run:
    return Run(run_id, "task", "enqueue", START_MS, START_MS, key=key)


def _plan(store: MongoStore, clock: ManualClock, node_id: str = "n", free: int = 0) -> list[Run]:
    planned = store.plan_due(node_id, 10, free, Decider(lambda: new_id(clock())))
    return [run for effects in planned.effects for run in effects.runs]


@pytest.mark.parametrize(
    "broken", [{"$set": {"definition": "{broken"}}, {"$set": {"args": {"a": 1}}}, {"$unset": {"policy": 1}}]
)
def test_a_document_that_cannot_be_read_is_parked_and_shown_and_the_rest_of_its_batch_is_planned(
    store: MongoStore, client: Client, clock: ManualClock, broken: dict[str, Any]
) -> None:
    _put(store, "bad", "good")
    schedules = client.get_default_database()["onthedot_schedules"]
    schedules.update_one({"name": "bad"}, broken)
    (field,) = next(iter(broken.values()))
    before = schedules.find_one({"name": "bad"}, {field: 1})
    clock.pass_by(60_000)
    store.join(Node("n", "n"), [])
    _plan(store, clock)
    bad, good = store.schedules()
    assert "unreadable" in (bad.error or "")
    assert good.error is None
    assert [run.schedule for run in store.runs()] == ["good"]
    assert schedules.find_one({"name": "bad"}, {field: 1}) == before, "what could not be read is never overwritten"


def test_without_a_clock_of_the_tests_the_time_is_the_servers(mongodb_url: str, client: Client) -> None:
    with closing(open_store(mongodb_url, create=True)) as store:
        before = client.admin.command("hello")["localTime"]
        now_ms = store.now_ms()
        after = client.admin.command("hello")["localTime"]
    epoch = type(before)(1970, 1, 1)
    first, last = ((each - epoch).total_seconds() * 1000 for each in (before, after))
    assert first <= now_ms <= last


def test_a_store_that_was_opened_before_a_fork_works_on_both_sides(mongodb_url: str) -> None:
    program = """
import os, sys, warnings
warnings.filterwarnings("error", message=".*opened before fork.*")  # what the driver says of a client that is shared
from onthedot import every
from onthedot.rules import edits
from onthedot.model.change import Author
from onthedot.stores.open import open_store
store = open_store(sys.argv[1], create=True)
put = lambda name: store.change([name], edits.put(edits.Definition("task", every("1m"))), Author("w", "s", "put"))
put("before")
with store.begin() as tx:
    assert tx.schedules_named(["before"])
    child = os.fork()  # in the middle of the parent's transaction
    if child == 0:
        inherited = store._now_open
        names = [row.name for row in store.schedules()]
        assert store._now_open is not inherited
        os._exit(0 if names == ["before"] else 1)
    assert os.waitpid(child, 0)[1] == 0
child = os.fork()
if child == 0:
    put("child")
    store.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
put("parent")
assert [row.name for row in store.schedules()] == ["before", "child", "parent"]
store.close()
"""
    subprocess.run([sys.executable, "-c", program, mongodb_url], check=True)


def test_a_run_enqueued_in_the_callers_transaction_exists_when_that_commits(store: MongoStore, client: Client) -> None:
    with client.start_session() as session, session.start_transaction():
        store.enqueue([_run(key="k")], session)
        assert store.runs() == []
    assert [run.id for run in store.runs()] == ["run"]
    with client.start_session() as session, session.start_transaction():
        (again,) = store.enqueue([_run("other", key="k")], session)
    assert again.id == "run"


def test_a_run_enqueued_in_the_callers_transaction_never_was_when_that_is_aborted(
    store: MongoStore, client: Client
) -> None:
    with client.start_session() as session:
        session.start_transaction()
        store.enqueue([_run(key="k")], session)
        session.abort_transaction()
    assert store.runs() == []
    assert [run.id for run in store.enqueue([_run("other", key="k")])] == ["other"]


def test_the_drivers_own_way_of_repeating_transactions_repeats_ours_in_them(store: MongoStore, client: Client) -> None:
    tries: list[int] = []

    def work(session: Any) -> None:
        client.get_default_database()["onthedot_meta"].find_one({}, session=session)  # the snapshot is taken here
        if not tries:
            store.enqueue([_run("first", key="k")])
        tries.append(1)
        store.enqueue([_run("second", key="k")], session)

    with client.start_session() as session:
        session.with_transaction(work)
    assert len(tries) == 2
    assert [run.id for run in store.runs()] == ["first"]


def test_a_clash_in_the_callers_transaction_is_a_conflict_that_says_what_to_do(
    store: MongoStore, client: Client
) -> None:
    store.enqueue([_tick("a")])
    with client.start_session() as session:
        session.start_transaction()
        with pytest.raises(Conflict, match="roll back"):
            store.enqueue([_tick("b")], session)


def _tick(run_id: str, schedule_id: str = "s") -> Run:
    return Run(run_id, "task", "tick", START_MS, START_MS, schedule_id=schedule_id, schedule="s")


def test_what_is_no_session_in_a_transaction_is_refused_in_one_line(
    store: MongoStore, client: Client, mongodb_standalone: str
) -> None:
    with pytest.raises(StoreError, match="PyMongo ClientSession"):
        store.enqueue([_run()], "mongodb://other")
    with client.start_session() as session, pytest.raises(StoreError, match="in no transaction"):
        store.enqueue([_run()], session)
    with closing(client_of(mongodb_standalone)) as other, other.start_session() as session:
        session.start_transaction()
        with pytest.raises(StoreError, match="no transactions"):
            store.enqueue([_run()], session)


def test_a_transaction_that_fails_half_way_leaves_nothing_behind(store: MongoStore) -> None:
    with pytest.raises(ZeroDivisionError):
        store.change(["a", "b"], lambda before, now_ms: _fails_on("b", before, now_ms), BY)
    assert store.schedules() == []
    assert store.changes() == []


def _fails_on(name: str, before: Before, now_ms: int) -> Effects:
    if before.name == name:
        raise ZeroDivisionError
    return edits.put(edits.Definition("task", every("1m")))(before, now_ms)


def test_what_is_closed_opens_anew_with_the_next_call(store: MongoStore) -> None:
    _put(store, "a")
    store.close()
    store.close()
    assert [row.name for row in store.schedules()] == ["a"]


def test_more_than_is_sent_at_once_is_written_and_asked_for_at_once(store: MongoStore) -> None:
    names = [f"schedule {number:04}" for number in range(1200)]
    _put(store, *names)
    assert [row.name for row in store.schedules(names=names, limit=2000)] == names
    runs = [_run(f"run {number:04}", key=f"k{number}") for number in range(1200)]
    assert len(store.enqueue(runs)) == 1200
    assert [run.id for run in store.enqueue(runs)] == [run.id for run in runs]
    assert len(store.runs(ids=[run.id for run in runs], limit=2000)) == 1200


def test_nothing_that_a_task_can_take_or_return_is_refused(store: MongoStore) -> None:
    args = {"$set": 1, "a.b": 2, "": 3, "big": 1 << 200, "odd": "\ud800", "nul": "\0", "deep": _nested(300)}
    store.enqueue([Run("run", "task", "enqueue", START_MS, START_MS, args=args)])
    assert store.runs()[0].args == args


def _nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def test_what_is_too_large_for_a_document_is_refused_in_one_line(store: MongoStore) -> None:
    with pytest.raises(StoreError, match="cannot keep this") as refused:
        store.enqueue([Run("run", "task", "enqueue", START_MS, START_MS, args={"a": "x" * 17_000_000})])
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_keys_of_ticks_outlive_the_pruning_of_all_others(store: MongoStore, client: Client) -> None:
    keys = client.get_default_database()["onthedot_keys"]
    keys.insert_many([{"_id": key, "run_id": "r", "expires_ms": 1, "state": None} for key in ("t:schedule:5", "k:x")])
    assert store.prune(Retention()).keys == 1
    assert [each["_id"] for each in keys.find()] == ["t:schedule:5"]


def test_nodes_that_have_long_been_gone_are_forgotten_but_not_those_that_still_hold_runs(
    store: MongoStore, client: Client, clock: ManualClock
) -> None:
    for name in ("gone", "holds", "lives"):
        store.join(Node(name, name), [])
    store.enqueue([_run()])
    store.start_due("holds", ["task"], 1)
    database = client.get_default_database()
    database["onthedot_nodes"].update_many({"_id": {"$ne": "lives"}}, {"$set": {"state": "dead"}})
    clock.pass_by(Retention().nodes_ms)
    store.prune(Retention())
    assert [each["_id"] for each in database["onthedot_nodes"].find().sort("_id")] == ["holds", "lives"]
    assert {each["_id"].partition("/")[0] for each in database["onthedot_gates"].find()} == {"holds", "lives"}


def test_who_listens_hears_of_news_from_another_process_and_no_more_after_the_end(
    store: MongoStore, mongodb_url: str, clock: ManualClock
) -> None:
    heard = Event()
    end = store.listen(heard.set)
    with closing(open_store(mongodb_url, create=False, now_ms=clock)) as other:
        for number in range(int(LONGEST_S / 0.5)):  # until the stream is open
            other.enqueue([_run(f"run {number}")])
            if heard.wait(0.5):
                break
        assert heard.is_set()
        end()
        heard.clear()
        other.enqueue([_run("later")])
    store.notify()
    assert not heard.is_set()


# reservations, and the dead

HOLD = """
import sys
from onthedot import every
from onthedot.rules import edits
from onthedot.stores.open import open_store
store = open_store(sys.argv[1], create=False)
with store.begin() as tx:
    tx.save_schedules(list(tx.schedules_named(["a"]).values()))
    tx.finish()
    print("holds", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_dies_or_stops_inside_a_transaction_is_cut_off_long_before_the_servers_minute(
    store: MongoStore, mongodb_url: str, how: signal.Signals
) -> None:
    _put(store, "a")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, mongodb_url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "holds\n"
        holder.send_signal(how)
        store.change(["a"], edits.pause(None), BY)  # gives up after 15 s
        holder.kill()
    assert not store.schedules()[0].enabled


def test_what_another_node_is_at_work_on_is_passed_over_and_said_so(
    store: MongoStore, client: Client, clock: ManualClock
) -> None:
    _put(store, "a", "b")
    store.join(Node("n", "n"), [])
    store.join(Node("m", "m"), [])
    clock.pass_by(60_000)
    reserved = {"busy_ms": clock() + 1000, "busy_by": "somebody"}
    client.get_default_database()["onthedot_schedules"].update_one({"name": "a"}, {"$set": reserved})
    planned = store.plan_due("n", 10, 0, Decider(lambda: new_id(clock())))
    assert [effects.schedule.name for effects in planned.effects if effects.schedule] == ["b"]
    assert planned.passed_over
    clock.pass_by(1000)  # the reservation has lapsed
    assert [run.schedule for run in _plan(store, clock)] == ["a"]


def test_reservations_are_gone_when_their_work_is_done_or_has_failed(
    store: MongoStore, client: Client, clock: ManualClock
) -> None:
    _put(store, "a")
    store.join(Node("n", "n"), [])
    store.join(Node("m", "m"), [])
    clock.pass_by(60_000)

    def busy() -> list[int]:
        return [each["busy_ms"] for each in client.get_default_database()["onthedot_schedules"].find()]

    def fail(*_: object) -> list[Effects]:
        assert busy() != [0]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.plan_due("n", 10, 0, fail)
    assert busy() == [0]
    assert store.plan_due("n", 10, 0, lambda befores, _: [Effects() for _ in befores]).passed_over is False
    assert busy() == [0]
    assert len(_plan(store, clock)) == 1
    assert busy() == [0]


def test_of_two_who_reserve_the_same_documents_each_gets_what_the_other_has_not(
    store: MongoStore, client: Client, clock: ManualClock
) -> None:
    _put(store, "a", "b", "c")
    ids = [row.id for row in store.schedules()]
    with client.start_session() as session:
        first, second = (Reservations(client.get_default_database(), session, clock, name) for name in ("one", "two"))
        assert first.take("onthedot_schedules", ids[:2]) == 2
        assert second.take("onthedot_schedules", ids) == 1
        first.release([ids[0]])
        assert second.take("onthedot_schedules", ids) == 2


def test_a_server_that_hangs_is_given_up_after_a_bounded_wait_and_used_again_when_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with running(replica_set=True) as server, closing(open_store(server.url, create=True)) as store:
        for bound in ("_WAIT_MS", "_LONGEST_MS"):
            monkeypatch.setattr(f"onthedot.stores.mongo.store.{bound}", 500)
        server.freeze()
        for ask in (store.now_ms, store.runs, lambda: store.enqueue([_run()])):
            with pytest.raises(StoreUnavailable) as caught:
                ask()
            assert "\n" not in str(caught.value)
        monkeypatch.undo()
        server.thaw()
        assert store.enqueue([_run()])[0].id == "run"


def test_no_collections_is_one_clear_line_for_a_shared_transaction(
    mongodb_new_url: str, store: MongoStore, client: Client
) -> None:
    del client
    other = MongoStore(mongodb_new_url, "somewhere", None)
    with closing(client_of(mongodb_new_url)) as elsewhere, elsewhere.start_session() as session:
        session.start_transaction()
        with pytest.raises(SchemaError, match="no collections of onthedot"):
            other.enqueue([_run()], session)
    other.close()
    assert store.runs() == []
