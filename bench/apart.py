"""A contender in a process of its own, as whoever uses it has it: `python -m bench.apart MODULE:FUNCTION ARGUMENTS`.

What a bench has imported and left behind is walked through by every full collection of garbage: contenders that share
its process are slowed down by each other, and most of all those that make much garbage.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from typing import Any


def apart(function: str, *arguments: Any) -> Any:
    """What the function returns for these arguments; both go over as JSON. What it prints stays in sight."""
    command = [sys.executable, "-m", "bench.apart", function, json.dumps(arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    *said, last = done.stdout.splitlines() or [""]
    for line in said:
        print(line, flush=True)
    if done.returncode:
        raise RuntimeError(f"{function} ended with exit code {done.returncode}; what it said is above")
    return json.loads(last)


if __name__ == "__main__":
    module, _, name = sys.argv[1].partition(":")
    print(json.dumps(getattr(import_module(module), name)(*json.loads(sys.argv[2]))))
