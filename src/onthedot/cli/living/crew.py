"""The nodes of the living example, as processes that can be killed and started again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import TracebackType

GRACE_S = 5.0


class Crew:
    """Numbered from 1. Leaving the block stops them all: gently first."""

    def __init__(self, folder: Path, size: int) -> None:
        self._folder = folder
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._size = size

    def __enter__(self) -> Crew:
        for number in range(1, self._size + 1):
            self.start(number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            _close(process)

    @property
    def numbers(self) -> range:
        """Of all places, with or without a living process."""
        return range(1, self._size + 1)

    def lives(self, number: int) -> bool:
        """Whether the process is there."""
        return number in self._processes and self._processes[number].poll() is None

    def start(self, number: int) -> None:
        """Start the process; its output goes to a file. Ctrl-C in the terminal is not for it."""
        with (self._folder / f"node-{number}.log").open("ab") as log:
            self._processes[number] = subprocess.Popen(
                [sys.executable, "-m", "onthedot.cli.living.node", str(self._folder), name_of(number)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, number: int) -> None:
        """End the process as a power cut would."""
        process = self._processes[number]
        process.kill()
        process.wait()
        _close(process)

    def toggle(self, number: int) -> str:
        """Kill it if it lives, start it if not; what was done, in words."""
        if self.lives(number):
            self.kill(number)
            return f"killed {name_of(number)}: a lease later others go on with what it ran"
        self.start(number)
        return f"started {name_of(number)}"


def name_of(number: int) -> str:
    """How a node calls itself."""
    return f"node-{number}"


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
