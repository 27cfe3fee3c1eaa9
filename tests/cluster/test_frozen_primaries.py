"""The server at which all nodes work is frozen until another has taken its place, and thawed: nothing is doubled.

It does not know, when it wakes, what became of it, and may do what it was asked before. Redis and Patroni have files of
their own.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from tests.cluster.failover import storm
from tests.servers.galera import GaleraServer
from tests.servers.mariadb import connect
from tests.servers.mongodb_set import ReplicaSet
from tests.servers.postgresql_pair import Pair

_SOON = "read_timeout=3"
"""An answer that does not come is given up after so many seconds."""


def test_the_primary_of_a_mongodb_set(mongodb_set: ReplicaSet, tmp_path: Path) -> None:
    with storm(tmp_path, f"{mongodb_set.url}&connectTimeoutMS=2000") as nodes:
        old = mongodb_set.freeze_primary()
        mongodb_set.promoted_after(old)
        nodes.goes_on(1)
        old.thaw()
        nodes.goes_on()


@pytest.mark.slow
def test_the_primary_of_a_postgresql_pair_whose_standby_is_promoted(postgresql_pair: Pair, tmp_path: Path) -> None:
    with storm(tmp_path, f"{postgresql_pair.url}?{_SOON}&connect_timeout=2") as nodes:
        postgresql_pair.primary.freeze()
        postgresql_pair.promote()
        nodes.goes_on(1)
        postgresql_pair.primary.thaw()  # it waits for its standby with every commit, and that one is gone
        nodes.goes_on()


@pytest.mark.slow
def test_the_server_of_a_galera_cluster(galera_trio: list[GaleraServer], tmp_path: Path) -> None:
    with closing(connect(galera_trio[0].url)) as connection:
        connection.cursor().execute("CREATE DATABASE jobs")
    hosts = ",".join(f"127.0.0.1:{each.port}" for each in galera_trio)
    with storm(tmp_path, f"mariadb://root@{hosts}/jobs?{_SOON}") as nodes:
        galera_trio[0].freeze()
        nodes.goes_on(1)
        galera_trio[0].thaw()
        nodes.goes_on()
