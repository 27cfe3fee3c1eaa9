"""One transaction: it reads without locks, keeps its writes to itself, and in the end compares and commits at once.

Hints keep many from deciding the same: what somebody is about to plan or start is `busy` for two seconds, and others
pass it over. Nothing rests on them.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from os import urandom
from typing import TypeVar

from onthedot.errors import StoreError
from onthedot.model.decision import Decision
from onthedot.model.key import Key
from onthedot.model.node import Node
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.schedule import Schedule, ScheduleSummary
from onthedot.model.states import FINAL
from onthedot.model.values import replace
from onthedot.rules.precedence import LEVEL_MS
from onthedot.stores.base import Change, LogLine, TaskInfo
from onthedot.stores.redis import mapping
from onthedot.stores.redis.commit import Commit, TooMuch
from onthedot.stores.redis.server import Server
from onthedot.stores.redis.sharing import count_ended, note_queues, take_names, take_slots
from onthedot.stores.redis.tables import KEYS, NODES, RUNS, SCHEDULES, Table
from onthedot.stores.transaction import Place, TryAgain, in_the_way, readable, readable_page, still_live

T = TypeVar("T")

HOLD_MS = 2000
"""How long others pass over what somebody works on: as long as a process frozen in its work may delay it."""


class RedisTransaction:
    """`clashes` is how often this transaction was overtaken already: it then takes less at once."""

    def __init__(self, server: Server, read_clock: Callable[[], int] | None, clashes: int = 0) -> None:
        self._server = server
        self._read_clock = read_clock
        self._clashes = clashes
        self._now_ms: int | None = None
        self._schedules = Table(SCHEDULES)
        self._runs = Table(RUNS)
        self._keys = Table(KEYS)
        self._nodes = Table(NODES)
        self._ids: dict[str, str | None] = {}
        self._live: dict[str, list[str]] = {}
        self._relied_live: set[str] = set()
        self._owned: dict[str, list[str]] = {}
        self._living: list[str] | None = None
        self._held: list[str] = []
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

    # schedules

    def due_schedules(self, limit: int, on_time_from_ms: int) -> tuple[list[Schedule], bool]:
        most = self._fewer(limit)
        left_out, ids, rows, run_ids, runs, sizes, nodes = self._server.read_script(
            "due_schedules", self.now_ms, on_time_from_ms, most, HOLD_MS, 1 if self._held else 0
        )
        self._held += ids
        self._schedules.learn(ids, rows)
        self._learn_live(ids, run_ids, runs, sizes)
        self._living, node_rows = nodes
        self._nodes.learn(self._living, node_rows)
        due = [row for row in self._schedules.rely(ids) if row.plannable]
        return due, bool(left_out) or len(ids) == most < limit

    def schedules_named(self, names: Collection[str]) -> dict[str, Schedule]:
        self._look_up_names(names)
        ids = [each for each in (self._ids[name] for name in names) if each is not None]
        self._look_up(self._schedules, ids)
        return {row.name: row for row in self._schedules.rely(ids)}

    def schedules_if_free(self, ids: Collection[str]) -> dict[str, Schedule]:
        self._look_up(self._schedules, ids)
        return {row.id: row for row in self._schedules.rely(sorted(ids))}

    def standing(self, ids: Collection[str]) -> dict[str, ScheduleSummary]:
        self._look_up(self._schedules, ids)
        return {
            row.id: ScheduleSummary(
                row.enabled, row.deleted, row.auto_remove, row.next_run_ms is None, row.then, row.on_failure
            )
            for row in self._schedules.known(ids)
        }

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

    def due_runs(self, node_id: str, tasks: Collection[str], limit: int) -> list[Run]:
        queues = [f"{target}/{task}" for task in sorted(tasks) for target in ("", node_id)]
        most = asked = self._fewer(limit)
        while True:
            due = self._due_runs(queues, asked)
            good = readable(due)
            if len(good) >= most or len(due) < asked:
                return good[:most]
            asked *= 4  # what cannot be read must not hide the others

    def _due_runs(self, queues: Sequence[str], most: int) -> list[Run]:
        ids, rows, schedule_ids, schedules, run_ids, runs, sizes = self._server.read_script(
            "due_runs", self.now_ms, most, HOLD_MS, 1 if self._held else 0, LEVEL_MS, *queues
        )
        self._runs.learn(ids, rows)
        self._schedules.learn(schedule_ids, schedules)
        self._learn_live(schedule_ids, run_ids, runs, sizes)
        due = self._runs.known(ids)
        self._held += [*schedule_ids, *(run.id for run in due if run.schedule_id is None)]
        return due

    def live_of(self, schedule_ids: Collection[str]) -> list[Run]:
        unknown = [each for each in schedule_ids if each not in self._live]
        if unknown:
            self._learn_live(unknown, *self._server.read_script("live", *unknown))
        self._relied_live.update(schedule_ids)
        found = self._runs.rely([run_id for each in schedule_ids for run_id in self._live[each]])
        live = still_live(in_the_way(map(self._with_slot, found)))
        return sorted(live, key=lambda run: (run.due_ms, run.id))

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
        return {run.id: run for run in still_live(self._runs.rely(ids))}

    def owned_by(self, node_id: str) -> list[Run]:
        now_ms, node, ids, rows = self._server.read_script("owned", node_id)
        self._note_time(now_ms)
        self._nodes.learn([node_id], [node])
        self._runs.learn(ids, rows)
        self._owned[node_id] = ids
        own = self._runs.known(ids)
        return sorted((run for run in own if run.owner == node_id), key=lambda run: run.id)

    def blocked_runs(self, limit: int, after: tuple[int, str] = (0, "")) -> list[Run]:
        def page(after: Place) -> list[Run]:
            return self._found(self._server.read_script("blocked", self.now_ms, limit, *after))

        return readable_page(page, limit, after)

    def routed_runs(self, limit: int) -> list[Run]:
        return readable(self._found(self._server.read_script("members", "runs", "routed", self.now_ms, limit)))

    def succeeded_since(self, schedule: str, since_ms: int) -> bool:
        finished_ms = self._server.ask("ZSCORE", "succeeded", schedule)
        return finished_ms is not None and float(finished_ms) >= since_ms

    def ended_runs(self, ids: Collection[str]) -> dict[str, Run]:
        self._look_up(self._runs, ids)
        return {run.id: run for run in readable(self._ended(ids))}

    def _ended(self, ids: Collection[str]) -> list[Run]:
        return [run for run in self._runs.rely(ids) if run.state in FINAL]

    def save_runs(self, runs: Sequence[Run]) -> None:
        for run in runs:
            self._runs.write(run.id, run)

    def end_runs(self, runs: Sequence[Run]) -> None:
        for run in runs:
            self._runs.write(run.id, replace(run, slot=None))

    def revive_runs(self, runs: Sequence[Run]) -> None:
        self.save_runs(runs)

    def forget_runs(self, ids: Collection[str]) -> int:
        """Remove those that have ended and still are; says how many."""
        self._look_up(self._runs, ids)
        ended = self._ended(ids)
        for run in ended:
            self._runs.write(run.id, None)
            self._commit.write("DEL", f"log:{run.id}")
        return len(ended)

    def _found(self, answer: tuple[list[str], list[str | None]]) -> list[Run]:
        ids, rows = answer
        self._runs.learn(ids, rows)
        return self._runs.known(ids)

    def _learn_live(
        self, schedule_ids: Sequence[str], run_ids: Sequence[str], runs: Sequence[str | None], sizes: Sequence[int]
    ) -> None:
        self._runs.learn(run_ids, runs)
        start = 0
        for each, size in zip(schedule_ids, sizes, strict=True):
            self._live.setdefault(each, list(run_ids[start : start + size]))
            start += size

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

    def forget_keys(self, keys: Collection[str]) -> int:
        """Remove those that have expired and still are; says how many."""
        self._look_up(self._keys, keys)
        expired = [row.key for row in self._keys.rely(keys) if self._expired(row)]
        for key in expired:
            self._keys.write(key, None)
        return len(expired)

    def _expired(self, key: Key) -> bool:
        return key.expires_ms is not None and key.expires_ms <= self.now_ms

    # nodes

    def node(self, node_id: str) -> Node | None:
        self._look_up(self._nodes, [node_id])
        return next(iter(self._nodes.rely([node_id])), None)

    def nodes(self) -> list[Node]:
        if self._living is None:
            now_ms, ids, rows = self._server.read_script("living")
            self._note_time(now_ms)
            self._nodes.learn(ids, rows)
            self._living = ids
        return [node for node in self._nodes.known(self._living or []) if node.lives]

    def save_node(self, node: Node) -> None:
        self._nodes.write(node.id, node)

    def save_tasks(self, node_id: str, tasks: Sequence[TaskInfo]) -> None:
        self._commit.write("HSET", "tasks", node_id, mapping.tasks_text(list(tasks)))

    def forget_nodes(self, ids: Collection[str]) -> None:
        """Remove those that are gone and hold nothing."""
        self._look_up(self._nodes, ids)
        for node in self._nodes.rely(ids):
            if not node.lives and not self.owned_by(node.id):
                self._nodes.write(node.id, None)
                self._commit.write("HDEL", "tasks", node.id)

    # append only

    def add_log(self, lines: Sequence[LogLine]) -> None:
        for line in lines:
            self._commit.write("RPUSH", f"log:{line.run_id}", mapping.line_text(line))

    def add_decisions(self, decisions: Iterable[Decision]) -> None:
        for each in decisions:
            self._commit.write("RPUSH", f"decisions:{each.schedule_id}", mapping.decision_text(each))
            self._commit.write("RPUSH", "decided", each.schedule_id)

    def add_changes(self, changes: Iterable[Change]) -> None:
        for each in changes:
            self._commit.write("HSET", "change", each.id, mapping.change_text(each))
            self._commit.write("RPUSH", "changes", each.id)
            self._commit.write("RPUSH", f"changes:{each.schedule}", each.id)

    def add_revision(self, schedule: Schedule) -> None:
        self._commit.write("RPUSH", f"revisions:{schedule.id}", mapping.schedule_text(schedule))

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

    def let_go(self) -> None:
        """Others need not pass over any more what was held here."""
        held, self._held = self._held, []
        if held:
            with suppress(StoreError):  # it passes by itself
                self._server.ask("ZREM", "busy", *held)

    def _gather(self) -> None:
        stamp = b64encode(urandom(9)).decode()
        for table in (self._schedules, self._runs, self._keys, self._nodes):
            table.gather(self._commit, stamp)
        take_names(self._commit, self._schedules.changes())
        changes = self._runs.changes()
        take_slots(self._commit, changes)
        count_ended(self._commit, changes)
        note_queues(self._commit, changes)
        for schedule_id in self._relied_live:
            self._commit.expect_size(f"live:{schedule_id}", len(self._live[schedule_id]))
        for node_id, _, node in self._nodes.changes():
            if (node is None or not node.lives) and node_id in self._owned:
                # What it began since we looked would stay with it for ever.
                self._commit.expect_size(f"owned:{node_id}", len(self._owned[node_id]))

    def _look_up(self, table: Table[T], ids: Iterable[str]) -> None:
        unknown = table.unknown(ids)
        if not unknown:
            return
        if self._now_ms is None:
            now_ms, rows = self._server.read_script("rows", table.name, *unknown)
            self._note_time(now_ms)
        else:
            rows = self._server.ask("HMGET", table.name, *unknown)
        table.learn(unknown, rows)

    def _fewer(self, limit: int) -> int:
        """Half as much after every second clash."""
        return max(limit >> max(self._clashes - 1, 0), 1)
