"""A Redis Cluster: the promises in part, a slot that moves, and what a wrong URL brings."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from redis.crc import key_slot
from tests.servers.redis import RedisServer, fresh
from tests.servers.redis_cluster import RedisCluster
from tests.servers.redis_sentinel import ask

from onthedot.errors import StoreError, StoreUnavailable
from onthedot.model.finding import Level
from onthedot.model.run import Run
from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.stores.redis.store import RedisStore
from onthedot.testing import conformance
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance import START_MS


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    with tempfile.TemporaryDirectory(prefix="onthedot-redis-cluster-") as folder:
        cluster = RedisCluster(Path(folder))
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture
def store(cluster: RedisCluster, clock: ManualClock) -> Iterator[Store]:
    with closing(open_store(fresh(cluster.url), create=True, now_ms=clock)) as store:
        yield store


@pytest.mark.slow
class TestFinishingAndStarting(conformance.TestFinishingAndStarting): ...


@pytest.mark.slow
class TestKeys(conformance.TestKeys): ...


@pytest.mark.slow
class TestManyThreadsAtOnce(conformance.TestManyThreadsAtOnce): ...


def _run(run_id: str) -> Run:
    return Run(run_id, "task", "enqueue", 0, 0)


def test_a_slot_that_is_moved_is_waited_for_and_followed(cluster: RedisCluster) -> None:
    url = f"{fresh(cluster.url)}&allow_no_replicas=yes"
    with closing(open_store(url, create=True)) as store, closing(open_store(url, create=True)) as other:
        assert isinstance(other, RedisStore)
        store.enqueue([_run("before")])
        slot = str(key_slot(url.partition("namespace=")[2].partition("&")[0].encode()))
        old, new = cluster.servers[0], cluster.voters[0]
        _prepare_move(slot, old, new)
        acts: list[Callable[[], object]] = [store.runs, lambda: store.enqueue([_run("meanwhile")])]
        for act in acts:
            with pytest.raises(StoreUnavailable, match="is moving our slot to another node of its cluster"):
                act()
        _move(slot, old, new, cluster)
        store.enqueue([_run("after")])
        assert {run.id for run in store.runs()} == {"before", "after"}
        assert other._server.write_script("commit", [0]) == 1, (
            "a commit that was not done is not sent where it would be"
        )


def _prepare_move(slot: str, old: RedisServer, new: RedisServer) -> None:
    ask(new, "CLUSTER", "SETSLOT", slot, "IMPORTING", ask(old, "CLUSTER", "MYID"))
    ask(old, "CLUSTER", "SETSLOT", slot, "MIGRATING", ask(new, "CLUSTER", "MYID"))


def _move(slot: str, old: RedisServer, new: RedisServer, cluster: RedisCluster) -> None:
    keys = ask(old, "CLUSTER", "GETKEYSINSLOT", slot, "1000")
    ask(old, "MIGRATE", "127.0.0.1", str(new.port), "", "0", "5000", "KEYS", *keys)
    for each in (new, old, cluster.voters[1]):
        ask(each, "CLUSTER", "SETSLOT", slot, "NODE", ask(new, "CLUSTER", "MYID"))


def test_a_node_that_holds_our_slot_may_be_named_alone_and_another_says_what_to_write(cluster: RedisCluster) -> None:
    holder, voter = cluster.servers[0], cluster.voters[0]
    with closing(open_store(fresh(f"redis://127.0.0.1:{holder.port}/0"), create=True)) as store:
        assert store.schedules() == []
    with pytest.raises(StoreError, match=r"does not hold our slot; write redis\+cluster://") as caught:
        open_store(fresh(f"redis://127.0.0.1:{voter.port}/0"), create=True)
    assert "\n" not in str(caught.value)


def test_a_cluster_is_found_through_any_of_its_nodes(cluster: RedisCluster) -> None:
    for each in cluster.servers:
        url = f"redis+cluster://127.0.0.1:1,127.0.0.1:{each.port}"
        with closing(open_store(fresh(url), create=True)) as store:
            assert store.schedules() == []


def test_doctor_says_how_many_have_what_is_written_and_how_many_can_vote(store: Store) -> None:
    found = [each for each in store.examine() if each.about in ("replicas", "cluster")]
    assert [each.level for each in found] == [Level.OK, Level.OK]
    assert found[0].what == "2, of which 1 must have what is written"
    assert found[1].what.startswith("3 primaries; all our keys lie in slot ")


def test_a_server_that_is_no_cluster_is_told_so(redis_server: str) -> None:
    place = redis_server.partition("://")[2].partition("/")[0]
    with pytest.raises(StoreError, match=f"{place} says: this is no cluster; write redis:// for a single server$"):
        open_store(f"redis+cluster://{place}", create=True)


def test_nodes_that_are_away_are_named() -> None:
    with pytest.raises(StoreUnavailable, match=r"nobody knows the primary of slot [0-9]+ \(127.0.0.1:1: .*\)"):
        open_store("redis+cluster://127.0.0.1:1", create=True)
