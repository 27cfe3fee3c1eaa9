"""What the tests act on: a store and its clock, with short words for what nodes and people do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from onthedot.errors import ScheduleNotFound
from onthedot.model.change import Author
from onthedot.model.decision import Decision
from onthedot.model.ids import new_id
from onthedot.model.key import Key
from onthedot.model.node import Node
from onthedot.model.outcome import Ending, Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.schedule import Json, Schedule
from onthedot.model.task_info import TaskInfo
from onthedot.rules.edits import Definition, manual_run, put
from onthedot.rules.effects import Edit, Effects
from onthedot.rules.plan import Decider
from onthedot.stores.answers import Planned, Renewal
from onthedot.stores.base import Store
from onthedot.stores.retention import Pruned, Retention
from onthedot.testing.clock import ManualClock
from onthedot.triggers.base import Trigger
from onthedot.triggers.every import every

START_MS = 1_800_000_000_000
"""A whole minute: 2027-01-15T08:00Z."""
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
LEASE_MS = 30_000
BY = Author("somebody", "conformance", "test")


class Promises:
    """The base of all topics: `scene` joins the two fixtures that a store's test file gives."""

    @pytest.fixture
    def scene(self, store: Store, clock: ManualClock) -> Scene:
        """The store and its clock, at START_MS."""
        return Scene(store, clock)


@dataclass(frozen=True, slots=True)
class Scene:
    """Every method is one call of the store, as a node or a person makes it."""

    store: Store
    clock: ManualClock

    @property
    def now_ms(self) -> int:
        """The store's time."""
        return self.clock.now_ms

    def wait(self, ms: int) -> None:
        """Let time pass."""
        self.clock.pass_by(ms)

    # people

    def put(self, name: str = "s", trigger: Trigger | None = None, **options: Any) -> Schedule:
        """Put a schedule, each minute if not told otherwise; options are fields of `Definition` or of `Policy`."""
        return schedule_of(self.edit(put(definition(trigger, **options)), name))

    def edit(self, edit: Edit, name: str = "s", by: Author = BY) -> Any:
        """Change one schedule, and what the edit answered."""
        return self.store.change([name], edit, by)[0].answer

    def overwrite(self, name: str = "s", **fields: Any) -> Schedule:
        """Write fields of a row as no edit would: what a newer version, or a broken one, left there."""
        row = replace(self.schedule(name), **fields)
        self.store.change([name], lambda before, now_ms: Effects(schedule=row), BY)
        return row

    def schedule(self, name: str = "s") -> Schedule:
        """The row as it is."""
        found = self.store.schedules(names=[name])
        if not found:
            raise ScheduleNotFound(name)
        return found[0]

    def exists(self, name: str = "s") -> bool:
        """Whether there is a schedule of that name, tombstones aside."""
        return bool(self.store.schedules(names=[name]))

    def trigger(self, run_id: str, name: str = "s", token: str | None = None, args: Json | None = None) -> Run:
        """A manual run of a schedule, now."""
        schedule = self.schedule(name)
        key = None if token is None else f"m:{schedule.id}:{token}"
        return self.store.enqueue([manual_run(schedule, run_id, key, args, self.now_ms)], by=BY)[0]

    # nodes

    def node(self, name: str = "n", tasks: Sequence[str] = ("job",), **fields: Any) -> str:
        """A node that has just joined."""
        node = Node(new_id(self.now_ms), name, tasks=tuple(tasks), **{"lease_ms": LEASE_MS, **fields})
        return self.store.join(node, [TaskInfo(task) for task in tasks]).id

    def renew(self, node_id: str, **fields: Any) -> Renewal:
        """The node's heartbeat."""
        known = next((node for node in self.store.nodes() if node.id == node_id), Node(node_id, "gone"))
        return self.store.renew(replace(known, **fields))

    def plan(self, node_id: str, *, free: int = 0, limit: int = 100) -> list[Run]:
        """One planning pass, and the runs that it made."""
        return [run for effects in self.planned(node_id, free=free, limit=limit).effects for run in effects.runs]

    def planned(self, node_id: str, *, free: int = 0, limit: int = 100) -> Planned:
        """One planning pass."""
        return self.store.plan_due(node_id, limit, free, self.decider())

    def plan_one(self, node_id: str, schedule: Schedule) -> Effects | None:
        """Plan one schedule as it was read, as the local mode does."""
        return self.store.plan_one(node_id, schedule.id, schedule.revision, self.decider())

    def decider(self) -> Decider:
        """What decides, with ids of this moment."""
        return Decider(lambda: new_id(self.now_ms))

    def start(self, node_id: str, limit: int = 100, tasks: Sequence[str] = ("job",)) -> list[Run]:
        """Start waiting runs."""
        return list(self.store.start_due(node_id, tasks, limit).runs)

    def running(self, node_id: str, **options: Any) -> Run:
        """A schedule's first run, which runs on this node already."""
        self.put(**options)
        self.wait(MINUTE)
        (run,) = self.plan(node_id, free=1)
        return run

    def end(self, run: Run, ending: Ending = "succeeded", **fields: Any) -> Run:
        """The owner reports, and must be heard."""
        finished = self.store.finish(run.owner or "", [Outcome(run.id, run.claim_no, ending, **fields)])
        assert finished.refused == ()
        (recorded,) = finished.recorded
        return recorded

    def is_refused(self, run: Run, ending: Ending = "succeeded", by: str | None = None) -> bool:
        """Whether a report under this run's owner and claim number is not heard."""
        before = self.run(run)
        finished = self.store.finish(by or run.owner or "", [Outcome(run.id, run.claim_no, ending)])
        return finished.refused == (run.id,) and finished.recorded == () and self.run(run) == before

    def kill(self, node_id: str) -> list[Run]:
        """Let a node's lease end, and take it over; others must renew by themselves."""
        self.wait(LEASE_MS)
        return self.store.take_over(node_id, 0)

    # what is kept

    def prune(self, **keep: int) -> Pruned:
        """Forget what is old; what is given are fields of `Retention`."""
        return self.store.prune(Retention(**keep))

    def prune_all(self, **keep: int) -> Pruned:
        """The same again and again, until nothing more is forgotten."""
        done = last = self.prune(**keep)
        while last.total:
            last = self.prune(**keep)
            done += last
        return done

    def ended_runs(self, count: int) -> list[Run]:
        """Runs of no schedule that have ended, oldest first."""
        node = self.node()
        for _ in range(count):
            self.waiting_run()
            self.wait(1)
        return [self.end(run) for run in self.start(node)]

    def decide(self, schedule: Schedule, count: int, first_ms: int = START_MS) -> None:
        """Record decisions about a schedule, a millisecond apart, as no edit would."""
        for _ in range(count):
            self.wait(1)
            now_ms = self.now_ms
            made = Decision(
                new_id(now_ms), schedule.id, schedule.name, schedule.revision, "misfire", first_ms, first_ms, 1, now_ms
            )
            self.store.change([schedule.name], lambda before, _, made=made: Effects(decisions=(made,)), BY)  # type: ignore[misc]

    def keep_key(self, schedule: Schedule, *keys: str, run_id: str = "backfilled") -> None:
        """Give keys to a run that never was."""
        self.store.change([schedule.name], lambda before, _: Effects(keys=tuple(Key(key, run_id) for key in keys)), BY)

    # runs

    def run(self, run: Run | str) -> Run:
        """The run as it is."""
        (found,) = self.store.runs(ids=[run if isinstance(run, str) else run.id])
        return found

    def runs(self, name: str = "s") -> list[Run]:
        """All runs of a schedule, by tick."""
        return sorted(self.store.runs(schedule=name, limit=10_000), key=lambda run: (run.scheduled_ms, run.id))

    def ticks(self, name: str = "s") -> list[int]:
        """The ticks of a schedule that became runs, as seconds since the start."""
        return [(run.scheduled_ms - START_MS) // SECOND for run in self.runs(name)]

    def decisions(self, name: str = "s") -> list[Decision]:
        """All decisions of a schedule, newest first."""
        return self.store.decisions(self.schedule(name).id)

    def ranges(self, name: str = "s") -> list[tuple[str, int, int, int | None]]:
        """The decisions of a schedule, oldest first: reason, first and last second since the start, count."""
        return [
            (each.reason, (each.first_ms - START_MS) // SECOND, (each.last_ms - START_MS) // SECOND, each.count)
            for each in reversed(self.decisions(name))
        ]

    def waiting_run(self, *, task: str = "job", delay_ms: int = 0, **fields: Any) -> Run:
        """A run of no schedule, enqueued."""
        (run,) = self.store.enqueue([self.new_run(task=task, delay_ms=delay_ms, **fields)])
        return run

    def new_run(self, *, task: str = "job", delay_ms: int = 0, **fields: Any) -> Run:
        """A run of no schedule, not enqueued yet."""
        at_ms = self.now_ms + delay_ms
        return Run(new_id(self.now_ms), task, "enqueue", at_ms, at_ms, **fields)


def definition(trigger: Trigger | None = None, **options: Any) -> Definition[Trigger]:
    """A definition; options that are no fields of it are fields of its policy."""
    policy = {name: options.pop(name) for name in list(options) if name in Policy.__dataclass_fields__}
    fields = {"task": "job", **options}
    return Definition(trigger=trigger or every("1m"), policy=Policy(**policy), **fields)


def schedule_of(answer: object) -> Schedule:
    """An edit's answer that is a schedule."""
    assert isinstance(answer, Schedule)
    return answer
