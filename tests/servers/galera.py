"""MariaDB servers that are one Galera cluster: two, of which one alone has no majority, or three, of which two have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pymysql
import pytest
from tests.servers.base import free_port, running, unavailable
from tests.servers.mariadb import MariaDB, connect, kind_or_skip

_PROVIDER = Path("/usr/lib/galera/libgalera_smm.so")
_SOON = "evs.keepalive_period=PT0.3S;evs.suspect_timeout=PT2S;evs.inactive_timeout=PT4S"
"""The dead are missed after two seconds instead of five."""


class GaleraServer(MariaDB):
    """One of them; the first makes the cluster, the others copy what it has."""

    def __init__(self, folder: Path, others: Sequence[GaleraServer] = ()) -> None:
        super().__init__(folder)
        self.others = others
        self.group_port, self.copy_port, self.catch_up_port = free_port(), free_port(), free_port()

    def command(self) -> Sequence[str | Path]:
        group = ",".join(f"127.0.0.1:{each.group_port}" for each in self.others)
        listening = f"gmcast.listen_addr=tcp://127.0.0.1:{self.group_port};ist.recv_addr=127.0.0.1:{self.catch_up_port}"
        return [
            *super().command(),
            *("--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-on=ON", f"--wsrep-provider={_PROVIDER}"),
            *("--wsrep-cluster-name=onthedot", f"--wsrep-cluster-address=gcomm://{group}"),
            *(f"--wsrep-node-address=127.0.0.1:{self.group_port}", "--wsrep-sst-method=rsync"),
            f"--wsrep-sst-receive-address=127.0.0.1:{self.copy_port}",
            f"--wsrep-provider-options={listening};{_SOON}",
            *(() if self.others else ("--wsrep-new-cluster",)),
        ]

    def answers(self) -> bool:
        try:
            with closing(connect(self.url)) as connection, connection.cursor() as cursor:
                cursor.execute("SHOW STATUS LIKE 'wsrep_ready'")
                return bool(cursor.fetchone() == ("wsrep_ready", "ON"))
        except pymysql.MySQLError:
            return False

    def go_on_alone(self) -> None:
        """What its operator says where the others are known to be gone."""
        with closing(connect(self.url)) as connection:
            connection.cursor().execute("SET GLOBAL wsrep_provider_options = 'pc.bootstrap=1'")


@contextmanager
def _cluster_of(count: int) -> Iterator[list[GaleraServer]]:
    kind_or_skip()
    if not _PROVIDER.exists():
        unavailable("no Galera here: apt-get install galera-4")
    with ExitStack() as servers:
        found: list[GaleraServer] = []
        for _ in range(count):
            found.append(servers.enter_context(running(lambda folder: GaleraServer(folder, [*found]))))
        yield found


@pytest.fixture
def galera_trio() -> Iterator[list[GaleraServer]]:
    """Three servers of the test's own: whichever is killed or frozen, the others are the majority."""
    with _cluster_of(3) as servers:
        yield servers


@pytest.fixture
def galera() -> Iterator[tuple[GaleraServer, GaleraServer]]:
    """Two servers of the test's own."""
    with _cluster_of(2) as (first, second):
        yield first, second
