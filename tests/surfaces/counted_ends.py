"""Runs that ended a while ago, as a store holds them, counted."""

from __future__ import annotations

from onthedot import App
from onthedot.model.ids import new_id
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.stores.engine import Engine

MINUTE_MS, HOUR_MS = 60_000, 3_600_000


def count_ends(app: App, name: str | None = "nightly", *, good: int = 8, bad: int = 2, ago_ms: int = HOUR_MS) -> None:
    """So many that began 100 ms late and took 2 s, a millisecond apart; the bad ones with an error each."""
    store = app.open_store()
    assert isinstance(store, Engine)
    first_ms = store.now_ms() - ago_ms
    runs = [
        Run(
            new_id(first_ms + number),
            "report",
            "enqueue" if name is None else "tick",
            first_ms + number - 2100,
            first_ms + number - 2100,
            State.SUCCEEDED if number < good else State.FAILED,
            schedule=name,
            attempt=1,
            started_ms=first_ms + number - 2000,
            finished_ms=first_ms + number,
            error=None if number < good else f"Traceback\n  …\nOSError: disk {number} is <full>",
        )
        for number in range(good + bad)
    ]
    with store.begin() as rows:
        rows.end_runs(runs)
    while store.roll_up().more:
        pass
