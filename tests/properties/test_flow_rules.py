"""The rules of flows, on random graphs with random ends: what was made, in which order, and how the flow ended.

Judged by what follows from the graph and the ends alone; never by the ledger.
"""

from __future__ import annotations

from random import Random
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.flow_graphs import FLAT, HEAVY, random_graph

from onthedot.model.graph import Graph, Step
from onthedot.model.ledger import Entry, Ledger
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules.flows.judging import MOST_LIVE, Wanted, advance
from onthedot.rules.flows.retrying import reopened, step_retried, why_not_alone
from onthedot.rules.flows.telling import asked, told

NOW_MS = 1_800_000_000_000
End = Literal["good", "bad", "skip"]
STATES: dict[End, State] = {"good": State.SUCCEEDED, "bad": State.FAILED, "skip": State.SKIPPED}
randoms = st.integers(0, 1 << 40).map(Random)


class Life:
    """A flow as its rows would tell of it: each item with its end, and nothing of the ledger but what comes back."""

    def __init__(self, graph: Graph, random: Random) -> None:
        self.graph, self.random = graph, random
        self.flow = Run("01900000-0000-7000-8000-000000000000", "@flow", "enqueue", 0, 0, state=State.RUNNING)
        self.ledger = Ledger()
        self.live: set[tuple[str, int]] = set()
        self.ends: dict[tuple[str, int], End] = {}
        self.made: list[tuple[str, int]] = []
        self.sizes: dict[str, int] = {}
        self.state: State | None = None
        self.kept: dict[str, str] = {}
        """What ended well, or skipped itself, in an earlier round: it stays so, whatever is done again before it."""

    def look(self) -> None:
        went = advance(self.flow, self.graph, self.ledger)
        again = advance(self.flow, self.graph, went.ledger)
        assert (again.ledger, again.wanted, again.state) == (went.ledger, (), went.state), "a repeat changes nothing"
        self.ledger, self.state = Ledger.from_json(went.ledger.as_json()), went.state
        assert self.ledger == went.ledger
        for wanted in went.wanted:
            self.make(wanted)

    def make(self, wanted: Wanted) -> None:
        step = wanted.step
        for item in wanted.items:
            key = step.name, item
            assert key not in self.live, f"{key} was made twice"
            assert self.ends.get(key) != "good", f"{key} had ended well, and was made again"
            assert (item in wanted.old) == (key in self.ends and not step.closing), "its row in history is revived"
            self.check_may_begin(step)
            self.live.add(key)
            self.made.append(key)
            self.ends.pop(key, None)
        assert sum(name == step.name for name, _ in self.live) <= step.parallel, "more live items than the window"
        assert len(self.live) <= MOST_LIVE

    def check_may_begin(self, step: Step) -> None:
        before = [each.name for each in self.graph.steps if not each.closing] if step.closing else step.after
        assert not self.live.intersection((name, item) for name, item in self.live if name in before), "too early"
        if step.closing:
            return
        assert step.name not in self.kept, f"{step.name} had ended well, and is done again"
        assert not {name for name, _ in self.live} & self.graph.ancestors[step.name], "beside an ancestor"
        assert self.flow.cancel_requested_ms is None, "made although the flow shall stop"
        how = [self.status(name) for name in step.after]
        assert "pending" not in how, f"{step.name} began before its parents ended: {how}"
        assert _met(step, how), f"{step.name} ({step.on}) began after {how}"

    def end_some(self, choose: dict[End, int]) -> None:
        if not self.live:
            return
        some = self.random.sample(sorted(self.live), self.random.randint(1, len(self.live)))
        rows = [self.end(key, self.random.choices(list(choose), list(choose.values()))[0]) for key in some]
        self.ledger = told(told(self.ledger, rows), rows[: self.random.randint(0, len(rows))])  # some of them twice

    def end(self, key: tuple[str, int], how: End) -> Run:
        name, item = key
        self.live.remove(key)
        self.ends[key] = how
        step = self.graph[name]
        if how == "good" and not step.is_map:
            self.sizes[name] = self.random.choice([0, 1, 2, 5])
        size = self.sizes.get(name) if how == "good" else None
        number = item if step.is_map else None
        return replace(self.flow, id=f"{key}", state=STATES[how], step=name, item=number, size=size)

    def status(self, name: str) -> str:
        """How a step ended, by what stands in the graph and by the ends of its items."""
        step = self.graph[name]
        if name in self.kept:
            return self.kept[name]
        if any(each == name for each, _ in self.live):
            return "pending"
        how = [self.status(each) for each in step.after]
        if "pending" in how:
            return "pending"
        ends = [end for (each, _), end in self.ends.items() if each == name]
        source = step.over["$result"] if isinstance(step.over, dict) else None
        if not _met(step, how) or (source is not None and self.status(source) != "good"):
            return "skip"
        if len(ends) < self.count(step):
            return "pending"
        if "bad" in ends:
            return "good" if step.may_fail else "bad"
        return "skip" if ends and "good" not in ends else "good"

    def count(self, step: Step) -> int:
        if step.over is None:
            return 1
        if isinstance(step.over, list):
            return len(step.over)
        source = self.graph[step.over["$result"]]
        if source.is_map:
            return self.count(source)
        return self.sizes[source.name] if self.ends.get((source.name, 0)) == "good" else 0

    def run_out(self, choose: dict[End, int]) -> None:
        for _ in range(3000):
            self.look()
            if self.state is not None:
                return
            assert self.live, f"nothing is live, and the flow has not ended: {self.ledger}"
            self.end_some(choose)
        raise AssertionError("it never ends")

    def closed(self, name: str) -> bool:
        return any(each == name for each, _ in self.made)


def _met(step: Step, how: list[str]) -> bool:
    bad = "bad" in how
    match step.on:
        case "success":
            return all(each == "good" for each in how)
        case "any":
            return "good" in how and not bad
        case "failure":
            return bad
        case "end":
            return True


def _check_the_end(life: Life) -> None:
    main = {step.name: life.status(step.name) for step in life.graph.steps if not step.closing}
    assert "pending" not in main.values(), main
    wrong = "bad" in main.values()
    for step in life.graph.steps:
        if step.closing:
            assert life.closed(step.name) == (step.on == "end" or wrong), step
            bad = life.ends.get((step.name, 0)) == "bad" and not step.may_fail
            main[step.name] = "bad" if bad else "good"
    assert life.state is (State.FAILED if "bad" in main.values() else State.SUCCEEDED), main


@given(randoms)
@settings(max_examples=300, deadline=None)
def test_every_step_runs_once_after_what_it_waits_for_and_the_flow_ends_as_they_did(random: Random) -> None:
    life = Life(random_graph(random, random.choice([FLAT, HEAVY])).graph, random)
    life.run_out({"good": 12, "bad": 3, "skip": 1})
    assert len(life.made) == len(set(life.made)), "made twice"
    _check_the_end(life)


@given(randoms)
@settings(max_examples=200, deadline=None)
def test_a_flow_that_is_asked_to_stop_closes_and_begins_nothing_else(random: Random) -> None:
    life = Life(random_graph(random, random.choice([FLAT, HEAVY])).graph, random)
    for _ in range(random.randrange(4)):
        life.look()
        if life.state is not None:
            return
        life.end_some({"good": 5, "bad": 1, "skip": 1})
    late, hard = random.random() < 0.3, random.random() < 0.3
    life.flow = asked(replace(life.flow, ledger=life.ledger.as_json()), "enough", NOW_MS, late=late, hard=hard)
    life.ledger = Ledger.from_json(life.flow.ledger)
    before, judged = len(life.made), set(life.ledger.steps)
    life.run_out({"good": 1, "bad": 3, "skip": 1})
    names = {name for name, _ in life.made[before:]}
    assert all(life.graph[name].closing for name in names), names
    for step in life.graph.steps:
        if step.closing and not hard and step.name not in judged and (step.on == "end" or late):
            assert life.closed(step.name), f"{step.name} was to run at the end"
        if step.closing and hard and step.name in names:
            raise AssertionError("it was asked to stop at once")
    assert life.state in (State.TIMED_OUT if late else State.CANCELLED, State.SUCCEEDED)


@given(randoms)
@settings(max_examples=300, deadline=None)
def test_a_retried_flow_does_again_what_went_wrong_and_what_follows_from_it(random: Random) -> None:
    life = Life(random_graph(random, random.choice([FLAT, HEAVY])).graph, random)
    life.run_out({"good": 2, "bad": 2, "skip": 1})
    for _ in range(2):
        if life.state is State.SUCCEEDED:
            break
        how = {step.name: life.status(step.name) for step in life.graph.steps if not step.closing}
        itself = {name for (name, _), end in life.ends.items() if end == "skip"}
        life.kept = {name: each for name, each in how.items() if each == "good" or (each == "skip" and name in itself)}
        life.ledger, life.state = reopened(life.ledger, life.graph), None
        life.made.clear()
        life.ends = {key: end for key, end in life.ends.items() if not life.graph[key[0]].closing}
        life.run_out({"good": 4, "bad": 1, "skip": 1})
        _check_the_end(life)


@given(randoms)
@settings(max_examples=300, deadline=None)
def test_a_step_is_retried_alone_only_where_nothing_has_used_its_end(random: Random) -> None:
    life = Life(random_graph(random, random.choice([FLAT, HEAVY])).graph, random)
    for _ in range(200):
        life.look()
        if life.state is not None:
            break
        wrong = sorted(key for key, end in life.ends.items() if end == "bad")
        if wrong and random.random() < 0.5:
            name, item = random.choice(wrong)
            row = replace(life.flow, id="r", state=State.FAILED, step=name, item=item, parent_id=life.flow.id)
            if why_not_alone(life.flow, row, life.graph, life.ledger) is None:
                used = [
                    s.name for s in life.graph.steps if name in life.graph.ancestors[s.name] and life.closed(s.name)
                ]
                assert not used, f"{name} is retried under {used}"
                life.ledger = step_retried(life.ledger, life.graph, row)
                life.live.add((name, item))
                del life.ends[name, item]
                continue
        life.end_some({"good": 3, "bad": 3, "skip": 1})
    else:
        return
    if not any(step.closing for step in life.graph.steps):
        _check_the_end(life)


def test_no_more_than_a_thousand_steps_are_live_whatever_the_maps_allow() -> None:
    steps = tuple(Step(f"m{n}", "work", over=list(range(300)), parallel=300) for n in range(5))
    life = Life(Graph("wide", steps), Random(1))
    life.look()
    assert len(life.live) == MOST_LIVE
    life.run_out({"good": 1})
    assert (len(life.ends), life.state) == (1500, State.SUCCEEDED)


def test_a_map_over_what_is_no_list_goes_wrong_and_says_so() -> None:
    life = Life(Graph("odd", (Step("m", "work", over={"$arg": "files"}),)), Random(1))
    life.flow = replace(life.flow, args={"files": 3})
    life.look()
    assert life.state is State.FAILED
    assert life.ledger.steps["m"].problem == "m is mapped over int, and not over a list"


@given(st.integers(0, 1 << 70), st.integers(0, 1 << 70), st.booleans())
def test_an_entry_is_read_as_it_was_written(good: int, live: int, again: bool) -> None:
    entry = Entry(70, good=good, live=live, again=again, verdict="cut", size=3, problem="odd")
    assert Entry.from_json(entry.as_json()) == entry
