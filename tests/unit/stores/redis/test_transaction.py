"""Two transactions at once: whoever commits second and relied on what the first has changed, writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import redis
from tests.stores.redis_indexes import check_indexes

from onthedot.model.key import Key
from onthedot.model.node import Node, NodeState
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.stores.open import open_store
from onthedot.stores.redis.store import RedisStore
from onthedot.stores.redis.transaction import RedisTransaction
from onthedot.stores.transaction import Claim, LiveRuns, TryAgain

NOW_MS = 1_800_000_000_000
SCHEDULE = Schedule("id", "name", "task", {"v": 1}, next_run_ms=NOW_MS)
RUN = Run("run", "task", "tick", NOW_MS, NOW_MS, schedule_id="id", schedule="name")
LONE = Run("lone", "task", "enqueue", NOW_MS, NOW_MS)
NODE = Node("node", "a", started_ms=NOW_MS, renewed_ms=NOW_MS)
CLAIM = Claim("node", None, ("task",))


@pytest.fixture
def store(redis_url: str) -> Iterator[RedisStore]:
    store = open_store(redis_url, create=True, now_ms=lambda: NOW_MS)
    assert isinstance(store, RedisStore)
    with store.begin() as tx:
        tx.save_schedules([SCHEDULE])
        tx.save_runs([RUN, LONE])
        tx.save_node(NODE)
    yield store
    store.close()
    check_indexes(redis_url)


def _reads_schedule(tx: RedisTransaction) -> None:
    assert tx.schedules_named(["name"]) == {"name": SCHEDULE}


def _reads_no_name(tx: RedisTransaction) -> None:
    assert tx.schedules_named(["other"]) == {}
    tx.save_schedules([replace(SCHEDULE, id="mine", name="other")])


def _reads_live(tx: RedisTransaction) -> None:
    _reads_schedule(tx)
    assert [run.id for run in tx.live_of(["id"])] == ["run"]


def _reads_beside(tx: RedisTransaction) -> None:
    assert tx.live_beside(list(tx.lock_schedules(["id"]).values())) == {"id": LiveRuns((RUN,))}


def _plans(tx: RedisTransaction) -> None:
    due, _ = tx.due_schedules(10, 0)
    assert tx.live_beside(due) == {"id": LiveRuns((RUN,))}


def _reads_run(tx: RedisTransaction) -> None:
    assert tx.live_runs(["lone"]) == {"lone": LONE}


def _reads_no_run(tx: RedisTransaction) -> None:
    assert tx.live_runs(["new"]) == {}
    assert tx.ended_runs(["new"]) == {}


def _reads_no_key(tx: RedisTransaction) -> None:
    assert tx.keys(["k"]) == {}


def _reads_node(tx: RedisTransaction) -> None:
    assert tx.node("node") == NODE


def _reads_that_it_lives(tx: RedisTransaction) -> None:
    assert tx.node_shared("node") == NODE


def _reads_no_node(tx: RedisTransaction) -> None:
    assert tx.node_shared("other") is None


def _takes_slot(tx: RedisTransaction) -> None:
    tx.save_runs([replace(RUN, id="a", slot="id/0", state=State.RUNNING, owner="node")])


def _marks_dead(tx: RedisTransaction) -> None:
    assert tx.node("node") == NODE
    assert tx.owned_by("node") == []
    tx.save_node(replace(NODE, state=NodeState.DEAD))


def _saves_schedule(tx: RedisTransaction) -> None:
    tx.save_schedules([replace(tx.schedules_if_free(["id"])["id"], next_run_ms=NOW_MS + 1)])


def _saves_name(tx: RedisTransaction) -> None:
    tx.save_schedules([replace(SCHEDULE, id="theirs", name="other")])


def _adds_run(tx: RedisTransaction) -> None:
    row = tx.lock_schedules(["id"])["id"]
    tx.save_schedules([replace(row, version=row.version + 1)])
    tx.save_runs([replace(RUN, id="new")])


def _ends_run(tx: RedisTransaction) -> None:
    tx.end_runs([replace(tx.live_runs(["run"])["run"], state=State.CANCELLED)])


def _changes_run(tx: RedisTransaction) -> None:
    tx.save_runs([replace(tx.live_runs(["lone"])["lone"], claim_no=1)])


def _ends_new_run(tx: RedisTransaction) -> None:
    tx.end_runs([replace(RUN, id="new", schedule_id=None, state=State.SUCCEEDED)])


def _saves_key(tx: RedisTransaction) -> None:
    tx.save_keys([Key("k", "run")])


def _renews(tx: RedisTransaction) -> None:
    node = tx.node("node")
    assert node is not None
    tx.save_node(replace(node, renewals=node.renewals + 1))


def _drains(tx: RedisTransaction) -> None:
    node = tx.node("node")
    assert node is not None
    tx.save_node(replace(node, state=NodeState.DRAINING))


def _joins(tx: RedisTransaction) -> None:
    tx.save_node(replace(NODE, id="other"))


def _takes_the_same_slot(tx: RedisTransaction) -> None:
    tx.save_runs([replace(RUN, id="b", slot="id/0", state=State.RUNNING, owner="node")])


def _begins_a_run(tx: RedisTransaction) -> None:
    tx.node("node")
    run = tx.live_runs(["lone"])["lone"]
    tx.save_runs([replace(run, state=State.RUNNING, owner="node", claim_no=1)])


Work = Callable[[RedisTransaction], None]


@pytest.mark.parametrize(
    ("relies", "changes"),
    [
        pytest.param(_reads_schedule, _saves_schedule, id="a schedule"),
        pytest.param(_reads_no_name, _saves_name, id="a name that was free"),
        pytest.param(_reads_live, _adds_run, id="a live run more"),
        pytest.param(_reads_live, _ends_run, id="a live run less"),
        pytest.param(_reads_beside, _adds_run, id="a run beside"),
        pytest.param(_plans, _adds_run, id="a run beside what is planned"),
        pytest.param(_reads_run, _changes_run, id="a run"),
        pytest.param(_reads_no_run, _adds_run, id="an id that was free"),
        pytest.param(_reads_no_run, _ends_new_run, id="an id that was free and is in history"),
        pytest.param(_reads_no_key, _saves_key, id="a key that was free"),
        pytest.param(_reads_node, _renews, id="a node"),
        pytest.param(_reads_that_it_lives, _drains, id="the state of a node"),
        pytest.param(_reads_no_node, _joins, id="a node that there was not"),
        pytest.param(_takes_slot, _takes_the_same_slot, id="a slot"),
        pytest.param(_marks_dead, _begins_a_run, id="a run that the dead one has begun"),
    ],
)
def test_what_was_relied_upon_and_has_changed_is_a_clash_that_leaves_nothing(
    store: RedisStore, relies: Work, changes: Work
) -> None:
    def overtaken() -> None:
        with store.begin() as mine:
            relies(mine)
            with store.begin() as theirs:
                changes(theirs)
            mine.save_keys([Key("trace", "mine")])

    with pytest.raises(TryAgain):
        overtaken()
    with store.begin() as tx:
        assert tx.keys(["trace"]) == {}


@pytest.mark.parametrize(
    ("reads", "changes"),
    [
        pytest.param(lambda tx: tx.summaries(["id"]), _saves_schedule, id="how a schedule stands"),
        pytest.param(lambda tx: tx.owned_by("node"), _begins_a_run, id="what a node owns"),
        pytest.param(lambda tx: tx.load(), _begins_a_run, id="how much it has to do"),
        pytest.param(lambda tx: tx.owners(), _begins_a_run, id="who owns anything"),
        pytest.param(lambda tx: tx.nodes(), _renews, id="the other nodes"),
        pytest.param(lambda tx: tx.schedules_of(["run"]), _ends_run, id="whose run it is"),
        pytest.param(_reads_that_it_lives, _renews, id="when a living node was renewed"),
        pytest.param(_reads_that_it_lives, _begins_a_run, id="what a living node has begun"),
        pytest.param(_reads_beside, _ends_run, id="a run less beside"),
        pytest.param(_plans, _ends_run, id="a run less beside what is planned"),
    ],
)
def test_what_was_only_looked_at_may_change(store: RedisStore, reads: Work, changes: Work) -> None:
    with store.begin() as mine:
        reads(mine)
        with store.begin() as theirs:
            changes(theirs)
        mine.save_keys([Key("trace", "mine")])
    with store.begin() as tx:
        assert set(tx.keys(["trace"])) == {"trace"}


def test_what_one_works_on_others_pass_over_until_it_is_done(store: RedisStore) -> None:
    with store.begin() as tx:
        tx.save_node(replace(NODE, id="other"))  # who is alone holds no runs but those of schedules
    with store.begin() as mine:
        assert mine.due_schedules(10, 0) == ([SCHEDULE], False)
        with store.begin() as theirs:
            assert theirs.due_schedules(10, 0) == ([], True)
            assert [run.id for run in theirs.due_runs(CLAIM, 10)] == ["lone"]
            assert [run.id for run in mine.due_runs(CLAIM, 10)] == ["run"]
            assert [run.id for run in mine.due_runs(CLAIM, 10)] == ["run"], "what it holds itself is free for it"
    with store.begin() as tx:
        assert tx.due_schedules(10, 0) == ([SCHEDULE], False)


def test_what_was_looked_at_before_the_lock_is_as_it_is_under_it(store: RedisStore) -> None:
    with store.begin() as tx:
        tx.save_runs([replace(tx.live_runs(["run"])["run"], waits_for="limit:mail")])
    with store.begin() as mine:
        assert [run.state for run in mine.waiting_for("limit:mail", 10)] == [State.WAITING]
        with store.begin() as theirs:
            row, run = theirs.lock_schedules(["id"])["id"], theirs.live_runs(["run"])["run"]
            theirs.save_schedules([replace(row, version=row.version + 1)])
            theirs.save_runs([replace(run, waits_for=None, state=State.RUNNING, owner="node")])
        live = mine.live_beside(list(mine.lock_schedules(["id"]).values()))
        assert [run.state for run in live["id"].runs] == [State.RUNNING]


def test_what_was_given_up_is_free_at_once(store: RedisStore) -> None:
    def give_up() -> None:
        with store.begin() as tx:
            tx.due_schedules(10, 0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        give_up()
    with store.begin() as tx:
        assert tx.due_schedules(10, 0) == ([SCHEDULE], False)


def test_a_transaction_that_was_overtaken_takes_less_the_next_time(store: RedisStore) -> None:
    with store.begin() as tx:
        tx.save_schedules([replace(SCHEDULE, id=f"id{number}", name=f"name {number}") for number in range(20)])
    asked: list[int] = []

    def work(tx: object) -> None:
        assert isinstance(tx, RedisTransaction)
        due, _ = tx.due_schedules(16, 0)
        asked.append(len(due))
        if len(asked) < 5:
            raise TryAgain

    store._transact(work)
    assert asked == [16, 16, 8, 4, 2]


def test_an_unreadable_row_is_parked_with_its_text_and_the_rest_is_planned(store: RedisStore, redis_url: str) -> None:
    bare, _, namespace = redis_url.partition("?namespace=")
    with redis.Redis.from_url(bare, decode_responses=True) as client:
        client.hset(f"{{{namespace}}}:schedules", "id", "x" * 12 + '["id","name","task",broken')
    with store.begin() as tx:
        (row,) = tx.due_schedules(10, 0)[0]
        assert (row.id, row.name) == ("id", "name")
        assert "unreadable" in row.trigger["type"]
        assert "broken" in row.trigger["text"]
        tx.save_schedules([replace(row, error="cannot be read")])
    assert "broken" in store.schedules(names=["name"])[0].trigger["text"]
    with store.begin() as tx:  # for the comparison of the indexes after this test
        tx.save_schedules([replace(tx.schedules_if_free(["id"])["id"], next_run_ms=NOW_MS)])
