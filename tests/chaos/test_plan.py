"""The plan of a storm: fixed by its seed, and of everything that a place can suffer."""

from __future__ import annotations

from itertools import pairwise

from tests.chaos.clusters import PostgreSQLPair
from tests.chaos.kinds import KINDS, REAL, with_needed
from tests.chaos.places import OneServer
from tests.chaos.plan import EVERYWHERE, FAULTS, OPERATOR, PEOPLE, plan
from tests.chaos.virtual.storms import DRAWN, draw
from tests.chaos.virtual.world import StormWorld

HOUR_S = 3600


def test_the_same_seed_is_the_same_plan_and_another_is_another() -> None:
    assert plan(7, 600, 3, OneServer.can) == plan(7, 600, 3, OneServer.can)
    assert plan(7, 600, 3, OneServer.can) != plan(8, 600, 3, OneServer.can)


def test_a_long_plan_has_everything_that_a_place_can_suffer_and_nothing_else() -> None:
    for can in (frozenset[str](), OneServer.can, PostgreSQLPair.can):
        acts = plan(1, HOUR_S, 3, can)
        assert {act.what for act in acts if act.who != OPERATOR} == (can | EVERYWHERE) & FAULTS.keys()
        assert {act.what for act in acts if act.who == OPERATOR} == PEOPLE.keys()
        assert [act.at_s for act in acts] == sorted(act.at_s for act in acts)


def test_what_takes_the_store_away_comes_seldom_so_that_there_is_something_to_be_broken() -> None:
    rare = [act.at_s for act in plan(2, HOUR_S, 3, OneServer.can) if act.what in ("server-kill", "server-freeze")]
    assert len(rare) > 20
    assert all(after - before >= 20 for before, after in pairwise(rare))


def test_virtual_storms_draw_everything_that_can_happen_and_every_kind_of_schedule() -> None:
    storms = [draw(seed) for seed in range(300)]
    assert {act.what for storm in storms for act in storm.acts} == DRAWN.keys()
    assert {name for storm in storms for name in storm.kinds} == {kind.name for kind in KINDS}
    assert all(hasattr(StormWorld, f"do_{what}") for what in DRAWN)


def test_what_a_kind_depends_on_is_there_too() -> None:
    after = [kind for kind in KINDS if kind.name == "after-plain"]
    assert [kind.name for kind in with_needed(after)] == ["after-plain", "plain"]
    assert len({kind.name for kind in (*KINDS, *REAL)}) == len([*KINDS, *REAL])
