"""The worker: takes runs, has each executed in its pool or on the event loop, and reports each outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Lock
from types import MappingProxyType
from typing import Any, TypeVar

from onthedot.clock import Clock, SystemClock
from onthedot.events import Emitter, Failure, RunFinished, RunStarted
from onthedot.execution.context import Context
from onthedot.execution.deadlines import Deadline, Deadlines, LastChance
from onthedot.execution.engines.away import Away
from onthedot.execution.engines.engine import Engine
from onthedot.execution.engines.outposts import Outposts
from onthedot.execution.event_loop import EventLoop
from onthedot.execution.execute import (
    execute,
    execute_async,
    execute_until,
    outcome_of,
    rolled_back,
    stuck,
    stuck_on_loop,
)
from onthedot.execution.facts import NOTHING, Facts, StoreFacts
from onthedot.execution.pools import Pools
from onthedot.execution.steps import Steps
from onthedot.execution.targets import Lookup, Target
from onthedot.execution.targets.process import Processes
from onthedot.execution.thread_pool import POOLS, Counts, Pool, Sizes, ThreadPool
from onthedot.model.log_line import LogLine
from onthedot.model.outcome import Outcome
from onthedot.model.remote import Sent
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.states import State
from onthedot.model.values import copied, replace
from onthedot.stores.base import Store

T = TypeVar("T")

HELD_UP_MS = 3000
"""An event loop that has not turned for so long is held up by one of its tasks, and its node is not healthy."""
NOTICED_MS = 1000
"""So long is worth a word."""
SOON_MS = 50
"""A brief task that has been entered for longer is not about to end: it may hang."""
QUEUED_MS = 1000
"""What has not been entered for so long waits for somebody who hangs."""
_LAST_CHILDREN_MS = 10_000
"""How long a closing worker waits for the processes of runs that it has stopped."""


@dataclass(frozen=True, slots=True)
class Outlet:
    """Has outcomes written by the thread whose run has ended, where no other would have to be woken for that."""

    is_wanted: Callable[[Outcome], bool] = lambda outcome: False
    """Whether something else may begin in the step that writes this one."""
    keep: Callable[[Outcome], None] = lambda outcome: None
    """Take an outcome without a word to anybody."""
    write: Callable[[], None] = lambda: None
    """Write what was kept."""


@dataclass(slots=True)
class Execution:
    """A run that this worker has taken: queued, or inside its task."""

    run: Run
    context: Context
    target: Target
    pool: Pool
    taken_ms: int = 0
    entered: bool = False
    entered_ms: int = 0
    given_up: bool = False
    """It is no longer this node's, or reported already: what comes of it is not reported."""
    is_kept: bool = False
    """Its own thread has its outcome written."""
    released: bool = False
    """Its place in the pool is free again: nothing of it runs here any more."""
    deadline: Deadline | None = None
    """What can interrupt it, in a thread."""
    future: asyncio.Task[None] | None = None
    chances: list[LastChance] = field(default_factory=list)
    """Until when it has to end, on the event loop."""


class Worker:
    """Takes runs as long as there is room in their pools. Thread-safe."""

    def __init__(
        self,
        lookup: Lookup,
        clock: Clock,
        emitter: Emitter,
        report: Callable[[Outcome], None],
        *,
        sizes: Sizes,
        on_line: Callable[[LogLine], None] = lambda line: None,
        store: Store | None = None,
        on_completed: Callable[[Run], None] = lambda run: None,
        on_begun: Callable[[Run, int, int], None] = lambda run, at_ms, late_ms: None,
        engines: Mapping[str, Engine] = MappingProxyType({}),
        may_enter: Callable[[], bool] = lambda: True,
        outlet: Outlet = Outlet(),
    ) -> None:
        self._lookup = lookup
        self._clock = clock
        self._emitter = emitter
        self._report = report
        self._outlet = outlet
        self._on_line = on_line
        self._store = store
        self._facts: Facts = NOTHING if store is None else StoreFacts(store)
        self._steps = None if store is None else Steps(store)
        self._on_completed = on_completed
        self._on_begun = on_begun
        """Told of a run, when its task is called and how late that is; takes no lock."""
        self._deadlines = Deadlines(clock, self._failed)
        self._may_enter = may_enter
        """Asked before each task is called: who was frozen may have lost its lease, and has not looked yet."""
        self.pools = Pools(lookup, clock, sizes)
        self._lock = Lock()
        self._serves: Callable[[Run], bool] = lambda run: True
        self._executions: dict[str, Execution] = {}
        self._begun: dict[str, int] = {}
        self._loop = EventLoop(partial(self._failed, "loop"))
        self._processes = Processes(clock)
        self._threads: dict[Pool, ThreadPool[Execution]] = {
            pool: ThreadPool(pool, sizes.of_pool(pool), self._work, partial(self._failed, "worker"))
            for pool in POOLS
            if pool not in ("loop", "remote")
        }
        self.engines = Outposts(engines, clock, self._note_sent, self._failed)
        self._commands: set[str] = set()
        """The runs that have processes of their own to end."""
        self._empty = Event()
        self._empty.set()

    # what is here

    def executing(self) -> dict[str, int]:
        """The runs that are here, with their claim numbers."""
        with self._lock:
            return {run_id: each.run.claim_no for run_id, each in self._executions.items()}

    def is_about_to_end(self, claim: tuple[str, int]) -> bool:
        """Whether a run is here that takes next to no time, as far as is known: one that hangs is none."""
        execution = self._executions.get(claim[0])
        if execution is None or execution.run.claim_no != claim[1] or not self.pools.is_brief(execution.run):
            return False
        here_ms = self._clock.now_ms() - max(execution.entered_ms, execution.taken_ms)
        return here_ms < (SOON_MS if execution.entered else QUEUED_MS)

    def running(self) -> list[tuple[str, int]]:
        """The schedule, or task, of each run that is inside it, and for how many milliseconds; the oldest first."""
        with self._lock:
            inside = [each for each in self._executions.values() if each.entered and not each.given_up]
        now_ms = self._clock.now_ms()
        inside.sort(key=lambda each: each.entered_ms)
        return [(each.run.schedule or each.run.task, max(now_ms - each.entered_ms, 0)) for each in inside]

    def counts(self) -> dict[Pool, Counts]:
        """How full each pool is."""
        with self._lock:
            here = [(each.pool, each.entered) for each in self._executions.values()]
        return {
            pool: Counts(
                self.pools.sizes.of_pool(pool),
                max(self.pools.free_in(pool), 0),
                here.count((pool, True)),
                here.count((pool, False)),
            )
            for pool in self.pools.sizes.pools
        }

    def begun(self) -> dict[str, int]:
        """Of each run the latest claim that was ever begun here."""
        with self._lock:
            return dict(self._begun)

    def forget_begun(self, ended: Collection[tuple[str, int]]) -> None:
        """Forget that these claims were begun; but those of what is here."""
        with self._lock:
            begun = self._begun.items()
            self._begun = {each[0]: each[1] for each in begun if each not in ended or each[0] in self._executions}

    def wait_empty(self, for_ms: int) -> bool:
        """Wait until nothing is left; says whether it is so."""
        return self._clock.wait(self._empty, for_ms)

    # life

    def use_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run `async def` tasks on this loop instead of one of our own."""
        self._loop.use(loop)

    def close(self) -> None:
        """End the threads that have nothing to do, the processes, and the event loop if it is ours."""
        self._deadlines.close()
        for pool in self._threads.values():
            pool.close()
        self.engines.close()
        self._processes.close()
        self._wait_for_commands()
        self._loop.close()

    def _wait_for_commands(self) -> None:
        """Runs that were stopped have processes to end, which would outlive this one."""
        clock, never = SystemClock(), Event()
        until_ms = clock.monotonic_ms() + _LAST_CHILDREN_MS
        while self._commands and clock.monotonic_ms() < until_ms:
            clock.wait(never, 20)

    # beginning

    def serve(self, owner: str | None) -> None:
        """From now on take only runs of this incarnation of the node; None: take nothing.

        An answer of the store may arrive when the incarnation that asked is no more.
        """
        with self._lock:
            self._serves = lambda run: owner is not None and run.owner == owner

    def begin(self, *runs: Run) -> None:
        """Start runs that this node owns. Beginning the same claim twice is beginning it once."""
        now_ms = self._clock.now_ms()
        taken = [execution for run in runs if (execution := self._take(run, now_ms)) is not None]
        waiting = [execution for execution in taken if execution.pool == "loop"]
        if waiting:  # all at once: waking the loop costs more than the tasks
            self._send(waiting, partial(self._loop.call, self._spawn, waiting))
        in_threads: dict[Pool, list[Execution]] = {}
        for execution in taken:
            if execution.pool == "remote":
                self._send([execution], partial(self._send_away, execution))
            elif execution.pool != "loop":
                in_threads.setdefault(execution.pool, []).append(execution)
        for pool, executions in in_threads.items():
            self._send(executions, partial(self._threads[pool].put, *executions))

    def _send(self, executions: list[Execution], send: Callable[[], None]) -> None:
        """Have them executed; where that cannot be, they are given back, and the others go on."""
        try:
            send()
        except RuntimeError as error:  # the system gives no more threads
            self._failed("worker", error)
            self._give_back(executions, f"this node could not execute it: {error}")
            for execution in executions:
                self._release(execution)

    def _take(self, run: Run, now_ms: int | None = None) -> Execution | None:
        if isinstance(run, UnreadableRun):
            self._report(Outcome(run.id, run.claim_no, "failed", error=run.error, final=True))
            return None
        target = self._lookup(run.task)
        if run.remote is not None and (target is None or target.engine != run.engine):
            return None  # it is at an engine that this node has no more: it stays there until somebody has it
        if target is None:
            self._report(Outcome(run.id, run.claim_no, "handed_back", reason=f"no task {run.task!r} on this node"))
            return None
        pool = self.pools.pool_for(run.task, target, run.policy.pool)
        if run.args:  # user code may change what it is given, and the schedule's next run is given the same
            run = replace(run, args=copied(run.args))
        context = Context(run, on_line=self._on_line, clock=self._clock, facts=self._facts)
        execution = Execution(run, context, target, pool, self._clock.now_ms() if now_ms is None else now_ms)
        with self._lock:
            if not self._serves(run) or self._has_begun(run):
                return None
            self._begun[run.id] = run.claim_no
            full = not self.pools.take(pool)
            if not full:
                self._executions[run.id] = execution
                if self._empty.is_set():
                    self._empty.clear()
        if full:
            self._report(Outcome(run.id, run.claim_no, "handed_back", reason=f"the {pool} pool of this node is full"))
            return None
        return execution

    def _has_begun(self, run: Run) -> bool:
        """What is at an engine may be watched again, where that was broken off."""
        if run.remote is not None and run.id not in self._executions:
            return self._begun.get(run.id, 0) > run.claim_no
        return self._begun.get(run.id, 0) >= run.claim_no

    # stopping

    def cancel(self, run_id: str, claim_no: int | None = None) -> None:
        """Ask a run to stop, if it is here under this claim; it still reports how it ended."""
        execution = self._executions.get(run_id)
        if execution is not None and claim_no in (None, execution.run.claim_no):
            self._try(self._stop, execution)

    def give_up(self, run_id: str, claim_no: int) -> None:
        """Stop a run that is no longer this node's under this claim; nothing of it is reported.

        One that completed itself goes on, and so does a later claim of the same run.
        """
        with self._lock:
            execution = self._executions.get(run_id)
            if execution is None or execution.run.claim_no != claim_no or execution.context.completed:
                return
            self._executions.pop(run_id)
            execution.given_up = True
        self._try(self._stop, execution)
        self._note_empty()

    def hand_back(self, *, entered: bool = False) -> None:
        """Give back what has not entered its task yet, or all; tasks that were entered are asked to stop.

        What an engine has goes on: it is another's to watch, whom the store finds.
        """
        with self._lock:
            here = [each for each in self._executions.values() if not each.given_up]  # the others have reported
            given_back = [each for each in here if (entered and each.pool != "remote") or not each.entered]
            for each in given_back:
                each.given_up = True
        self._give_back(given_back)
        for each in given_back:
            self._try(self._stop, each)

    def hand_back_stuck(self) -> None:
        """Give back what is more than a pool has places, where nobody has come free for a while: others may be idle.

        Not what goes to an engine, which may have been given it by now.
        """
        with self._lock:
            stuck = [each for pool in self._threads for each in self._stuck_in(pool)] + self._stuck_in("loop")
            for each in stuck:
                each.given_up = True
        self._give_back(stuck, "those before it on this node did not end")
        for each in stuck:
            self._try(self._stop, each)

    def _stuck_in(self, pool: Pool) -> list[Execution]:
        """The latest of those that wait for a place."""
        beyond = -self.pools.free_in(pool)
        if beyond <= 0 or self.pools.gave_back_within(pool, QUEUED_MS):
            return []
        until_ms = self._clock.now_ms() - QUEUED_MS
        here = [each for each in self._executions.values() if each.pool == pool and not each.given_up]
        return [each for each in here if not each.entered and each.taken_ms <= until_ms][-beyond:]

    def _give_back(self, executions: list[Execution], reason: str | None = None) -> None:
        for each in executions:
            each.given_up = True
            run = each.run
            self._try(self._report, Outcome(run.id, run.claim_no, "handed_back", reason=reason, entered=each.entered))
            self._forget(each)
        self._note_empty()

    @property
    def has_some_at_engines(self) -> bool:
        """Whether it watches anything there."""
        with self._lock:
            return any(each.pool == "remote" for each in self._executions.values())

    def let_go_of_engines(self) -> None:
        """Watch nothing there any more: it goes on."""
        with self._lock:
            here = [each.run for each in self._executions.values() if each.pool == "remote" and each.entered]
        for run in here:
            self.give_up(run.id, run.claim_no)

    def _stop(self, execution: Execution) -> None:
        if execution.pool == "remote":
            self._stop_elsewhere(execution)
            return
        execution.context.stop()
        if execution.deadline is not None:
            self._deadlines.interrupt(execution.deadline)
        if execution.pool == "loop":
            self._give_last_chance(execution, 0)
            self._loop.call(self._stop_on_loop, execution)

    # elsewhere

    def _send_away(self, execution: Execution) -> None:
        """Have its engine do it; where another node has given it to that, only watch it."""
        run, context, target = execution.run, execution.context, execution.target
        is_adopted = run.remote is not None
        execution.entered, execution.entered_ms = is_adopted, self._clock.now_ms()
        away = Away(
            context,
            make_call=lambda: target.elsewhere(context),
            enter=partial(self._is_still_ours if is_adopted else self._enter, execution),
            prepare=partial(self._begin_step, context),
            end=partial(self._end_elsewhere, execution),
        )
        self.engines.put(target.engine or "", away)

    def _is_still_ours(self, execution: Execution) -> bool:
        return not execution.given_up

    def _end_elsewhere(self, execution: Execution, outcome: Outcome) -> None:
        if not execution.given_up:
            self.engines.has_ended(execution.target.engine or "", execution.run)
        self._leave(execution, outcome)

    def _stop_elsewhere(self, execution: Execution) -> None:
        """Its engine is asked to stop it; not where it is no longer ours: it goes on for another node."""
        name = execution.target.engine or ""
        if execution.given_up:
            self.engines.drop(name, execution.run)
            self._release(execution)
            return
        execution.context.stop()
        self.engines.wake(name)

    def _note_sent(self, owner: str, sent: Sequence[Sent]) -> list[str]:
        return [each.run_id for each in sent] if self._store is None else self._store.note_sent(owner, sent)

    # in threads

    def _work(self, execution: Execution) -> None:
        try:
            if self._enter(execution):
                self._leave(execution, self._execute(execution), in_thread=True)
        except BaseException as error:
            self._break_off(execution, error)
        finally:
            self._commands.discard(execution.run.id)
            self._release(execution)
        if execution.is_kept:
            self._outlet.write()

    def _execute(self, execution: Execution) -> Outcome:
        target, context = execution.target, execution.context
        if context.cancelled:
            return outcome_of(context, asyncio.CancelledError())
        ended = self._begin_step(context)
        if ended is not None:
            return ended
        if target.stops_itself:
            self._commands.add(execution.run.id)
        in_a_process = execution.pool == "process"
        deadline = self._deadlines.watch(
            context,
            lambda place: self._abandon(execution, place),
            stops_itself=in_a_process or target.stops_itself,
        )
        if deadline is None:
            return self._processes.execute(target, context) if in_a_process else execute(target, context)
        execution.deadline = None if in_a_process or target.stops_itself else deadline
        try:
            if in_a_process:
                return self._processes.execute(target, context)
            return execute_until(target, context, deadline)
        finally:
            deadline.leave()
            self._deadlines.forget(deadline)

    def _begin_step(self, context: Context) -> Outcome | None:
        """Give a step its arguments; how it ends, if it is not to be called."""
        if not context.run.is_step or self._steps is None:
            return None
        try:
            return self._steps.begin(context)
        except BaseException as error:
            return outcome_of(context, error)

    def _abandon(self, execution: Execution, place: str) -> None:
        """Report a run whose task cannot be stopped; its thread counts as busy until it comes back."""
        with self._lock:
            if execution.given_up:
                return
            execution.given_up = True
        self._end(execution, stuck(execution.context, place))

    # on the event loop

    def _spawn(self, executions: list[Execution]) -> None:
        for execution in executions:
            if execution.context.cancelled:
                self._leave(execution, outcome_of(execution.context, asyncio.CancelledError()))
                self._release(execution)
                continue
            execution.future = self._loop.spawn(self._run_async(execution))

    async def _run_async(self, execution: Execution) -> None:
        try:
            if self._enter(execution):
                self._give_last_chance(execution, execution.run.policy.timeout_ms)
                ended = await self._begin_step_async(execution.context)
                self._leave(execution, ended or await execute_async(execution.target, execution.context))
        except BaseException as error:
            self._break_off(execution, error)
        finally:
            self._release(execution)
            for chance in execution.chances:
                self._deadlines.forget(chance)

    async def _begin_step_async(self, context: Context) -> Outcome | None:
        """The same, where nothing may hold up the loop: the store is read in a thread."""
        if not context.run.is_step or self._steps is None:
            return None
        if self._steps.is_at_hand(context.run):
            return self._begin_step(context)
        try:
            return await asyncio.to_thread(self._begin_step, context)
        except BaseException as error:  # it was cancelled
            return outcome_of(context, error)

    def _give_last_chance(self, execution: Execution, after_ms: int | None) -> None:
        """A task may swallow its cancellation, or hold up the loop, which then cancels nobody."""
        if after_ms is not None:
            chance = self._deadlines.give_last_chance(after_ms, partial(self._abandon_on_loop, execution))
            execution.chances.append(chance)

    def _abandon_on_loop(self, execution: Execution) -> None:
        """Report a run that does not end; its place is taken until it does."""
        with self._lock:
            if execution.given_up:
                return
            execution.given_up = True
        held_up = self._loop.held_up_ms(self._clock.monotonic_ms()) > HELD_UP_MS
        self._end(execution, stuck_on_loop(execution.context, self._loop.place if held_up else None))

    def problems(self, held_up_ms: int = HELD_UP_MS) -> list[str]:
        """What is wrong here, one sentence each. Asked now and then. A loop that is held up for less is not."""
        for_ms = self._loop.held_up_ms(self._clock.monotonic_ms())
        if for_ms < held_up_ms:
            return []
        return [f"the event loop has been held up for {for_ms // 1000} s{self._culprit()}, at {self._loop.place}"]

    def _culprit(self) -> str:
        """Of whom the loop makes a step; nothing where that is no task of ours."""
        step = self._loop.at_work
        with self._lock:
            found = next((each for each in self._executions.values() if step and each.future is step), None)
        return "" if found is None else f" by the task {found.run.task}, an async def that blocks"

    def _stop_on_loop(self, execution: Execution) -> None:
        """Cancel its task; one that has not made its first step never will, so it is ended here."""
        if execution.future is None or execution.released:
            return
        entered = execution.entered
        execution.future.cancel()
        if not entered:
            self._leave(execution, outcome_of(execution.context, asyncio.CancelledError()))
            self._release(execution)

    # everywhere

    def _enter(self, execution: Execution) -> bool:
        """Where it may not, it is left for whoever watches the lease, who gives it up."""
        may = self._may_enter()
        with self._lock:
            if execution.given_up or not may:
                return False
            execution.entered = True
        run = execution.run
        execution.entered_ms = self._clock.now_ms()
        late_ms = max(execution.entered_ms - run.due_ms, 0)
        self._on_begun(run, execution.entered_ms, late_ms)
        if self._emitter.is_heard(RunStarted):
            self._emitter.emit(RunStarted(run.id, run.task, run.schedule, run.attempt, late_ms))
        return True

    def _break_off(self, execution: Execution, error: BaseException) -> None:
        """Something of ours has failed in the midst of a run, which ends with that if nothing was reported of it."""
        self._failed("worker", error)
        self._leave(execution, outcome_of(execution.context, error))
        self._note_empty()

    def _leave(self, execution: Execution, outcome: Outcome, *, in_thread: bool = False) -> None:
        with self._lock:
            if execution.given_up:
                return
            execution.given_up = True  # reported here, so nobody else need
            is_alone = in_thread and len(self._executions) == 1 and not execution.context.completed
        execution.is_kept = is_alone and self._outlet.is_wanted(outcome)
        self._end(execution, outcome, release=True)

    def _end(self, execution: Execution, outcome: Outcome, *, release: bool = False) -> None:
        run = execution.run
        if execution.context.completed:
            outcome = self._committed(run) or rolled_back(execution.context, outcome)._replace(contested=True)
        if release:  # before it is told: who writes how it ended may start another in its place, in one step
            self._release(execution)
        if not execution.context.completed or outcome.ending != "succeeded":
            self._try(self._outlet.keep if execution.is_kept else self._report, outcome)
        self._forget(execution)  # not before: a renewal must find it here, or as an outcome on its way
        took_ms = max(self._clock.now_ms() - execution.entered_ms, 0) if execution.entered else 0
        self.pools.note(run.task, took_ms)
        if self._emitter.is_heard(RunFinished):
            self._emitter.emit(
                RunFinished(run.id, run.task, run.schedule, run.attempt, outcome.ending, took_ms, outcome.error)
            )
        self._note_empty()

    def _forget(self, execution: Execution) -> None:
        with self._lock:
            if self._executions.get(execution.run.id) is execution:
                self._executions.pop(execution.run.id)

    def _committed(self, run: Run) -> Outcome | None:
        """The outcome of a run that its task has ended itself, if that was committed.

        None also if the store does not say: it refuses any other outcome of a run that has ended.
        """
        held = self._try(self._held, run)
        if held is None or held.state is not State.SUCCEEDED or held.claim_no != run.claim_no:
            return None
        self._try(self._on_completed, held)
        return Outcome(run.id, run.claim_no, "succeeded", result=held.result)

    def _held(self, run: Run) -> Run | None:
        return None if self._store is None else next(iter(self._store.runs(ids=[run.id])), None)

    def _try(self, act: Callable[..., T], *args: Any) -> T | None:
        """Do it; what it raises is told, and must not stop what comes after it."""
        try:
            return act(*args)
        except Exception as error:
            self._failed("worker", error)
            return None

    def _failed(self, stage: str, error: BaseException) -> None:
        self._emitter.emit(Failure(stage, error))

    def _release(self, execution: Execution) -> None:
        """Give its place back, once however often it is asked for."""
        if execution.released:
            return
        with self._lock:
            if not execution.released:
                execution.released = True
                self.pools.give_back(execution.pool)

    def _note_empty(self) -> None:
        if self._executions:  # most of the time: then nobody else need wait for the lock
            return
        with self._lock:
            if not self._executions:
                self._empty.set()
