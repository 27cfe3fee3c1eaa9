"""A Redis with two replicas, watched by three sentinels that choose another primary within some three seconds.

old = redis_sentinel.primary()       # whom the sentinels name: a server
old.kill(); old.start()              # a crash; it comes back as a replica
old.freeze(); old.thaw()             # a primary that does not know that it is none any more
redis_sentinel.promoted_after(old)   # waits until all sentinels name another one, and says which
redis_sentinel.fail_over()           # what an operator asks for, without a fault; waits, too
redis_sentinel.sentinels[0].freeze() # two of three are enough to choose; one is not
redis_sentinel.wait_for_replicas(2)  # until the primary has so many that hear it
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.exceptions import RedisError
from tests.patience import LONGEST_S
from tests.servers.redis import DURABLE, RedisServer, _program

SERVICE = "otd"
SOON = ("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")
"""A replica does not wait for others that might come."""


class Sentinel(RedisServer):
    """One of those who watch the others."""

    def __init__(self, program: Path, folder: Path, first: RedisServer, password: str | None = None) -> None:
        super().__init__(program, folder, ["--sentinel"])
        self._first, self.password = first, password

    def prepare(self) -> None:
        lines = (
            *(f"port {self.port}", "bind 127.0.0.1", f"dir {self.folder}"),
            f"sentinel monitor {SERVICE} 127.0.0.1 {self._first.port} 2",
            f"sentinel down-after-milliseconds {SERVICE} 1500",
            f"sentinel failover-timeout {SERVICE} 6000",
            *(() if self._first.password is None else (f"sentinel auth-pass {SERVICE} {self._first.password}",)),
            *(
                ()
                if self.password is None
                else (f"requirepass {self.password}", f"sentinel sentinel-pass {self.password}")
            ),
        )
        (self.folder / "sentinel.conf").write_text("".join(f"{line}\n" for line in lines))

    def command(self) -> Sequence[str | Path]:
        return [self._program, self.folder / "sentinel.conf", *self._options]


class SentinelGroup:
    """Three servers and three sentinels, in folders below this one."""

    def __init__(self, folder: Path, password: str | None = None, sentinel_password: str | None = None) -> None:
        program = _program()
        needed = () if password is None else ("--requirepass", password, "--masterauth", password)
        options = (*DURABLE, *SOON, *needed)
        first = RedisServer(program, _made(folder / "0"), options)
        following = (*options, "--replicaof", f"127.0.0.1 {first.port}")
        others = [RedisServer(program, _made(folder / name), following) for name in ("1", "2")]
        self.servers = [first, *others]
        for each in self.servers:
            each.password = password
        self.sentinels = [
            Sentinel(program, _made(folder / f"sentinel-{number}"), first, sentinel_password) for number in range(3)
        ]

    @property
    def url(self) -> str:
        return f"redis+sentinel://{self.places}/{SERVICE}"

    @property
    def places(self) -> str:
        """Of the sentinels, as they stand in a URL."""
        return ",".join(f"127.0.0.1:{each.port}" for each in self.sentinels)

    def start(self) -> None:
        for each in self.servers:
            each.start()
        _until(lambda: _online(self.servers[0]) == 2, "the replicas do not follow")
        for sentinel in self.sentinels:
            sentinel.prepare()
            sentinel.start()
        _until(lambda: all(map(_knows_all, self.sentinels)), "the sentinels do not know each other")

    def primary(self) -> RedisServer:
        """Whom the first sentinel that answers names."""
        for sentinel in self.sentinels:
            with suppress(RedisError):
                _, port = ask(sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
                return next(each for each in self.servers if each.port == int(port))
        raise AssertionError("no sentinel answers")

    def promoted_after(self, old: RedisServer) -> RedisServer:
        """Another one, of which every sentinel that answers has heard."""
        _until(lambda: self._all_name_another_than(old), "nobody was promoted")
        return self.primary()

    def _all_name_another_than(self, old: RedisServer) -> bool:
        named = []
        for sentinel in self.sentinels:
            with suppress(RedisError):
                state = _state(sentinel)
                named.append(int(state["port"]) != old.port and "down" not in state["flags"])
        return bool(named) and all(named)

    def fail_over(self) -> RedisServer:
        old = self.primary()
        ask(self.sentinels[0], "SENTINEL", "FAILOVER", SERVICE)
        return self.promoted_after(old)

    def wait_for_replicas(self, count: int) -> None:
        _until(lambda: _online(self.primary()) >= count, f"there are no {count} replicas")

    def stop(self) -> None:
        for each in (*self.sentinels, *self.servers):
            each.kill()


def ask(server: RedisServer, *words: str) -> Any:
    """A command to this server, whoever it is."""
    with closing(_client(server)) as client:
        return client.execute_command(*words)


def _client(server: RedisServer) -> Any:
    return redis.Redis(
        "127.0.0.1", server.port, password=server.password, decode_responses=True, socket_timeout=1, protocol=2
    )


def _online(server: RedisServer) -> int:
    try:
        with closing(_client(server)) as client:
            facts = client.info("replication")
    except RedisError:
        return 0
    return sum(isinstance(each, dict) and each.get("state") == "online" for each in facts.values())


def _state(sentinel: RedisServer) -> dict[str, str]:
    told = ask(sentinel, "SENTINEL", "MASTER", SERVICE)
    return dict(zip(told[::2], told[1::2], strict=True))


def _knows_all(sentinel: RedisServer) -> bool:
    state = _state(sentinel)
    return (state["num-other-sentinels"], state["num-slaves"]) == ("2", "2")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _until(holds: Callable[[], bool], said: str) -> None:
    end = time.monotonic() + LONGEST_S
    while not holds():
        assert time.monotonic() < end, said
        time.sleep(0.02)


@pytest.fixture
def redis_sentinel() -> Iterator[SentinelGroup]:
    """Servers and sentinels of the test's own."""
    with tempfile.TemporaryDirectory(prefix="onthedot-sentinel-") as folder:
        group = SentinelGroup(Path(folder))
        try:
            group.start()
            yield group
        finally:
            group.stop()
