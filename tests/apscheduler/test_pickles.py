"""Pickles are read without importing or calling what they name."""

from __future__ import annotations

import os
import pickle
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from onthedot.apscheduler.pickles import MOST_BYTES, Inert, Unreadable, load


class Planted:
    """Names a function that would be called by whoever unpickles it."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.call = (function, args)

    def __reduce__(self) -> Any:
        return self.call


def test_what_a_pickle_would_call_is_named_and_not_called(tmp_path: Path) -> None:
    mark = tmp_path / "called"
    found = load(pickle.dumps({"args": (Planted(os.system, f"touch {mark}"),)}))
    assert not mark.exists()
    (planted,) = found["args"]
    assert isinstance(planted, Inert)
    assert planted.path == f"{os.name}.system"


@pytest.mark.parametrize(
    "planted",
    [
        Planted(eval, "1 + 1"),
        Planted(getattr, Path, "home"),
        Planted(__import__, "antigravity"),
        Planted(exec, "x = 1"),
    ],
)
def test_no_way_leads_to_a_function(planted: Planted) -> None:
    found = load(pickle.dumps(planted))
    assert issubclass(found if isinstance(found, type) else type(found), Inert)
    assert "antigravity" not in sys.modules


def test_plain_values_and_zones_are_what_they_were() -> None:
    values = [
        datetime(2026, 1, 1, 12, tzinfo=ZoneInfo("Europe/Berlin")),
        datetime(2026, 1, 1, 12, tzinfo=UTC),
        date(2026, 1, 1),
        timedelta(hours=1),
        Decimal("1.5"),
        UUID(int=7),
        {1, 2},
        {"a": [None, True, 1.5]},
    ]
    assert load(pickle.dumps(values)) == values


def test_objects_of_others_are_inert() -> None:
    class_of = load(pickle.dumps(Path("/tmp")))
    assert isinstance(class_of, Inert)
    assert class_of.path.startswith("pathlib.")


@pytest.mark.parametrize("data", [b"", b"not a pickle", pickle.dumps("x" * MOST_BYTES), b"\x80\x05\x8c\x01aP."])
def test_what_is_no_pickle_or_too_large_is_told(data: bytes) -> None:
    with pytest.raises(Unreadable):
        load(data)
