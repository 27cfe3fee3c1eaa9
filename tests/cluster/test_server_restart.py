"""The server goes away in the middle, or stands still, for longer than a lease: nodes then go on by themselves."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cluster.cluster import TICKING, Cluster
from tests.patience import LONGEST_S
from tests.servers import mariadb, postgresql
from tests.servers.base import Server, running

AWAY_S = 5.0
"""Longer than the lease of these nodes, so that they must give up and join anew."""
IMPATIENT = "?read_timeout=1&connect_timeout=2"
"""The nodes give up a server that stands still long before that is over. Who asks here does not: it may be busy."""

WORK = """
@app.task
def work(ctx: Context) -> None:
    note(f"work {ctx.run_id} {ctx.attempt}")
"""


@pytest.fixture(params=["postgresql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """One of its own, since it will be killed."""
    kind = postgresql.version_or_skip(15) if request.param == "postgresql" else mariadb.kind_or_skip()
    with running(kind) as server:
        yield server


@pytest.fixture
def url(server: Server) -> Iterator[str]:
    module = postgresql if isinstance(server, postgresql.PostgreSQL) else mariadb
    with module.database_in(server.url) as url:
        yield url


@pytest.mark.parametrize(
    ("go_away", "come_back"), [(Server.kill, Server.start), (Server.freeze, Server.thaw)], ids=["killed", "frozen"]
)
def test_three_nodes_go_on_by_themselves_and_nothing_is_lost_or_done_twice(
    server: Server, url: str, tmp_path: Path, go_away: Callable[[Server], None], come_back: Callable[[Server], None]
) -> None:
    world = Cluster(tmp_path, url, TICKING + WORK)
    try:
        nodes = [world.start(CLUSTER_URL=f"{url}{IMPATIENT}") for _ in range(3)]
        world.until(lambda: len(_ticks(world)) >= 3)
        before = [world.app.enqueue("work", unchecked=True).id for _ in range(200)]
        go_away(server)
        time.sleep(AWAY_S)
        come_back(server)
        seen = max(_ticks(world))
        world.until(lambda: max(_ticks(world)) > seen + 4)
        after = [world.app.enqueue("work", unchecked=True).id for _ in range(50)]
        world.until(lambda: {*before, *after} <= {run.id for run in world.runs() if run.is_final})
        for node in nodes:
            node.send_signal(signal.SIGTERM)
        assert [node.wait(LONGEST_S) for node in nodes] == [0, 0, 0]
        world.expect_every_tick_once("tick")
        assert {str(run.state) for run in world.runs("tick")} <= {"succeeded", "skipped"}
        assert {str(run.state) for run in world.runs() if run.id in {*before, *after}} == {"succeeded"}
        done = Counter(tuple(words[:-1]) for words in world.notes())
        assert {each: times for each, times in done.items() if times > 1} == {}, "one attempt was made twice"
    finally:
        world.close()


def _ticks(world: Cluster) -> set[int]:
    return {int(words[0]) for words in world.notes() if words[0] != "work"}
