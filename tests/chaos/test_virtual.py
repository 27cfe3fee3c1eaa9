"""Virtual storms: they keep every promise, go the same way each time, and find what a rule was there for."""

from __future__ import annotations

import pytest
from tests.chaos.virtual.kept import KEPT
from tests.chaos.virtual.storms import draw, play, shortened
from tests.chaos.virtual.world import Act, Storm, StormWorld
from tests.unit.testing.history.test_verify import sabotage

from onthedot.rules import overlap
from onthedot.testing.history.starts import OVERLAP


@pytest.mark.parametrize("seed", range(12))
def test_no_promise_is_broken_in_a_virtual_storm(seed: int) -> None:
    verdict = play(draw(seed))
    assert verdict.holds, f"{draw(seed)}\n{verdict}"
    assert verdict.runs > 10
    assert verdict.entries > 10


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 1100, 100))
def test_no_promise_is_broken_in_many_virtual_storms(first: int) -> None:
    for seed in range(first, first + 100):
        verdict = play(draw(seed))
        assert verdict.holds, f"{draw(seed)}\n{verdict}"


@pytest.mark.parametrize("storm", KEPT.values(), ids=KEPT.keys())
def test_what_was_broken_once_holds_now(storm: Storm) -> None:
    verdict = play(storm)
    assert verdict.holds, str(verdict)


def test_the_same_storm_goes_the_same_way() -> None:
    def story() -> list[tuple[object, ...]]:
        world = StormWorld(draw(5))
        world.play()
        runs = world.store.runs(limit=1000)
        return [(run.id, run.owner, run.state, run.claim_no, run.started_ms, run.finished_ms) for run in runs]

    assert story() == story()


def test_a_storm_on_code_without_a_rule_is_found_and_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    acts = (Act(3000, "clock", (1, 900)), Act(9000, "trigger", (0,)), Act(9500, "trigger", (0,)))
    storm = Storm(1, ("serial", "plain"), acts)
    assert play(storm).holds
    sabotage(monkeypatch, "no-slot", overlap, "slot_for")
    assert OVERLAP in {each.promise for each in play(storm).broken}
    shortest = shortened(storm, OVERLAP)
    assert shortest.kinds == ("serial",)
    assert len(shortest.acts) < len(acts)
