"""One of the processes under load: `python -m bench.soak.node`, told and asked in lines of JSON."""

from __future__ import annotations

import gc
import sys
from collections import Counter, deque

from bench.processes import hear, say
from bench.soak import load
from onthedot import App
from onthedot.events import RunEnded, RunStarted
from onthedot.node.settings import NodeSettings
from onthedot.stores.retention import Retention


class Counts:
    """What happened since it was last asked."""

    def __init__(self, app: App) -> None:
        self._late_ms: deque[int] = deque()
        self._ended: Counter[str] = Counter()

        @app.on("run_started")
        def began(event: RunStarted) -> None:
            if event.attempt == 1 and (event.schedule or "").startswith(load.PLAIN):
                self._late_ms.append(event.lateness_ms)

        @app.on("run_ended")
        def ended(event: RunEnded) -> None:
            self._ended[event.outcome] += 1

    def take(self) -> dict[str, object]:
        """And begin anew."""
        late_ms = [self._late_ms.popleft() for _ in range(len(self._late_ms))]
        ended, self._ended = self._ended, Counter()
        objects = len(gc.get_objects())
        return {"late_ms": late_ms, "ended": ended, "objects": objects, "blocks": sys.getallocatedblocks()}


def retention(keep_ms: int) -> Retention:
    """Everything that has a rule, kept for so long: within the hour each of them has something to forget."""
    return Retention(history_ms=keep_ms, statistics_ms=keep_ms, changes_ms=keep_ms, nodes_ms=keep_ms)


def serve() -> None:
    """Until it is told to stop."""
    told = hear()
    settings = NodeSettings(name=told["name"], retention=retention(told["keep_ms"]), tune_gc=True)
    app = App(told["url"], node=settings)
    load.declare(app, told["schedules"])
    counts = Counts(app)
    app.start(log=False)  # what fails here fails on purpose
    say("ready")
    while hear() == "how":
        say(counts.take())
    app.stop()
    app.close()
    say("stopped")


if __name__ == "__main__":
    serve()
