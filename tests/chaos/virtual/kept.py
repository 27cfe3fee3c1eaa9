"""Virtual storms that broke a promise once, as short as they could be made."""

from __future__ import annotations

from tests.chaos.virtual.world import Act, Storm

KEPT: dict[str, Storm] = {
    "two runs behind a limit made way for each other for ever": Storm(
        0, ("limited",), (Act(33969, "kill", (2, 1, 500)), Act(36143, "outage", (30000,))), ahead=0b001
    ),
}
"""By what was wrong."""
