"""Histories of the model, by variant, and not shortened when they break: only whether they do is asked for here.

No part of the suite (`tests/properties/test_store_model.py` is); the sabotages name it.
"""

from __future__ import annotations

import pytest
from tests.model.histories import draw, violation
from tests.model.world import VARIANTS

HISTORIES = 40
"""Of each variant."""


@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_every_promise_holds_after_every_step(variant: int) -> None:
    for seed in range(variant, HISTORIES * len(VARIANTS), len(VARIANTS)):
        broken = violation(draw(seed))
        if broken is not None:
            pytest.fail(f"seed {seed}: {broken}", pytrace=False)
