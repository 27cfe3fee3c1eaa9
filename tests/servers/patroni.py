"""Three PostgreSQL servers under Patroni, with one etcd: they choose a leader themselves, within some eight seconds.

    old = patroni.leader()           # a member
    old.kill(); old.start()          # patroni and PostgreSQL together; it comes back as a replica
    old.freeze(); old.thaw()         # both, with every process of theirs
    patroni.promoted_after(old)      # waits until another leads, and says which
    patroni.switch_over()            # what an operator asks for, without a fault; waits, too
    patroni.wait_for_replicas(2)     # until so many stream from the leader, one of them synchronously

Commits wait for a replica (`synchronous_mode`), as long as there is one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.patience import LONGEST_S
from tests.servers.base import Server, free_port, running, unavailable
from tests.servers.postgresql import version_or_skip

TTL_S = 8
"""So long the cluster waits for a leader that does not renew its lock."""


class Etcd(Server):
    """Where the lock of the leader is."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.peer_port = free_port()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def prepare(self) -> None:
        """Its folder is enough."""

    def command(self) -> Sequence[str | Path]:
        peer = f"http://127.0.0.1:{self.peer_port}"
        return [
            *("etcd", "--name", "e1", "--data-dir", self.folder / "data", "--unsafe-no-fsync"),
            *("--listen-client-urls", self.url, "--advertise-client-urls", self.url),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"e1={peer}"),
        ]

    def answers(self) -> bool:
        return _asked(f"{self.url}/health") is not None


class Member(Server):
    """Patroni, and the PostgreSQL that it runs."""

    user = "postgres" if os.geteuid() == 0 else None

    def __init__(self, folder: Path, name: str, etcd: Etcd, programs: Path) -> None:
        super().__init__(folder)
        self.name, self.rest_port = name, free_port()
        self._etcd, self._programs = etcd, programs

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def rest(self) -> str:
        return f"http://127.0.0.1:{self.rest_port}"

    def prepare(self) -> None:
        (self.folder / "patroni.yml").write_text(json.dumps(self._settings()))  # which is YAML, too

    def _settings(self) -> dict[str, Any]:
        rest, here = f"127.0.0.1:{self.rest_port}", f"127.0.0.1:{self.port}"
        dcs = {
            "ttl": TTL_S,
            "loop_wait": 1,
            "retry_timeout": 3,
            "synchronous_mode": True,
            "postgresql": {"use_pg_rewind": True, "parameters": {"max_connections": 100, "fsync": "off"}},
        }
        accounts = {
            "superuser": {"username": "postgres"},
            "replication": {"username": "postgres"},
            "rewind": {"username": "postgres"},
        }
        return {
            "scope": "otd",
            "name": self.name,
            "restapi": {"listen": rest, "connect_address": rest},
            "etcd3": {"hosts": f"127.0.0.1:{self._etcd.port}"},
            "bootstrap": {
                "dcs": dcs,
                "initdb": [{"encoding": "UTF8"}, "data-checksums", "no-sync"],
                "pg_hba": ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
            },
            "postgresql": {
                "listen": here,
                "connect_address": here,
                "data_dir": str(self.folder / "data"),
                "bin_dir": str(self._programs),
                "pgpass": str(self.folder / "pgpass"),
                "authentication": accounts,
                "parameters": {"unix_socket_directories": str(self.folder)},
            },
        }

    def command(self) -> Sequence[str | Path]:
        return ["patroni", self.folder / "patroni.yml"]

    def answers(self) -> bool:
        return _asked(f"{self.rest}/health") is not None

    @property
    def leads(self) -> bool:
        return _asked(f"{self.rest}/leader") is not None

    def replicas(self) -> list[str]:
        """Of those that stream from it: sync or async."""
        told = _asked(f"{self.rest}/patroni") or {}
        return [each["sync_state"] for each in told.get("replication", ()) if each.get("state") == "streaming"]

    def kill(self) -> None:
        super().kill()  # first who would start the other again
        self._signal_all(signal.SIGKILL)

    def stop(self) -> None:
        self.kill()  # nobody needs a clean end

    def freeze(self) -> None:
        super().freeze()
        self._signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal_all(signal.SIGCONT)
        super().thaw()

    def _signal_all(self, number: int) -> None:
        """To PostgreSQL: first the process that would make more of them."""
        with suppress(FileNotFoundError, IndexError, ProcessLookupError):
            server = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
            children = _children(server)
            os.kill(server, number)
            for pid in {*children, *_children(server)}:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)


def _children(of: int) -> list[int]:
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if int(place.read_text().rpartition(")")[2].split()[1]) == of:
                found.append(int(place.parent.name))
    return found


class Patroni:
    """Three members, of which one leads."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = members

    @property
    def url(self) -> str:
        return f"postgresql://postgres@{','.join(f'127.0.0.1:{each.port}' for each in self.members)}/postgres"

    def leader(self) -> Member:
        end = time.monotonic() + LONGEST_S
        while True:
            for each in self.members:
                if each.leads:
                    return each
            assert time.monotonic() < end, "nobody leads"
            time.sleep(0.05)

    def promoted_after(self, old: Member) -> Member:
        """Another leads, whatever the old one says of itself."""
        others = [each for each in self.members if each is not old]
        _until(lambda: any(each.leads for each in others), "nobody was promoted")
        return next(each for each in others if each.leads)

    def switch_over(self) -> Member:
        old = self.leader()
        asked = urllib.request.Request(
            f"{old.rest}/switchover", json.dumps({"leader": old.name}).encode(), {"Content-Type": "application/json"}
        )
        urllib.request.urlopen(asked, timeout=LONGEST_S).close()
        return self.promoted_after(old)

    def wait_for_replicas(self, count: int) -> None:
        def enough() -> bool:
            states = self.leader().replicas()
            return len(states) >= count and "sync" in states

        _until(enough, f"there are no {count} replicas, one of them synchronous")


def _asked(url: str) -> dict[str, Any] | None:
    """What it answers, if it says yes."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            said = answer.read()
    except (OSError, urllib.error.URLError):
        return None
    try:
        told = json.loads(said)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _until(holds: Callable[[], bool], said: str) -> None:
    end = time.monotonic() + LONGEST_S
    while not holds():
        assert time.monotonic() < end, said
        time.sleep(0.05)


@pytest.fixture
def patroni() -> Iterator[Patroni]:
    """Servers of the test's own, all of which are up."""
    for program in ("patroni", "etcd"):
        if shutil.which(program) is None:
            unavailable(f"no {program} here: apt-get install patroni etcd-server python3-etcd")
    programs = version_or_skip(15).bin
    with ExitStack() as servers:
        etcd = servers.enter_context(running(Etcd))

        def start(name: str) -> Member:
            return servers.enter_context(running(lambda folder: Member(folder, name, etcd, programs)))

        cluster = Patroni([start(name) for name in ("m1", "m2", "m3")])  # not in threads: servers end with theirs
        cluster.wait_for_replicas(2)
        yield cluster
