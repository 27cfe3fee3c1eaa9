"""Redis by Sentinel and as a Cluster: the primary is killed or frozen, and no tick is lost or doubled."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cluster.failover import storm
from tests.servers.redis_cluster import RedisCluster
from tests.servers.redis_sentinel import SentinelGroup


@pytest.mark.slow
def test_nothing_is_doubled_when_the_primary_of_sentinels_is_killed(
    redis_sentinel: SentinelGroup, tmp_path: Path
) -> None:
    with storm(tmp_path, redis_sentinel.url) as nodes:
        old = redis_sentinel.primary()
        old.kill()
        nodes.goes_on()
        old.start()
        redis_sentinel.wait_for_replicas(2)
        nodes.goes_on()


def test_nothing_is_doubled_when_the_primary_of_sentinels_is_frozen_and_thawed_after_another_was_chosen(
    redis_sentinel: SentinelGroup, tmp_path: Path
) -> None:
    with storm(tmp_path, redis_sentinel.url) as nodes:
        old = redis_sentinel.primary()
        old.freeze()
        redis_sentinel.promoted_after(old)
        nodes.goes_on(1)
        old.thaw()  # it goes on as if it were the primary, until the sentinels tell it
        nodes.goes_on()


def test_nothing_is_doubled_when_the_holder_of_a_cluster_is_frozen_and_thawed_and_the_next_one_killed(
    redis_cluster: RedisCluster, tmp_path: Path
) -> None:
    with storm(tmp_path, redis_cluster.url) as nodes:
        old = redis_cluster.holder()
        old.freeze()
        new = redis_cluster.promoted_after(old)
        nodes.goes_on(1)
        old.thaw()
        redis_cluster.wait_for_replicas(2)
        new.kill()
        redis_cluster.promoted_after(new)
        nodes.goes_on()
