"""A Galera cluster whose servers are all used: made at once, left by one, without a majority, and gone on with."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import pytest
from tests.patience import LONGEST_S
from tests.servers.galera import GaleraServer
from tests.servers.mariadb import connect

from onthedot.errors import StoreUnavailable
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.stores.base import Store
from onthedot.stores.open import open_store


def test_stores_are_made_from_two_servers_at_once_and_outlive_the_loss_of_one(
    galera: tuple[GaleraServer, GaleraServer],
) -> None:
    first, second = galera
    _make_at_once(galera)
    hosts = ",".join(f"127.0.0.1:{each.port}" for each in galera)
    with closing(open_store(f"mariadb://root@{hosts}/jobs?read_timeout=5", create=False)) as store:
        assert [run.id for run in store.enqueue([_run("before")])] == ["before"]
        first.kill()
        assert "\n" not in _until_unavailable(store)
        with pytest.raises(StoreUnavailable, match="does not answer: WSREP has not yet prepared node"):
            open_store(f"{second.url}jobs", create=False)
        second.go_on_alone()
        _enqueue(store, _run("after"))
        assert {run.id for run in store.runs()} >= {"before", "after"}


def _make_at_once(servers: Sequence[GaleraServer]) -> None:
    """The lock of one server is not that of the other."""
    with closing(connect(servers[0].url)) as connection:
        connection.cursor().execute("CREATE DATABASE jobs")

    def create(url: str) -> list[Schedule]:
        with closing(open_store(url, create=True)) as store:
            return store.schedules()

    urls = [f"{server.url}jobs" for server in servers]
    with ThreadPoolExecutor(len(urls)) as pool:
        assert list(pool.map(create, urls)) == [[], []]
    with closing(connect(urls[1])) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM onthedot_meta")
        assert cursor.fetchone() == (1,)


def _run(run_id: str) -> Run:
    return Run(run_id, "task", "enqueue", 0, 0, key=run_id)


def _until_unavailable(store: Store) -> str:
    """What it says once the servers that are left know that they are too few."""
    for _ in _patiently():
        try:
            store.now_ms()
            store.enqueue([_run("meanwhile")])
        except StoreUnavailable as error:
            if "in no majority" in str(error):
                return str(error)
    raise AssertionError("it never said that there is no majority")


def _enqueue(store: Store, run: Run) -> None:
    for _ in _patiently():
        with suppress(StoreUnavailable):
            store.enqueue([run])
            return
    raise AssertionError("it did not go on")


def _patiently() -> Iterator[None]:
    end = time.monotonic() + LONGEST_S
    while time.monotonic() < end:
        yield
        time.sleep(0.1)
