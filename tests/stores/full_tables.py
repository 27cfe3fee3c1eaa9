"""Tables full of rows, made by the server itself, in the company of which a statement must stay quick."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, text

from onthedot.stores.sql import tables

NOW_MS = 1_800_000_000_000
WINDOWS = f'[["xmas",0,{2 * NOW_MS}]]'
"""What a freeze says of a few schedules."""
LEVELS = [(-5, NOW_MS - 96), (1, NOW_MS - 94), (2, NOW_MS - 93), (3, NOW_MS - 92)]
"""The priorities in the lane `ANY`, and the earliest moment of each."""

GIVEN = {
    "now_ms": NOW_MS,
    "floor_ms": 0,
    "from_ms": NOW_MS - 10_000,
    "until_ms": NOW_MS + 5000,
    "before_ms": NOW_MS - 5000,
    "declared_before_ms": NOW_MS - 3_600_000,
    "left_out_from_ms": NOW_MS - 86_400_000,
    "first_ms": 1,
    "last_ms": NOW_MS,
    "most": 100,
    "after_ms": NOW_MS - 90_000,
    "hour_ms": NOW_MS,
    "of": "s1",
    "of_step": "",
    "steps": [""],
    "keep": 1000,
    "ids": ["10", "20", "job", "slot:n7", "crowd"],
    "tasks": ["job"],
    "pools": ["fast"],
    "known": ["job"],
    "lane": "ANY",
    "lane_0": "ANY",
    "lane_1": "NODE/n1",
    "lane_2": "ANY/eu",
    "lane_3": "NODE/n1/eu",
    "after": "a",
    "few": 16,
    "node_id": "n1",
    "schedule_id": "crowd",
    "schedule": "s1",
    "kept_by": "s1",
    "group": "s1",
    "first": "t:s1:",
    "last": "t:s1;",
    "first_item": 0,
    "flow_id": "r1",
    "step": "load",
    "skip": 0,
    "run_id": "r1",
    "priority": 5,
    "before": "c1",
    **{f"schedule_{number}": f"n{number}" for number in range(50)},
}
"""What a statement may be given."""
# What each column gets, of the number n of its row: a tenth of the schedules is paused, and long overdue; a few are
# parked, frozen, or have ended.
VALUES = {
    "onthedot_schedules": {
        "uses": "'[]'",
        "id": "{text}",
        "name": "{text}",
        "task": "{name}",
        "policy": "'{{}}'",
        "mode": "'durable'",
        "error": "CASE WHEN n % 500 = 1 THEN 'nobody knows this trigger' ELSE NULL END",
        "enabled": "CASE WHEN n % 10 = 0 THEN 0 ELSE 1 END",
        "frozen": f"CASE WHEN n % 500 = 3 THEN '{WINDOWS}' ELSE NULL END",
        "next_run_ms": f"CASE WHEN n % 500 = 2 THEN NULL WHEN n % 10 = 0 THEN 1 ELSE {NOW_MS} + n * 1000 - 100000 END",
    },
    "onthedot_history": {
        "id": "{text}",
        "state": "CASE WHEN n % 1000 = 0 THEN 'failed' ELSE 'succeeded' END",
        "finished_ms": f"{NOW_MS} - n",
        "kept_by": "{name}",
        "task": "{name}",
        "owner": "{name}",
        "schedule_id": "{name}",
        "scheduled_ms": f"{NOW_MS} - n",
        "late": "CASE WHEN n % 1000 = 0 THEN 1 ELSE 0 END",
    },
    # A hundred may start here, in four lanes. Before them 10,000 of another group are due, and as many wait for slots,
    # half of these of one schedule; after them is all of tomorrow: half of that has one of five priorities, and so have
    # a few of the hundred.
    "onthedot_runs": {
        "id": "{text}",
        "state": "CASE WHEN n % 20 = 0 THEN 'running' ELSE 'waiting' END",
        "lane": "CASE WHEN n <= 10000 THEN 'ANY/elsewhere' WHEN n <= 19900 THEN {slot} WHEN n % 32 < 8 THEN 'ANY' "
        "WHEN n % 32 < 16 THEN 'NODE/n1' WHEN n % 32 < 24 THEN 'ANY/eu' ELSE 'NODE/n1/eu' END",
        "waits_for": "CASE WHEN n > 10000 AND n <= 19900 THEN {slot} ELSE NULL END",
        "due_ms": f"{NOW_MS} + n - 20000 + CASE WHEN n > 20000 THEN 86400000 ELSE 0 END",
        "priority": "CASE WHEN n > 19900 AND n % 8 = 0 THEN -5 WHEN n > 19900 AND n % 8 < 5 THEN n % 8 - 1 ELSE 0 END",
        "ranked": "CASE WHEN n > 19900 AND n % 8 < 5 AND n % 8 <> 1 THEN 1 ELSE 0 END",
        "owner": "CASE WHEN n % 20 = 0 THEN {name} ELSE NULL END",
        "schedule_id": "CASE WHEN n > 10000 AND n <= 15000 AND n % 100 <> 0 THEN 'crowd' ELSE {text} END",
        "slot": "NULL",
        "apart": "{text}",
        "task": "'job'",
    },
    "onthedot_keys": {"key": "{text}", "expires_ms": f"CASE WHEN n % 2 = 0 THEN NULL ELSE {NOW_MS} - n END"},
    "onthedot_decisions": {
        "id": "{text}",
        "schedule_id": "{name}",
        "first_ms": f"{NOW_MS} - n",
        "last_ms": f"{NOW_MS} - n",
    },
}
WORDS = {
    "sqlite": {
        "text": "CAST(n AS text)",
        "name": "'n' || (n % 100)",
        "slot": "'slot:n' || (n % 100)",
        "rows": "(WITH RECURSIVE count(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < {count}) "
        "SELECT n FROM count)",
    },
    "postgresql": {
        "text": "CAST(n AS text)",
        "name": "'n' || (n % 100)",
        "slot": "'slot:n' || (n % 100)",
        "rows": "generate_series(1, {count}) AS n",
    },
    "mysql": {
        "text": "CAST(n AS char)",
        "name": "CONCAT('n', n % 100)",
        "slot": "CONCAT('slot:n', n % 100)",
        "rows": "(SELECT seq AS n FROM seq_1_to_{count}) AS numbers",
    },
}
"""MariaDB counts with its own storage engine of sequences."""


def fill(connection: Connection, rows: Mapping[str, int]) -> None:
    """As many rows in each table as it says; then the server looks at what it has."""
    words = WORDS[connection.dialect.name]
    quote = connection.dialect.identifier_preparer.quote
    for name, count in rows.items():
        table, values = tables.metadata.tables[name], VALUES[name]
        columns = [column for column in table.c if not column.nullable or column.name in values]
        written = [values.get(column.name, "''" if column.type.python_type is str else "0") for column in columns]
        names = ", ".join(quote(column.name) for column in columns)
        chosen = ", ".join(each.format(**words) for each in written)
        statement = f"INSERT INTO {name} ({names}) SELECT {chosen} FROM {words['rows'].format(count=count)}"
        escaped = statement if connection.dialect.name == "sqlite" else statement.replace("%", "%%")
        connection.exec_driver_sql(escaped)
    connection.commit()
    for name in rows:
        analyze = "ANALYZE TABLE" if connection.dialect.name == "mysql" else "ANALYZE"
        connection.execute(text(f"{analyze} {name}")).close()
