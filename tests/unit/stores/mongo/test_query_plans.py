"""What is asked every second, or of a long history, uses an index and sorts nothing, however much there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, get_args

import pytest
from pymongo import monitoring
from tests.servers.mongodb_set import client_of

from onthedot import every
from onthedot.model.change import Author
from onthedot.model.freeze import Freeze
from onthedot.model.ids import new_id
from onthedot.model.minute import Minute
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.schedule import Facet, Order
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules import edits
from onthedot.rules.plan import Decider
from onthedot.stores.answers import Planned
from onthedot.stores.base import Store
from onthedot.stores.mongo.store import MongoStore
from onthedot.stores.open import open_store
from onthedot.stores.paging import place_of
from onthedot.stores.retention import Retention
from onthedot.testing.clock import ManualClock

START_MS = 1_800_000_000_000
BY = Author("test", "test", "put")
SMALL = {"nodes", "meta", "tasks"}
"""As many as there are nodes."""
OF_THE_CONNECTION = {"lsid", "$db", "$clusterTime", "txnNumber", "startTransaction", "autocommit", "readConcern"}


Command = dict[str, Any]


class Overheard(monitoring.CommandListener):
    """What is sent to find documents."""

    def __init__(self) -> None:
        self.everything: list[str] = []
        """The names of all commands."""
        self.asked: list[Command] = []
        self.searches: list[Command] = []
        """Those of them that may grow."""

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        self.everything.append(event.command_name)
        if event.command_name in ("find", "distinct", "aggregate"):
            self.asked.append({key: value for key, value in event.command.items() if key not in OF_THE_CONNECTION})
            if _collection(event.command) not in SMALL:
                self.searches.append(self.asked[-1])

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None: ...

    def failed(self, event: monitoring.CommandFailedEvent) -> None: ...


@pytest.fixture
def overheard(monkeypatch: pytest.MonkeyPatch) -> Overheard:
    listeners = monitoring._LISTENERS
    overheard = Overheard()
    monkeypatch.setattr(monitoring, "_LISTENERS", listeners._replace(command_listeners=[overheard]))
    return overheard


def _collection(command: Mapping[str, Any]) -> str:
    return str(next(iter(command.values()))).removeprefix("onthedot_")


@pytest.mark.parametrize("nodes", [1, 2], ids=["alone", "with others"])
def test_no_hot_search_reads_or_sorts_a_whole_collection(mongodb_url: str, overheard: Overheard, nodes: int) -> None:
    clock = ManualClock(START_MS)
    with closing(open_store(mongodb_url, create=True, now_ms=clock)) as store:
        names = [f"s{number}" for number in range(20)]
        discarding = Policy(overlap="discard", route="busyover")
        store.change(names, edits.put(edits.Definition("task", every("1m"), policy=discarding)), BY)
        for number in range(nodes):
            store.renew(store.join(Node(f"n{number}", "n", tasks=("task",)), []))
        overheard.searches.clear()
        _work(store, clock)
    assert {_collection(search) for search in overheard.searches} == {
        *("schedules", "runs", "history", "keys", "decisions", "changes", "revisions", "logs", "rolled", "hours"),
        *("graphs", "forgotten"),
    }
    with closing(client_of(mongodb_url)) as client:
        for search in overheard.searches:
            stages = _stages(client.get_default_database().command("explain", search))
            # Few, and put in order: ended steps that their flow does not know. Few, too: flows just forgotten.
            allowed = (
                {"COLLSCAN"} if _collection(search) == "forgotten" else {"SORT"} if "untold" in str(search) else set()
            )
            assert not stages & {"COLLSCAN", "SORT"} - allowed, search
            assert "distinct" not in search or "DISTINCT_SCAN" in stages, search


def test_what_people_ask_for_is_found_by_indexes(mongodb_url: str, overheard: Overheard) -> None:
    """Only needs are told from all schedules; and of the few live runs of a schedule, and of few schedules, the newest
    and the next are chosen here. Who has a facet that the clock decides is few, too, and put in order after that; so
    are steps that have ended and that their flow does not know, and the runs that a node has just now.
    """
    clock = ManualClock(START_MS)
    with closing(open_store(mongodb_url, create=True, now_ms=clock)) as store:
        _fill(store, clock)
        overheard.searches.clear()
        _ask(store)
    by_next = [each for each in overheard.searches if _collection(each) == "schedules" and "next_run_ms" in str(each)]
    assert len(by_next) > 5
    with closing(client_of(mongodb_url)) as client:
        for search in overheard.searches:
            stages = _stages(client.get_default_database().command("explain", search))
            are_few = search.get("hint") in ("declared", "left_out", "frozen") or "untold" in str(search)
            assert not stages & ({"COLLSCAN"} if are_few else {"COLLSCAN", "SORT"}), (search, stages)


def _fill(store: Store, clock: ManualClock) -> None:
    names = [f"s{number}" for number in range(20)]
    store.change(names, edits.put(edits.Definition("task", every("1m"), tags=("eu",))), BY)
    store.change(names[:2], edits.pause(None), BY)
    store.join(Node("n0", "n", tasks=("task",)), [])
    clock.pass_by(60_000)
    started = [run for effects in _plan(store, clock, free=20).effects for run in effects.runs]
    store.finish("n0", [Outcome(run.id, run.claim_no, "succeeded") for run in started[:9]])
    store.tally([Minute(START_MS, "n0", 9)])
    store.put_freeze(Freeze("xmas", START_MS, START_MS + 3_600_000), BY)
    while store.carry_out_freezes(500):
        pass


ORDERS: tuple[Order, ...] = ("name", "next")
FACETS: tuple[Facet, ...] = get_args(Facet)


def _ask(store: Store) -> None:
    """Each question that the dashboard may put, but for what active schedules need."""
    for order in ORDERS:
        after = place_of(store.schedules(names=["s7"])[0], order)
        store.schedules(order=order, after=after)
        store.schedules(order=order, after=after, tag="eu")
        store.schedules(order=order, after=after, search="S1")
        store.schedules(order=order, after=after, task="task")
        for state in FACETS:
            store.schedules(order=order, state=state)
    store.count_schedules()
    store.overdue(START_MS)
    store.changes(before=store.changes(limit=1)[0].id)
    for ended in (None, State.SUCCEEDED, State.FAILED):
        store.runs(task="task", state=ended)
        store.runs(node="n0", state=ended)
        store.runs(parent="r0", state=ended)
        store.runs(late=True, state=ended)
        store.runs(since_ms=START_MS, until_ms=START_MS + 1, state=ended)
    store.count_runs()
    store.load()
    store.minutes(START_MS, START_MS)
    store.roll_up()
    store.hours("task")


MANY = 200


def test_what_few_match_is_found_without_reading_the_others(mongodb_url: str, overheard: Overheard) -> None:
    """However many others there are: what was not asked for is at most looked at in an index."""
    clock = ManualClock(START_MS)
    with closing(open_store(mongodb_url, create=True, now_ms=clock)) as store:
        assert isinstance(store, MongoStore)
        store.change([f"s{number}" for number in range(MANY)], edits.put(edits.Definition("task", every("1m"))), BY)
        rare = edits.Definition("rare", every("1m"), tags=("rare",))
        store.change(["rare"], edits.put(rare), BY)
        with store.begin() as tx:
            tx.end_runs([_ended(number, clock()) for number in range(MANY)])
            tx.end_runs([replace(_ended(MANY, clock()), task="rare", owner="rare", started_ms=clock() + 2000)])
        overheard.searches.clear()
        for order in ORDERS:
            assert len(store.schedules(search="RAR", order=order)) == 1
            assert len(store.schedules(tag="rare", order=order)) == 1
            assert len(store.schedules(task="rare", order=order)) == 1
            assert store.schedules(state="ended", order=order) == []
            assert store.schedules(state="parked", order=order) == []
            assert store.schedules(state="undeclared", order=order) == []
            assert store.schedules(state="leaving_out", order=order) == []
        assert len(store.runs(task="rare")) == len(store.runs(node="rare")) == len(store.runs(late=True)) == 1
        assert store.runs(parent="rare") == []
        store.count_schedules()
    with closing(client_of(mongodb_url)) as client:
        for search in overheard.searches:
            cost = _cost(client.get_default_database().command("explain", search, verbosity="executionStats"))
            assert cost["totalDocsExamined"] <= 1, search


def _ended(number: int, now_ms: int) -> Run:
    run = Run(new_id(now_ms), "task", "tick", now_ms, now_ms, schedule_id="busy", schedule="busy", owner="n0")
    moment_ms = now_ms + number
    return replace(
        run, state=State.SUCCEEDED, scheduled_ms=moment_ms, due_ms=now_ms, started_ms=now_ms, finished_ms=now_ms
    )


def test_ticks_of_fifty_schedules_are_asked_for_once_and_found_by_indexes(
    mongodb_url: str, overheard: Overheard
) -> None:
    """Of a long history only the newest are read."""
    clock = ManualClock(START_MS)
    with closing(open_store(mongodb_url, create=True, now_ms=clock)) as store:
        assert isinstance(store, MongoStore)
        with store.begin() as tx:
            whole = [_ended(number, clock()) for number in range(MANY)]
            tx.end_runs(whole)
            for number in range(50):
                tx.end_runs([replace(whole[0], id=new_id(clock()), schedule_id=f"s{number}")])
        overheard.everything.clear()
        overheard.asked.clear()
        found = store.ticks(["busy", *(f"s{number}" for number in range(50))], each=3)
        assert overheard.everything == ["aggregate"]
    assert [mark.id for mark in found.marks[:3]] == [run.id for run in whole[: MANY - 4 : -1]]
    assert len(found.marks) == 53
    with closing(client_of(mongodb_url)) as client:
        (search,) = overheard.asked
        explained = client.get_default_database().command("explain", search, verbosity="executionStats")
    joins = [each for each in explained["stages"] if "$lookup" in each]
    assert [int(each["collectionScans"]) for each in joins] == [0, 0, 0]
    assert [each["indexesUsed"] for each in joins] == [["schedule"], ["ticks"], ["schedule"]]
    assert [int(each["totalDocsExamined"]) for each in joins] == [0, 53, 0]


CROWD = 500


def test_no_search_reads_more_than_it_gives_however_many_others_wait(mongodb_url: str, overheard: Overheard) -> None:
    clock = ManualClock(START_MS)
    with closing(open_store(mongodb_url, create=True, now_ms=clock)) as store:
        assert isinstance(store, MongoStore)
        store.change(["crowded", "free"], edits.put(edits.Definition("task", every("1m"))), BY)
        for name in ("n0", "n1"):
            store.join(Node(name, name, group="mine", tasks=("task",)), [])
        clock.pass_by(60_000)
        held = [run for effects in _plan(store, clock, 9).effects for run in effects.runs]
        _crowd_in(store, held[0], clock())
        clock.pass_by(60_000)
        overheard.searches.clear()
        _pass(store, clock, held)
    with closing(client_of(mongodb_url)) as client:
        for search in overheard.searches:
            cost = _cost(client.get_default_database().command("explain", search, verbosity="executionStats"))
            assert cost["nReturned"] < CROWD / 4, search
            assert cost["totalDocsExamined"] <= cost["nReturned"] + 5, search
            assert cost["totalKeysExamined"] <= cost["nReturned"] + 50, search


def _crowd_in(store: MongoStore, held: Run, now_ms: int) -> None:
    """Runs of all kinds that the node must not take, all due before those that it may."""
    crowd: list[dict[str, Any]] = [
        {"policy": Policy(group="other")},
        {"policy": Policy(group="mine", pool="slow", priority=1)},
        {"policy": Policy(limit="g:1"), "waits_for": "limit:g"},
        {"task": "unknown"},
        {"target": "n1"},
        {"schedule_id": held.schedule_id, "waits_for": f"slot:{held.schedule_id}"},
        {"due_ms": now_ms + 86_400_000},
    ]
    blank = Run("", "task", "manual", now_ms, now_ms)
    with store.begin() as tx:
        tx.save_runs([replace(blank, id=new_id(now_ms), **each) for each in crowd for _ in range(CROWD)])


def _pass(store: Store, clock: ManualClock, held: Sequence[Run]) -> None:
    """What a node does where work is waiting, and other work is in the way."""
    now_ms = clock()
    store.enqueue([Run("mine", "task", "enqueue", now_ms, now_ms)])
    store.upcoming(now_ms - 1000, now_ms + 5000)
    _plan(store, clock, 0)
    assert [run.id for run in store.start_due("n0", ["task"], 5, pools=["fast"]).runs] == ["mine"]
    assert store.finish("n0", [Outcome(run.id, run.claim_no, "succeeded") for run in held]).woken
    assert store.sweep()
    assert store.reroute(limit=10) == 10


def _plan(store: Store, clock: ManualClock, free: int, limit: int = 100) -> Planned:
    return store.plan_due("n0", limit, free, Decider(lambda: new_id(clock())))


def _work(store: Store, clock: ManualClock) -> None:
    """Two minutes in the life of a node, and somebody who looks on."""
    clock.pass_by(60_000)
    store.upcoming(clock() - 1000, clock())
    _plan(store, clock, free=2, limit=5)
    _plan(store, clock, free=0)
    started = store.start_due("n0", ["task"], 10).runs
    clock.pass_by(60_000)
    _plan(store, clock, free=0)
    store.reroute()
    _start_one_of_many(store, clock())
    store.finish("n0", [Outcome(run.id, run.claim_no, "failed") for run in started])
    store.renew(store.nodes()[0])
    store.cancels("n0")
    store.sweep()
    store.schedules(mode="local")
    store.runs(schedule="s1")
    store.runs(state=State.FAILED, before="z")
    store.runs(state=State.WAITING)
    store.decisions(store.schedules(names=["s1"])[0].id)
    store.revisions(store.schedules(after="s1")[0].id)
    store.changes()
    store.changes(name="s1")
    store.logs("run")
    store.prune(Retention(per_schedule=1))


def _start_one_of_many(store: Store, now_ms: int) -> None:
    """With and without priorities, and more of tomorrow, so that each level is asked for."""
    for number in range(24):
        due_ms = now_ms if number < 9 else now_ms + 86_400_000
        policy = Policy(priority=number % 3 - 1)
        store.enqueue([Run(new_id(now_ms), "task", "enqueue", due_ms, due_ms, policy=policy)])
    (first,) = store.start_due("n0", ["task"], 1).runs
    assert first.policy.priority == 1


def _stages(explained: Any) -> set[str]:
    """Of all plans that were chosen, wherever they stand."""
    if isinstance(explained, list):
        return {stage for each in explained for stage in _stages(each)}
    if not isinstance(explained, dict):
        return set()
    inner = (value for key, value in explained.items() if key not in ("rejectedPlans", "command"))
    here = {explained["stage"]} if isinstance(explained.get("stage"), str) else set()
    return here.union(*map(_stages, inner))


def _cost(explained: Command) -> Command:
    """What the search itself cost, whatever else is done with what it gave."""
    first = explained["stages"][0]["$cursor"] if "stages" in explained else explained
    cost: Command = first["executionStats"]
    return cost
