"""How often a pass asks its server: once more for nothing, whether it does one thing or a hundred."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from pymongo import monitoring

from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.rules.ahead import decided_ahead
from onthedot.rules.plan import Decider
from onthedot.stores.engine import Engine
from onthedot.stores.open import open_store
from onthedot.stores.redis.store import RedisStore
from onthedot.triggers.codec import encode
from onthedot.triggers.every import every

EXPECTED = {
    "redis_url": {"plan ahead": 2, "finish ticks": 3, "start": 2, "finish and start": 2, "finish": 1},
    "mongodb_url": {"plan ahead": 7, "finish ticks": 5, "start": 6, "finish and start": 8, "finish": 4},
}
OF_A_HUNDRED = {"redis_url": {}, "mongodb_url": {"start": 7, "finish and start": 9}}
"""What differs then. What changes by the dozen MongoDB removes and puts back: one command more."""
_asked: list[str] = []


class _Commands(monitoring.CommandListener):
    """What clients of MongoDB ask, of all that this process has."""

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        _asked.append(event.command_name)

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None: ...

    def failed(self, event: monitoring.CommandFailedEvent) -> None: ...


monitoring.register(_Commands())


@pytest.fixture(params=EXPECTED)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(request: pytest.FixtureRequest, kind: str) -> Iterator[Engine]:
    """By the server's own clock: that it is read is a part of what is counted."""
    store = cast(Engine, open_store(request.getfixturevalue(kind), create=True))
    if isinstance(store, RedisStore):
        _count_commands(store._server.client)
    yield store
    store.close()


def _count_commands(client: Any) -> None:
    ask = client.execute_command

    def counted(*values: Any, **options: Any) -> Any:
        _asked.append(values[0])
        return ask(*values, **options)

    client.execute_command = counted


def test_a_hundred_cost_no_more_round_trips_than_one(store: Engine, kind: str) -> None:
    node = Node("node", "n", tasks=("job",))
    store.join(node, [])
    store.plan_due("node", 10, 10, _decider(store))  # who else lives is known from here on
    _passes(store, node, 1)  # scripts are loaded, and connections made
    assert _passes(store, node, 1) == EXPECTED[kind]
    assert _passes(store, node, 100) == EXPECTED[kind] | OF_A_HUNDRED[kind]


def _passes(store: Engine, node: Node, size: int) -> dict[str, int]:
    """All kinds of passes, over so many schedules and runs each: how often each asked."""
    counts: dict[str, int] = {}

    def counted(what: str, act: Callable[[], Any]) -> Any:
        _asked.clear()
        answer = act()
        counts[what] = len(_asked)
        return answer

    store_ms = store.now_ms()
    ahead = decided_ahead(_due(store, size), node, _decider(store))
    planned = counted("plan ahead", lambda: store.plan_ahead("node", ahead, lambda: new_id(store_ms)))
    ticks = [run for effects in planned.effects for run in effects.runs]
    assert len(ticks) == size
    counted("finish ticks", lambda: store.finish("node", _outcomes(ticks)))
    store_ms = store.now_ms()
    store.enqueue([Run(new_id(store_ms), "job", "enqueue", store_ms, store_ms) for _ in range(2 * size)])
    first = counted("start", lambda: store.start_due("node", ["job"], size))
    both = counted("finish and start", lambda: store.finish_and_start("node", _outcomes(first.runs), ["job"], size))
    assert len(first.runs) == len(both[1].runs) == size
    counted("finish", lambda: store.finish("node", _outcomes(both[1].runs)))
    return counts


def _due(store: Engine, size: int) -> list[Schedule]:
    now_ms = store.now_ms()
    made = [
        Schedule(each, each, "job", encode(every("1h")), next_run_ms=now_ms - 1, settled_ms=now_ms - 2, created_ms=1)
        for each in (new_id(now_ms) for _ in range(size))
    ]
    with store.begin() as tx:
        tx.save_schedules(made)
    found = store.coming(now_ms - 2, now_ms, {})
    assert len(found) == size
    return found


def _decider(store: Engine) -> Decider:
    now_ms = store.now_ms()
    return Decider(lambda: new_id(now_ms))


def _outcomes(runs: Any) -> list[Outcome]:
    return [Outcome(run.id, run.claim_no, "succeeded") for run in runs]
