"""Clusters that lose a server, which comes back as one of the others: PostgreSQL, Galera, MongoDB, Redis."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import psycopg
from tests.chaos.places import Chores, Place, freeze, kill, made_in, with_ports
from tests.chaos.proxy import Proxy
from tests.patience import LONGEST_S
from tests.servers.base import running
from tests.servers.galera import GaleraServer
from tests.servers.mariadb import kind_or_skip
from tests.servers.mongodb_set import ReplicaSet
from tests.servers.postgresql import PostgreSQL
from tests.servers.postgresql_pair import Pair, pair_of
from tests.servers.redis_sentinel import SentinelGroup

_CLUSTER = frozenset({"fail-over", "server-freeze", "clock"})
_NET = frozenset({"cut-before", "cut-after", "late", "silent"})


class _Cluster(Place):
    """What they have in common."""

    can = _CLUSTER

    def __init__(self) -> None:
        self.chores = Chores()

    @property
    def problems(self) -> Sequence[str]:
        return self.chores.errors

    def do(self, what: str, *values: int) -> None:
        if what == "fail-over":
            self.chores.begin(lambda: self._fail_over(values[0] / 1000, values[1]))
        elif what == "server-freeze":
            self.chores.begin(lambda: self._freeze(values[0] / 1000))
        else:
            raise ValueError(what)

    def _fail_over(self, away_s: float, which: int) -> None:
        raise NotImplementedError

    def _freeze(self, for_s: float) -> None:
        raise NotImplementedError

    def mend(self) -> None:
        self.chores.wait()


class PostgreSQLPair(_Cluster):
    """Each commit has reached both. The primary is killed, the other promoted, the first comes back as a standby."""

    can = _CLUSTER | _NET

    def __init__(self, pair: Pair, proxy: Proxy) -> None:
        super().__init__()
        self._primary, self._standby = pair.primary, pair.standby
        self._proxy = proxy
        self._url = pair.url
        self._ports: dict[tuple[int, int], int] = {}

    @property
    def url(self) -> str:
        return self._url

    def url_of(self, node: int) -> str:
        def listening(port: int) -> int:
            known = self._ports.get((node, port))
            if known is None:
                known = self._ports[node, port] = self._proxy.listen(node, port)
            return known

        return with_ports(self._url, listening)

    def do(self, what: str, *values: int) -> None:
        if what in _NET:
            self._proxy.do(values[0], what, *values[1:])
        else:
            super().do(what, *values)

    def _fail_over(self, away_s: float, which: int) -> None:
        old, new = self._primary, self._standby
        kill(old)
        time.sleep(away_s)
        new.run(new.bin / "pg_ctl", "promote", "-w", "-D", new.folder / "data")
        self._primary, self._standby = new, old
        _ask(new, "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")  # until it has one again
        time.sleep(3)
        self._rejoin(old, new)

    def _rejoin(self, old: PostgreSQL, new: PostgreSQL) -> None:
        """As an operator does it who does not trust what the old one has: a fresh copy."""
        shutil.rmtree(old.folder / "data")
        old.run(
            *(new.bin / "pg_basebackup", "-D", old.folder / "data", "-h", "127.0.0.1", "-p", str(new.port)),
            *("-U", "postgres", "-X", "stream", "-c", "fast", "-R", "-N"),
        )
        old.start()
        Pair(new, old).wait_for_each_other()

    def _freeze(self, for_s: float) -> None:
        freeze(self._primary, for_s)

    def mend(self) -> None:
        self._proxy.mend()
        super().mend()


def _ask(server: PostgreSQL, *statements: str) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


class Galera(_Cluster):
    """Three servers, a node of ours on each. One is killed, and copies from the others what it missed."""

    def __init__(self, servers: list[GaleraServer], url: str) -> None:
        super().__init__()
        self._servers = servers
        self._name = url.rpartition("/")[2]

    @property
    def url(self) -> str:
        return self._of(self._servers)

    def url_of(self, node: int) -> str:
        """Each begins with another one."""
        first = node % len(self._servers)
        return self._of(self._servers[first:] + self._servers[:first])

    def _of(self, servers: list[GaleraServer]) -> str:
        hosts = ",".join(f"127.0.0.1:{each.port}" for each in servers)
        return f"mariadb://root@{hosts}/{self._name}?read_timeout=10"

    def _fail_over(self, away_s: float, which: int) -> None:
        lost = self._servers[which % len(self._servers)]
        kill(lost)
        time.sleep(away_s)
        lost.others = [each for each in self._servers if each is not lost]
        lost.start()

    def _freeze(self, for_s: float) -> None:
        freeze(self._servers[-1], for_s)


class MongoDBSet(_Cluster):
    """Three servers. The primary is killed, or frozen until another one is chosen, and comes back as a secondary."""

    def __init__(self, servers: ReplicaSet) -> None:
        super().__init__()
        self._servers = servers

    @property
    def url(self) -> str:
        return self._servers.url

    def _fail_over(self, away_s: float, which: int) -> None:
        lost = self._servers.kill_primary()
        time.sleep(away_s + 3)
        lost.start()
        self._wait_for_primary()

    def _freeze(self, for_s: float) -> None:
        leading = [member for member in self._servers.members if member.leads]
        if leading:
            freeze(leading[0], for_s)
        self._wait_for_primary()

    def _wait_for_primary(self) -> None:
        end = time.monotonic() + LONGEST_S
        while not any(member.leads for member in self._servers.members) and time.monotonic() < end:
            time.sleep(0.1)


class RedisSentinel(_Cluster):
    """A primary with two replicas and three sentinels. The primary is killed, or frozen until another is chosen."""

    def __init__(self, group: SentinelGroup) -> None:
        super().__init__()
        self._group = group

    @property
    def url(self) -> str:
        return self._group.url

    def _fail_over(self, away_s: float, which: int) -> None:
        lost = self._group.primary()
        lost.kill()
        self._group.promoted_after(lost)
        time.sleep(away_s)
        lost.start()
        self._group.wait_for_replicas(2)

    def _freeze(self, for_s: float) -> None:
        freeze(self._group.primary(), for_s)
        self._group.wait_for_replicas(2)


@contextmanager
def redis_sentinel(folder: Path, proxy: Proxy) -> Iterator[Place]:
    place = folder / "group"
    place.mkdir()
    group = SentinelGroup(place)
    try:
        group.start()
        yield RedisSentinel(group)
    finally:
        group.stop()


@contextmanager
def postgresql_pair(folder: Path, proxy: Proxy) -> Iterator[Place]:
    with pair_of(15) as pair:
        yield PostgreSQLPair(pair, proxy)


@contextmanager
def galera(folder: Path, proxy: Proxy) -> Iterator[Place]:
    kind_or_skip()
    with ExitStack() as stack:
        servers = [stack.enter_context(running(GaleraServer))]
        for _ in range(2):
            servers.append(stack.enter_context(running(partial(GaleraServer, others=list(servers)))))
        yield Galera(servers, made_in(servers[0]))


@contextmanager
def mongodb_set(folder: Path, proxy: Proxy) -> Iterator[Place]:
    place = folder / "set"
    place.mkdir()
    servers = ReplicaSet(place)
    try:
        servers.start()
        yield MongoDBSet(servers)
    finally:
        servers.stop()
