"""Random histories of flows, in parts; no part of the suite (`tests/properties/test_flow_model.py` is).

The sabotages of flows name it.
"""

from __future__ import annotations

import pytest
from tests.model.flow_oracle import Broken
from tests.model.flows import history

PART = 50


@pytest.mark.parametrize("part", range(20))
def test_every_promise_holds(part: int) -> None:
    for seed in range(part * PART, (part + 1) * PART):
        try:
            history(seed)
        except Broken as broken:
            pytest.fail(f"seed {seed}: {str(broken).splitlines()[-1]}", pytrace=False)
