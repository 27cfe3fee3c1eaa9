"""What a fail-over takes away of what was answered, counted: `python -m tests.cluster.lost_writes [postgresql redis]`.

One writer enqueues, one run after the other, and notes each that was answered. The primary is killed in the midst of it
and a replica takes its place, which has either kept up or was away for the second before, as by a cut network. Then the
notes are compared with what is there.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

import psycopg
from tests.patience import LONGEST_S
from tests.servers.base import Server
from tests.servers.postgresql_pair import pair_of
from tests.servers.redis_sentinel import SentinelGroup

from onthedot.errors import StoreError
from onthedot.model.run import Run
from onthedot.stores.base import Store
from onthedot.stores.open import open_store

AWAY_S = 1.0


@dataclass(frozen=True, slots=True)
class Servers:
    """A primary, who follows it, and how another is found in its place."""

    url: str
    followers: list[Server]
    kill: Callable[[], None]


def _come_back(servers: list[Server]) -> None:
    for each in servers:
        if not each.answers():
            each.start()


@contextmanager
def postgresql(*, waits: bool) -> Iterator[Servers]:
    with pair_of(15) as pair:
        if not waits:
            with psycopg.connect(pair.primary.url, autocommit=True) as connection:
                connection.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
                connection.execute("SELECT pg_reload_conf()")

        def kill() -> None:
            pair.kill_primary()
            _come_back([pair.standby])
            pair.promote()

        yield Servers(f"{pair.url}?read_timeout=3&connect_timeout=2", [pair.standby], kill)


@contextmanager
def redis(*, waits: bool) -> Iterator[Servers]:
    with tempfile.TemporaryDirectory(prefix="onthedot-sentinel-") as folder:
        group = SentinelGroup(Path(folder))
        try:
            group.start()
            primary = group.primary()
            followers: list[Server] = [each for each in group.servers if each is not primary]

            def kill() -> None:
                primary.kill()
                _come_back(followers)
                group.promoted_after(primary)

            yield Servers(group.url + ("" if waits else "?allow_no_replicas=yes"), followers, kill)
        finally:
            group.stop()


def lost(servers: Servers, *, cut_off: bool) -> tuple[int, int]:
    """How many of how many that were answered are not there."""
    answered: list[str] = []
    over = Event()

    def write(store: Store) -> None:
        number = 0
        while not over.is_set():
            number += 1
            with suppress(StoreError):
                answered.append(store.enqueue([Run(f"run {number}", "task", "enqueue", 0, 0)])[0].id)

    with closing(open_store(servers.url, create=True)) as store:
        writer = Thread(target=write, args=(store,), daemon=True)
        writer.start()
        Event().wait(2)
        if cut_off:
            for each in servers.followers:
                each.kill()
            Event().wait(AWAY_S)
        servers.kill()
        _known(servers.url)  # another has taken its place
        over.set()
        writer.join(LONGEST_S)
    known = _known(servers.url)
    return len([each for each in answered if each not in known]), len(answered)


def _known(url: str) -> set[str]:
    end = time.monotonic() + LONGEST_S
    while True:
        try:
            with closing(open_store(url, create=True)) as store:
                return {run.id for run in store.runs(limit=1_000_000)}
        except StoreError:
            assert time.monotonic() < end, "nobody takes its place"
            Event().wait(0.1)


def main() -> None:
    """Print a line for each case."""
    cases = {"postgresql": ("PostgreSQL pair", postgresql), "redis": ("Redis by Sentinel", redis)}
    for name, make in (cases[each] for each in sys.argv[1:] or cases):
        for waits in (False, True):
            for cut_off in (False, True):
                with make(waits=waits) as servers:
                    missing, of = lost(servers, cut_off=cut_off)
                how = "waits for a replica" if waits else "does not wait"
                when = f"replicas cut off for {AWAY_S:.0f} s" if cut_off else "replicas keep up"
                sys.stdout.write(f"{name}, {how}, {when}: {missing} of {of:,} answered runs are lost\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
