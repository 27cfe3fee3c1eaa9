"""The pytest fixture `onthedot_world`. Light: it is loaded in every project that has onthedot installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from onthedot.testing.world import World


@pytest.fixture
def onthedot_world() -> Iterator[Callable[..., World]]:
    """Makes worlds as `simulate` does, and ends them with the test: `world = onthedot_world(app, nodes=3)`."""
    from onthedot.testing.world import simulate

    with ExitStack() as worlds:

        def make(*args: Any, **options: Any) -> World:
            return worlds.enter_context(simulate(*args, **options))

        yield make
