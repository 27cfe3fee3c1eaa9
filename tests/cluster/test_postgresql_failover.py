"""The primary of a pair is killed and its standby promoted: nodes find it by themselves, and nothing is done twice."""

from __future__ import annotations

import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
from tests.cluster.cluster import LONG_LEASE_MS, TICKING, Cluster
from tests.patience import LONGEST_S
from tests.servers.postgresql_pair import Pair

from onthedot.model.schedule import Schedule
from onthedot.stores.open import open_store


def test_two_nodes_go_on_after_the_promotion_and_no_tick_is_lost_or_doubled(
    postgresql_pair: Pair, tmp_path: Path
) -> None:
    _make_in_many_spellings(postgresql_pair)
    world = Cluster(tmp_path, postgresql_pair.url, TICKING, LONG_LEASE_MS)
    try:
        nodes = [world.start() for _ in range(2)]
        world.until(lambda: len(world.notes()) >= 3)
        postgresql_pair.kill_primary()
        postgresql_pair.promote()
        before = len(world.notes())
        world.until(lambda: len(world.notes()) >= before + 4)
        for node in nodes:
            node.send_signal(signal.SIGTERM)
        assert [node.wait(LONGEST_S) for node in nodes] == [0, 0]
        world.expect_every_tick_once("tick")
        made = Counter(tuple(words[:-1]) for words in world.notes())
        assert {each: times for each, times in made.items() if times > 1} == {}, "one attempt was made twice"
    finally:
        world.close()


def _make_in_many_spellings(pair: Pair) -> None:
    """All at once: whoever comes first makes the tables, and how the others call the same place does not matter."""
    first, second = pair.primary.port, pair.standby.port
    spellings = [
        pair.url,
        f"postgresql://postgres@127.0.0.1:{first},127.0.0.1:{second}/postgres",
        f"postgres://postgres@localhost:{first}/postgres",
        f"postgresql+psycopg://postgres@/postgres?host=127.0.0.1:{second}&host=127.0.0.1:{first}",
    ]

    def create(url: str) -> list[Schedule]:
        with closing(open_store(url, create=True)) as store:
            return store.schedules()

    with ThreadPoolExecutor(len(spellings)) as pool:
        assert list(pool.map(create, spellings)) == [[]] * len(spellings)
    with psycopg.connect(pair.primary.url) as connection:
        assert connection.execute("SELECT count(*) FROM onthedot_meta").fetchone() == (1,)
