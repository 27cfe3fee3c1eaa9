"""One transaction over a connection: the `Transaction` that the engine works on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import CompoundSelect, Connection, Select

from onthedot.model.decision import Decision
from onthedot.model.key import Key
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule, ScheduleSummary
from onthedot.model.states import State
from onthedot.rules.precedence import foremost, turn_of
from onthedot.stores import mapping
from onthedot.stores.base import Change, LogLine, TaskInfo
from onthedot.stores.mapping import Columns
from onthedot.stores.sql import statements
from onthedot.stores.sql.claimed_runs import ClaimedRuns
from onthedot.stores.sql.dialect import Dialect
from onthedot.stores.sql.due_floor import Floor
from onthedot.stores.sql.statements import CHUNK
from onthedot.stores.transaction import Place, TryAgain, in_the_way, readable, readable_page, still_live


class SqlTransaction:
    """Remembers what it has read: of those rows only what moved is written, and whatever else is written is new.

    New rows are inserted plainly: one that somebody else inserted meanwhile is a clash, never an update of theirs.
    """

    def __init__(
        self, connection: Connection, dialect: Dialect, now_ms: int, claims: ClaimedRuns, floor: Floor
    ) -> None:
        self._connection = connection
        self._dialect = dialect
        self._claims = claims
        self._floor = floor
        self._now_ms = now_ms
        self._read_schedules: dict[str, Schedule] = {}
        self._read_runs: dict[str, Run] = {}
        self._read_keys: dict[str, Key | None] = {}
        self._read_nodes: set[str] = set()
        self.started: list[Run] = []
        self.ended: list[str] = []
        """What became of runs, for those who remember them once it is committed."""
        self.due_schedules_ms: list[int] = []
        self.due_runs_ms: list[int] = []
        """Moments at which something written here waits to be claimed, for the floors."""

    @property
    def now_ms(self) -> int:
        return self._now_ms

    # schedules

    def due_schedules(self, limit: int, on_time_from_ms: int) -> tuple[list[Schedule], bool]:
        moments = {"from_ms": on_time_from_ms, "now_ms": self._now_ms}
        due = self._schedules(statements.SCHEDULES_ON_TIME, {**moments, "most": limit})
        if len(due) < limit:
            overdue = {"floor_ms": self._floor.schedules_ms, "from_ms": on_time_from_ms, "most": limit - len(due)}
            due += self._schedules(statements.SCHEDULES_OVERDUE, overdue)
        return due, not self._dialect.exclusive and self._others_are_due(len(due), limit)

    def _others_are_due(self, found: int, limit: int) -> bool:
        asked = {"floor_ms": self._floor.schedules_ms, "now_ms": self._now_ms, "most": limit}
        return int(self._connection.execute(statements.COUNT_DUE, asked).scalar_one()) > found

    def schedules_named(self, names: Collection[str]) -> dict[str, Schedule]:
        found = self._chunks(statements.SCHEDULES_NAMED, names)
        return {row.name: row for row in self._remember_schedules(found)}

    def schedules_if_free(self, ids: Collection[str]) -> dict[str, Schedule]:
        found = self._chunks(statements.SCHEDULES_IF_FREE, ids)
        return {row.id: row for row in self._remember_schedules(found)}

    def standing(self, ids: Collection[str]) -> dict[str, ScheduleSummary]:
        return {row[0]: mapping.standing_from(row[1:]) for row in self._chunks(statements.STANDING, ids)}

    def save_schedules(self, schedules: Sequence[Schedule]) -> None:
        new: list[Columns] = []
        moved: list[Columns] = []
        defined: list[Columns] = []
        for row in schedules:
            known = self._read_schedules.get(row.id)
            if known is None:
                new.append(mapping.schedule_row(row))
            elif mapping.schedule_definition(known) == mapping.schedule_definition(row):
                moved.append(mapping.schedule_moving_row(row))
            else:
                defined.append((*mapping.schedule_row(row)[1:], row.id))
            self._read_schedules[row.id] = row
            if row.next_run_ms is not None:
                self.due_schedules_ms.append(row.next_run_ms)
        statements.INSERT_SCHEDULES.run(self._connection, new)
        statements.MOVE_SCHEDULES.run(self._connection, moved)
        statements.DEFINE_SCHEDULES.run(self._connection, defined)

    def _schedules(self, statement: Select[Any], parameters: dict[str, Any]) -> list[Schedule]:
        return self._remember_schedules(self._connection.execute(statement, parameters).fetchall())

    def _remember_schedules(self, found: Iterable[Sequence[Any]]) -> list[Schedule]:
        read = [mapping.schedule_from(row) for row in found]
        self._read_schedules.update((row.id, row) for row in read)
        return read

    # runs

    def due_runs(self, node_id: str, tasks: Collection[str], limit: int) -> list[Run]:
        """Of those without a schedule only what nobody else is about to start: nodes share them, none waits."""
        asked = limit
        while True:
            due = self._due_runs(node_id, tasks, asked)
            free = readable(due if self._dialect.exclusive else self._without_locked(due))
            if len(free) >= limit or len(due) < asked:
                return free[:limit]
            asked *= 4

    def _without_locked(self, due: Sequence[Run]) -> list[Run]:
        alone = [run.id for run in due if run.schedule_id is None]
        free = {run_id for (run_id,) in self._chunks(statements.STILL_READY, alone)}
        return [run for run in due if run.schedule_id is not None or run.id in free]

    def _due_runs(self, node_id: str, tasks: Collection[str], limit: int) -> list[Run]:
        """Asks for each level only where more runs with a priority are due than were asked for."""
        mine = {"node_id": node_id, "floor_ms": self._floor.runs_ms, "now_ms": self._now_ms, "most": limit}
        found = [mapping.run_from(row) for row in self._chunks(statements.DUE_RUNS.on(self._dialect), tasks, mine)]
        levels: list[tuple[int, int]] = []
        if sum(run.policy.priority != 0 for run in found) >= limit:
            there = self._connection.execute(
                statements.LEVELS_GROUPED if self._dialect.groups_by_jumping else statements.LEVELS
            )
            levels = [(priority, due_ms) for priority, due_ms in there if due_ms <= self._now_ms]

        def of_level(priority: int) -> list[Run]:
            oldest = self._chunks(statements.DUE_OF_LEVEL, tasks, {**mine, "priority": priority})
            return [mapping.run_from(row) for row in oldest]

        due = foremost(found, turn_of, limit, levels, of_level)
        if self._dialect.exclusive:
            self._read_runs.update((run.id, run) for run in due)
        return due

    def live_of(self, schedule_ids: Collection[str]) -> list[Run]:
        live = self._remember_runs(self._chunks(statements.LIVE_OF, schedule_ids))
        return sorted(in_the_way(live), key=lambda run: (run.due_ms, run.id))

    def live_runs(self, ids: Collection[str]) -> dict[str, Run]:
        if self._dialect.exclusive and self._read_runs.keys() >= set(ids):
            return {run_id: self._read_runs[run_id] for run_id in ids}
        known = [run_id for run_id in ids if run_id in self._claims]
        if not self._dialect.exclusive and len(known) < len(ids):
            known = []  # all in one statement, and so locked in one order
        held = [self._claims.run_of(row) for row in self._chunks(statements.HELD, known)]
        live = {run.id: run for run in held if run is not None}
        self._read_runs.update(live)
        others = [run_id for run_id in ids if run_id not in live]
        found = self._remember_runs(self._chunks(statements.LIVE_RUNS, others))
        return live | {run.id: run for run in still_live(found)}

    def owned_by(self, node_id: str) -> list[Run]:
        mine = self._connection.execute(statements.OWNED_BY, {"node_id": node_id}).fetchall()
        return [mapping.run_from(row) for row in mine]

    def blocked_runs(self, limit: int, after: tuple[int, str] = (0, "")) -> list[Run]:
        def page(after: Place) -> list[Run]:
            due = {"now_ms": self._now_ms, "from_ms": after[0], "after_id": after[1], "most": limit}
            return self._oldest(statements.BLOCKED_RUNS, due)

        return readable_page(page, limit, after)

    def routed_runs(self, limit: int) -> list[Run]:
        due = {"now_ms": self._now_ms, "most": limit}
        return readable(self._oldest(statements.ROUTED_RUNS, due))

    def _oldest(self, halves: statements.Halves, due: Mapping[str, Any]) -> list[Run]:
        """So many as are asked for, of those that are found with and without a priority."""
        found = [mapping.run_from(row) for row in self._connection.execute(halves.on(self._dialect), due)]
        return sorted(found, key=lambda run: (run.due_ms, run.id))[: due["most"]]

    def succeeded_since(self, schedule: str, since_ms: int) -> bool:
        asked = {"kept_by": schedule, "since_ms": since_ms}
        return self._connection.execute(statements.SUCCEEDED_SINCE, asked).first() is not None

    def ended_runs(self, ids: Collection[str]) -> dict[str, Run]:
        return {run.id: run for run in readable(map(mapping.run_from, self._chunks(statements.ENDED_RUNS, ids)))}

    def save_runs(self, runs: Sequence[Run]) -> None:
        new: list[Columns] = []
        moved: list[Columns] = []
        for run in runs:
            if run.id in self._read_runs:
                moved.append(mapping.run_moving_row(run))
            else:
                new.append(mapping.live_row(run))
            self._read_runs[run.id] = run
            if run.state is State.RUNNING and run.owner is not None:
                self.started.append(run)
            elif not run.blocked:
                self.due_runs_ms.append(run.due_ms)
        statements.INSERT_RUNS.run(self._connection, new)
        statements.MOVE_RUNS.run(self._connection, moved)

    def end_runs(self, runs: Sequence[Run]) -> None:
        statements.DELETE_LIVE.run(self._connection, [(run.id,) for run in runs])
        statements.INSERT_HISTORY.run(self._connection, [mapping.ended_row(run) for run in runs])
        for run in runs:
            self._read_runs.pop(run.id, None)
            self.ended.append(run.id)

    def revive_runs(self, runs: Sequence[Run]) -> None:
        if statements.DELETE_ENDED.run(self._connection, [(run.id,) for run in runs]) != len(runs):
            raise TryAgain  # somebody else was first, since history is read without a lock
        self.save_runs(runs)

    def _remember_runs(self, found: Iterable[Sequence[Any]]) -> list[Run]:
        read = [mapping.run_from(row) for row in found]
        self._read_runs.update((run.id, run) for run in read)
        return read

    # keys

    def keys(self, keys: Collection[str]) -> dict[str, Key]:
        self._look_up_keys(keys)
        found = ((key, self._read_keys[key]) for key in keys)
        return {key: held for key, held in found if held is not None and not self._expired(held)}

    def save_keys(self, keys: Sequence[Key]) -> None:
        self._look_up_keys([key.key for key in keys])
        new: dict[str, Key] = {}
        changed: dict[str, Key] = {}
        before: dict[str, Key | None] = {}
        for key in keys:
            held = self._read_keys[key.key]
            if held is not None and held.run_id != key.run_id and not self._expired(held):
                raise TryAgain
            (new if held is None or key.key in new else changed)[key.key] = key
            before.setdefault(key.key, held)
            self._read_keys[key.key] = key
        # Plainly: a key that somebody inserted since we looked is a clash, never an update of theirs.
        # In order: two who insert the same keys then wait for each other in one direction only.
        statements.INSERT_KEYS.run(self._connection, [mapping.key_row(new[key]) for key in sorted(new)])
        self._lock_keys({key: before[key] for key in changed})
        moved = [mapping.key_row(key) for key in changed.values()]
        statements.CHANGE_KEYS.run(self._connection, [(*rest, key) for key, *rest in moved])

    def _lock_keys(self, known: dict[str, Key | None]) -> None:
        """Keys come last: whoever asks for one waits for nobody's run, and whoever ends a run changes its key after it.

        So they are read without a lock, and must be as they were read when they are changed.
        """
        if self._dialect.exclusive or not known:
            return
        if {row[0]: Key(*row) for row in self._chunks(statements.LOCK_KEYS, known)} != known:
            raise TryAgain

    def _look_up_keys(self, keys: Collection[str]) -> None:
        unknown = {key for key in keys if key not in self._read_keys}
        self._read_keys.update(dict.fromkeys(unknown))
        self._read_keys.update((row[0], Key(*row)) for row in self._chunks(statements.KEYS, unknown))

    def _expired(self, key: Key) -> bool:
        return key.expires_ms is not None and key.expires_ms <= self._now_ms

    # nodes

    def node(self, node_id: str) -> Node | None:
        row = self._connection.execute(statements.NODE, {"node_id": node_id}).one_or_none()
        if row is None:
            return None
        self._read_nodes.add(node_id)
        return mapping.node_from(row)

    def nodes(self) -> list[Node]:
        return [mapping.node_from(row) for row in self._connection.execute(statements.NODES)]

    def save_node(self, node: Node) -> None:
        row = mapping.node_row(node)
        if node.id in self._read_nodes:
            statements.CHANGE_NODES.run(self._connection, [(*row[1:], node.id)])
        else:
            statements.INSERT_NODES.run(self._connection, [row])

    def save_tasks(self, node_id: str, tasks: Sequence[TaskInfo]) -> None:
        statements.DELETE_TASKS.run(self._connection, [(node_id,)])
        by_name = {task.name: mapping.task_row(node_id, task) for task in tasks}
        statements.INSERT_TASKS.run(self._connection, list(by_name.values()))

    # append only

    def add_log(self, lines: Sequence[LogLine]) -> None:
        statements.ADD_LOG.run(self._connection, [mapping.log_row(line) for line in lines])

    def add_decisions(self, decisions: Iterable[Decision]) -> None:
        statements.ADD_DECISIONS.run(self._connection, [mapping.decision_row(each) for each in decisions])

    def add_changes(self, changes: Iterable[Change]) -> None:
        statements.ADD_CHANGES.run(self._connection, [mapping.change_row(each) for each in changes])

    def add_revision(self, schedule: Schedule) -> None:
        row = (schedule.id, schedule.revision, mapping.schedule_to_text(schedule))
        statements.ADD_REVISIONS.run(self._connection, [row])

    def _chunks(
        self,
        statement: Select[Any] | CompoundSelect[Any],
        values: Collection[str],
        parameters: dict[str, Any] | None = None,
    ) -> Iterator[Sequence[Any]]:
        return in_chunks(self._connection, statement, values, parameters, self._dialect.most_values)


def in_chunks(
    connection: Connection,
    statement: Select[Any] | CompoundSelect[Any],
    values: Collection[str],
    parameters: dict[str, Any] | None = None,
    most: int = CHUNK,
) -> Iterator[Sequence[Any]]:
    """What the statement finds among the values, so many at a time as a database takes; in the order of the values."""
    ordered = sorted(values)
    for start in range(0, len(ordered), most):
        among = {**(parameters or {}), "among": ordered[start : start + most]}
        yield from connection.execute(statement, among).fetchall()
