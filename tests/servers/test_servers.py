"""The servers that other tests rely on are what they say."""

from __future__ import annotations

from contextlib import closing

import psycopg
import pytest
from tests.servers import mariadb as mariadb_servers
from tests.servers.redis_cluster import LAST_SLOT, RedisCluster
from tests.servers.redis_sentinel import _until, ask


def test_a_test_has_a_postgresql_of_version_15_and_a_database_of_its_own(postgresql_15: str) -> None:
    with psycopg.connect(postgresql_15) as connection:
        assert connection.info.server_version >= 150_000
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


def test_a_test_has_a_postgresql_of_version_18_and_a_database_of_its_own(postgresql_18: str) -> None:
    with psycopg.connect(postgresql_18) as connection:
        assert connection.info.server_version >= 180_000


def test_a_test_has_a_mariadb_and_a_database_of_its_own(mariadb: str) -> None:
    with closing(mariadb_servers.connect(mariadb)) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW TABLES")
        assert cursor.fetchall() == ()


@pytest.mark.slow  # a replica takes its five seconds
def test_the_holder_of_a_redis_cluster_keeps_its_replicas_though_a_voter_is_owed_one(
    redis_cluster: RedisCluster,
) -> None:
    """Whoever hears of a slot when somebody has a replica already takes its primary for one that must have its own."""
    for replica in redis_cluster.servers[3:]:
        ask(replica, "CLUSTER", "DELSLOTS", str(LAST_SLOT))  # it hears of that one anew
    began_s = int(ask(redis_cluster.servers[3], "TIME")[0])
    _until(lambda: int(ask(redis_cluster.servers[3], "TIME")[0]) >= began_s + 8, "its clock stands still")
    assert redis_cluster.replicas() == 2
