"""Documents in Redis through the driver's own clients of sentinels and of a cluster."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import redis
from redis.cluster import ClusterNode
from redis.sentinel import Sentinel
from tests.cluster.test_documents_processes import until
from tests.servers.redis_cluster import RedisCluster
from tests.servers.redis_sentinel import SERVICE, SentinelGroup

from onthedot.documents import Documents
from onthedot.documents.redis import RedisJobStore


def test_documents_outlive_the_primary_of_sentinels(redis_sentinel: SentinelGroup) -> None:
    places = [("127.0.0.1", each.port) for each in redis_sentinel.sentinels]
    with closing(Sentinel(places, socket_timeout=2).master_for(SERVICE)) as client:  # type: ignore[no-untyped-call]
        mails = _mails(client, 20)
        old = redis_sentinel.primary()
        worked: list[int] = []

        def work(mail: dict[str, Any]) -> None:
            worked.append(mail["id"])
            if len(worked) == 5:
                old.kill()

        with Documents(mails, on_document=work, workers=2, idle_delay="20ms").running():
            until(lambda: set(worked) == set(range(20)))


def test_documents_are_worked_in_a_cluster(redis_cluster: RedisCluster) -> None:
    nodes = [ClusterNode("127.0.0.1", each.port) for each in redis_cluster.voters]  # type: ignore[no-untyped-call]
    with closing(redis.RedisCluster(startup_nodes=nodes)) as client:
        mails = _mails(client, 3)
        assert Documents(mails, on_document=lambda mail: None).run_once() == 3
        assert [(mails.get(number) or {})["sleep_until"] for number in range(3)] == [None] * 3
        mails.delete(1)
        assert mails.get(1) is None


def _mails(client: Any, count: int) -> RedisJobStore:
    mails = RedisJobStore(client, "mails")
    for number in range(count):
        mails.put({"id": number, "sleep_until": datetime.now(UTC)})
    return mails
