"""What the page of nodes says, and its figures."""

from __future__ import annotations

import pytest

from onthedot.insight.pool_use import PoolUse
from onthedot.model.minute import Minute
from onthedot.model.node import SKEW_LABEL, Node, NodeState
from onthedot.web.dashboard.charts.lease import clock_needle, lease_ring, skew_text
from onthedot.web.dashboard.nodes import NodeView, heading, shares, view_of

NOW = 1_000_000


def _view(state: NodeState = NodeState.ALIVE, renewed_ms: int = NOW) -> NodeView:
    node = Node("n", "ams-1", state=state, renewed_ms=renewed_ms, capacity=4, labels={SKEW_LABEL: "1180"})
    return view_of(node, [PoolUse("fast", 4, 1), PoolUse("loop", 4, 0, is_needed=False)], NOW, {})


@pytest.mark.parametrize(
    ("states", "died", "told"),
    [
        ([], 0, ("None is alive: nothing will run", "")),
        ([], 1, ("None is alive: nothing will run", "One died within the last day.")),
        (["alive"], 0, ("One node takes runs", "")),
        (["alive", "alive"], 0, ("Both nodes take runs", "")),
        (["alive", "alive", "draining"], 1, ("2 of 4 nodes take runs", "One drains, one died.")),
        (["draining", "draining"], 0, ("No node takes runs: nothing will run", "2 drain.")),
    ],
)
def test_the_heading_is_the_finding(states: list[str], died: int, told: tuple[str, str]) -> None:
    assert heading([_view(NodeState(state)) for state in states], died) == told


def test_a_node_that_has_not_renewed_is_silent_whatever_it_said() -> None:
    assert _view(renewed_ms=NOW - 30_000).state == "expired"
    assert heading([_view(renewed_ms=NOW - 30_000)], 0)[0] == "No node takes runs: nothing will run"


def test_only_pools_that_anything_goes_to_are_shown() -> None:
    assert [each.pool for each in _view().pools] == ["fast"]


def test_the_ring_shows_what_is_left_of_the_lease() -> None:
    half = lease_ring(NOW + 15_000, 30_000, NOW)
    assert ('stroke-dasharray="50.0 100"' in half, ">15<" in half) == (True, True)
    assert "the lease is over" in lease_ring(NOW, 30_000, NOW)


def test_the_needle_stays_on_its_scale_and_says_how_far_it_is_off() -> None:
    assert (skew_text(2), skew_text(-4), skew_text(1180), skew_text(-90_000)) == (
        "+2 ms",
        "−4 ms",
        "1.2 s ahead",
        "90.0 s behind",
    )
    assert 'cx="114.0"' in clock_needle(90_000)
    assert 'class="far"' in clock_needle(-1_000)
    assert 'cx="60.0"' in clock_needle(0)


def test_incarnations_of_one_name_are_counted_together() -> None:
    minutes = [Minute(0, "a1", 3), Minute(0, "a2", 1), Minute(60_000, "b", 2)]
    found = shares(minutes, {"a1": "ams", "a2": "ams"})
    assert [(each.name, each.runs, each.part) for each in found] == [
        ("ams", 4, 1.0),
        ("nodes no longer known", 2, 0.5),
    ]
