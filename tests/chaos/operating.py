"""The operator of a storm, a process of its own: `python -m tests.chaos.operating PLAN SAID`.

Does what the plan says when it says so, whatever state the store is in, and writes down what came of it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Literal

from tests.chaos.node import make_app

from onthedot import App, every
from onthedot.errors import OnthedotError
from onthedot.model.run import Run
from onthedot.moments import from_ms

_BAD = ("failed", "lost", "cancelled", "timed_out", "skipped")
_LOOKED_AT = 60


class Operator:
    """Each `do_…` gets two numbers, which choose."""

    def __init__(self, app: App, names: list[str]) -> None:
        self._app = app
        self._names = names

    def do(self, what: str, which: int, how: int) -> None:
        getattr(self, f"do_{what}")(self._names[which % len(self._names)], how)

    def do_pause(self, name: str, how: int) -> None:
        self._app.schedules.pause(name, note="a storm")

    def do_resume(self, name: str, how: int) -> None:
        paused = self._app.schedules.list(state="paused", limit=100).items
        self._app.schedules.resume(paused[how % len(paused)].name if paused else name)

    def do_trigger(self, name: str, how: int) -> None:
        self._app.schedules.trigger(name, token=str(how))

    def do_every(self, name: str, how: int) -> None:
        self._app.schedules.update(name, trigger=every(f"{2 + how % 9}s"))

    def do_overlap(self, name: str, how: int) -> None:
        self._app.schedules.update(name, overlap=("serial", "discard", "cover", "concurrent")[how % 4])

    def do_reschedule(self, name: str, how: int) -> None:
        moment = from_ms(self._app.now_ms()) + timedelta(seconds=2 + how % 20)
        self._app.schedules.reschedule(name, moment)

    def do_skip(self, name: str, how: int) -> None:
        self._app.schedules.skip_next(name, how % 4)

    def do_delete(self, name: str, how: int) -> None:
        self._app.schedules.delete(name)

    def do_sync(self, name: str, how: int) -> None:
        """What was deleted is declared again."""
        self._app.sync()

    def do_freeze(self, name: str, how: int) -> None:
        now = from_ms(self._app.now_ms())
        start, end = now + timedelta(seconds=how % 5), now + timedelta(seconds=6 + how % 9)
        self._app.freeze(f"storm-{how}", start, end, where={"name": f"{name[:2]}*"})

    def do_backfill(self, name: str, how: int) -> None:
        now = from_ms(self._app.now_ms())
        which: Literal["failed", "missing"] = "missing" if how % 2 else "failed"
        self._app.schedules.backfill(name, now - timedelta(seconds=30), now, which=which, limit=2)

    def do_enqueue(self, name: str, how: int) -> None:
        """The same key at times: the same run."""
        self._app.enqueue("work", args={"takes": 100}, key=f"key-{how % 50}", delay="1s" if how % 2 else None)

    def do_cancel(self, name: str, how: int) -> None:
        run = self._one_of(lambda run: not run.is_final, how)
        if run is not None:
            self._app.runs.cancel(run.id, now=how % 2 == 0 and run.is_flow)

    def do_retry(self, name: str, how: int) -> None:
        run = self._one_of(lambda run: run.state.value in _BAD, how)
        if run is not None:
            self._app.runs.retry(run.id)

    def _one_of(self, wanted: Callable[[Run], bool], how: int) -> Run | None:
        runs = [run for run in self._app.runs.list(limit=_LOOKED_AT).items if wanted(run)]
        return runs[how % len(runs)] if runs else None


def main() -> None:
    """Act by act, each at its moment; one that takes long makes those after it late."""
    acts = json.loads(Path(sys.argv[1]).read_text())
    environment = os.environ
    app = make_app(
        environment["CHAOS_URL"],
        None,
        without=(),
        pace=int(environment["CHAOS_PACE"]),
        times=int(environment["CHAOS_TIMES"]),
        port=int(environment["CHAOS_PORT"]),
    )
    operator = Operator(app, environment["CHAOS_NAMES"].split(","))
    began = float(environment["CHAOS_BEGAN"])
    with Path(sys.argv[2]).open("a", encoding="utf-8") as said:
        for at_s, what, which, how in acts:
            time.sleep(max(began + at_s - time.monotonic(), 0))
            error = _done(operator, what, which, how)
            said.write(json.dumps({"what": what, "error": error}) + "\n")
            said.flush()
    app.close()


def _done(operator: Operator, what: str, which: int, how: int) -> str | None:
    """What was refused, and why; what is no refusal in one line is a defect."""
    try:
        operator.do(what, which, how)
    except OnthedotError as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    except Exception as error:
        return f"DEFECT {type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    main()
