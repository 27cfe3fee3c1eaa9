"""What one square of the timeline holds: worked out once for all who look at it, until what is to come is another."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from onthedot.app.outlook import Planned, StoreOutlook
from onthedot.web.dashboard import timeline_view as view
from onthedot.web.dashboard.charts.heat import Grid

if TYPE_CHECKING:
    from onthedot.forecast import RunIndex
    from onthedot.forecast.spreading import Spread

_MOST = 100


@dataclass(frozen=True, slots=True)
class Square:
    """The chosen one."""

    chosen: view.Chosen
    spread: Spread | None
    """What `H` would do to it; None where it would do nothing."""
    around_ms: tuple[int, int]
    """The window in which that is shown."""


class SquareKeeper:
    """Of one ASGI app. Ten thousand runs in a minute take a while to tell; who asks meanwhile waits for the same."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._planned: Mapping[str, Planned] | None = None
        self._known: OrderedDict[Hashable, tuple[RunIndex, Square]] = OrderedDict()
        """With the index: as long as it is held here, no other has its identity."""

    def tell(self, grid: Grid, outlook: StoreOutlook, planned: Mapping[str, Planned], zone_name: str) -> Square | None:
        """Of the grid's chosen square, in an outlook that is made of these schedules; None where none is chosen."""
        if grid.chosen is None:
            return None
        at_ms = grid.at(grid.chosen)
        around_ms = view.around(at_ms, outlook)
        key = id(outlook.index), at_ms, grid.cell_ms, around_ms, zone_name
        with self._lock:
            if self._planned is not planned:
                self._planned = planned
                self._known.clear()
            if key not in self._known:
                self._known[key] = outlook.index, square_of(at_ms, grid.cell_ms, outlook, planned, zone_name)
                if len(self._known) > _MOST:
                    self._known.popitem(last=False)
            return self._known[key][1]


def square_of(
    at_ms: int, cell_ms: int, outlook: StoreOutlook, planned: Mapping[str, Planned], zone_name: str
) -> Square:
    """Pure; needs the extra `forecast`."""
    chosen = view.chosen_of(at_ms, cell_ms, outlook, planned, zone_name)
    around_ms = view.around(at_ms, outlook)
    return Square(chosen, _spread(chosen, outlook, planned, around_ms), around_ms)


def _spread(
    chosen: view.Chosen, outlook: StoreOutlook, planned: Mapping[str, Planned], around_ms: tuple[int, int]
) -> Spread | None:
    from onthedot.forecast.spreading import spread

    if chosen.runs < 2:
        return None
    names = chosen.names[: view.MOST_REWRITTEN]
    triggers = {name: planned[name].trigger for name in names if name in planned}
    counts = view.counts_in(outlook, *around_ms, view.MINUTE_MS)
    found = spread(counts, triggers, around_ms[0], view.MINUTE_MS)
    return found if found.lines else None
