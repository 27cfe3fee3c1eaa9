"""Virtual storms that broke a promise once, as short as they could be made."""

from __future__ import annotations

from tests.chaos.virtual.world import Storm

KEPT: dict[str, Storm] = {}
"""By what was wrong."""
