"""What is asked every second, or of a long history, uses an index and sorts nothing, however much there is."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from pymongo import monitoring
from tests.servers.mongodb_set import client_of

from onthedot import every
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.rules.plan import Decider
from onthedot.stores.base import Author, Retention, Store
from onthedot.stores.open import open_store
from onthedot.stores.prune import prune_all
from onthedot.testing.clock import ManualClock

START_MS = 1_800_000_000_000
SMALL = {"onthedot_nodes", "onthedot_meta", "onthedot_tasks"}
"""As many as there are nodes."""
OF_THE_CONNECTION = {"lsid", "$db", "$clusterTime", "txnNumber", "startTransaction", "autocommit", "readConcern"}


class Overheard(monitoring.CommandListener):
    """What is sent to find documents."""

    def __init__(self) -> None:
        self.finds: list[dict[str, Any]] = []

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        if event.command_name == "find":
            command = {key: value for key, value in event.command.items() if key not in OF_THE_CONNECTION}
            self.finds.append(command)

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None: ...

    def failed(self, event: monitoring.CommandFailedEvent) -> None: ...


@pytest.fixture
def overheard(monkeypatch: pytest.MonkeyPatch) -> Overheard:
    listeners = monitoring._LISTENERS
    overheard = Overheard()
    monkeypatch.setattr(monitoring, "_LISTENERS", listeners._replace(command_listeners=[overheard]))
    return overheard


@pytest.mark.parametrize("nodes", [1, 2], ids=["alone", "with others"])
def test_no_hot_search_reads_or_sorts_a_whole_collection(mongodb_url: str, overheard: Overheard, nodes: int) -> None:
    clock = ManualClock(START_MS)
    with closing(open_store(mongodb_url, create=True, now_ms=clock)) as store:
        names = [f"s{number}" for number in range(20)]
        store.change(names, edits.put(edits.Definition("task", every("1m"))), Author("test", "test", "put"))
        for number in range(nodes):
            store.renew(store.join(Node(f"n{number}", "n", tasks=("task",)), []))
        overheard.finds.clear()
        _work(store, clock)
    asked = [find for find in overheard.finds if find["find"] not in SMALL]
    assert {find["find"] for find in asked} >= {
        f"onthedot_{name}" for name in ("schedules", "runs", "history", "keys", "decisions", "changes", "logs")
    }
    with closing(client_of(mongodb_url)) as client:
        database = client.get_default_database()
        for find in asked:
            stages = _stages(database.command("explain", find)["queryPlanner"]["winningPlan"])
            assert "COLLSCAN" not in stages, find
            assert "SORT" not in stages, find
            if "skip" in find and find["find"] in ("onthedot_history", "onthedot_decisions"):
                assert "FETCH" not in stages, "what is kept is read"
        assert any(find.get("hint") == "levels" for find in asked)


def _work(store: Store, clock: ManualClock) -> None:
    """A minute in the life of a node, and somebody who looks on."""
    clock.pass_by(60_000)
    store.upcoming(clock() - 1000, clock())
    store.plan_due("n0", 5, 2, Decider(lambda: new_id(clock())))
    store.plan_due("n0", 100, 0, Decider(lambda: new_id(clock())))
    started = store.start_due("n0", ["task"], 10).runs
    _start_one_of_many(store, clock())
    store.finish("n0", [Outcome(run.id, run.claim_no, "failed") for run in started])
    store.renew(store.nodes()[0])
    store.cancels("n0")
    store.sweep()
    store.runs(schedule="s1")
    store.runs(state=State.FAILED, before="z")
    store.runs(state=State.WAITING)
    store.decisions(store.schedules(names=["s1"])[0].id)
    store.revisions(store.schedules(after="s1")[0].id)
    store.changes()
    store.changes(name="s1")
    store.logs("run")
    _forget(store, clock)


def _forget(store: Store, clock: ManualClock) -> None:
    """Something of each kind, or the search for it."""
    clock.pass_by(600_000)
    store.change(["s1", "s2"], edits.put(edits.Definition("task", every("7m"))), Author("test", "test", "put"))
    store.change(["s2"], edits.delete(), Author("test", "test", "delete"))
    store.prune(Retention(per_schedule=1, decisions_per_schedule=1, most_changes=1))
    clock.pass_by(400 * 86_400_000)
    done = prune_all(store, Retention(per_schedule=1))
    assert min(done.runs, done.decisions, done.revisions, done.tombstones, done.changes) >= 1


def _start_one_of_many(store: Store, now_ms: int) -> None:
    """With and without priorities, and more of tomorrow, so that each level is asked for."""
    for number in range(24):
        due_ms = now_ms if number < 9 else now_ms + 86_400_000
        policy = Policy(priority=number % 3 - 1)
        store.enqueue([Run(new_id(now_ms), "task", "enqueue", due_ms, due_ms, policy=policy)])
    (first,) = store.start_due("n0", ["task"], 1).runs
    assert first.policy.priority == 1


def _stages(plan: dict[str, Any]) -> set[str]:
    inner = [plan[key] for key in ("inputStage", "queryPlan") if key in plan] + plan.get("inputStages", [])
    return {plan.get("stage", "")}.union(*(_stages(each) for each in inner))
