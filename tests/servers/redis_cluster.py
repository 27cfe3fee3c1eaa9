"""A Redis Cluster of three primaries, of which one holds nearly every slot and has two replicas.

    old = redis_cluster.holder()         # who holds our slot now: a server
    old.kill(); old.start()              # a crash; it comes back as a replica
    old.freeze(); old.thaw()             # a holder that does not know that it is none any more
    redis_cluster.promoted_after(old)    # waits until another holds it by the word of all, and says which
    redis_cluster.wait_for_replicas(2)   # until the holder has so many that hear it

The two other primaries hold the last two slots: they only vote, and are not to be killed both.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from redis.exceptions import RedisError
from tests.servers.base import free_port
from tests.servers.redis import DURABLE, RedisServer, _program
from tests.servers.redis_sentinel import SOON, _made, _online, _until, ask

LAST_SLOT = 16_383
STAY = ("--cluster-migration-barrier", "2")
"""The holder keeps its two replicas. Else one of them goes over to a voter, five seconds after it has heard of that
one's slot later than of the holder's first replica: the next holder would have none, and nothing could be written."""


class RedisCluster:
    """Five servers, in folders below this one: the first is the holder, the last two its replicas."""

    def __init__(self, folder: Path) -> None:
        program = _program()
        self.servers = [RedisServer(program, _made(folder / str(number)), _options()) for number in range(5)]

    @property
    def url(self) -> str:
        """It names two that hold nothing of ours, and the first holder."""
        return f"redis+cluster://{','.join(f'127.0.0.1:{each.port}' for each in (*self.voters, self.servers[0]))}"

    @property
    def voters(self) -> list[RedisServer]:
        return self.servers[1:3]

    def start(self) -> None:
        for each in self.servers:
            each.start()
        first, second, third, *replicas = self.servers
        for each, slots in ((first, (0, LAST_SLOT - 2)), (second, (LAST_SLOT - 1,) * 2), (third, (LAST_SLOT,) * 2)):
            ask(each, "CLUSTER", "ADDSLOTSRANGE", *map(str, slots))
        for number, each in enumerate(self.servers):
            ask(each, "CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
            ask(first, "CLUSTER", "MEET", "127.0.0.1", str(each.port), _bus(each))
        _until(lambda: all(len(_nodes(each)) == len(self.servers) for each in self.servers), "they do not meet")
        for each in replicas:
            ask(each, "CLUSTER", "REPLICATE", ask(first, "CLUSTER", "MYID"))
        _until(lambda: all("cluster_state:ok" in _state(each) for each in self.servers), "the cluster is not up")
        _until(lambda: all(self._agrees(each) for each in self.servers), "not all know the replicas")
        self.wait_for_replicas(2)

    def _agrees(self, server: RedisServer) -> bool:
        return sum("slave" in line.split()[2] for line in _nodes(server)) == 2

    def holder(self) -> RedisServer:
        """By the word of one that only votes."""
        for voter in self.voters:
            with suppress(RedisError):
                for line in _nodes(voter):
                    words = line.split()
                    if "master" in words[2] and any(each.startswith("0-") for each in words[8:]):
                        port = int(words[1].partition("@")[0].rpartition(":")[2])
                        return next(each for each in self.servers if each.port == port)
        raise AssertionError("nobody holds our slot")

    def promoted_after(self, old: RedisServer) -> RedisServer:
        _until(lambda: self.holder() is not old, "nobody was promoted")
        return self.holder()

    def replicas(self) -> int:
        """How many hear the holder now."""
        return _online(self.holder())

    def wait_for_replicas(self, count: int) -> None:
        _until(lambda: self.replicas() >= count, f"there are no {count} replicas")

    def stop(self) -> None:
        for each in self.servers:
            each.kill()


def _options() -> tuple[str, ...]:
    own = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()), "--cluster-node-timeout", "1500")
    return (*DURABLE, *SOON, *own, *STAY)


def _bus(server: RedisServer) -> str:
    return server._options[server._options.index("--cluster-port") + 1]


def _nodes(server: RedisServer) -> list[str]:
    return [line for line in ask(server, "CLUSTER", "NODES").splitlines() if "handshake" not in line]


def _state(server: RedisServer) -> str:
    return str(ask(server, "CLUSTER", "INFO"))


@pytest.fixture
def redis_cluster() -> Iterator[RedisCluster]:
    """Five servers of the test's own."""
    with tempfile.TemporaryDirectory(prefix="onthedot-redis-cluster-") as folder:
        cluster = RedisCluster(Path(folder))
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
