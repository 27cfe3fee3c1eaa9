"""A real Dask cluster on loopback: a scheduler and a worker, each a process of its own."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.patience import LONGEST_S


class DaskCluster:
    """On one port as long as it lives, however often it is started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self._port}"

    def start(self) -> None:
        """A scheduler, and a worker with two threads."""
        self._run("scheduler", "--host", "127.0.0.1", "--port", f"{self._port}", "--no-dashboard")
        self._run(
            "worker", self.address, "--nthreads", "2", "--no-nanny", "--no-dashboard",
            "--local-directory", str(self._folder / "worker"),
        )  # fmt: skip
        end = time.monotonic() + LONGEST_S
        while not self._listens():
            assert time.monotonic() < end, "the scheduler does not listen"
            time.sleep(0.05)

    def kill(self) -> None:
        """Both, at once, with all that they know."""
        for process in self._processes:
            process.kill()
            process.wait()
        self._processes.clear()

    def _run(self, *words: str) -> None:
        with (self._folder / "dask.log").open("ab") as said:
            command = [sys.executable, "-m", "dask", *words]
            self._processes.append(subprocess.Popen(command, cwd=self._folder, stdout=said, stderr=said))

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1):
            return True
        return False


@contextmanager
def dask_cluster(folder: Path) -> Iterator[DaskCluster]:
    """One that has been started, and is gone after that."""
    cluster = DaskCluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.kill()
