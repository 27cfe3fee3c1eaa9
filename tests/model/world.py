"""A store, three nodes, two schedules, and the steps that can happen to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import Any, TypeVar

from greenlet import getcurrent
from tests.model.node import ModelNode
from tests.model.tables import MakeStore
from tests.model.watch import Watch

from onthedot.errors import Conflict, RunNotFound, ScheduleNotFound
from onthedot.model.change import Author
from onthedot.model.freeze import Freeze
from onthedot.model.outcome import Ending
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.rules import edits
from onthedot.rules.edits import Definition
from onthedot.rules.effects import Before, Edit, Effects
from onthedot.stores.memory import MemoryStore
from onthedot.stores.retention import Retention
from onthedot.triggers.every import every

T = TypeVar("T")

START_MS = 1_800_000_000_000
BEAT_MS = 10_000
NAMES = ("A", "B")
BY = Author("model", "test", "edit")
TRIGGERS = (every("20s"), every("30s"), every("1m"))
ENDINGS: tuple[Ending, ...] = ("succeeded", "succeeded", "failed", "failed", "timed_out")

_QUICK = Policy(backoff_ms=2000, retries=2, max_waiting=2)
VARIANTS: tuple[tuple[Policy, Policy], ...] = (
    (_QUICK, replace(_QUICK, overlap="concurrent", max_concurrent_runs=2, misfire="catch_up", max_catch_up=5)),
    (_QUICK, replace(_QUICK, overlap="discard", delivery="at_most_once", retries=0, misfire="skip")),
    (replace(_QUICK, max_waiting=1, crash_retries=1), replace(_QUICK, jitter_ms=8000, misfire="skip", grace_ms=25_000)),
    (replace(_QUICK, misfire="catch_up"), replace(_QUICK, overlap="concurrent")),
    (replace(_QUICK, overlap="cover"), replace(_QUICK, route="round", overlap="cover", misfire="catch_up")),
    (replace(_QUICK, route="broadcast"), replace(_QUICK, route="hash", limit="group:1", overlap="concurrent")),
    (
        replace(_QUICK, limit="group:2", overlap="concurrent", misfire="catch_up", max_catch_up=4),
        replace(_QUICK, depends_on=("A",), within_ms=40_000, limit="group:2"),
    ),
)


ENQUEUED = (_QUICK, replace(_QUICK, priority=1), replace(_QUICK, limit="group:1"), replace(_QUICK, retries=0))
"""Of runs without a schedule: the first and the last are plain."""
INDEPENDENT = tuple(number for number, (_, second) in enumerate(VARIANTS) if not second.depends_on)
"""The variants in which every wait is ended by somebody: a success that does not come is found by the sweep alone."""


class WorldClock:
    """Time that passes only when the history says so."""

    def __init__(self) -> None:
        self.mono = 0

    def now_ms(self) -> int:
        return START_MS + self.mono

    def monotonic_ms(self) -> int:
        return self.mono

    def wait(self, event: Event, for_ms: int | None) -> bool:
        return event.is_set()


class World:
    """Each `do_…` is one step; all of them can happen at any time, and do nothing where they make no sense."""

    def __init__(
        self, variant: int, make_store: MakeStore = MemoryStore, *, ahead: int = 0b111, short: int = 0b111
    ) -> None:
        self.clock = WorldClock()
        self.offset = START_MS
        self.made = 0
        self.store = make_store(lambda: self.clock.mono + self.offset)
        self.watch = Watch(self.store, NAMES)
        self.nodes: list[ModelNode] = []
        self._watch_transactions()
        self._draw_ways(short)
        self.policies = VARIANTS[variant % len(VARIANTS)]
        self.nodes = [ModelNode(self, number, plans_ahead=bool(ahead >> number & 1)) for number in range(3)]
        self.step("put", 0, 0)
        self.step("put", 1, 1)
        for node in self.nodes:
            node.start()

    def _watch_transactions(self) -> None:
        """All promises are looked at after each commit; whoever is not the history itself then stops."""
        main = getcurrent()

        def watched(transact: Callable[[Any], T]) -> Callable[[Any], T]:
            def act(work: Any) -> T:
                answer = transact(work)
                self.watch.after(self.nodes)
                if getcurrent() is not main:
                    main.switch()
                return answer

            return act

        for name in ("_transact", "_at_once", "_in_transaction"):  # the last two are ways of SQL alone
            if hasattr(self.store, name):
                setattr(self.store, name, watched(getattr(self.store, name)))
        for name in ("finish", "finish_and_start", "take_over", "leave", "sweep"):
            setattr(self.store, name, self._told(name, getattr(self.store, name)))

    def _draw_ways(self, short: int) -> None:
        """Some nodes take the short way of what is plain, where the store has one."""
        has_one = self.store.has_short_way

        def takes_it(node_id: str) -> bool:
            numbers = (each.number for each in self.nodes if each.has_joined() and each.id == node_id)
            return has_one(node_id) and bool(short >> next(numbers, 0) & 1)

        self.store.has_short_way = takes_it  # type: ignore[method-assign]

    def _told(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            me = getcurrent()
            outcomes = args[1] if name.startswith("finish") else ()
            claims = frozenset((each.run_id, each.claim_no) for each in outcomes)
            before = self.watch.acting.get(me)
            self.watch.acting[me] = name, str(args[0]) if args else "", claims
            try:
                return method(*args, **named)
            finally:
                if before is None:
                    self.watch.acting.pop(me, None)
                else:
                    self.watch.acting[me] = before

        return call

    def step(self, name: str, *values: int) -> None:
        """One step, and all promises after it."""
        getattr(self, f"do_{name}")(*values)
        self.watch.after(self.nodes)

    def make_id(self) -> str:
        """Ids that are the same in each replay."""
        self.made += 1
        return f"r{self.made:06}"

    # time

    def do_pass(self, ms: int, beats: int) -> None:
        """Time passes; nodes that live and are not frozen renew meanwhile, or cannot reach the store."""
        while ms > 0:
            part = min(ms, BEAT_MS)
            self.clock.mono += part
            ms -= part
            for node in self.nodes:
                if beats:
                    node.finish_all("beat")
                node.watch_lease()
            self.watch.check_cut_off(self.nodes)

    def do_starve(self, node: int, ms: int) -> None:
        """Time passes; all renew but this one, which goes on, and whose answers do not arrive."""
        while ms > 0:
            part = min(ms, BEAT_MS)
            self.clock.mono += part
            ms -= part
            for each in self.nodes:
                if each.number != node:
                    each.finish_all("beat")
                each.watch_lease()
            self.watch.check_cut_off(self.nodes)

    def do_tick(self, late_ms: int) -> None:
        """Time passes until the next moment of a schedule, and a little more."""
        now_ms = self.store.now_ms()
        coming = [row.next_run_ms for row in self.store.schedules() if (row.next_run_ms or 0) > now_ms]
        if coming:
            self.do_pass(min(filter(None, coming)) - now_ms + late_ms, 1)

    def do_clock(self, ms: int) -> None:
        """The store's clock is set, forward or back."""
        self.offset += ms

    # nodes

    def do_plan(self, node: int) -> None:
        self.nodes[node].go("plan")

    def do_whole(self, node: int) -> None:
        """A pass of planning from its beginning to its end."""
        self.nodes[node].finish_all("plan")

    def do_work(self, node: int) -> None:
        """All that it has is done, and reported."""
        self.nodes[node].watch_lease()
        for _ in range(len(self.nodes[node].worker.assigned) if self.nodes[node].up() else 0):
            self.nodes[node].enter()
        for _ in range(len(self.nodes[node].worker.inside) if self.nodes[node].up() else 0):
            self.nodes[node].end("succeeded")
        self.nodes[node].finish_all("write")

    def do_beat(self, node: int) -> None:
        self.nodes[node].go("beat")

    def do_write(self, node: int) -> None:
        self.nodes[node].go("write")

    def do_sweep(self, node: int) -> None:
        self.nodes[node].go("sweep")

    def do_stop(self, node: int) -> None:
        self.nodes[node].go("stop")

    def do_go_on(self, node: int) -> None:
        self.nodes[node].go_on()

    def do_lose(self, node: int) -> None:
        self.nodes[node].lose()

    def do_look(self, node: int) -> None:
        self.nodes[node].look()

    def do_local(self, node: int, schedule: int) -> None:
        self.nodes[node].go(f"local:{NAMES[schedule]}")

    def do_wake(self, node: int) -> None:
        """A notification arrives."""
        runner = self.nodes[node].runner
        if runner is not None:
            runner.wake()

    def do_enter(self, node: int) -> None:
        self.nodes[node].watch_lease()
        self.nodes[node].enter()

    def do_end(self, node: int, ending: int) -> None:
        self.nodes[node].end(ENDINGS[ending])

    def do_hand_back(self, node: int) -> None:
        self.nodes[node].hand_back()

    def do_freeze(self, node: int) -> None:
        self.nodes[node].frozen = self.nodes[node].runner is not None

    def do_thaw(self, node: int) -> None:
        self.nodes[node].frozen = False

    def do_crash(self, node: int) -> None:
        self.nodes[node].die()

    def do_restart(self, node: int) -> None:
        if self.nodes[node].runner is None:
            self.nodes[node].start()

    def do_prune(self, keep_ms: int) -> None:
        self.store.prune(Retention(history_ms=keep_ms, per_schedule=3))

    # people

    def do_put(self, schedule: int, trigger: int) -> None:
        put = edits.put(Definition("job", TRIGGERS[trigger], policy=self.policies[schedule]))

        def with_name_as_id(before: Before, now_ms: int) -> Effects:
            effects = put(before, now_ms)
            if before.schedule is not None or effects.schedule is None:
                return effects
            return replace(effects, schedule=replace(effects.schedule, id=before.name))

        self._edit(schedule, with_name_as_id)

    def do_pause(self, schedule: int) -> None:
        self._edit(schedule, edits.pause(None))

    def do_resume(self, schedule: int) -> None:
        self._edit(schedule, edits.resume())

    def do_reschedule(self, schedule: int, ms: int) -> None:
        self._edit(schedule, edits.reschedule(self.store.now_ms() + ms))

    def do_window(self, schedule: int, ahead_ms: int, lasts_ms: int) -> None:
        """A freeze, carried out as far as it goes."""
        start_ms = self.store.now_ms() + ahead_ms
        self.store.put_freeze(Freeze(NAMES[schedule], start_ms, start_ms + lasts_ms, pattern=NAMES[schedule]), BY)
        self._carry_out()

    def do_open(self, schedule: int) -> None:
        """Its end."""
        if any(each.name == NAMES[schedule] and not each.thawed for each in self.store.freezes()):
            self.store.thaw(NAMES[schedule], BY)
            self._carry_out()

    def do_skip(self, schedule: int, count: int) -> None:
        self._edit(schedule, edits.skip_next(count))

    def _carry_out(self) -> None:
        while self.store.carry_out_freezes():
            pass

    def do_delete(self, schedule: int) -> None:
        self._edit(schedule, edits.delete())

    def do_trigger(self, schedule: int) -> None:
        rows = self.store.schedules(names=[NAMES[schedule]])
        for row in rows:
            self.store.enqueue([edits.manual_run(row, self.make_id(), None, None, self.store.now_ms())])

    def do_enqueue(self, policy: int, delay_ms: int) -> None:
        """A run of no schedule."""
        at_ms = self.store.now_ms() + delay_ms
        self.store.enqueue([Run(self.make_id(), "job", "enqueue", at_ms, at_ms, policy=ENQUEUED[policy])])

    def do_cancel(self, which: int) -> None:
        runs = self.store.runs()
        if runs:
            self.store.request_cancel(runs[which % len(runs)].id, "an operator", BY)

    def do_retry(self, which: int) -> None:
        runs = self.store.runs()
        if not runs:
            return
        run = runs[which % len(runs)]
        self.watch.retried = run.id
        try:
            self.store.retry(run.id, run.claim_no, BY)
            self.watch.retries[run.id] += 1
        except (Conflict, RunNotFound):
            pass
        self.watch.retried = None

    def _edit(self, schedule: int, edit: Edit) -> None:
        try:
            self.store.change([NAMES[schedule]], edit, BY)
        except (Conflict, ScheduleNotFound):
            return

    # the end

    def settle(self, *, swept: bool = True) -> None:
        """The clock is right again, everybody wakes and works on for a while; then nothing may be left undone.

        Where no answer was lost and nobody died, that must be so without a sweep.
        """
        self.step("clock", max(self.watch.latest_ms - self.store.now_ms(), 0))
        for number in range(len(NAMES)):
            self.step("open", number)
        for number in range(3):
            self.step("thaw", number)
            self.step("restart", number)
        for node in self.nodes:
            node.finish_what_began()
        for _ in range(40):
            self.step("pass", 4000, 1)
            if not swept:
                self.store.reroute()
            for number, node in enumerate(self.nodes):
                if node.runner is None:
                    self.step("restart", number)
                node.plan_no_more()
                for name in ("beat", "sweep", "plan") if swept else ("beat", "plan"):
                    self._finish(node, name)
                for _ in range(len(node.worker.assigned) if node.runner else 0):
                    self.step("enter", number)
                for _ in range(len(node.worker.inside) if node.runner else 0):
                    self.step("end", number, 0)
                self._finish(node, "write")
            if self.watch.at_rest:
                break
        self.watch.check_end()

    def _finish(self, node: ModelNode, name: str) -> None:
        if node.runner is not None and name == "plan":
            node.runner.wake()
        node.finish_all(name)
