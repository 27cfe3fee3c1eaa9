"""Programs of the pages, as processes of their own that end with the test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import LONGEST_S


def environment(**more: str) -> dict[str, str]:
    """That of the tests, without settings of onthedot and with this Python's programs first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ONTHEDOT_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return kept | {"PATH": path, "COLUMNS": "140", **more}


def run(folder: Path, *words: str, **more: str) -> str:
    """What a program said; it must end well."""
    ended = subprocess.run(
        words, cwd=folder, env=environment(**more), capture_output=True, text=True, check=False, timeout=LONGEST_S
    )
    assert ended.returncode == 0, f"{words}: {ended.stdout}{ended.stderr}"
    return ended.stdout


@contextmanager
def started(folder: Path, *words: str, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that goes on until the block ends; then it gets SIGTERM, unless it has ended before."""
    with (folder / "said.log").open("ab") as said:
        process = subprocess.Popen(words, cwd=folder, env=environment(**more), stdout=said, stderr=said)
        try:
            yield process
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                assert process.wait(LONGEST_S) in {0, -signal.SIGTERM}
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
