"""Stores and journals, judged: real nodes on an SQLite file with a clock that is moved by hand.

A rule is taken out of the core, one at a time, and the checker must say so. Sabotages are those of `tests/sabotage`.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.patience import LONGEST, LONGEST_S
from tests.sabotage.sabotage import ROOT
from tests.sabotage.sabotages import SABOTAGES
from tests.unit.node.world import FileWorld

from onthedot import App, Context, every
from onthedot.cli import main
from onthedot.node.node import NodeRunner
from onthedot.rules import overlap, plan
from onthedot.stores.engine import limits
from onthedot.testing.history import Journal, Verdict, read_journals, verify
from onthedot.testing.history.attempts import SUPERSEDED
from onthedot.testing.history.execution import DONE
from onthedot.testing.history.starts import EARLY, LIMIT, OVERLAP, PAUSE
from onthedot.testing.history.ticks import NONE_VANISHES


class Scene(FileWorld):
    """A file, a journal, and tasks that write it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.folder = folder / "journal"
        self.journal = Journal(self.folder, self.clock)
        self.may_end = Event()
        self.may_end.set()

    def declare(self, **options: Any) -> None:
        """Two schedules every ten seconds; their tasks wait until they may end."""

        def work(ctx: Context) -> None:
            with self.journal.entry(ctx):
                assert self.may_end.wait(LONGEST_S)

        def fails(ctx: Context) -> None:
            with self.journal.entry(ctx):
                assert self.may_end.wait(LONGEST_S)
                raise OSError("boom")

        for task in (work, fails):
            self.app.schedule(every("10s"), **options)(task)
        self.app.sync()

    def work_for(self, ticks: int, *nodes: NodeRunner) -> None:
        for _ in range(ticks):
            self.pass_by(10_000, *nodes)

    def verdict(self) -> Verdict:
        return verify(
            self.store, journal=self.folder, journalled=["work"], slack_ms=0, clock=self.clock, explained=1000, page=7
        )

    def close(self) -> None:
        self.may_end.set()
        self.journal.close()
        self.store.close()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.close()


# how it goes on the way


def hold_and_go_on(scene: Scene) -> None:
    """A run is under way while the next ticks come, then ends."""
    node = scene.node()
    scene.may_end.clear()
    for _ in range(3):
        scene.clock.advance(10_000)
        node.heartbeat_once()
        node.plan_once()
    scene.may_end.set()
    scene.settle(node)
    scene.work_for(2, node)


def pause_and_resume(scene: Scene) -> None:
    """A pause finds a run under way that then fails, and is to be tried again."""
    node = scene.node()
    scene.may_end.clear()
    scene.clock.advance(10_000)
    node.heartbeat_once()
    node.plan_once()
    for name in ("work", "fails"):
        scene.app.schedules.pause(name)
    scene.may_end.set()
    scene.settle(node)
    scene.work_for(3, node)
    for name in ("work", "fails"):
        scene.app.schedules.resume(name)
    scene.work_for(2, node)


def stand_still(scene: Scene) -> None:
    """Nobody plans for a while."""
    node = scene.node()
    scene.work_for(1, node)
    scene.clock.advance(20_000)  # within its lease
    scene.work_for(2, node)


def come_early(scene: Scene) -> None:
    """A node asks for runs whose jitter is not over."""
    node = scene.node()
    scene.work_for(4, node)


def all_together(scene: Scene) -> None:
    hold_and_go_on(scene)
    pause_and_resume(scene)
    stand_still(scene)


def test_real_nodes_on_a_file_break_no_promise(scene: Scene) -> None:
    scene.declare(retries=2, limit="both:2")
    all_together(scene)
    verdict = scene.verdict()
    assert verdict.holds, str(verdict)
    assert (verdict.schedules, verdict.entries) == (2, sum(1 for _ in read_journals(scene.folder)))
    assert verdict.runs > 10
    assert verdict.unjudged == []


CAUGHT: dict[str, tuple[types.ModuleType, str, Callable[[Scene], None], dict[str, Any], str]] = {
    "no-slot": (overlap, "slot_for", hold_and_go_on, {}, OVERLAP),
    "no-group-limit": (limits, "Limits.admits", hold_and_go_on, {"limit": "both:1", "overlap": "concurrent"}, LIMIT),
    "started-early": (plan, "_Work._run_for", come_early, {"jitter": "5s"}, EARLY),
    "paused-begins-again": (overlap, "holds_back", pause_and_resume, {"retries": 2, "backoff": "1s"}, PAUSE),
    "misfire-unrecorded": (plan, "Decider._decide", stand_still, {}, NONE_VANISHES),
}


@pytest.mark.parametrize("name", CAUGHT)
def test_what_is_broken_in_the_core_is_found_in_its_history(
    scene: Scene, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, function, course, options, promise = CAUGHT[name]
    sabotage(monkeypatch, name, module, function)
    scene.declare(**options)
    course(scene)
    verdict = scene.verdict()
    assert promise in {each.promise for each in verdict.broken}, str(verdict)


@pytest.mark.parametrize("name", CAUGHT)
def test_where_nothing_is_taken_out_nothing_is_found(scene: Scene, name: str) -> None:
    _, _, course, options, _ = CAUGHT[name]
    scene.declare(**options)
    course(scene)
    verdict = scene.verdict()
    assert verdict.holds, str(verdict)


def sabotage(monkeypatch: pytest.MonkeyPatch, name: str, module: types.ModuleType, function: str) -> None:
    """The function does what it does without the rule, whoever has it imported."""
    (taken_out,) = [each for each in SABOTAGES if each.name == name]
    assert module.__file__ is not None
    text = taken_out.applied_to((ROOT / taken_out.path).read_text())
    broken = types.ModuleType(module.__name__)
    exec(compile(text, str(taken_out.path), "exec"), broken.__dict__)
    monkeypatch.setattr(_of(module, function), "__code__", _of(broken, function).__code__)


def _of(module: types.ModuleType, path: str) -> Callable[..., object]:
    found: object = module
    for part in path.split("."):
        found = getattr(found, part)
    assert callable(found)
    return found


# what only both together show


def test_a_run_that_was_done_twice_under_one_claim_is_found(scene: Scene) -> None:
    scene.declare()
    node = scene.node()
    scene.work_for(1, node)
    (run,) = scene.runs("work")
    with scene.journal.entry(Context(run)):
        pass
    (broken,) = scene.verdict().broken
    assert "2 times under claim 1" in broken.what


def test_a_run_that_the_store_does_not_know_is_found(scene: Scene) -> None:
    scene.declare()
    node = scene.node()
    scene.work_for(3, node)
    ids = "SELECT id FROM onthedot_history WHERE schedule = 'work' ORDER BY id LIMIT 1 OFFSET 1"
    scene.sql(f"DELETE FROM onthedot_history WHERE id = ({ids})")
    assert DONE in {each.promise for each in scene.verdict().broken}


def test_an_outcome_that_an_older_claim_overwrote_is_found(scene: Scene) -> None:
    scene.declare()
    node = scene.node()
    scene.work_for(1, node)
    scene.sql("UPDATE onthedot_history SET claim_no = 0 WHERE schedule = 'work'")
    assert SUPERSEDED in {each.promise for each in scene.verdict().broken}


# what cannot be judged


def test_what_is_pruned_is_not_judged_and_that_is_said(scene: Scene) -> None:
    scene.declare()
    scene.work_for(6, scene.node())
    oldest = "SELECT id FROM onthedot_history ORDER BY scheduled_ms, id LIMIT 4"
    scene.sql(f"DELETE FROM onthedot_history WHERE id IN ({oldest})")
    verdict = verify(scene.store, slack_ms=0, explained=2)
    assert verdict.holds, str(verdict)
    told = "\n".join(verdict.unjudged)
    assert "older ticks of fails, work: their history is pruned" in told
    assert "there is no journal" in told
    assert "explain" in told


def test_ticks_left_out_for_a_run_of_before_what_is_asked_have_their_cause(scene: Scene) -> None:
    since_ms = _leave_out_ticks(scene)
    verdict = verify(scene.store, since_ms=since_ms, slack_ms=0)
    assert verdict.holds, str(verdict)


def test_ticks_left_out_for_a_run_that_is_pruned_are_not_judged(scene: Scene) -> None:
    since_ms = _leave_out_ticks(scene)
    scene.sql(f"DELETE FROM onthedot_history WHERE scheduled_ms <= {since_ms}")
    verdict = verify(scene.store, slack_ms=0)
    assert verdict.holds, str(verdict)


def _leave_out_ticks(scene: Scene) -> int:
    """The moment of the runs that were in their way."""
    scene.declare(overlap="discard")
    hold_and_go_on(scene)
    assert all(scene.store.decisions(schedule.id) for schedule in scene.store.schedules())
    return min(run.scheduled_ms for run in scene.runs())


def test_the_command_says_what_is_broken_and_ends_with_1(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    scene.declare()
    scene.work_for(6, scene.node())
    since = ["--since", "2026-01-01", "--store", scene.url]
    assert main(["verify", *since]) == 0
    assert "no promise broken" in capsys.readouterr().out
    scene.sql(
        "DELETE FROM onthedot_history WHERE id ="
        " (SELECT id FROM onthedot_history WHERE schedule = 'work' ORDER BY id LIMIT 1 OFFSET 3)"
    )
    assert main(["verify", *since]) == 1
    assert (
        "no tick vanishes: work: 2026-11-15T12:00:40Z is neither a run nor in a decision\n  " in capsys.readouterr().out
    )
    assert main(["verify", *since, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    (broken,) = document["broken"]
    assert (broken["promise"], broken["schedule"], document["broken_count"]) == (NONE_VANISHES, "work", 1)
    assert broken["evidence"]


def test_flows_of_real_nodes_are_judged_with_all_of_their_steps(tmp_path: Path) -> None:
    app = App(f"sqlite:///{tmp_path}/flows.db")

    @app.task
    def numbers() -> list[int]:
        return [1, 2, 3]

    @app.task
    def half(number: int) -> float:
        return number / 2

    @app.task
    def add(parts: list[float]) -> float:
        return sum(parts)

    @app.flow
    def sums() -> None:
        add(half.options(parallel=2).map(numbers()))

    with app.running():
        for _ in range(3):
            assert app.runs.wait(app.enqueue(sums).id, timeout=LONGEST).state == "succeeded"
        store = app.open_store()
        verdict = verify(store)
        assert (verdict.flows, verdict.broken) == (3, [])
