"""Contenders that do no-op runs, all enqueued before; each is measured in a process of its own (`bench.apart`)."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import count
from threading import Event
from typing import Any

from onthedot import App
from onthedot.model.ids import new_id
from onthedot.node.settings import NodeSettings

OF_HUEY = 2000


def ours(url: str, kind: str, runs: int, capacity: int, limit: str | None = None) -> float:
    """Runs a second of one node with everything on; an `async def`, or a plain one."""
    app = App(url, node=NodeSettings(capacity=capacity))
    store = app.open_store(create=True)
    options: dict[str, Any] = {} if limit is None else {"limit": limit}
    called, all_called = count(1), Event()

    def note() -> None:
        if next(called) >= runs:
            all_called.set()

    if kind == "async":

        @app.task(name="nothing", **options)
        async def nothing() -> None:
            note()
    else:

        @app.task(name="nothing", **options)
        def nothing_plain() -> None:
            note()

    first = app.enqueue("nothing")
    for begin in range(1, runs, 1000):
        store.enqueue([replace(first, id=new_id(store.now_ms())) for _ in range(min(1000, runs - begin))])

    start = time.perf_counter()
    app.start()
    all_called.wait()
    app.stop()  # which writes how the last have ended
    taken = time.perf_counter() - start
    app.close()
    return runs / taken


def huey(path: str) -> float:
    """Runs a second of its consumer's loop, called directly."""
    from huey import SqliteHuey  # not for the others

    queue = SqliteHuey(filename=path, fsync=True, results=False)

    @queue.task()  # type: ignore[untyped-decorator]
    def nothing() -> None: ...

    for _ in range(OF_HUEY):
        nothing()
    start = time.perf_counter()
    for _ in range(OF_HUEY):
        queue.execute(queue.dequeue())
    return OF_HUEY / (time.perf_counter() - start)
