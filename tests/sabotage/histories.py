"""Histories of the model, by variant, and not shortened when they break: only whether they do is asked for here.

No part of the suite (`tests/properties/test_store_model.py` is); the sabotages name it.
"""

from __future__ import annotations

import pytest
from tests.model.histories import draw, violation, without_faults
from tests.model.world import INDEPENDENT, VARIANTS

HISTORIES = 60
"""Of each variant."""


def seeds(variant: int) -> range:
    return range(variant, HISTORIES * len(VARIANTS), len(VARIANTS))


@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_every_promise_holds_after_every_step(variant: int) -> None:
    for seed in seeds(variant):
        broken = violation(draw(seed))
        if broken is not None:
            pytest.fail(f"seed {seed}: {broken}", pytrace=False)


@pytest.mark.parametrize("variant", INDEPENDENT)
def test_where_nobody_dies_all_comes_to_an_end_without_a_sweep(variant: int) -> None:
    for seed in seeds(variant):
        broken = violation(without_faults(draw(seed)), swept=False)
        if broken is not None:
            pytest.fail(f"seed {seed}: {broken}", pytrace=False)
