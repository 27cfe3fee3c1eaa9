"""The statements of `stores.sql.copying`, and those of the short way, each with five hundred rows that it is given."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import TextClause
from tests.stores.full_tables import NOW_MS

from onthedot.stores.sql import ahead_postgresql, copying, plain, plain_mysql, plain_postgresql, plain_sqlite
from onthedot.stores.sql.dialect import Dialect
from onthedot.stores.transaction import Claim

_NAMES = [f"n{number}" for number in range(500)]


def copying_statements(dialect: Dialect) -> Iterator[tuple[TextClause, dict[str, Any]]]:
    moments = {"now_ms": 1, "owner": "n"}
    move, begin = copying._of_ticks(dialect, "onthedot_schedules", "onthedot_runs")
    end = copying._of_ended(dialect, "onthedot_history", "onthedot_runs")
    (ticks,) = dialect.given.values(copying.TICK, [(name, name, 1, 1, name, name, None) for name in _NAMES])
    (ended,) = dialect.given.values(copying._ENDED, [(name, "failed", 1, None, None, None, name) for name in _NAMES])
    yield move, {**ticks, "now_ms": 1}
    yield begin, {**ticks, **moments}
    yield end, ended


def short_statements(dialect: Dialect) -> Iterator[tuple[str, dict[str, Any]]]:
    """All that the short way sends there: what ends, what begins, and both; and what was decided ahead."""
    names = ("onthedot_runs", "onthedot_history", "onthedot_schedules", "onthedot_nodes")
    ends = [(name, 1, "failed", None, None, None, name) for name in _NAMES]
    lanes = {"lane_0": "ANY", "lane_1": "NODE/n1", "lane_2": "ANY/eu", "lane_3": "NODE/n1/eu"}
    common = {"owner": "n1", "now_ms": NOW_MS, "floor_ms": 0, "most": 100, **lanes}
    if dialect.name == "sqlite":
        words = {name: json.dumps(["job", "fast"]) for name in ("tasks", "pools", "known", "ids")}
        for count in (2, 4):
            for statement in plain_sqlite._texts(names, count):
                yield str(statement), {**common, **words, "given": json.dumps(ends)}
        return
    (given,) = dialect.given.values(plain.ENDS, ends)
    if dialect.name == "mysql":
        yield from ((str(statement), {**common, **given, **words}) for statement, words in _on_mysql(names))
        return
    words = dict.fromkeys(("tasks", "pools", "known"), "{job,fast}")
    for count, with_ends, of_pools in ((0, True, False), (2, True, False), (2, False, True), (4, True, True)):
        statement = plain_postgresql._statement((*names, "onthedot_keys"), count, ends=with_ends, of_pools=of_pools)
        yield str(statement), {**common, **words, **given}
    placed = {**common, **words, **given, "given_placed": _array("1" for _ in _NAMES), **_of_groups()}
    for count, of_pools in ((2, False), (4, True)):
        statement = plain_postgresql._statement(
            (*names, "onthedot_keys"), count, ends=True, of_pools=of_pools, in_places=True
        )
        yield str(statement), placed
    ticks = [(name, name, 1, 1, name, name, None, 1, NOW_MS) for name in _NAMES]
    (given,) = dialect.given.values(ahead_postgresql._AHEAD, ticks)
    yield str(ahead_postgresql._statement(names[2], names[0], names[3])), {**common, **given}


def _of_groups() -> dict[str, Any]:
    """Fifty groups of ten places, each of which ten may come free."""
    groups = [f"n{number}" for number in range(50)]
    return {
        "ends": 500,
        "group_lanes": _array(f"slot:{group}" for group in groups),
        "group_widths": _array(f"w:{group}" for group in groups),
        "group_most": _array("10" for _ in groups),
        "group_ends": _array("10" for _ in groups),
        "place_keys": _array(f"l:{group}/{number}" for group in groups for number in range(10)),
    }


def _array(values: Iterable[str]) -> str:
    return "{" + ",".join(values) + "}"


def _on_mysql(names: Sequence[str]) -> Iterator[tuple[TextClause, dict[str, Any]]]:
    """Each with the words that it is given one by one."""
    for lanes in (0, 2, 4):
        yield plain_mysql._me(names, lanes), {}
    for statement in (*plain_mysql._ending(names), plain_mysql._beginning(names[0])):
        yield statement, {}
    words = ("job", "fast")
    for claim in (Claim("n1", None, words), Claim("n1", None, words, words, words)):
        yield plain_mysql._due(names[0], claim, {})
