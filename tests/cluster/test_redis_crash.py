"""Nodes survive the crash of their Redis."""

from __future__ import annotations

import signal
import time
from collections import Counter
from pathlib import Path

from tests.cluster.cluster import TICKING, Cluster
from tests.patience import LONGEST_S
from tests.servers.redis import running

AWAY_S = 5


def test_nodes_come_back_by_themselves_when_a_killed_server_does_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    with running() as server:
        world = Cluster(tmp_path, server.url, TICKING)
        try:
            nodes = [world.start(), world.start()]
            world.until(lambda: len(world.app.open_store().nodes()) == 2 and len(world.notes()) >= 3)
            server.kill()
            before = len(world.notes())
            time.sleep(AWAY_S)  # that it is away for a while is the fault itself
            server.start()
            world.until(lambda: len(world.notes()) >= before + 6)
            for node in nodes:
                node.send_signal(signal.SIGTERM)
            assert [node.wait(LONGEST_S) for node in nodes] == [0, 0]
            schedule = world.app.schedules.get("tick")
            ticks = Counter(run.scheduled_ms for run in world.runs("tick"))
            assert set(ticks.values()) == {1}, "a tick was run twice"
            decided = world.app.open_store().decisions(schedule.id)
            covered = set(ticks) | {ms for each in decided for ms in range(each.first_ms, each.last_ms + 1, 1000)}
            assert covered >= set(range(min(ticks), max(ticks) + 1, 1000)), "a tick vanished"
            attempts = Counter((words[0], words[1]) for words in world.notes())
            assert set(attempts.values()) == {1}, "an attempt was made twice"
        finally:
            world.close()
