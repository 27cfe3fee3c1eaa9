"""PostgreSQL under Patroni: the leader is killed or frozen, and no tick is lost or doubled."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cluster.failover import storm
from tests.servers.patroni import Patroni


def test_nothing_is_doubled_when_the_leader_is_killed(patroni: Patroni, tmp_path: Path) -> None:
    with storm(tmp_path, patroni.url) as nodes:
        old = patroni.leader()
        old.kill()
        patroni.promoted_after(old)
        nodes.goes_on(1)


@pytest.mark.slow  # the same, and what comes after it
@pytest.mark.parametrize("fault", ["killed", "frozen"])
def test_nothing_is_doubled_when_the_leader_fails_and_comes_back(patroni: Patroni, tmp_path: Path, fault: str) -> None:
    with storm(tmp_path, patroni.url) as nodes:
        old = patroni.leader()
        if fault == "killed":
            old.kill()
        else:
            old.freeze()
        patroni.promoted_after(old)
        nodes.goes_on()
        if fault == "killed":
            old.start()
        else:
            old.thaw()
        patroni.wait_for_replicas(2)
        nodes.goes_on()
