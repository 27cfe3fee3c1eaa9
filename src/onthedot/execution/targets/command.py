"""Commands: a program in a process group of its own, its output kept with the run, its exit code as the outcome."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from onthedot.execution.context import Context, WorkFailed
from onthedot.execution.targets.listening import Child
from onthedot.execution.targets.secrets import Secrets
from onthedot.moments import iso

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")
_MOST_BYTES = 100_000
"""Of one variable: Linux takes no text above 128 kB, its name included."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to start: words, or one line for the shell. Declared in code or a file, never read from a store."""

    words: tuple[str, ...]
    shell: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment of the node; a value `env:NAME` is read when the command runs, and never shown."""
    cwd: str | None = None
    kill_after_ms: int = 5000
    """How long it may take to end after SIGTERM."""

    def __str__(self) -> str:
        return self.words[0] if self.shell else shlex.join(self.words)

    def __call__(self, context: Context) -> dict[str, Any]:
        """Run it to its end, in this thread."""
        secrets = Secrets()
        with self._start(context, secrets) as process:
            try:
                child = Child(process, context, secrets, self.kill_after_ms)
                exit_code = child.listen()
            except BaseException:  # ours: nobody listens to it any more, and who waits for it might wait for ever
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise
        result = {"exit_code": exit_code}
        if context.cancelled:
            why = "it took longer than its time-out" if context.timed_out else "it was asked to stop"
            raise WorkFailed(f"{why}, and {child.end}", result)
        if exit_code != 0:
            raise WorkFailed(_failure(exit_code, child.last_words), result)
        return result

    def _start(self, context: Context, secrets: Secrets) -> subprocess.Popen[bytes]:
        environment = {name: secrets.read(value, f"env of {self}: {name}") for name, value in self.env.items()}
        try:
            return subprocess.Popen(
                self.words[0] if self.shell else self.words,
                shell=self.shell,
                env={**os.environ, **environment, **of_run(context)},
                cwd=self.cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # so that all that it starts can be ended with it
            )
        except (OSError, ValueError) as error:
            raise WorkFailed(secrets.masked(f"{self} could not be started on this node: {error}")) from None


def of_run(context: Context) -> dict[str, str]:
    """What a command is told of its run."""
    run = context.run
    told = {
        "RUN_ID": run.id,
        "SCHEDULE": run.schedule or "",
        "SCHEDULED_AT": iso(run.scheduled_ms),
        "ATTEMPT": str(run.attempt),
        "FENCE": str(run.fence),
        "SHARD": "" if run.shard is None else str(run.shard),
        "SHARDS": "" if run.shards is None else str(run.shards),
        **_of_args(run.args),
    }
    return {f"ONTHEDOT_{name}": value for name, value in told.items()}


def _of_args(args: Mapping[str, Any]) -> dict[str, str]:
    """The arguments of a step, and what an alert tells: all as JSON, and each alone, a text as it is."""
    if not args:
        return {}
    told = {f"ARG_{_NOT_IN_NAMES.sub('_', name).upper()}": _text(value) for name, value in args.items()}
    told["ARGS"] = json.dumps(dict(args), ensure_ascii=False)
    for name, value in told.items():
        if len(value.encode("utf-8", "surrogatepass")) > _MOST_BYTES:
            raise WorkFailed(
                f"its arguments are too large for the environment of a command: ONTHEDOT_{name} would have"
                f" {len(value.encode('utf-8', 'surrogatepass')):,} bytes, and the most is {_MOST_BYTES:,}; let the step"
                " before write a file, and give its path"
            )
    return told


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _failure(exit_code: int, last_words: list[str]) -> str:
    """The last lines that it said, and in the very last how it ended: that line is what lists of runs show."""
    meaning = f"command ended with exit code {exit_code}" if exit_code >= 0 else f"command {_signalled(-exit_code)}"
    said = [line for line in last_words if line.strip()]
    return "\n".join([*said[:-1], f"{meaning}: {said[-1]}"]) if said else meaning


def _signalled(number: int) -> str:
    try:
        return f"was ended by signal {number} ({signal.Signals(number).name})"
    except ValueError:  # a real-time signal has no name
        return f"was ended by signal {number}"
