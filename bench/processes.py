"""Python modules in processes of their own, told and asked in lines of JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


class Member:
    """`python -m MODULE`, until the end of the `with` block: at the end of its input it shall end."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __enter__(self) -> Member:
        self._process = subprocess.Popen(
            [sys.executable, "-m", self._module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    def tell(self, what: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"python -m {self._module} ended without an answer; what it said is above")
        return json.loads(line)


def say(what: Any) -> None:
    """The member's side of `answer`."""
    print(json.dumps(what), flush=True)


def hear() -> Any:
    """The member's side of `tell`; None at the end."""
    line = sys.stdin.readline()
    return json.loads(line) if line else None
