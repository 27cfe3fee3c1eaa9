"""What all real servers have in common: a free port, a temporary folder, one process, stopped at the end."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pytest
from tests.patience import LONGEST_S

_DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []
"""Where tests are killed, their servers are too."""


class Server(ABC):
    """One server on this machine with a folder of its own; `kill` and `start` again is a crash and a recovery."""

    user: str | None = None
    """Whom the server runs as where the tests run as root, which some servers refuse."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str:
        """Where it is, without a database of one's own."""

    @abstractmethod
    def prepare(self) -> None:
        """Make what it needs in its folder."""

    @abstractmethod
    def command(self) -> Sequence[str | Path]:
        """What runs in the foreground until it is told to stop."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether it takes connections now."""

    def start(self) -> None:
        """Come back when it answers."""
        with (self.folder / "log").open("ab") as log:
            command = [*_DIE_WITH_PARENT, *self.command()]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, **self._as_user())
        end = time.monotonic() + LONGEST_S
        while not self.answers():
            if self._process.poll() is not None:
                raise RuntimeError(f"{type(self).__name__} ended by itself: {self._log()}")
            if time.monotonic() > end:
                raise RuntimeError(f"{type(self).__name__} does not answer: {self._log()}")
            time.sleep(0.02)

    def stop(self) -> None:
        """Let it shut down at once; one that is stopped already stays so."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Let it hang, with all its connections, until `thaw`."""
        assert self._process is not None
        self._signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)  # all its threads have stopped, not only been told to

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def run(self, *command: str | Path) -> None:
        """Run a program of the server to its end, as its user."""
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **self._as_user())
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]} failed: {done.stdout.decode()[-2000:]}")

    def _as_user(self) -> dict[str, Any]:
        if self.user is None or os.geteuid() != 0:
            return {"cwd": self.folder}
        account = pwd.getpwnam(self.user)
        return {"cwd": self.folder, "user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}

    def _signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _end(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)
            self._process.send_signal(signal.SIGCONT)  # a frozen one would not hear it
            self._process.wait()

    def _log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-2000:]


S = TypeVar("S", bound=Server)


@contextmanager
def running(make: Callable[[Path], S]) -> Iterator[S]:
    """A server of one's own, made in an empty folder, stopped and removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="onthedot-", dir="/tmp"))  # where other users may enter, and paths are short
    try:
        server = make(folder)
        if server.user is not None and os.geteuid() == 0:
            shutil.chown(folder, server.user, server.user)
        server.prepare()
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unavailable(reason: str) -> NoReturn:
    """Skip loudly; where servers are required, fail."""
    if os.environ.get("ONTHEDOT_REQUIRE_SERVERS") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def free_port() -> int:
    """A port that nobody listens on now."""
    with closing(socket.socket()) as place:
        place.bind(("127.0.0.1", 0))
        port: int = place.getsockname()[1]
        return port
