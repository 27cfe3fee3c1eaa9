"""The rules of planning and running under random histories: clocks that jump, nodes that freeze and die, lost replies.

Each history is drawn from its seed. One that breaks a promise is shortened, and shown as the list of its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from tests.model.histories import draw, shortened, violation
from tests.model.world import NodeRules

from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.rules import end as ending
from onthedot.rules import plan as decide
from onthedot.rules import start as starting
from onthedot.rules.effects import Before, Edit, Effects
from onthedot.rules.overlap import Slot
from onthedot.stores.engine import settling
from onthedot.stores.engine.limits import Limits

HISTORIES = 3000
PARTS = 8
SEEDS_TO_NOTICE = 1000
ALL_RULES = NodeRules()


@pytest.mark.parametrize("part", range(PARTS))
def test_every_promise_holds_after_every_step_of_every_history(part: int) -> None:
    for seed in range(part, HISTORIES, PARTS):
        history = draw(seed)
        if violation(history) is not None:
            short = shortened(history)
            pytest.fail(f"seed {seed}\n{short}\n{violation(short)}", pytrace=False)


Patch = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that is left out, and what comes of it."""

    rule: str
    promise: str
    """The promise, or one of them, that is broken then."""
    patch: Patch = lambda monkeypatch: None
    rules: NodeRules = ALL_RULES


def _leave_the_watermark(monkeypatch: pytest.MonkeyPatch) -> None:
    effects = decide._Work.effects

    def patched(work: decide._Work, settled_ms: int) -> Effects:
        done = effects(work, settled_ms)
        assert done.schedule is not None
        return replace(done, schedule=replace(done.schedule, settled_ms=work.schedule.settled_ms))

    monkeypatch.setattr(decide._Work, "effects", patched)


def _set_the_watermark_to_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    resume = edits.resume

    def patched() -> Edit:
        def edit(before: Before, now_ms: int) -> Effects:
            done = resume()(before, now_ms)
            return done if done.schedule is None else replace(done, schedule=replace(done.schedule, settled_ms=now_ms))

        return edit

    monkeypatch.setattr(edits, "resume", patched)


def _record_without_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    def may_record(run: Run, node_id: str, claim_no: int) -> bool:
        return run.state is State.RUNNING and run.owner == node_id

    monkeypatch.setattr(ending, "may_record", may_record)


def _ignore_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (starting, decide):
        monkeypatch.setattr(module, "slot_for", lambda schedule, live: Slot(True))


def _hold_nothing_back_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "holds_back", lambda run, schedule: False)


def _start_inside_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    _hold_nothing_back_at_the_end(monkeypatch)
    monkeypatch.setattr(starting, "holds_back", lambda run, schedule: False)


def _let_the_dead_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Node, "lives", property(lambda node: True))


def _forget_what_an_edit_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "_undecided", lambda schedule, reason, now_ms: ())


def _admit_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "admits", lambda limits, run: True)


def _keep_the_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "release", lambda limits, runs: None)


def _forget_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "after_shards", lambda parent, shards, now_ms: parent)


BROKEN = (
    Broken("watermark not advanced", "the watermark passes every tick", _leave_the_watermark),
    Broken("watermark moved backwards", "the watermark only moves forward", _set_the_watermark_to_the_clock),
    Broken("claim number not compared", "a superseded owner cannot record", _record_without_the_claim),
    Broken("own runs not compared", "everything comes to an end", rules=NodeRules(compare_own=False)),
    Broken("incarnation reused", "each claim is executed once", rules=NodeRules(new_incarnations=False)),
    Broken("takeover by the clock alone", "who executes owns", rules=NodeRules(wait_one_lease=False)),
    Broken("slot ignored", "never more at once than slots", _ignore_slots),
    Broken("pause not judged at the start", "pause means pause", _start_inside_a_pause),
    Broken("the dead go on", "a dead node starts nothing", _let_the_dead_go_on),
    Broken("edits record nothing", "no tick vanishes", _forget_what_an_edit_leaves_out),
    Broken("groups admit everybody", "never more at once than group has places", _admit_everybody),
    Broken("places are not given back", "everything comes to an end", _keep_the_places),
    Broken("shards are not counted", "everything comes to an end", _forget_shards),
)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.rule)
def test_the_model_notices_when_a_rule_is_broken(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    broken.patch(monkeypatch)
    found = (violation(draw(seed), broken.rules) for seed in range(SEEDS_TO_NOTICE))
    assert any(promise is not None and promise.startswith(broken.promise) for promise in found)


def test_what_the_end_of_a_run_did_not_know_of_a_pause_its_next_start_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """`finish` reads the schedule without its lock; that is safe because the start judges anew."""
    _hold_nothing_back_at_the_end(monkeypatch)
    assert [seed for seed in range(200) if violation(draw(seed)) is not None] == []


def test_a_history_that_breaks_a_promise_is_shortened_to_what_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    _ignore_slots(monkeypatch)
    seed = next(seed for seed in range(SEEDS_TO_NOTICE) if violation(draw(seed)) is not None)
    short = shortened(draw(seed))
    assert violation(short) is not None
    assert len(short.steps) <= 12
