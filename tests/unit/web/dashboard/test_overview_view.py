"""What the overview shows follows from what the watcher has seen."""

from __future__ import annotations

from dataclasses import replace

from onthedot import App, cron, every
from onthedot.app.outlook import Planned, StoreOutlook, outlook_of
from onthedot.app.schedules import Put
from onthedot.clock import ManualClock
from onthedot.model.change import Author
from onthedot.model.decision import Decision
from onthedot.model.graph import BROADCAST
from onthedot.model.histogram import bucket_of
from onthedot.model.minute import Minute
from onthedot.model.node import SKEW_LABEL, Node, NodeState
from onthedot.model.run import Run
from onthedot.model.schedule import UNDECLARED_AFTER_MS, Schedule
from onthedot.model.states import State
from onthedot.moments import ceil_ms, from_ms
from onthedot.rules import edits
from onthedot.stores.answers import Ticks
from onthedot.stores.counts import RunCounts, ScheduleCounts
from onthedot.stores.memory import MemoryStore
from onthedot.triggers import encode
from onthedot.triggers.base import Trigger
from onthedot.web.dashboard import overview_view as view
from onthedot.web.dashboard.charts.ring import LEFT_OUT
from onthedot.web.snapshot import Snapshot

NOW = ceil_ms("2026-03-26T13:59:17.400Z")
MINUTE = 60_000
NOTHING = Snapshot(NOW, 0, ScheduleCounts(), RunCounts(), (), (), False, (), (), NOW)


def _run(name: str, at: str, state: State = State.SUCCEEDED, **more: object) -> Run:
    at_ms = ceil_ms(f"2026-03-26T{at}Z")
    return Run(f"{name}-{at}", "t", "tick", at_ms, at_ms, state, schedule=name, **more)  # type: ignore[arg-type]


def _outlook(triggers: dict[str, Trigger]) -> StoreOutlook:
    planned = {name: Planned("t", each, ()) for name, each in triggers.items()}
    return outlook_of(planned, NOW - 2 * MINUTE, NOW + 86_400_000)


def test_the_ring_counts_what_the_forecast_counts() -> None:
    outlook = _outlook({"a": every("2s"), "b": cron("0 * * * *"), **{f"c{n}": cron("* * * * *") for n in range(9)}})
    ring = view.ring_of(NOTHING, NOW, outlook, {})
    first_ms, end_ms = ring.window_ms

    assert ring.to_come == len(outlook.index.query(from_ms(first_ms), from_ms(end_ms))) == 40
    assert ring.coming_at(43) == 11  # 14:00:00


def test_the_ring_shows_ticks_by_their_moment_and_only_those_of_the_minute() -> None:
    runs = (
        _run("a", "13:59:16"),
        _run("a", "13:58:18", State.FAILED),
        _run("a", "13:58:17", State.FAILED),
        _run("b", "13:59:18"),  # decided ahead
        replace(_run("c", "13:59:10"), cause="manual"),
    )
    ring = view.ring_of(replace(NOTHING, recent=runs), NOW, None, {NOW // 1000 - 3: 2})

    assert ring.totals() == {"succeeded": 1, "failed": 1, LEFT_OUT: 2}


def test_a_tick_without_a_run_is_asked_for_and_shown_where_a_decision_says_that_it_was_left_out() -> None:
    outlook = _outlook({"slow": every("10s"), "fine": every("10s"), "unseen": every("10s")})
    moments = [f"13:{at}" for at in ("58:20", "58:30", "58:40", "58:50", "59:00", "59:10")]
    made = [_run("fine", at) for at in moments] + [_run("slow", at) for at in moments[::2]]
    snapshot = replace(NOTHING, recent=tuple(made))

    assert sorted(view.missing_names(snapshot, NOW, outlook)) == ["slow", "unseen"]
    assert view.missing_names(replace(snapshot, more=True), NOW, outlook) == []

    first, last = (ceil_ms(f"2026-03-26T13:{at}Z") for at in ("58:30", "58:30"))
    decision = Decision("d", "id-slow", "slow", 1, "overlap", first, last, 1, NOW)
    names = {"id-slow": "slow", "id-unseen": "unseen"}
    left_out = view.left_out_of(Ticks((), (decision,)), names, outlook, NOW // 1000 * 1000 - 59_000)

    assert left_out == {first // 1000: 1}


def test_what_runs_is_listed_longest_first_and_a_broadcast_as_its_shards() -> None:
    old = _run("old", "13:50:00", State.RUNNING, started_ms=1, owner="n1")
    new = _run("new", "13:59:00", State.RUNNING, started_ms=2, owner="n2")
    whole = _run("all", "13:59:00", State.RUNNING, started_ms=0, graph=BROADCAST.hash)
    found = view.running_of(replace(NOTHING, running=(new, whole, old), runs=RunCounts(0, 1, 0, 2)))

    assert (found.runs, found.more, found.nodes) == ((old, new), 0, 2)


def test_what_ended_last_comes_first() -> None:
    ended = tuple(_run(f"r{n}", f"13:59:{n:02}", finished_ms=NOW - n) for n in range(9))
    found = view.running_of(replace(NOTHING, recent=ended), needs=9)

    assert [run.schedule for run in found.ended] == ["r0", "r1", "r2"]


def _schedule(name: str, trigger: Trigger, next_ms: int | None) -> Schedule:
    return Schedule(f"id-{name}", name, "t", encode(trigger), next_run_ms=next_ms)


def test_more_than_five_of_a_moment_are_one_line() -> None:
    hour = ceil_ms("2026-03-26T14:00Z")
    soon = [_schedule(f"s{n}", every("10s"), NOW + 600) for n in range(5)]
    herd = [_schedule(f"h{n}", cron("0 * * * *"), hour) for n in range(6)]
    lines = view.next_lines([*soon, *herd, _schedule("never", every("10s"), None)], {}, [])

    assert [line.name for line in lines] == ["s0", "s1", "s2", "s3", "s4", None]
    assert (lines[-1].count, lines[-1].words) == (6, "the full hour")
    assert lines[0].words == "every 10 seconds"


def test_a_crowd_that_fills_a_page_is_counted_and_stepped_over() -> None:
    app = App("memory://")
    app.task(name="t")(lambda: None)
    store = app.open_store()
    for number in range(150):
        app.schedules.put(f"herd-{number:03}", "t", cron("0 0 * * *"))
    app.schedules.put("later", "t", cron("0 1 * * *"))
    planned = {
        each.name: Planned("t", cron("0 0 * * *"), ()) for each in store.schedules(limit=200) if each.name != "later"
    }
    lines = view.read_next(store, outlook_of(planned, store.now_ms(), store.now_ms() + 90_000_000), [], store.now_ms())

    assert {(line.name, line.count) for line in lines} == {(None, 150), ("later", 1)}


def test_what_nobody_declares_is_not_next_and_what_nobody_can_run_says_so() -> None:
    clock = ManualClock(NOW)
    store = MemoryStore(clock.now_ms)
    app = App("memory://", store=store)
    app.task(name="t")(lambda: None)
    app.schedules.put("here", "t", every("2h"))
    app.schedules.put("nowhere", "u", every("2h"), unchecked=True)
    app.schedules.put("elsewhere", "t", every("2h"), group="gpu")
    old = app.schedules.define(Put("old", "t", every("2h")), origin="code")
    store.change(["old"], edits.put(old), Author("ann", "code", "sync"))
    clock.advance(UNDECLARED_AFTER_MS + 1)
    node = Node("n1", "n1", tasks=("t",), renewed_ms=clock.now_ms())
    lines = view.read_next(store, None, [node], clock.now_ms())

    assert {line.name: line.held for line in lines} == {
        "here": "",
        "nowhere": "no live node has the task u",
        "elsewhere": "no live node is in the group gpu",
    }
    assert {line.held for line in view.read_next(store, None, [], clock.now_ms())} == {""}  # told once, above


def test_minutes_of_all_nodes_are_one_and_those_that_nobody_counted_are_empty() -> None:
    minute = ceil_ms("2026-03-26T13:30Z")
    one = Minute(minute, "n1", 3, {"failed": 1, "succeeded": 2}, {bucket_of(5): 3}, 5, "r1", "fx")
    other = Minute(minute, "n2", 1, {"lost": 1}, {bucket_of(900): 1}, 900, "r2", "etl")
    shown = view.ribbon_of([one, other], NOW, [])
    (found,) = [each for each in shown if each.begun]

    assert len(shown) == 60
    assert shown[-1].at_ms == ceil_ms("2026-03-26T13:59Z")
    assert (found.at_ms, found.begun, found.failed, found.latest_ms, found.why) == (minute, 4, 2, 900, "etl")
    assert found.p50_ms < 10 < found.p99_ms <= 900


def test_a_minute_in_which_a_lease_ran_out_names_who_died() -> None:
    minute = ceil_ms("2026-03-26T13:30Z")
    late = Minute(minute, "n1", 1, {}, {bucket_of(31_000): 1}, 31_000, "r1", "fx")
    died = Node("n2", "nyc-2", state=NodeState.DEAD, renewed_ms=minute - 20_000, lease_ms=30_000)

    assert [each.why for each in view.ribbon_of([late], NOW, [died]) if each.begun] == ["nyc-2 died"]


def test_nodes_that_died_stand_last_until_one_of_their_name_is_back() -> None:
    nodes = (
        Node("n2", "b", capacity=8, renewed_ms=NOW, labels={SKEW_LABEL: "1180"}),
        Node("n1", "a", capacity=32, renewed_ms=NOW, state=NodeState.DRAINING),
        Node("n3", "c", renewed_ms=NOW - 90_000),
    )
    died = [Node("n4", "d", state=NodeState.DEAD, renewed_ms=NOW), Node("n5", "b", state=NodeState.DEAD)]
    running = (_run("x", "13:59:00", State.RUNNING, owner="n2"),)
    lines = view.nodes_of(replace(NOTHING, nodes=nodes, running=running), died)

    assert [(line.name, line.state, line.running) for line in lines] == [
        ("b", "alive", 1),
        ("a", "draining", 0),
        ("c", "expired", 0),
        ("d", "dead", 0),
    ]
    assert lines[0].part == 1 / 8
    assert view.skew_text(lines[0].skew_ms) == "+1.2 s"
    assert view.skew_text(-4) == "\N{MINUS SIGN}4 ms"


def test_only_deaths_of_the_last_hour_are_told() -> None:
    gone = [
        Node("n1", "a", state=NodeState.DEAD, renewed_ms=NOW - 2 * 3_600_000),
        Node("n2", "b", state=NodeState.STOPPED, renewed_ms=NOW),
        Node("n3", "c", state=NodeState.DEAD, renewed_ms=NOW - 9000),
        Node("n4", "c", state=NodeState.DEAD, renewed_ms=NOW - 5000),
    ]

    assert [node.id for node in view.recent_deaths(gone, NOW)] == ["n4"]


def test_a_run_that_never_began_and_a_tick_that_made_none_are_both_left_out() -> None:
    runs = (_run("a", "13:59:14", State.SKIPPED), _run("b", "13:59:14"))
    ring = view.ring_of(replace(NOTHING, recent=runs), NOW, None, {NOW // 1000 - 3: 2})

    assert ring.totals() == {LEFT_OUT: 3, "succeeded": 1}
