"""The watcher: what a look costs and sees, when it looks at all, and what it keeps while the store is away."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import event

from onthedot import App, every
from onthedot.clock import ManualClock
from onthedot.errors import StoreError, StoreUnavailable
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.token import Role, Token
from onthedot.stores.base import Store
from onthedot.stores.counts import RunCounts, ScheduleCounts
from onthedot.web.snapshot import MINUTE_MS, Message, Snapshot
from onthedot.web.streams import Holder
from onthedot.web.watching import (
    _EVERY_MS,
    HASTENED_MS,
    LOOK_MS,
    UNNEEDED_MS,
    Turns,
    Watcher,
    is_over,
    merged,
    since_of,
    turns_after,
)

NOW = 1_000 * MINUTE_MS


# what a look reads


def test_every_turn_comes_and_together_they_are_one_a_second() -> None:
    assert sum(1000 / every_ms for every_ms in _EVERY_MS.values()) <= 1
    turns, read = Turns(), dict.fromkeys(_EVERY_MS, 0)
    for second in range(60):
        turn = turns.next(second * 1000)
        turns = turns.after(turn, second * 1000)
        read[turn] += 1
    for turn, times in read.items():
        assert abs(times - 60_000 / _EVERY_MS[turn]) <= 2, (turn, times)


def test_nodes_are_read_also_where_runs_never_stop() -> None:
    turns, read = Turns(), dict[str, list[int]]()
    for second in range(120):
        turn = turns.next(second * 1000)
        read.setdefault(turn, []).append(second)
        turns = turns.after(turn, second * 1000).at_once({"run counts", "schedule counts"})

    assert set(read) == set(_EVERY_MS)
    assert max(later - earlier for earlier, later in pairwise(read["nodes"])) <= 10


def test_what_has_just_changed_is_counted_next() -> None:
    turns = Turns()
    for turn in _EVERY_MS:
        turns = turns.after(turn, 4000)
    wanted = turns_after([Message("schedules", ("a",))], [])
    assert wanted == {"schedule counts"}
    assert turns.at_once(wanted).next(5000) == "schedule counts"


def _seen(*recent: Run, now_ms: int = NOW, more: bool = False) -> Snapshot:
    return Snapshot(now_ms, 0, ScheduleCounts(), RunCounts(), (), recent, more, (), ())


def _run(made_ms: int, state: State = State.SUCCEEDED) -> Run:
    return Run(f"{made_ms:020}", "task", "tick", made_ms, made_ms, state=state, created_ms=made_ms)


def test_runs_of_the_last_minute_are_read_again_only_while_one_of_them_has_not_ended() -> None:
    assert since_of(None, NOW) == NOW - MINUTE_MS
    assert since_of(_seen(_run(NOW - 40_000)), NOW + 1000) == NOW - 5000
    waits = _run(NOW - 40_000, State.WAITING)
    assert since_of(_seen(waits), NOW + 1000) == NOW - 40_000
    assert since_of(_seen(waits), NOW + 30_000) == NOW + 30_000 - MINUTE_MS
    assert since_of(_seen(more=True), NOW) == NOW - MINUTE_MS


def test_what_was_known_stays_for_a_minute_and_what_was_read_takes_its_place() -> None:
    old, kept, changed = _run(NOW - 60_000), _run(NOW - 30_000), _run(NOW - 1000, State.RUNNING)
    ended, new = _run(NOW - 1000), _run(NOW)
    found = merged(_seen(changed, kept, old), [new, ended], NOW - 5000, NOW + 1)
    assert found == (new, ended, kept)


def test_who_may_look_and_who_no_longer() -> None:
    ann = Token("ann", Role.VIEWER, "1", 0, None)
    assert not is_over(Holder("ann", "1"), [ann], NOW)
    assert is_over(Holder("ann", "0"), [ann], NOW), "the name was given anew"
    assert is_over(Holder("bob", "1"), [ann], NOW), "revoked"
    assert is_over(Holder("ann", "1", expires_ms=NOW), [ann], NOW), "its time is over"
    assert not is_over(Holder("ann", "1", expires_ms=NOW + 1), [ann], NOW)
    assert not is_over(Holder(), [], NOW)
    assert is_over(Holder(), [ann], NOW), "who needed no token needs one now"


# what a look costs


@contextmanager
def _statements(store: Store) -> Iterator[list[str]]:
    asked: list[str] = []

    def trace(connection: Any, *_: Any) -> None:
        connection.set_trace_callback(
            lambda text: asked.append(text) if text.lstrip()[:4] in ("SELE", "WITH") else None
        )

    engine = store._opened().engine  # type: ignore[attr-defined]
    event.listen(engine, "checkout", trace)
    yield asked
    event.remove(engine, "checkout", trace)


def test_a_look_costs_five_statements_at_most_whatever_there_is(app: App, watcher: Watcher, clock: ManualClock) -> None:
    for number in range(20):
        app.schedules.put(f"s{number}", "report", every("10s"))
    watcher.look()

    async def watched() -> None:
        watcher.streams.open(frozenset({"runs"}), Holder("ann", "1"))

    asyncio.run(watched())
    seen: list[int] = []
    for number in range(30):
        app.enqueue("report")
        app.schedules.trigger(f"s{number % 20}")
        clock.advance(LOOK_MS)
        with _statements(app.open_store()) as asked:
            watcher.look()
        seen.append(len(asked))
    assert max(seen) <= 5, seen
    assert sum(seen) > 90, "it did look"


# what it sees


def test_a_snapshot_is_read_at_once_and_then_not_again_for_a_while(
    app: App, watcher: Watcher, clock: ManualClock
) -> None:
    app.schedules.put("nightly", "report", every("1h"))
    seen = watcher.snapshot()
    assert (seen.schedules.active, seen.away) == (1, None)
    assert seen.last_change == app.schedules.changes()[0].id
    with _statements(app.open_store()) as asked:
        assert watcher.snapshot() == seen
    assert asked == []
    clock.advance(UNNEEDED_MS)
    assert watcher.run_once() is None
    assert watcher.snapshot().read_ms == seen.read_ms + UNNEEDED_MS


def test_what_happens_in_the_store_is_told_with_its_ids(app: App, watcher: Watcher, clock: ManualClock) -> None:
    app.schedules.put("nightly", "report", every("1h"))
    watcher.look()
    run = app.schedules.trigger("nightly")
    app.open_store().join(Node("n1", "web"), [])
    for _ in range(6):
        clock.advance(LOOK_MS)
        watcher.look()
    told = {each.message.topic: each.message for each in watcher.streams._memory if each.message.ids}
    assert (told["runs"].ids, told["runs"].schedules) == ((run.id,), ("nightly",))
    assert told["nodes"].ids == ("n1",)
    assert told["schedules"].ids == ("nightly",)
    assert watcher.snapshot().runs == RunCounts(waiting=1)


def test_after_a_pause_everything_is_read_anew(app: App, watcher: Watcher, clock: ManualClock) -> None:
    watcher.look()
    for number in range(3):
        app.schedules.put(f"s{number}", "report", every("1h"))
    app.enqueue("report")
    app.open_store().join(Node("n1", "web"), [])
    clock.advance(UNNEEDED_MS)
    watcher.look()
    seen = watcher.snapshot()

    assert [node.id for node in seen.nodes] == ["n1"]
    assert (seen.schedules.active, seen.runs.waiting) == (3, 1)


# when it looks


def test_nobody_looks_unless_somebody_needs_it_and_no_longer_than_that(watcher: Watcher, clock: ManualClock) -> None:
    assert watcher._loop is None
    watcher.watch()
    loop: Any = watcher._loop
    assert loop.run_once() == LOOK_MS
    clock.advance(UNNEEDED_MS)
    assert loop.run_once() is None
    assert (loop.stopped, watcher._loop) == (True, None)
    watcher.watch()
    assert watcher._loop is not None


def test_as_long_as_a_stream_is_open_it_looks(watcher: Watcher, clock: ManualClock) -> None:
    async def watched() -> None:
        stream, _ = watcher.streams.open(frozenset({"runs"}), Holder())
        watcher.watch()
        clock.advance(100 * UNNEEDED_MS)
        assert watcher.run_once() == LOOK_MS
        watcher.streams.close(stream)
        assert watcher.run_once() is None

    asyncio.run(watched())


def test_an_event_of_this_process_hastens_a_look_which_takes_the_place_of_the_next(
    watcher: Watcher, clock: ManualClock
) -> None:
    watcher.watch()
    assert watcher.run_once() == LOOK_MS
    looks = 1
    for _ in range(100):
        clock.advance(100)
        watcher.hasten()
        looks += watcher.run_once() is not None and watcher._looked_ms == clock.monotonic_ms()
    assert looks <= 12, "however often it is hastened, it looks once a second on the whole"
    clock.advance(5 * LOOK_MS)
    watcher.run_once()
    watcher.hasten()
    assert watcher.run_once() == HASTENED_MS, "not at once: they are that far apart at least"


def test_who_stops_it_ends_its_streams(watcher: Watcher) -> None:
    async def watched() -> None:
        stream, _ = watcher.streams.open(frozenset({"runs"}), Holder())
        watcher.watch()
        watcher.stop()
        assert [each async for each in stream] == []

    asyncio.run(watched())
    assert watcher._loop is None


# the store is away


def test_while_the_store_is_away_the_last_truth_stays_with_its_date(
    app: App, watcher: Watcher, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.schedules.put("nightly", "report", every("1h"))
    seen = watcher.snapshot()

    def away(**_: Any) -> Any:
        raise StoreUnavailable("no route to host")

    clock.advance(LOOK_MS)
    with monkeypatch.context() as patched:
        patched.setattr(app.open_store(), "runs", away)
        watcher.look()
        clock.advance(LOOK_MS)
        watcher.look()
        kept = watcher.snapshot()
    assert (kept.now_ms, kept.schedules) == (seen.now_ms, seen.schedules)
    assert kept.away is not None
    assert (kept.away.why, kept.away.since_ms) == ("no route to host", clock.now_ms() - LOOK_MS)
    watcher.look()
    assert watcher.snapshot().away is None
    told = [each.message.ids[0] for each in watcher.streams._memory if each.message.topic == "store"]
    assert told == ["away", "back"]


def test_where_the_store_never_answered_that_is_an_error(
    app: App, watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(**_: Any) -> Any:
        raise StoreUnavailable("no route to host")

    monkeypatch.setattr(app.open_store(), "runs", away)
    with pytest.raises(StoreError, match="no route to host"):
        watcher.snapshot()


def test_a_store_that_says_nothing_is_away_before_the_look_ends(
    app: App, watcher: Watcher, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher.snapshot()
    found: list[Snapshot] = []
    real = app.open_store().runs

    def slow(**options: Any) -> Any:
        if not found:
            clock.advance(4000)
            found.append(watcher.snapshot())
        return real(**options)

    monkeypatch.setattr(app.open_store(), "runs", slow)
    clock.advance(LOOK_MS)
    watcher.look()
    assert found[0].away is not None
    assert found[0].away.why == "the store does not answer"
    assert watcher.snapshot().away is None


def test_what_is_in_a_hurry_all_the_time_leaves_the_others_their_turn() -> None:
    turns, read = Turns(tuple((name, 0) for name in ("nodes", "run counts", "schedule counts", "tokens", "clock"))), []
    for second in range(1, 31):
        turns = turns.at_once({"run counts", "schedule counts"})
        read.append(turns.next(second * 1000))
        turns = turns.after(read[-1], second * 1000)
    assert set(read) == {"nodes", "run counts", "schedule counts", "tokens", "clock"}
    assert read.count("nodes") >= 5


def test_nodes_are_judged_by_the_moment_at_which_they_were_read() -> None:
    node = Node("n", "n", renewed_ms=NOW - 1000, lease_ms=6000)
    later = replace(_seen(now_ms=NOW + 10_000), nodes=(node,), nodes_ms=NOW)
    assert not later.is_silent(node)
    assert replace(later, nodes_ms=NOW + 10_000).is_silent(node)
