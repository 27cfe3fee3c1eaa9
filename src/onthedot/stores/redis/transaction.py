"""One transaction: it reads without locks, keeps its writes to itself, and in the end compares and commits at once.

Hints keep many from deciding the same: what somebody is about to plan or start is `busy` for two seconds, and others
pass it over. Nothing rests on them.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from itertools import accumulate
from os import urandom
from typing import Any, TypeVar

from onthedot.errors import StoreError
from onthedot.model.change import Change
from onthedot.model.decision import Decision
from onthedot.model.freeze import Freeze
from onthedot.model.graph import Graph
from onthedot.model.key import Key
from onthedot.model.log_line import LogLine
from onthedot.model.node import Node
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.schedule import Schedule, ScheduleSummary
from onthedot.model.states import FINAL, LIVE, State
from onthedot.model.task_info import TaskInfo
from onthedot.model.token import Session, Token
from onthedot.model.value import Value, ValueState
from onthedot.model.values import replace
from onthedot.rules.effects import Effects
from onthedot.stores.kept_graphs import Graphs
from onthedot.stores.mapping import freeze_row
from onthedot.stores.redis import flows, mapping, queries
from onthedot.stores.redis.commit import Commit, TooMuch
from onthedot.stores.redis.indexes import AWAITED, lanes_of, word
from onthedot.stores.redis.remembered import Memory
from onthedot.stores.redis.server import Server, counted
from onthedot.stores.redis.sharing import count_ended, count_running, note_lanes, note_states, take_names, take_slots
from onthedot.stores.redis.tables import KEYS, NODES, RUNS, SCHEDULES, Table
from onthedot.stores.transaction import (
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

T = TypeVar("T")

HOLD_MS = 2000
"""How long others pass over what somebody works on: as long as a process frozen in its work may delay it."""
TOLD = 24
"""Of how many live runs of a schedule we are told along with its row: enough for nearly every decision."""


class RedisTransaction:
    """`clashes` is how often this transaction was overtaken already: it then takes less at once."""

    def __init__(
        self,
        server: Server,
        read_clock: Callable[[], int] | None,
        memory: Memory,
        clashes: int = 0,
        *,
        graphs: Graphs,
    ) -> None:
        self._server = server
        self._read_clock = read_clock
        self._memory = memory
        self._clashes = clashes
        self._graphs = graphs
        self._now_ms: int | None = None
        self._schedules = Table(SCHEDULES, memory.schedules)
        self._runs = Table(RUNS, memory.runs)
        self._keys = Table(KEYS)
        self._nodes = Table(NODES)
        self._ids: dict[str, str | None] = {}
        self._told: dict[str, list[str]] = {}
        self._owned: dict[str, list[str]] = {}
        self._living: list[str] | None = None
        self._states: dict[str, str] = {}
        self._last_decisions: dict[str, str] = {}
        self._held: dict[str, None] = {}
        self._others_due = 0
        self.stamp = b64encode(urandom(9)).decode()
        """Of the rows that this transaction writes."""
        self._commit = Commit()

    @property
    def now_ms(self) -> int:
        if self._now_ms is None:
            self._now_ms = self._server.now_ms() if self._read_clock is None else self._read_clock()
        return self._now_ms

    def _note_time(self, now_ms: int) -> None:
        """The server's time, told along with the first thing that was asked."""
        if self._now_ms is None and self._read_clock is None:
            self._now_ms = now_ms

    def own_time(self) -> int | str:
        """For a script that tells the time: that of this transaction, or nothing, if the server's is to be it."""
        return "" if self._now_ms is None and self._read_clock is None else self.now_ms

    def prefetch(self, node_id: str, run_ids: Collection[str]) -> None:
        known = self._memory.runs.among(run_ids).values()
        beside = {run.schedule_id for _, run in known if run.schedule_id is not None}
        self._read_rows((self._nodes, [node_id]), (self._runs, run_ids), (self._schedules, beside))

    # schedules

    def due_schedules(self, limit: int, on_time_from_ms: int) -> tuple[list[Schedule], bool]:
        most = self._fewer(limit)
        left_out, ids, rows, run_ids, runs, sizes, nodes = self._server.read_script(
            "due_schedules", self.now_ms, on_time_from_ms, most, HOLD_MS, TOLD, *counted(self._held)
        )
        self._held |= dict.fromkeys(ids)
        self._schedules.learn(ids, rows)
        self._learn_told(ids, run_ids, runs, sizes)
        self._living, node_rows = nodes
        self._nodes.learn(self._living, node_rows)
        due = [row for row in self._schedules.rely(ids) if row.plannable]
        return due, bool(left_out) or len(ids) == most < limit

    def unchanged(self, schedules: Sequence[Schedule]) -> set[str]:
        given = {each.id: each for each in schedules}
        now_ms, self._others_due, are_held, stamps, nodes = self._server.read_script(
            "unchanged", self.own_time(), HOLD_MS, *counted(given)
        )
        self._note_time(now_ms)
        self._living, node_rows = nodes
        self._nodes.learn(self._living, node_rows)
        free = {each: stamp for each, stamp in zip(given, stamps, strict=True) if stamp is not None}
        if are_held:
            self._held |= dict.fromkeys(free)
        self._look_up(self._schedules, [each for each, stamp in free.items() if self._is_new(given[each], stamp)])
        same = [row.id for row in self._schedules.read(free) if row.version == given[row.id].version]
        self._schedules.rely(same)
        return set(same)

    def _is_new(self, schedule: Schedule, stamp: str) -> bool:
        """Whether only its row can tell if it is of this version: nobody here has read or written that."""
        if self._schedules.recall(schedule.id, stamp) is not None:
            return False
        known = self._memory.schedules.get(schedule.id)
        return known is None or known[1].version != schedule.version

    def save_ahead(self, owner: str, all_effects: Sequence[Effects]) -> None:
        moved = [each.schedule for each in all_effects if each.schedule is not None]
        self.save_schedules(moved)
        self.save_runs([run for each in all_effects for run in each.runs])
        self._others_due -= sum(not each.is_due_at(self.now_ms) for each in moved)

    def is_due(self) -> bool:
        """As `unchanged` was told, without those that were written since and are due no more."""
        return self._others_due > 0

    def schedules_named(self, names: Collection[str]) -> dict[str, Schedule]:
        self._look_up_names(names)
        ids = [each for each in (self._ids[name] for name in names) if each is not None]
        self._look_up(self._schedules, ids)
        return {row.name: row for row in self._schedules.rely(ids)}

    def lock_schedules(self, ids: Collection[str]) -> dict[str, Schedule]:
        self._look_up(self._schedules, ids)
        return {row.id: row for row in self._schedules.rely(sorted(ids))}

    def schedules_if_free(self, ids: Collection[str]) -> dict[str, Schedule]:
        return self.lock_schedules(ids)

    def summaries(self, ids: Collection[str]) -> dict[str, ScheduleSummary]:
        self._look_up(self._schedules, ids)
        return {row.id: row.summary for row in self._schedules.known(ids)}

    def watched(self, limit: int) -> list[str]:
        found = self._server.read_script("first_until", "watched", self.now_ms, limit)
        return [str(each) for each in found[::2]]

    def save_schedules(self, schedules: Sequence[Schedule]) -> None:
        new = [row.name for row in schedules if self._schedules.before(row.id) is None]
        self._look_up_names(new)
        for row in schedules:
            if self._ids.get(row.name) not in (None, row.id):
                raise TryAgain(f"the name {row.name} is another's")
            self._ids[row.name] = row.id
            self._schedules.write(row.id, row)

    def _look_up_names(self, names: Collection[str]) -> None:
        unknown = [name for name in names if name not in self._ids]
        if unknown:
            self._ids.update(zip(unknown, self._server.ask("HMGET", "names", *unknown), strict=True))

    # runs

    def due_runs(self, claim: Claim, limit: int) -> list[Run]:
        most = asked = self._fewer(limit)
        while True:
            due = self._due_runs(claim, asked)
            good = readable(due)
            if len(good) >= most or len(due) < asked:
                return good[:most]
            asked *= 4  # what cannot be read must not hide the others

    def _due_runs(self, claim: Claim, most: int) -> list[Run]:
        chosen = (lanes_of(claim), claim.tasks, [word(pool) for pool in claim.pools or ()], claim.known)
        now_ms, are_held, node, ids, rows, schedule_ids, schedules, run_ids, runs, sizes = self._server.read_script(
            *("due_runs", self.own_time(), claim.node_id, most, HOLD_MS, TOLD, 1 if claim.pools is None else 0),
            *counted(self._held, *chosen),
        )
        self._note_time(now_ms)
        self._nodes.learn([claim.node_id], [node])
        self._runs.learn(ids, rows)
        self._schedules.learn(schedule_ids, schedules)
        self._learn_told(schedule_ids, run_ids, runs, sizes)
        due = self._runs.known(ids)
        alone = (run.id for run in due if run.schedule_id is None) if are_held else ()
        self._held |= dict.fromkeys((*schedule_ids, *alone))
        return due

    def holds(self, name: str) -> bool:
        """Whether others pass this run or schedule over until it is let go."""
        return name in self._held

    def holds_at_most(self, names: Collection[str]) -> bool:
        """Whether others pass nothing else over."""
        return all(each in names for each in self._held)

    def stamps_of(self, run_ids: Collection[str]) -> list[str]:
        """Of rows that were read here."""
        return self._runs.stamps(run_ids)

    def live_beside(self, schedules: Sequence[Schedule]) -> dict[str, LiveRuns]:
        # Not compared: whoever adds to what was read here changes the row of the schedule, which is.
        told = {each.id: self._told_beside(each) for each in schedules}
        found = {schedule_id: live for schedule_id, live in told.items() if live is not None}
        return found | self._ask_beside([each for each in schedules if each.id not in found])

    def live_of(self, schedule_ids: Collection[str]) -> list[Run]:
        if not schedule_ids:
            return []
        ids, rows, _ = self._server.read_script("live", *schedule_ids)
        self._runs.learn(ids, rows)
        found = still_live(in_the_way(map(self._with_slot, self._runs.rely(ids))))
        return sorted(found, key=lambda run: (run.due_ms, run.id))

    def _with_slot(self, run: Run) -> Run:
        """Of a run of which nothing can be read, only the slots know whether it has one."""
        if not isinstance(run, UnreadableRun) or run.task:
            return run
        for slot, run_id in self._server.ask("HGETALL", "slots").items():
            if run_id == run.id:
                return replace(run, slot=slot, schedule_id=slot.rpartition("/")[0])
        return run

    def live_runs(self, ids: Collection[str]) -> dict[str, Run]:
        self._look_up(self._runs, ids)
        return {run.id: run for run in self._runs.rely(ids) if run.state in LIVE}

    def live_runs_if_free(self, ids: Collection[str]) -> dict[str, Run]:
        return self.live_runs(ids)

    def schedules_of(self, run_ids: Collection[str]) -> set[str]:
        self._look_up(self._runs, run_ids)
        live = (run for run in self._runs.known(run_ids) if run.state in LIVE)
        return {run.schedule_id for run in live if run.schedule_id is not None}

    def owned_by(self, node_id: str) -> list[Run]:
        now_ms, node, ids, rows = self._server.read_script("owned", node_id)
        self._note_time(now_ms)
        self._nodes.learn([node_id], [node])
        self._runs.learn(ids, rows)
        self._owned[node_id] = ids
        own = self._runs.known(ids)
        return sorted((run for run in own if run.owner == node_id), key=lambda run: run.id)

    def load(self) -> dict[str, int]:
        told = iter(self._server.read_script("load"))
        return {node_id: int(count) for node_id, count in zip(told, told, strict=True)}

    def waiting_for(self, what: str, limit: int) -> list[Run]:
        return readable(self._found(self._server.read_script("waiting_for", what, self.now_ms, limit)))

    def are_awaited(self, whats: Collection[str]) -> set[str]:
        return set(self._server.read_script("are_awaited", *whats))

    def awaited(self, limit: int, after: str = "") -> list[str]:
        return list(self._server.read_script("awaited", self.now_ms, limit, f"({after or AWAITED}"))

    def routed_runs(self, limit: int) -> list[Run]:
        return readable(self._found(self._server.read_script("members", "runs", "routed", self.now_ms, limit)))

    def succeeded_since(self, schedule: str, since_ms: int) -> bool:
        finished_ms = self._server.ask("ZSCORE", "succeeded", schedule)
        return finished_ms is not None and float(finished_ms) >= since_ms

    def ended_runs(self, ids: Collection[str]) -> dict[str, Run]:
        self._look_up(self._runs, ids)
        return {run.id: run for run in readable(self._runs.rely(ids)) if run.state in FINAL}

    def save_runs(self, runs: Sequence[Run]) -> None:
        for run in runs:
            assert type(run) is not StepRow, "a step as `steps_of` gives it is not whole"
            if run.is_step:
                flows.note_saved(self._commit, self._runs.before(run.id), run)
            self._runs.write(run.id, run)

    def end_runs(self, runs: Sequence[Run]) -> None:
        for run in runs:
            if run.is_step:
                flows.note_told(self._commit, run)
            if not isinstance(run, StepRow):  # whose row stays as it is
                self._runs.write(run.id, run if run.slot is None else replace(run, slot=None))

    def revive_runs(self, runs: Sequence[Run]) -> None:
        self.save_runs(runs)

    def _found(self, answer: tuple[list[str], list[str | None]]) -> list[Run]:
        ids, rows = answer
        self._runs.learn(ids, rows)
        return self._runs.known(ids)

    def _learn_told(
        self, schedule_ids: Sequence[str], run_ids: Sequence[str], runs: Sequence[str | None], sizes: Sequence[int]
    ) -> None:
        self._runs.learn(run_ids, runs)
        self._told |= zip(schedule_ids, _parts(run_ids, sizes), strict=True)

    def _told_beside(self, schedule: Schedule) -> LiveRuns | None:
        """None where we were not told enough. Those that run come first, so that all are here if too many wait."""
        ids = self._told.get(schedule.id)
        if ids is None:
            return None
        live = _bounded(schedule, in_the_way(map(self._with_slot, self._runs.known(ids))))
        return live if live.more or len(ids) < TOLD else None

    def _ask_beside(self, schedules: Sequence[Schedule]) -> dict[str, LiveRuns]:
        if not schedules:
            return {}
        wanted: list[str | int] = []
        for each in schedules:
            wanted += each.id, most_waiting(each.policy) + 1, 1 if each.policy.slots is None else -1
        ids, rows, sizes = self._server.read_script("live_beside", *wanted)
        self._runs.learn(ids, rows)
        parts = zip(schedules, _parts(ids, sizes), strict=True)
        return {
            each.id: _bounded(each, in_the_way(map(self._with_slot, self._runs.known(part)))) for each, part in parts
        }

    # flows

    def graphs(self, hashes: Collection[str]) -> dict[str, Graph]:
        return flows.graphs_of(self._server, self._graphs, hashes)

    def save_graphs(self, graphs: Sequence[Graph]) -> None:
        flows.save_graphs(self._server, self._commit, graphs, self.now_ms)

    def steps_of(self, flow_ids: Collection[str]) -> list[StepRow]:
        # Not compared: whoever tells a flow writes it, and what has not ended is read again by who changes it.
        return flows.step_rows(self._found(self._server.read_script("steps_of", *flow_ids))) if flow_ids else []

    def untold(self, limit: int, after: str = "") -> list[str]:
        return list(self._server.read_script("untold", limit, after))

    def past_until(self, limit: int) -> list[Run]:
        if limit <= 0:
            return []
        return readable(self._found(self._server.read_script("members", "runs", "bounded", self.now_ms, limit)))

    # keys

    def keys(self, keys: Collection[str]) -> dict[str, Key]:
        self._look_up(self._keys, keys)
        return {row.key: row for row in self._keys.rely(keys) if not self._expired(row)}

    def save_keys(self, keys: Sequence[Key]) -> None:
        held = self.keys([key.key for key in keys])
        for key in keys:
            if held.get(key.key, key).run_id != key.run_id:
                raise TryAgain(f"the key {key.key} is another's")
            held[key.key] = key
            self._keys.write(key.key, key)

    def _expired(self, key: Key) -> bool:
        return key.expires_ms is not None and key.expires_ms <= self.now_ms

    # nodes

    def node(self, node_id: str) -> Node | None:
        self._look_up(self._nodes, [node_id])
        return next(iter(self._nodes.rely([node_id])), None)

    def node_shared(self, node_id: str) -> Node | None:
        self._look_up(self._nodes, [node_id])
        before = self._nodes.before(node_id)
        self._states[node_id] = "" if before is None else before.state.value
        return next(iter(self._nodes.known([node_id])), None)

    def nodes(self) -> list[Node]:
        if self._living is None:
            now_ms, ids, rows = self._server.read_script("living")
            self._note_time(now_ms)
            self._nodes.learn(ids, rows)
            self._living = ids
        return [node for node in self._nodes.known(self._living or []) if node.lives]

    def owners(self) -> set[str]:
        return set(self.load())

    def save_node(self, node: Node) -> None:
        self._nodes.write(node.id, node)

    def save_tasks(self, node_id: str, tasks: Sequence[TaskInfo]) -> None:
        self._commit.write("HSET", "tasks", node_id, mapping.tasks_text(list(tasks)))

    def forget_node(self, node_id: str) -> None:
        self._nodes.write(node_id, None)
        self._commit.write("HDEL", "tasks", node_id)

    # who may use the HTTP API

    def token(self, name: str) -> Token | None:
        text = self._server.ask("HGET", "tokens", name)
        self._commit.expect_values("tokens", {name: text or ""})
        return mapping.token_of(name, text) if text else None

    def save_token(self, token: Token) -> None:
        self._commit.write("HSET", "tokens", token.name, mapping.token_text(token))

    def forget_token(self, name: str) -> None:
        ids = self._server.ask("SMEMBERS", f"sessions:{name}")
        self._commit.expect_size(f"sessions:{name}", len(ids))
        self._commit.write("HDEL", "tokens", name)
        self._forget_sessions(name, sorted(ids))

    def save_session(self, session: Session) -> None:
        ids = sorted(self._server.ask("SMEMBERS", f"sessions:{session.token}"))
        texts = self._server.ask("HMGET", "sessions", *ids) if ids else []
        held = [(each, mapping.session_of(text or "")) for each, text in zip(ids, texts, strict=True)]
        over = [each for each, known in held if known is None or known.expires_ms <= self.now_ms]
        self._forget_sessions(session.token, over)
        self._commit.write("HSET", "sessions", session.id, mapping.session_text(session))
        self._commit.write("SADD", f"sessions:{session.token}", session.id)

    def forget_session(self, session_id: str) -> None:
        text = self._server.ask("HGET", "sessions", session_id)
        known = mapping.session_of(text) if text else None
        if known is not None:
            self._forget_sessions(known.token, [session_id])

    def _forget_sessions(self, token: str, ids: Sequence[str]) -> None:
        if ids:
            self._commit.write("HDEL", "sessions", *ids)
            self._commit.write("SREM", f"sessions:{token}", *ids)

    # freezes

    def freezes(self) -> list[Freeze]:
        held = self._server.ask("HGETALL", "freezes")
        self._commit.expect_values("freezes", {"": held.get("", "")})
        return mapping.freezes_of(held)

    def freeze(self, name: str) -> Freeze | None:
        return next((each for each in self.freezes() if each.name == name), None)

    def save_freeze(self, freeze: Freeze) -> None:
        self._commit.write("HSET", "freezes", *freeze_row(freeze))
        self._freezes_changed()

    def forget_freeze(self, name: str) -> None:
        self._commit.write("HDEL", "freezes", name)
        self._freezes_changed()

    def _freezes_changed(self) -> None:
        """Whoever has read them decides anew."""
        count = int(self._server.ask("HGET", "freezes", "") or 0)
        self._commit.expect_values("freezes", {"": str(count or "")})
        self._commit.write("HSET", "freezes", "", str(count + 1))

    # what triggers name

    def value(self, use: Use) -> Value | None:
        touched = self._server.ask("HGET", "value_touched", str(use))
        self._commit.expect_values("value_touched", {str(use): touched or ""})
        return self._head(use)

    def value_shared(self, use: Use) -> Value | None:
        self._commit.write("HSET", "value_touched", str(use), self.stamp)
        return self._head(use)

    def _head(self, use: Use) -> Value | None:
        value_id = self._server.ask("HGET", "value_heads", str(use))
        self._commit.expect_values("value_heads", {str(use): value_id or ""})
        found = queries.values_of(self._server, [value_id] if value_id else [])
        return found[0] if found else None

    def values_at(self, ids: Collection[str]) -> list[Value]:
        return queries.values_of(self._server, sorted(ids))

    def add_value(self, value: Value) -> None:
        self._commit.write("HSET", "values", value.id, mapping.value_text(value))
        self._commit.write("HSET", "value_heads", str(value.use), value.id)
        self.change_value(value)

    def change_value(self, value: Value) -> None:
        for state, index in ((ValueState.NEW, "values_new"), (ValueState.GONE, "values_gone")):
            self._commit.write("SADD" if value.state is state else "SREM", index, value.id)

    def forget_values(self, ids: Collection[str]) -> None:
        if ids:
            self._commit.write("HDEL", "values", *ids)

    # what happened

    def last_decisions(self, schedule_ids: Collection[str]) -> dict[str, Decision]:
        texts = self._server.read_script("last_decisions", *schedule_ids) if schedule_ids else []
        found = {each: text for each, text in zip(schedule_ids, texts, strict=True) if text is not None}
        self._last_decisions |= found
        return {each: mapping.decision_from(each, text) for each, text in found.items()}

    def save_decisions(self, decisions: Sequence[Decision]) -> None:
        for each in decisions:
            name = f"decisions:{each.schedule_id}"
            last = self._last_decisions.get(each.schedule_id)
            if last is not None and mapping.decision_from(each.schedule_id, last).id == each.id:
                self._commit.write("LREM", name, -1, last)
            self._commit.write("RPUSH", name, mapping.decision_text(each))
            self._commit.write("ZADD NX", "decided", each.decided_ms, each.schedule_id)

    def add_log(self, lines: Sequence[LogLine]) -> None:
        for line in lines:
            self._commit.write("RPUSH", f"log:{line.run_id}", mapping.line_text(line))

    def add_changes(self, changes: Sequence[Change]) -> None:
        for each in changes:
            self._commit.write("HSET", "change", each.id, mapping.change_text(each))
            self._commit.write("RPUSH", "changes", each.id)
            self._commit.write("RPUSH", f"changes:{each.schedule}", each.id)

    def add_revision(self, schedule: Schedule) -> None:
        self._commit.write("RPUSH", f"revisions:{schedule.id}", mapping.schedule_text(schedule))
        if schedule.revision > 1:
            replaced = f"{schedule.id}\n{schedule.revision - 1}\n{schedule.name}"
            self._commit.write("ZADD", "replaced", schedule.updated_ms, replaced)

    # the end

    def commit(self) -> None:
        """Compare and write; `TryAgain` if anything that was relied upon has changed, and then nothing is written."""
        self._gather()
        if not self._commit:
            self.let_go()
            return
        if self._held:
            self._commit.write("ZREM", "busy", *self._held)
        try:
            values = self._commit.arguments()
        except TooMuch as error:
            raise StoreError(f"{self._server.place}: {error}; do it in smaller parts") from None
        answer = self._server.write_script("commit", values)
        if answer != 1:
            self.let_go()
            raise TryAgain(f"somebody else has changed {answer}")
        self._held.clear()
        self._memory.note(self.stamp, self._schedules.written(), self._runs.written())

    def let_go(self) -> None:
        """Others need not pass over any more what was held here."""
        held, self._held = self._held, {}
        if held:
            with suppress(StoreError):  # it passes by itself
                self._server.ask("ZREM", "busy", *held)

    def _gather(self) -> None:
        for table in (self._schedules, self._runs, self._keys, self._nodes):
            table.gather(self._commit, self.stamp)
        take_names(self._commit, self._schedules.changes())
        changes = self._runs.changes()
        take_slots(self._commit, changes)
        count_ended(self._commit, changes)
        count_running(self._commit, changes)
        note_states(self._commit, self._nodes.changes())
        note_lanes(self._commit, changes)
        self._commit.expect_values("node_states", self._states)
        for node_id, _, node in self._nodes.changes():
            if (node is None or not node.lives) and node_id in self._owned:
                # What it began since we looked would stay with it.
                self._commit.expect_size(f"owned:{node_id}", len(self._owned[node_id]))

    def _look_up(self, table: Table[T], ids: Iterable[str]) -> None:
        self._read_rows((table, ids))

    def _read_rows(self, *wanted: tuple[Table[Any], Iterable[str]]) -> None:
        """What is not known yet of these, in one round trip; with it comes the time."""
        unknown = [(table, missing) for table, ids in wanted if (missing := table.unknown(ids))]
        if not unknown:
            return
        asked = [value for table, ids in unknown for value in table.asked(ids)]
        now_ms, *found = self._server.read_script("rows", *asked)
        self._note_time(now_ms)
        for (table, ids), texts in zip(unknown, found, strict=True):
            table.learn(ids, texts)

    def _fewer(self, limit: int) -> int:
        """Half as much after every second clash."""
        return max(limit >> max(self._clashes - 1, 0), 1)


def _parts(ids: Sequence[str], sizes: Sequence[int]) -> list[list[str]]:
    """Cut into parts of these sizes."""
    ends = list(accumulate(sizes))
    return [list(ids[end - size : end]) for size, end in zip(sizes, ends, strict=True)]


def _bounded(schedule: Schedule, live: Sequence[Run]) -> LiveRuns:
    """What a decision may rest on; those that wait come by their moment."""
    most = most_waiting(schedule.policy)
    running = (run for run in live if run.state is State.RUNNING)
    waiting = [run for run in live if run.state is State.WAITING]
    return LiveRuns((*running, *waiting[:most]), len(waiting) > most)
