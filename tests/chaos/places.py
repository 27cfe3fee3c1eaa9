"""Where storms rage: an SQLite file on a small disk, or a server behind proxies; what each can suffer, and how."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from tests.chaos.proxy import Proxy
from tests.patience import LONGEST_S
from tests.servers import mariadb, mongodb, postgresql, redis
from tests.servers.base import Server, running
from tests.servers.mongodb_set import with_database

_DISK_MB = 96
_NET = frozenset({"cut-before", "cut-after", "late", "silent"})


class Place(ABC):
    """A store, and what can be done to it."""

    can: frozenset[str] = frozenset()
    """Faults beside those of the nodes."""

    @property
    @abstractmethod
    def url(self) -> str:
        """For those who look on from outside, past all proxies."""

    def url_of(self, node: int) -> str:
        """For a node; it may go through a proxy."""
        return self.url

    def do(self, what: str, *values: int) -> None:
        """Something is done to it; comes back at once."""
        raise NotImplementedError(what)

    @property
    def problems(self) -> Sequence[str]:
        """What could not be done to it: the storm was none."""
        return ()

    @abstractmethod
    def mend(self) -> None:
        """From now on all is well; comes back when it is."""


class SqliteFile(Place):
    """On a small disk of its own where we may mount one: it can be filled."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.has_disk = _mounted(folder)
        self.can = frozenset({"disk-full"}) if self.has_disk else frozenset()
        self._timers: list[threading.Timer] = []

    @property
    def url(self) -> str:
        return f"sqlite:///{self._folder}/storm.db"

    def do(self, what: str, *values: int) -> None:
        assert what == "disk-full"
        self._fill()
        timer = threading.Timer(values[0] / 1000, self._empty)
        timer.start()
        self._timers.append(timer)

    def _fill(self) -> None:
        """To the last byte."""
        with suppress(OSError), (self._folder / "ballast").open("ab") as ballast:
            for size in (1 << 20, 1 << 12, 1):
                with suppress(OSError):
                    while True:
                        os.write(ballast.fileno(), b"\0" * size)

    def _empty(self) -> None:
        (self._folder / "ballast").unlink(missing_ok=True)

    def mend(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._empty()

    def close(self) -> None:
        if self.has_disk:
            subprocess.run(["umount", "-l", self._folder], check=False)


def _mounted(folder: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_MB}m", "tmpfs", str(folder)]
    return os.geteuid() == 0 and subprocess.run(command, check=False, capture_output=True).returncode == 0


class OneServer(Place):
    """A server that is killed, frozen and started again, and proxies before it."""

    can = frozenset({"server-kill", "server-freeze", "clock", *_NET})

    def __init__(self, server: Server, url: str, proxy: Proxy | None) -> None:
        self._server = server
        self._url = url
        self._proxy = proxy
        self.chores = Chores()
        if proxy is None:
            self.can = self.can - _NET

    @property
    def url(self) -> str:
        return self._url

    @property
    def problems(self) -> Sequence[str]:
        return self.chores.errors

    def url_of(self, node: int) -> str:
        if self._proxy is None:
            return self._url
        return with_ports(self._url, lambda port: _listening(self._proxy, node, port))

    def do(self, what: str, *values: int) -> None:
        if what in _NET:
            assert self._proxy is not None
            self._proxy.do(values[0], what, *values[1:])
        elif what == "server-kill":
            self.chores.begin(lambda: self._restart(values[0] / 1000))
        elif what == "server-freeze":
            self.chores.begin(lambda: freeze(self._server, values[0] / 1000))
        else:
            raise ValueError(what)

    def _restart(self, away_s: float) -> None:
        kill(self._server)
        time.sleep(away_s)
        self._server.start()

    def mend(self) -> None:
        if self._proxy is not None:
            self._proxy.mend()
        self.chores.wait()


_ports: dict[tuple[int, int], int] = {}


def _listening(proxy: Proxy | None, node: int, port: int) -> int:
    """One port for each node and server, however often it is asked for."""
    assert proxy is not None
    if (id(proxy), node * 100_000 + port) not in _ports:
        _ports[id(proxy), node * 100_000 + port] = proxy.listen(node, port)
    return _ports[id(proxy), node * 100_000 + port]


def with_ports(url: str, port_of: Callable[[int], int]) -> str:
    """The URL with another port for each of its hosts."""
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    others = []
    for each in hosts.split(","):
        host, _, port = each.rpartition(":")
        others.append(f"{host}:{port_of(int(port))}")
    return urlunsplit(parts._replace(netloc=f"{user}{at}{','.join(others)}"))


def kill(server: Server) -> None:
    """SIGKILL; of PostgreSQL with all its children at once, so that none of them holds what the next one needs."""
    children = server._children() if isinstance(server, postgresql.PostgreSQL) else {}
    server.kill()
    for pid in children:
        with suppress(ProcessLookupError):
            os.kill(pid, 9)


def freeze(server: Server, for_s: float) -> None:
    """SIGSTOP and SIGCONT."""
    server.freeze()
    try:
        time.sleep(for_s)
    finally:
        server.thaw()


class Chores:
    """What is done to servers takes a while; one after the other, in a thread of its own. It lives as long as this
    process: servers end with the thread that started them."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "chores")
        self._last: Future[None] | None = None
        self.errors: list[str] = []
        self.skipped = 0
        """How often nothing was begun, since the last one still went on."""

    def begin(self, work: Callable[[], None]) -> None:
        """Unless one is still under way."""
        if self._last is not None and not self._last.done():
            self.skipped += 1
            return
        self._last = self._thread.submit(self._guarded, work)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self.errors.append(f"{type(error).__name__}: {error}")

    def wait(self) -> None:
        """Until it is done."""
        if self._last is not None:
            self._last.result(LONGEST_S)


# one of each


@contextmanager
def sqlite_file(folder: Path, proxy: Proxy) -> Iterator[Place]:
    place = SqliteFile(folder)
    try:
        yield place
    finally:
        place.close()


@contextmanager
def one_postgresql(folder: Path, proxy: Proxy) -> Iterator[Place]:
    with running(postgresql.version_or_skip(15)) as server:
        yield OneServer(server, server.url, proxy)


@contextmanager
def one_mariadb(folder: Path, proxy: Proxy) -> Iterator[Place]:
    with running(mariadb.kind_or_skip()) as server:
        yield OneServer(server, f"{made_in(server)}", proxy)


def made_in(server: mariadb.MariaDB) -> str:
    """The URL of a new database."""
    with closing(mariadb.connect(server.url)) as connection:
        connection.cursor().execute("CREATE DATABASE chaos")
    return f"{server.url}chaos"


@contextmanager
def one_mongodb(folder: Path, proxy: Proxy) -> Iterator[Place]:
    with mongodb.running(replica_set=True) as server:
        url = with_database(server.url, "chaos")
        yield OneServer(server, url, None)  # a member of a set is found by the name that the set knows


@contextmanager
def one_redis(folder: Path, proxy: Proxy) -> Iterator[Place]:
    with redis.running((*redis.DURABLE, "--appendfsync", "always")) as server:
        yield OneServer(server, server.url, proxy)
