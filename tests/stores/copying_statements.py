"""The statements of `stores.sql.copying`, each with five hundred rows that it is given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import TextClause

from onthedot.stores.sql import copying
from onthedot.stores.sql.dialect import Dialect

_NAMES = [f"n{number}" for number in range(500)]


def copying_statements(dialect: Dialect) -> Iterator[tuple[TextClause, dict[str, Any]]]:
    moments = {"now_ms": 1, "owner": "n"}
    move, begin = copying._of_ticks(dialect, "onthedot_schedules", "onthedot_runs")
    end = copying._of_ended(dialect, "onthedot_history", "onthedot_runs")
    (ticks,) = dialect.given.values(copying._TICK, [(name, name, 1, 1, name, name, None) for name in _NAMES])
    (ended,) = dialect.given.values(copying._ENDED, [(name, "failed", 1, None, None, None, name) for name in _NAMES])
    yield move, {**ticks, "now_ms": 1}
    yield begin, {**ticks, **moments}
    yield end, ended
