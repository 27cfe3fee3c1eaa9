"""What somebody does to a store behind our back: rows are spoiled by raw SQL, raw updates and raw commands."""

from __future__ import annotations

import json
from typing import Any, Literal, Protocol

from sqlalchemy import text

from onthedot.stores.base import Store
from onthedot.stores.mongo.store import MongoStore
from onthedot.stores.redis import mapping
from onthedot.stores.redis.store import RedisStore
from onthedot.stores.redis.tables import STAMP
from onthedot.stores.sql.store import SqlStore

How = Literal["state", "args", "policy", "all"]
HOWS: tuple[How, ...] = ("state", "args", "policy", "all")
_BROKEN = {"state": "weird", "args": '{"a": ', "policy": "["}


class Vandal(Protocol):
    def spoil_run(self, run_id: str, how: How) -> None:
        """Make a run's row unreadable: its state unknown, its JSON broken, or all of that at once."""

    def spoil_result(self, run_id: str) -> None:
        """Break the result of an ended run."""

    def spoil_story(self, run_id: str) -> None:
        """Break what a run has of its earlier attempts, and nothing else."""

    def spoil_schedule(self, schedule_id: str) -> None:
        """Break the policy, the tags and the rest of a schedule's definition."""

    def spoil_minutes(self) -> None:
        """Break all that nodes counted."""

    def spoil_node(self, node_id: str) -> None:
        """Break what a node says of itself."""

    def spoil_what_is_appended(self, schedule_id: str, run_id: str, node_id: str) -> None:
        """Break the tasks of a node, the audit, the revisions and decisions of a schedule, and a run's log."""


def vandal_of(store: Store) -> Vandal:
    match store:
        case SqlStore():
            return SqlVandal(store)
        case MongoStore():
            return MongoVandal(store)
        case RedisStore():
            return RedisVandal(store)
    raise AssertionError(f"nobody spoils {store}")


def _columns(how: How) -> dict[str, str]:
    return _BROKEN if how == "all" else {how: _BROKEN[how]}


class SqlVandal:
    def __init__(self, store: SqlStore) -> None:
        self._engine = store._opened().engine

    def _do(self, *statements: str, **values: Any) -> None:
        with self._engine.connect() as connection, connection.begin():
            for statement in statements:
                connection.execute(text(statement), values)

    def spoil_run(self, run_id: str, how: How) -> None:
        for column, value in _columns(how).items():
            tables = ("onthedot_runs", "onthedot_history")
            self._do(
                *(f"UPDATE {table} SET {column} = :value WHERE id = :id" for table in tables), value=value, id=run_id
            )

    def spoil_result(self, run_id: str) -> None:
        self._do("UPDATE onthedot_history SET result = '{' WHERE id = :id", id=run_id)

    def spoil_story(self, run_id: str) -> None:
        for table in ("onthedot_runs", "onthedot_history"):
            self._do(f"UPDATE {table} SET earlier = '[{{}}, 7]' WHERE id = :id", id=run_id)

    def spoil_schedule(self, schedule_id: str) -> None:
        broken = "policy = '[', tags = '{', definition = '{'"
        self._do(f"UPDATE onthedot_schedules SET {broken} WHERE id = :id", id=schedule_id)

    def spoil_minutes(self) -> None:
        self._do('UPDATE onthedot_minutes SET body = \'{"lateness": 7, "ended": [1]}\'')

    def spoil_node(self, node_id: str) -> None:
        self._do("UPDATE onthedot_nodes SET labels = '{', tasks = '[', roles = '[' WHERE id = :id", id=node_id)

    def spoil_what_is_appended(self, schedule_id: str, run_id: str, node_id: str) -> None:
        self._do("UPDATE onthedot_tasks SET parameters = '['", "UPDATE onthedot_changes SET after = '{'")
        self._do("UPDATE onthedot_revisions SET body = '{'")


class MongoVandal:
    def __init__(self, store: MongoStore) -> None:
        self._database = store._opened().database

    def spoil_run(self, run_id: str, how: How) -> None:
        changes: dict[str, Any] = {"$set": _columns(how)}
        if how == "all":
            changes["$unset"] = {"claim_no": 1, "crashes": 1, "priority": 1}
        for name in ("onthedot_runs", "onthedot_history"):
            self._database[name].update_one({"_id": run_id}, changes)

    def spoil_result(self, run_id: str) -> None:
        self._database["onthedot_history"].update_one({"_id": run_id}, {"$set": {"result": "{"}})

    def spoil_story(self, run_id: str) -> None:
        for name in ("onthedot_runs", "onthedot_history"):
            self._database[name].update_one({"_id": run_id}, {"$set": {"earlier": "[{}, 7]"}})

    def spoil_schedule(self, schedule_id: str) -> None:
        broken = {"policy": "[", "tags": "{", "definition": "{"}
        self._database["onthedot_schedules"].update_one({"_id": schedule_id}, {"$set": broken})

    def spoil_minutes(self) -> None:
        self._database["onthedot_minutes"].update_many({}, {"$set": {"said": '{"lateness": 7, "ended": [1]}'}})

    def spoil_node(self, node_id: str) -> None:
        broken = {"labels": "{", "tasks": "[", "roles": None}
        self._database["onthedot_nodes"].update_one({"_id": node_id}, {"$set": broken})

    def spoil_what_is_appended(self, schedule_id: str, run_id: str, node_id: str) -> None:
        self._database["onthedot_tasks"].update_many({}, {"$set": {"tasks": [{"name": "job"}, "rubbish"]}})
        self._database["onthedot_changes"].update_many({}, {"$set": {"after": "{"}})
        self._database["onthedot_revisions"].update_many({}, {"$set": {"body": "{"}})


class RedisVandal:
    def __init__(self, store: RedisStore) -> None:
        self._server = store._server

    def _change(self, table: str, row_id: str, how: Any) -> None:
        held = self._server.ask("HGET", table, row_id)
        stamp = "by-a-vandal."  # whoever writes a row gives it another
        self._server.ask("HSET", table, row_id, stamp + how(held[STAMP:]))

    def spoil_run(self, run_id: str, how: How) -> None:
        def spoiled(row: str) -> str:
            if how == "all":
                return "rubbish"
            values = mapping.row_values(row)
            values[mapping.RUN.index(how)] = {"state": "weird", "args": [1], "policy": "["}[how]
            return json.dumps(values)

        self._change("runs", run_id, spoiled)

    def spoil_result(self, run_id: str) -> None:
        self._change("runs", run_id, lambda row: row[:-3])

    def spoil_story(self, run_id: str) -> None:
        def spoiled(row: str) -> str:
            values = mapping.row_values(row)
            values[mapping.RUN.index("earlier") :] = [[{}, 7]]
            return json.dumps(values)

        self._change("runs", run_id, spoiled)

    def spoil_schedule(self, schedule_id: str) -> None:
        self._change("schedules", schedule_id, lambda row: row[:-3])

    def spoil_minutes(self) -> None:
        for member in self._server.ask("HKEYS", "minute"):
            self._server.ask("HSET", "minute", member, '{"lateness": 7, "ended": [1]}')

    def spoil_node(self, node_id: str) -> None:
        def spoiled(row: str) -> str:
            return json.dumps({**json.loads(row), "labels": None, "tasks": None})

        self._change("nodes", node_id, spoiled)

    def spoil_what_is_appended(self, schedule_id: str, run_id: str, node_id: str) -> None:
        self._server.ask("HSET", "tasks", node_id, "rubbish")
        for change_id in self._server.ask("HKEYS", "change"):
            self._server.ask("HSET", "change", change_id, "rubbish")
        self._server.ask("LSET", f"revisions:{schedule_id}", 0, "rubbish")
        self._server.ask("RPUSH", f"log:{run_id}", "rubbish")
        self._server.ask("RPUSH", f"decisions:{schedule_id}", "77 rubbish")
