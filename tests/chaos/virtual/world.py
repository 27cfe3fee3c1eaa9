"""A virtual storm: a store, three real nodes, schedules of every kind, and what happens to them, judged at the end."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from tests.chaos.kinds import JOURNALLED, KINDS, declare, define_tasks, with_needed
from tests.chaos.virtual.node import NEVER, StormNode, Trouble

from onthedot import App, every
from onthedot.clock import ManualClock
from onthedot.errors import OnthedotError
from onthedot.model.ids import seeded
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.moments import from_ms
from onthedot.node.settings import NodeSettings
from onthedot.rules.backfill import Which
from onthedot.stores.memory import MemoryStore
from onthedot.testing.history import Broken, Entry, Verdict, verify
from onthedot.testing.history.broken import entry_line, run_line

START_MS = 1_800_000_000_000
NODES = 3
PACE = 5
"""How much slower than in real storms everything is: a second costs as much here, whatever happens in it."""
LASTS_MS = 70_000
CALM_MS = 16_000
LEASE_MS, BEAT_MS = 12_000, 4000
DRAIN_MS = (15_000, 3000, 15_000)
"""One hands back what takes long."""
_LAST_MS = 120_000
_MOST_STEPS = 3000
ALL_ENDS = "everything comes to an end"
NO_ERROR = "nothing fails but what was broken"
RESTS = "the world comes to rest"
GIVEN_UP = "nobody goes on with what was taken away"
UNHURT = "nobody is lost to whom nothing happened"
_HURTS = frozenset({"kill", "freeze", "cut", "outage", "slow"})
_GONE = frozenset({"node_died", "node_stopped"})
_ENDED = _GONE | {"failed", "succeeded", "lost"}


@dataclass(frozen=True, slots=True)
class Act:
    """Something that happens at a moment of a storm."""

    at_ms: int
    what: str
    values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Storm:
    """All that there is to know: the same storm goes the same way."""

    seed: int
    kinds: tuple[str, ...]
    acts: tuple[Act, ...]
    ahead: int = 0b111
    """By bit, which nodes decide ahead."""

    def __str__(self) -> str:
        acts = "".join(f"\n        Act({act.at_ms}, {act.what!r}, {act.values})," for act in self.acts)
        return f"Storm(\n    {self.seed},\n    {self.kinds},\n    ({acts}\n    ),\n    ahead={self.ahead:#05b},\n)"


@lru_cache(maxsize=64)
def _app(kinds: tuple[str, ...]) -> App:
    """Declared once for each choice: declaring costs more than a second of a storm."""
    app = App("memory://")
    define_tasks(app, None, PACE)
    declare(app, with_needed([kind for kind in KINDS if kind.name in kinds]), PACE)
    return app


class StormWorld:
    """Each `do_…` is something that can happen: at any time, and without effect where it makes no sense."""

    def __init__(self, storm: Storm) -> None:
        self.storm = storm
        self.clock = ManualClock(START_MS)
        self.store = MemoryStore(self.clock.now_ms)
        self.app = _app(storm.kinds)
        self.journal: list[Entry] = []
        self.nodes = [StormNode(n, self.clock, self.store, self.app, self.journal.append) for n in range(NODES)]
        self._starts: dict[int, tuple[int, frozenset[str]]] = {}
        """By node when it is started again, and which tasks it will not know."""
        self.names: list[str] = []
        self.left: list[Run] = []
        """What lived on when all was calm."""

    def play(self) -> Verdict:
        """From the beginning to the verdict."""
        random.seed(self.storm.seed)
        with seeded(self.storm.seed), self.app.standing_on(self.store, self.clock):
            try:
                self.names = sorted(self.app.sync().created)
                for number in range(NODES):
                    self._start(number)
                for act in self.storm.acts:
                    self.pass_until(START_MS + act.at_ms)
                    getattr(self, f"do_{act.what}")(*act.values)
                self.pass_until(START_MS + LASTS_MS)
                self._calm_down()
                return self._judge()
            except _NeverRests as error:
                verdict = Verdict()
                verdict.add([Broken(RESTS, str(error))])
                return verdict
            finally:
                for node in self.nodes:
                    node.kill()

    # time

    def pass_until(self, end_ms: int) -> None:
        """Let time pass, with all that happens in it."""
        self._settle()
        while (moment := self._next_ms()) <= end_ms:
            self.clock.advance(max(moment - self.clock.now_ms(), 0))
            self._settle()
        self.clock.advance(max(end_ms - self.clock.now_ms(), 0))

    def _next_ms(self) -> int:
        starts = [ms for ms, _ in self._starts.values()]
        return max(min([*starts, *(node.next_ms() for node in self.nodes), NEVER]), self.clock.now_ms() + 1)

    def _settle(self) -> None:
        """All that happens now; each moment begins with another node."""
        now_ms = self.clock.now_ms()
        for number, (ms, without) in list(self._starts.items()):
            if ms <= now_ms:
                del self._starts[number]
                self._start(number, without)
        first = (now_ms // 7 + self.storm.seed) % NODES
        nodes = self.nodes[first:] + self.nodes[:first]
        for _ in range(_MOST_STEPS):
            if not any(node.step() for node in nodes):
                return
        raise _NeverRests(f"at {self.clock.now_ms() - START_MS} ms something is done again and again")

    def _start(self, number: int, without: frozenset[str] = frozenset()) -> None:
        node = self.nodes[number]
        ahead = bool(self.storm.ahead >> number & 1)
        settings = NodeSettings(
            name=f"n{number}",
            capacity=20,
            lease_ms=LEASE_MS,
            heartbeat_ms=BEAT_MS,
            poll_ms=4000,
            sweep_ms=10_000,
            drain_ms=DRAIN_MS[number],
            plan_ahead=ahead,
        )
        if not node.is_up:
            node.start(settings, without)
        if not node.is_up:
            self._starts[number] = self.clock.now_ms() + 2000, without  # the store did not answer

    # to nodes

    def do_kill(self, node: int, when: int, away_ms: int) -> None:
        """SIGKILL: now, or in its next call, before or after the commit."""
        self._starts[node] = self.clock.now_ms() + away_ms, frozenset()
        if when == 0:
            self.nodes[node].kill()
        else:
            self.nodes[node].trouble.kill = "before" if when == 1 else "after"

    def do_freeze(self, node: int, when: int, for_ms: int) -> None:
        """SIGSTOP and SIGCONT."""
        if when == 0:
            self.nodes[node].freeze(for_ms)
        else:
            self.nodes[node].trouble.freeze = "before" if when == 1 else "after", for_ms

    def do_cut(self, node: int, after: int, for_ms: int) -> None:
        """Requests do not arrive, or their answers."""
        trouble = self.nodes[node].trouble
        trouble.cut_until_ms, trouble.cut = self.clock.now_ms() + for_ms, "after" if after else "before"

    def do_outage(self, for_ms: int) -> None:
        """The store is away for all: what comes due meanwhile is late."""
        for node in range(NODES):
            self.do_cut(node, 0, for_ms)

    def do_slow(self, node: int, by_ms: int, for_ms: int) -> None:
        """Each answer is late."""
        trouble = self.nodes[node].trouble
        trouble.slow_until_ms, trouble.slow_ms = self.clock.now_ms() + for_ms, by_ms

    def do_deaf(self, node: int, deaf: int) -> None:
        """Notifications are lost."""
        self.nodes[node].trouble.deaf = bool(deaf)

    def do_clock(self, node: int, skew_ms: int) -> None:
        """Its wall clock is set."""
        self.nodes[node].set_clock(skew_ms)

    def do_drain(self, node: int, away_ms: int, unknown: int) -> None:
        """A rolling restart: it leaves, and comes back as another version, which may not know a task."""
        without = frozenset({("give", "work", "take", "follow")[unknown % 4]}) if unknown else frozenset[str]()
        self.nodes[node].stop()
        self._starts[node] = self.clock.now_ms() + 16_000 + away_ms, without

    # by people

    def do_pause(self, which: int) -> None:
        self._ask(self.app.schedules.pause, which)

    def do_resume(self, which: int) -> None:
        self._ask(self.app.schedules.resume, which)

    def do_put(self, which: int, seconds: int) -> None:
        """Another trigger."""
        self._ask(lambda name: self.app.schedules.update(name, trigger=every(f"{seconds}s")), which)

    def do_overlap(self, which: int, rule: int) -> None:
        overlap = ("serial", "discard", "cover", "concurrent")[rule % 4]
        self._ask(lambda name: self.app.schedules.update(name, overlap=overlap), which)

    def do_delete(self, which: int) -> None:
        self._ask(self.app.schedules.delete, which)

    def do_sync(self) -> None:
        """What is declared and was deleted comes back."""
        self.app.sync()

    def do_reschedule(self, which: int, ahead_ms: int) -> None:
        moment = from_ms(self.store.now_ms() + ahead_ms)
        self._ask(lambda name: self.app.schedules.reschedule(name, moment), which)

    def do_skip(self, which: int, count: int) -> None:
        self._ask(lambda name: self.app.schedules.skip_next(name, count), which)

    def do_freeze_all(self, ahead_ms: int, for_ms: int) -> None:
        """A freeze of all schedules."""
        start_ms = self.store.now_ms() + ahead_ms
        with suppress(OnthedotError):
            self.app.freeze(f"f{start_ms}", from_ms(start_ms), from_ms(start_ms + for_ms))

    def do_trigger(self, which: int) -> None:
        self._ask(lambda name: self.app.schedules.trigger(name, token=f"{self.store.now_ms()}"), which)

    def do_enqueue(self, delay_ms: int, expires_ms: int) -> None:
        """Work without a schedule, that is worth it only for a while."""
        self.app.enqueue("work", delay=f"{delay_ms}ms", expires=f"{expires_ms}ms")

    def do_backfill(self, which: int, back_ms: int) -> None:
        now_ms = self.store.now_ms()
        start = from_ms(max(now_ms - back_ms, START_MS))
        whats: tuple[Which, ...] = ("failed", "missing", "all")
        which_ticks = whats[which % len(whats)]
        self._ask(
            lambda name: self.app.schedules.backfill(name, start, from_ms(now_ms), which=which_ticks, limit=2), which
        )

    def do_cancel(self, which: int) -> None:
        self._ask_run(which, lambda run: not run.is_final, lambda run: self.app.runs.cancel(run.id, now=run.is_flow))

    def do_retry(self, which: int) -> None:
        bad = (State.FAILED, State.LOST, State.CANCELLED, State.TIMED_OUT)
        self._ask_run(which, lambda run: run.state in bad, lambda run: self.app.runs.retry(run.id))

    def _ask(self, act: Callable[[str], object], which: int) -> None:
        with suppress(OnthedotError):
            act(self.names[which % len(self.names)])

    def _ask_run(self, which: int, chosen: Callable[[Run], bool], act: Callable[[Run], object]) -> None:
        runs = [run for run in self.store.runs(limit=60) if chosen(run)]
        if runs:
            with suppress(OnthedotError):
                act(runs[which % len(runs)])

    # the end

    def _calm_down(self) -> None:
        """All is well again for a while; then nothing new is planned, and what lives comes to its end."""
        for number, node in enumerate(self.nodes):
            node.trouble, node.frozen_until_ms = Trouble(), 0
            node.set_clock(0)
            self._starts.pop(number, None)
            self._start(number)
        if any(node.is_leaving for node in self.nodes):
            self.pass_until(self.clock.now_ms() + 20_000)
        for number in range(NODES):  # one that was draining has gone meanwhile
            self._start(number)
        self.app.sync()
        now_ms = self.store.now_ms()
        for freeze in (each for each in self.store.freezes() if each.end_ms > now_ms):
            with suppress(OnthedotError):
                self.app.freezes.thaw(freeze.name)
        for name in self.names:
            with suppress(OnthedotError):
                self.app.schedules.resume(name)
        self.pass_until(self.clock.now_ms() + CALM_MS)
        for name in self.names:
            with suppress(OnthedotError):
                self.app.schedules.pause(name)
        end_ms = self.clock.now_ms() + _LAST_MS
        while self.clock.now_ms() < end_ms and self._alive():
            self.pass_until(self.clock.now_ms() + 5000)
        self.left = self._alive()
        for node in self.nodes:
            node.stop()
        self.pass_until(self.clock.now_ms() + 20_000)

    def _alive(self) -> list[Run]:
        """What must still come to an end: not what waits for its schedule to be resumed."""
        live = [run for run in self.store.runs(limit=5000) if not run.is_final]
        return [run for run in live if run.waits_for is None or not run.waits_for.startswith("resume:")]

    def _judge(self) -> Verdict:
        verdict = verify(
            self.store,
            journal=self.journal,
            journalled=JOURNALLED,
            explained=4,
            slack_ms=0,
            is_over=True,
            clock=self.clock,
        )
        verdict.add(self._more())
        return verdict

    def _more(self) -> Iterator[Broken]:
        runs = self.store.runs(limit=5000)
        yield from self._gone_on_with(runs)
        if not any(act.what in _HURTS for act in self.storm.acts):
            for run in runs:
                if any(each.outcome in _GONE for each in run.earlier):
                    yield Broken(UNHURT, f"run {run.id} lost its node", run.schedule, (run_line(run),))
        for run in self.left[:3]:
            what = f"run {run.id} of {run.title} is {run.state}, waits for {run.waits_for}, and nobody ends it"
            yield Broken(ALL_ENDS, what, run.schedule)
        for node in self.nodes:
            for failure in node.unexpected[:1]:
                error = failure.error
                yield Broken(NO_ERROR, f"{failure.stage} of node {node.number}: {type(error).__name__}: {error}")

    def _gone_on_with(self, runs: list[Run]) -> Iterator[Broken]:
        """Virtual tasks stop when they are told to, and a process that wakes looks at its lease first."""
        ended = {(run.id, each.claim_no): each for run in runs for each in run.attempts if each.outcome in _ENDED}
        open_ = {(entry.run, entry.claim_no) for entry in self.journal}
        open_ -= {(entry.run, entry.claim_no) for entry in self.journal if entry.what == "end"}
        for entry in self.journal:
            attempt = ended.get((entry.run, entry.claim_no))
            if attempt is not None and (entry.at_ms or 0) > (attempt.ended_ms or 0):
                what = f"run {entry.run} {entry.what}s on a node after the store had its end: {attempt.outcome}"
                yield Broken(GIVEN_UP, what, entry.schedule, (entry_line(entry),))
        for run in runs:
            for each in run.earlier:
                by_node = each.outcome == "failed" and "its node died" not in (each.error or "")
                if by_node and (run.id, each.claim_no) in open_:
                    what = f"run {run.id} failed under claim {each.claim_no}, and its task did not end"
                    yield Broken(GIVEN_UP, what, run.schedule, (run_line(run),))


class _NeverRests(Exception):
    pass
