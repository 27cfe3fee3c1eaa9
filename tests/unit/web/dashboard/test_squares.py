"""What a square holds is worked out once, and is never that of another index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from onthedot import cron, every
from onthedot.app.outlook import Planned, outlook_of
from onthedot.moments import ceil_ms
from onthedot.web.dashboard import squares
from onthedot.web.dashboard.charts.heat import Grid
from onthedot.web.dashboard.squares import Square, SquareKeeper

NOON = ceil_ms("2026-03-26T12:00Z")
MINUTE = 60_000


def _planned(names: int) -> dict[str, Planned]:
    return {f"backup-{number}": Planned("t", cron("30 12 * * *"), ()) for number in range(names)}


def _grid(at_ms: int) -> Grid:
    return Grid(NOON, MINUTE, [0] * 60, NOON, at_ms)


def _told(keeper: SquareKeeper, planned: Mapping[str, Planned], at_ms: int = NOON + 30 * MINUTE) -> Square:
    found = keeper.tell(_grid(at_ms), outlook_of(planned, NOON, NOON + 86_400_000), planned, "UTC")
    assert found is not None
    return found


def test_a_square_tells_its_runs_and_what_h_would_do() -> None:
    found = _told(SquareKeeper(), {**_planned(5), "alone": Planned("t", every("1h"), ())})

    assert (found.chosen.runs, found.chosen.groups[0].label) == (5, "backup-*")
    assert found.spread is not None
    assert (found.spread.peaks[0], found.spread.helps) == (5, True)
    assert found.around_ms == (NOON, ceil_ms("2026-03-26T15:00Z"))


def test_a_single_run_cannot_be_spread() -> None:
    assert _told(SquareKeeper(), _planned(1)).spread is None


def test_nothing_is_told_where_nothing_is_chosen() -> None:
    planned = _planned(2)
    nothing = Grid(NOON, MINUTE, [0] * 60, NOON, None)

    assert SquareKeeper().tell(nothing, outlook_of(planned, NOON, NOON + MINUTE), planned, "UTC") is None


def test_it_is_worked_out_once_for_an_index_and_anew_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    real = squares.square_of

    def noted(at_ms: int, *others: Any) -> Square:
        made.append(at_ms)
        return real(at_ms, *others)

    monkeypatch.setattr(squares, "square_of", noted)
    keeper, planned = SquareKeeper(), _planned(3)
    outlook, half_past = outlook_of(planned, NOON, NOON + 86_400_000), NOON + 30 * MINUTE

    for at_ms in (half_past, half_past, NOON, half_past):
        keeper.tell(_grid(at_ms), outlook, planned, "UTC")
    assert made == [half_past, NOON]
    keeper.tell(_grid(half_past), outlook, planned, "Europe/Berlin")
    assert made == [half_past, NOON, half_past]
    keeper.tell(_grid(half_past), outlook, {**planned}, "UTC")
    assert made == [half_past, NOON, half_past, half_past]
    assert _told(keeper, _planned(4)).chosen.runs == 4
    assert _told(keeper, _planned(2)).chosen.runs == 2
