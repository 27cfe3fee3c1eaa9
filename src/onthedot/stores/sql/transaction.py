"""One transaction over a connection: the `Transaction` that the engine works on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import CompoundSelect, Connection, Select

from onthedot.model.change import Change
from onthedot.model.decision import Decision
from onthedot.model.freeze import Freeze
from onthedot.model.graph import Graph
from onthedot.model.key import Key
from onthedot.model.log_line import LogLine
from onthedot.model.minute import Minute
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule, ScheduleSummary
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.model.token import Session, Token
from onthedot.model.value import Value
from onthedot.rules.effects import Effects
from onthedot.rules.precedence import foremost, turn_of
from onthedot.stores import mapping
from onthedot.stores.asking import is_late
from onthedot.stores.claimed_runs import ClaimedRuns
from onthedot.stores.kept_graphs import Graphs, is_long_ago
from onthedot.stores.lanes import AWAITED, lane_of, lanes_of
from onthedot.stores.mapping import Columns
from onthedot.stores.open_flows import OpenFlows
from onthedot.stores.retention import MINUTES_KEPT_MS
from onthedot.stores.sql import copying, driver, lane_statements, statements
from onthedot.stores.sql.dialect import Dialect
from onthedot.stores.sql.due_floor import Floor
from onthedot.stores.sql.lane_statements import Waiting, by_number
from onthedot.stores.sql.statements import CHUNK
from onthedot.stores.transaction import (
    SOME_WAITING,
    Claim,
    LiveRuns,
    StepRow,
    TryAgain,
    in_the_way,
    most_waiting,
    readable,
    still_live,
)
from onthedot.triggers.pinned import Use

_USUALLY_LIVE = 2
"""Of a schedule; where all together have more than that and a few, those with a crowd are asked one by one."""
_A_FEW = 64
_ALL = 1 << 31
_FOREVER_MS = 1 << 62


class SqlTransaction:
    """Remembers what it has read: of those rows only what moved is written, and whatever else is written is new.

    New rows are inserted plainly: one that somebody else inserted meanwhile is a clash, never an update of theirs.
    """

    def __init__(
        self,
        connection: Connection,
        dialect: Dialect,
        now_ms: int | None,
        claimed_runs: ClaimedRuns,
        floor: Floor,
        *,
        graphs: Graphs,
        open_flows: OpenFlows,
    ) -> None:
        """`now_ms` of None: the server tells, when it is first asked for something that depends on it."""
        self._connection = connection
        self._dialect = dialect
        self._claimed_runs = claimed_runs
        self._floor = floor
        self._graphs = graphs
        self._open_flows = open_flows
        self._now_ms = now_ms
        self._read_schedules: dict[str, Schedule] = {}
        self._read_runs: dict[str, Run] = {}
        """Nobody else changes them until the transaction ends."""
        self._read_keys: dict[str, Key | None] = {}
        self._read_nodes: set[str] = set()
        self._shared_nodes: dict[str, Node | None] = {}
        self._read_decisions: set[str] = set()
        self.started: list[Run] = []
        self.ended: list[str] = []
        self.moved_flows: list[tuple[Run, str | None]] = []
        """What became of runs, for those who remember them once it is committed."""
        self.due_schedules_ms: list[int] = []
        self.due_runs_ms: list[int] = []
        """Moments at which something written here waits to be claimed, for the floors."""

    @property
    def now_ms(self) -> int:
        if self._now_ms is None:
            ((now_ms,),) = driver.fetch(self._connection, statements.clock_of(self._dialect))
            self._now_ms = int(now_ms)
        return self._now_ms

    def prefetch(self, node_id: str, run_ids: Collection[str]) -> None:
        """Each is read when it is asked for."""

    # schedules

    def due_schedules(self, limit: int, on_time_from_ms: int) -> tuple[list[Schedule], bool]:
        moments = {"from_ms": on_time_from_ms, "now_ms": self.now_ms}
        due = self._schedules(statements.SCHEDULES_ON_TIME, {**moments, "most": limit})
        if len(due) < limit:
            overdue = {"floor_ms": self._floor.schedules_ms, "from_ms": on_time_from_ms, "most": limit - len(due)}
            due += self._schedules(statements.SCHEDULES_OVERDUE, overdue)
        return due, not self._dialect.exclusive and self._others_are_due(len(due), limit)

    def unchanged(self, schedules: Sequence[Schedule]) -> set[str]:
        given = {each.id: each for each in schedules}
        found = self._chunks(statements.VERSIONS_IF_FREE, given)
        same = {schedule_id for schedule_id, version in found if version == given[schedule_id].version}
        same -= {schedule_id for (schedule_id,) in self._chunks(statements.WITH_LIVE, same)}
        return same

    def save_ahead(self, owner: str, all_effects: Sequence[Effects]) -> None:
        copying.begin_ticks(self._connection, self._dialect, self.now_ms, owner, all_effects)
        for effects in all_effects:
            if effects.schedule is not None and effects.schedule.next_run_ms is not None:
                self.due_schedules_ms.append(effects.schedule.next_run_ms)
            self.started += effects.runs

    def is_due(self) -> bool:
        asked = {"floor_ms": self._floor.schedules_ms, "now_ms": self.now_ms}
        return bool(driver.fetch(self._connection, statements.IS_DUE, asked))

    def _others_are_due(self, found: int, limit: int) -> bool:
        asked = {"floor_ms": self._floor.schedules_ms, "now_ms": self.now_ms, "most": limit}
        ((count,),) = driver.fetch(self._connection, statements.COUNT_DUE, asked)
        return int(count) > found

    def schedules_named(self, names: Collection[str]) -> dict[str, Schedule]:
        found = self._chunks(statements.SCHEDULES_NAMED, names)
        return {row.name: row for row in self._remember_schedules(found)}

    def lock_schedules(self, ids: Collection[str]) -> dict[str, Schedule]:
        found = self._chunks(statements.LOCK_SCHEDULES, ids)
        return {row.id: row for row in self._remember_schedules(found)}

    def schedules_if_free(self, ids: Collection[str]) -> dict[str, Schedule]:
        found = self._chunks(statements.SCHEDULES_IF_FREE, ids)
        return {row.id: row for row in self._remember_schedules(found)}

    def summaries(self, ids: Collection[str]) -> dict[str, ScheduleSummary]:
        return {row[0]: mapping.summary_from(row[1:]) for row in self._chunks(statements.SUMMARIES, ids)}

    def watched(self, limit: int) -> list[str]:
        found = self._connection.execute(statements.WATCHED, {"now_ms": self.now_ms, "most": limit})
        return [schedule_id for (schedule_id,) in found]

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
        return self._remember_schedules(driver.fetch(self._connection, statement, parameters))

    def _remember_schedules(self, found: Iterable[Sequence[Any]]) -> list[Schedule]:
        read = [mapping.schedule_from(row) for row in found]
        self._read_schedules.update((row.id, row) for row in read)
        return read

    # runs

    def due_runs(self, claim: Claim, limit: int) -> list[Run]:
        """Of those without a schedule only what nobody else is about to start: nodes share them, none waits."""
        asked = limit
        while True:
            due = self._due_runs(claim, asked)
            free = readable(due if self._dialect.exclusive else self._without_locked(due))
            if len(free) >= limit or len(due) < asked:
                return free[:limit]
            asked *= 4

    def _due_runs(self, claim: Claim, limit: int) -> list[Run]:
        which = lane_statements.DUE_OF_TASKS if claim.pools is None else lane_statements.DUE_OF_POOLS
        suiting = {"tasks": claim.tasks, "pools": claim.pools or (), "known": claim.known}
        due = self._foremost(which, lanes_of(claim), limit, {**suiting, "floor_ms": self._floor.runs_ms})
        if self._dialect.exclusive:
            self._read_runs.update((run.id, run) for run in due)
        return due

    def _without_locked(self, due: Sequence[Run]) -> list[Run]:
        """Those that are no longer as they were found are left out, too."""
        alone = {run.id: run for run in due if run.schedule_id is None}
        for run_id, *found in self._chunks(lane_statements.FREE_RUNS, alone):
            run = alone[run_id]
            if found == [lane_of(run), run.claim_no, run.due_ms]:
                self._read_runs[run_id] = run  # locked now, and as it was read
        return [run for run in due if run.schedule_id is not None or run.id in self._read_runs]

    def waiting_for(self, what: str, limit: int) -> list[Run]:
        return readable(self._foremost(lane_statements.WAITING_FOR, [what], limit, {}))

    def _foremost(self, which: Waiting, lanes: Sequence[str], limit: int, given: dict[str, Any]) -> list[Run]:
        """Asks for each level of priority only where more runs with one are due than were asked for."""
        given = {**given, **by_number(lanes), "now_ms": self.now_ms, "most": limit}
        found = self._runs(which.oldest.on(self._dialect, len(lanes)), given)
        many = sum(run.policy.priority != 0 for run in found) >= limit
        of_level = which.of_level.on(self._dialect, len(lanes))
        return foremost(
            found,
            turn_of,
            limit,
            self._levels(lanes).items() if many else (),
            lambda priority: self._runs(of_level, {**given, "priority": priority}),
        )

    def _runs(self, statement: Select[Any] | CompoundSelect[Any], given: dict[str, Any]) -> list[Run]:
        """Read without locking."""
        return [mapping.run_from(row) for row in driver.fetch(self._connection, statement, given)]

    def _levels(self, lanes: Sequence[str]) -> dict[int, int]:
        """The priorities of due runs in these lanes, each with its earliest moment."""
        jumps = self._dialect.groups_by_jumping
        statement = lane_statements.LEVELS_GROUPED if jumps else lane_statements.LEVELS
        levels: dict[int, int] = {}
        for lane in lanes:
            for priority, due_ms in driver.fetch(self._connection, statement, {"lane": lane}):
                if due_ms <= self.now_ms:
                    levels[priority] = min(due_ms, levels.get(priority, due_ms))
        return levels

    def are_awaited(self, whats: Collection[str]) -> set[str]:
        return {what for (what,) in self._chunks(lane_statements.ARE_AWAITED, whats)}

    def awaited(self, limit: int, after: str = "") -> list[str]:
        """Where it groups, a lane may be found twice: its runs with a priority stand apart."""
        jumps = self._dialect.groups_by_jumping
        statement = lane_statements.AWAITED_GROUPED if jumps else lane_statements.AWAITED
        asked = {"after": max(after, AWAITED), "now_ms": self.now_ms, "most": 2 * limit if jumps else limit}
        found = driver.fetch(self._connection, statement, asked)
        return list(dict.fromkeys(lane for (lane,) in found))[:limit]

    def routed_runs(self, limit: int) -> list[Run]:
        return readable(self._runs(lane_statements.ROUTED_RUNS, {"now_ms": self.now_ms, "most": limit}))

    def live_beside(self, schedules: Sequence[Schedule]) -> dict[str, LiveRuns]:
        """In one statement where no crowd is live; it costs what is given, and not what waits."""
        ids = [each.id for each in schedules]
        most = _USUALLY_LIVE * len(ids) + _A_FEW
        found = list(self._chunks(statements.LIVE_BESIDE, ids, {"most": most}))
        if len(found) < most:
            return self._grouped(schedules, found)
        crowded = {each for (each,) in self._chunks(statements.CROWDED, ids, {"few": SOME_WAITING})}
        others = [each for each in schedules if each.id not in crowded]
        few = self._chunks(statements.LIVE_BESIDE, [each.id for each in others], {"most": _ALL})
        live = self._grouped(others, few)
        for each in schedules:
            if each.id in crowded:
                live |= self._live_beside_one(each)
        return live

    def _live_beside_one(self, schedule: Schedule) -> dict[str, LiveRuns]:
        """Of which many are live."""
        most = most_waiting(schedule.policy)
        running = {"schedule_id": schedule.id, "most": 1 if schedule.policy.slots is None else _ALL}
        waiting = {"schedule_id": schedule.id, "most": most + 1}
        found = [
            *driver.fetch(self._connection, statements.RUNNING_OF, running),
            *driver.fetch(self._connection, statements.WAITING_OF, waiting),
        ]
        return self._grouped([schedule], found)

    def _grouped(self, schedules: Sequence[Schedule], found: Iterable[Sequence[Any]]) -> dict[str, LiveRuns]:
        runs = self._remember_runs(found) if self._dialect.exclusive else [mapping.run_from(row) for row in found]
        live: dict[str, list[Run]] = {}
        for run in runs:
            live.setdefault(run.schedule_id or "", []).append(run)
        return {each.id: _beside(each, live[each.id]) for each in schedules if each.id in live}

    def live_of(self, schedule_ids: Collection[str]) -> list[Run]:
        live = self._remember_runs(self._chunks(statements.LIVE_OF, schedule_ids))
        return sorted(in_the_way(live), key=lambda run: (run.due_ms, run.id))

    def live_runs(self, ids: Collection[str]) -> dict[str, Run]:
        if self._read_runs.keys() >= set(ids):
            return {run.id: run for run in still_live(self._read_runs[run_id] for run_id in ids)}
        flows = self._flows_held_here(ids, statements.HELD_FLOWS)
        if flows is not None:
            return flows
        known = [run_id for run_id in ids if run_id in self._claimed_runs]
        if not self._dialect.exclusive and len(known) < len(ids):
            known = []  # all in one statement, and so locked in one order
        held = [self._claimed_runs.run_of(row) for row in self._chunks(statements.HELD, known)]
        live = {run.id: run for run in held if run is not None}
        self._read_runs.update(live)
        others = [run_id for run_id in ids if run_id not in live]
        found = self._remember_runs(self._chunks(statements.LIVE_RUNS, others))
        return live | {run.id: run for run in still_live(found)}

    def live_runs_if_free(self, ids: Collection[str]) -> dict[str, Run]:
        if self._dialect.exclusive:
            return self.live_runs(ids)
        flows = self._flows_held_here(ids, statements.HELD_FLOWS_IF_FREE)
        if flows is not None:
            return flows
        found = self._remember_runs(self._chunks(statements.LIVE_RUNS_IF_FREE, ids))
        return {run.id: run for run in still_live(found)}

    def _flows_held_here(self, ids: Collection[str], statement: Select[Any]) -> dict[str, Run] | None:
        """What is found and locked of flows that are all remembered; None where they are not."""
        if not all(each in self._open_flows for each in ids):
            return None
        found = {row[0]: self._open_flows.run_of(row) for row in self._chunks(statement, ids)}
        flows = {flow_id: flow for flow_id, flow in found.items() if flow is not None}
        self._read_runs.update(flows)
        others = self._remember_runs(self._chunks(statements.LIVE_RUNS, found.keys() - flows.keys()))
        return flows | {run.id: run for run in still_live(others)}

    def schedules_of(self, run_ids: Collection[str]) -> set[str]:
        found = self._chunks(statements.SCHEDULES_OF, run_ids)
        return {schedule_id for schedule_id, _ in found if schedule_id is not None}

    def owned_by(self, node_id: str) -> list[Run]:
        return self._runs(statements.OWNED_BY, {"node_id": node_id})

    def load(self) -> dict[str, int]:
        return {row[0]: row[1] for row in driver.fetch(self._connection, statements.LOAD)}

    def succeeded_since(self, schedule: str, since_ms: int) -> bool:
        asked = {"kept_by": schedule, "since_ms": since_ms}
        return bool(driver.fetch(self._connection, statements.SUCCEEDED_SINCE, asked))

    def ended_runs(self, ids: Collection[str]) -> dict[str, Run]:
        found = map(mapping.run_from, self._chunks(statements.ENDED_RUNS, ids))
        return {run.id: run for run in readable(found)}

    def save_runs(self, runs: Sequence[Run]) -> None:
        new: list[Columns] = []
        moved: list[Columns] = []
        ledgers: list[Columns] = []
        for run in runs:
            assert type(run) is not StepRow, "a step as `steps_of` gives it is not whole"
            known = self._read_runs.get(run.id)
            goes_on = run.is_flow and run.state is State.RUNNING
            if goes_on:
                self.moved_flows.append((run, mapping.ledger_text(run)))
            if known is None:
                new.append(mapping.live_row(run))
            elif goes_on and mapping.has_the_same_but_its_ledger(known, run):
                ledgers.append((self.moved_flows[-1][1], run.id))
            else:
                moved.append(mapping.run_moving_row(run))
            self._note_saved(run)
        statements.INSERT_RUNS.run(self._connection, new)
        statements.MOVE_RUNS.run(self._connection, moved)
        statements.MOVE_LEDGERS.run(self._connection, ledgers)

    def _note_saved(self, run: Run) -> None:
        self._read_runs[run.id] = run
        if run.is_final:
            self.ended.append(run.id)
        elif run.state is State.RUNNING and run.owner is not None:
            self.started.append(run)
        elif run.state is State.WAITING and not run.blocked:
            self.due_runs_ms.append(run.due_ms)

    def end_runs(self, runs: Sequence[Run]) -> None:
        plain: list[Run] = []
        told: list[str] = []
        others: list[Columns] = []
        for run in runs:
            live = self._read_runs.pop(run.id, None)
            if isinstance(run, StepRow):
                told.append(run.id)
            elif live is not None and copying.only_ends(live, run):
                plain.append(run)
            else:
                others.append((*mapping.ended_row(run), int(is_late(run))))
        self._move_told(told)
        gone = {run.id for run in plain} if copying.end(self._connection, self._dialect, plain) else set()
        gone.update(told)
        statements.INSERT_HISTORY.run(self._connection, others)
        statements.DELETE_LIVE.run(self._connection, [(run.id,) for run in runs if run.id not in gone])
        self.ended += [run.id for run in runs]

    def _move_told(self, run_ids: Sequence[str]) -> None:
        """Steps that were written when they ended."""
        most = self._dialect.most_values
        for start in range(0, len(run_ids), most):
            asked = {"ids": run_ids[start : start + most]}
            driver.write(self._connection, statements.TELL, asked)
            driver.write(self._connection, statements.DELETE_TOLD, asked)

    def revive_runs(self, runs: Sequence[Run]) -> None:
        if statements.DELETE_ENDED.run(self._connection, [(run.id,) for run in runs]) != len(runs):
            raise TryAgain  # somebody else was first, since history is read without a lock
        self.save_runs(runs)

    def _remember_runs(self, found: Iterable[Sequence[Any]]) -> list[Run]:
        read = [mapping.run_from(row) for row in found]
        self._read_runs.update((run.id, run) for run in read)
        return read

    # flows

    def graphs(self, hashes: Collection[str]) -> dict[str, Graph]:
        unknown = [each for each in hashes if each not in self._graphs]
        for row in self._chunks(statements.GRAPHS, unknown):
            self._graphs.add(row[0], Graph.from_text(row[1]))
        return self._graphs.among(hashes)

    def save_graphs(self, graphs: Sequence[Graph]) -> None:
        given = {graph.hash: graph for graph in graphs}
        kept = {row[0]: row[1] for row in self._chunks(statements.KEPT_GRAPHS, given)}
        new = [mapping.graph_row(given[each], self.now_ms) for each in sorted(given) if each not in kept]
        statements.INSERT_GRAPHS.run(self._connection, new)
        long_ago = [each for each, seen_ms in kept.items() if is_long_ago(seen_ms, self.now_ms)]
        statements.SEE_GRAPHS.run(self._connection, [(self.now_ms, each) for each in sorted(long_ago)])

    def steps_of(self, flow_ids: Collection[str]) -> list[StepRow]:
        found = (mapping.step_from(row) for row in self._chunks(statements.STEPS_OF, flow_ids))
        return sorted((step for step in found if step is not None), key=lambda step: step.id)

    def untold(self, limit: int, after: str = "") -> list[str]:
        found = driver.fetch(self._connection, statements.UNTOLD, {"after": after, "most": limit})
        return [flow_id for (flow_id,) in found]

    def past_until(self, limit: int) -> list[Run]:
        return readable(self._runs(statements.PAST_UNTIL, {"now_ms": self.now_ms, "most": limit}))

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
        return key.expires_ms is not None and key.expires_ms <= self.now_ms

    # nodes

    def node(self, node_id: str) -> Node | None:
        return self._node(statements.NODE, node_id)

    def node_shared(self, node_id: str) -> Node | None:
        if node_id not in self._shared_nodes:  # nobody changes it until the transaction ends
            self._shared_nodes[node_id] = self._node(statements.NODE_SHARED, node_id)
        return self._shared_nodes[node_id]

    def _node(self, statement: Select[Any], node_id: str) -> Node | None:
        """And the server's time with it, if nobody has asked for that yet."""
        asks = self._now_ms is None
        statement = statements.with_clock(statement, self._dialect) if asks else statement
        found = driver.fetch(self._connection, statement, {"node_id": node_id})
        if not found:
            return None
        self._read_nodes.add(node_id)
        if asks:
            self._now_ms = int(found[0][-1])
        return mapping.node_from(found[0][: len(mapping.NODE)])

    def nodes(self) -> list[Node]:
        return [mapping.node_from(row) for row in driver.fetch(self._connection, statements.NODES)]

    def owners(self) -> set[str]:
        return set(self.load())

    def save_node(self, node: Node) -> None:
        row = mapping.node_row(node)
        self._shared_nodes.pop(node.id, None)
        if node.id in self._read_nodes:
            statements.CHANGE_NODES.run(self._connection, [(*row[1:], node.id)])
        else:
            statements.INSERT_NODES.run(self._connection, [row])

    def save_tasks(self, node_id: str, tasks: Sequence[TaskInfo]) -> None:
        statements.DELETE_TASKS.run(self._connection, [(node_id,)])
        by_name = {task.name: mapping.task_row(node_id, task) for task in tasks}
        statements.INSERT_TASKS.run(self._connection, list(by_name.values()))

    def forget_node(self, node_id: str) -> None:
        self._shared_nodes.pop(node_id, None)
        statements.DELETE_TASKS.run(self._connection, [(node_id,)])
        statements.DELETE_NODES.run(self._connection, [(node_id,)])

    # who may use the HTTP API

    def token(self, name: str) -> Token | None:
        row = self._connection.execute(statements.LOCK_TOKEN, {"name": name}).one_or_none()
        return None if row is None else mapping.token_from(row)

    def save_token(self, token: Token) -> None:
        statements.INSERT_TOKENS.run(self._connection, [mapping.token_row(token)])

    def forget_token(self, name: str) -> None:
        statements.DELETE_TOKENS.run(self._connection, [(name,)])
        self._forget_sessions(name, _FOREVER_MS)

    def save_session(self, session: Session) -> None:
        self._forget_sessions(session.token, self.now_ms)
        statements.INSERT_SESSIONS.run(self._connection, [mapping.session_row(session)])

    def forget_session(self, session_id: str) -> None:
        statements.DELETE_SESSIONS.run(self._connection, [(session_id,)])

    def _forget_sessions(self, token: str, until_ms: int) -> None:
        self._connection.execute(statements.SESSIONS_UNTIL, {"of_token": token, "until_ms": until_ms})

    # freezes

    def freezes(self) -> list[Freeze]:
        return [mapping.freeze_from(*row) for row in self._connection.execute(statements.FREEZES)]

    def freeze(self, name: str) -> Freeze | None:
        row = self._connection.execute(statements.LOCK_FREEZE, {"name": name}).one_or_none()
        return None if row is None else mapping.freeze_from(*row)

    def save_freeze(self, freeze: Freeze) -> None:
        name, content = mapping.freeze_row(freeze)
        if self.freeze(name) is None:
            statements.INSERT_FREEZES.run(self._connection, [(name, content)])
        else:
            statements.CHANGE_FREEZES.run(self._connection, [(content, name)])

    def forget_freeze(self, name: str) -> None:
        statements.DELETE_FREEZES.run(self._connection, [(name,)])

    # what triggers name

    def value(self, use: Use) -> Value | None:
        return self._head(statements.LOCK_HEAD, use)

    def value_shared(self, use: Use) -> Value | None:
        return self._head(statements.SHARE_HEAD, use)

    def _head(self, statement: Select[Any], use: Use) -> Value | None:
        rows = self._connection.execute(statement, {"kind": use.kind, "name": use.name}).all()
        heads = [mapping.value_from(row) for row in rows]
        return max(heads, key=lambda each: each.rev, default=None)

    def values_at(self, ids: Collection[str]) -> list[Value]:
        return [mapping.value_from(row) for row in self._chunks(statements.VALUES_BY_ID, ids)]

    def add_value(self, value: Value) -> None:
        statements.INSERT_VALUES.run(self._connection, [mapping.value_row(value)])

    def change_value(self, value: Value) -> None:
        statements.CHANGE_VALUES.run(self._connection, [(value.state.value, value.id)])

    def forget_values(self, ids: Collection[str]) -> None:
        statements.DELETE_VALUES.run(self._connection, [(each,) for each in ids])

    # what happened

    def last_decisions(self, schedule_ids: Collection[str]) -> dict[str, Decision]:
        ids = [decision_id for (decision_id,) in self._chunks(statements.LAST_DECISIONS, schedule_ids)]
        found = self._chunks(statements.DECISIONS_BY_ID, [each for each in ids if each is not None])
        last = {decision.schedule_id: decision for decision in (Decision(*row) for row in found)}
        self._read_decisions.update(decision.id for decision in last.values())
        return last

    def save_decisions(self, decisions: Sequence[Decision]) -> None:
        new = [mapping.decision_row(each) for each in decisions if each.id not in self._read_decisions]
        grown = [mapping.decision_row(each) for each in decisions if each.id in self._read_decisions]
        statements.ADD_DECISIONS.run(self._connection, new)
        changed = statements.CHANGE_DECISIONS.run(
            self._connection, [(*rest, decision_id) for decision_id, *rest in grown]
        )
        if grown and 0 <= changed < len(grown):
            raise TryAgain  # one was forgotten meanwhile: what was added to it must not go with it

    def add_log(self, lines: Sequence[LogLine]) -> None:
        statements.ADD_LOG.run(self._connection, [mapping.log_row(line) for line in lines])

    def save_minutes(self, minutes: Sequence[Minute]) -> None:
        """In the place of what was there; and forget the old ones."""
        kept = {(each.minute_ms, each.node_id): mapping.minute_row(each) for each in minutes}
        for minute_ms, node_id in sorted(kept):  # in one direction, so that nobody waits in a circle
            driver.write(self._connection, statements.DELETE_MINUTE, {"minute_ms": minute_ms, "node_id": node_id})
        statements.INSERT_MINUTES.run(self._connection, [kept[key] for key in sorted(kept)])
        driver.write(self._connection, statements.FORGET_MINUTES, {"before_ms": self.now_ms - MINUTES_KEPT_MS})

    def add_changes(self, changes: Sequence[Change]) -> None:
        statements.ADD_CHANGES.run(self._connection, [mapping.change_row(each) for each in changes])

    def add_revision(self, schedule: Schedule) -> None:
        statements.ADD_REVISIONS.run(self._connection, [mapping.revision_row(schedule)])

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
        given = {**(parameters or {}), "ids": ordered[start : start + most]}
        yield from driver.fetch(connection, statement, given)


def _beside(schedule: Schedule, live: Sequence[Run]) -> LiveRuns:
    """As far as a decision may rest on it: what runs, and the oldest that wait."""
    in_turn = sorted(in_the_way(live), key=lambda run: (run.due_ms, run.id))
    waiting = [run for run in in_turn if run.state is State.WAITING]
    most = most_waiting(schedule.policy)
    running = (run for run in in_turn if run.state is State.RUNNING)
    return LiveRuns((*running, *waiting[:most]), more=len(waiting) > most)
