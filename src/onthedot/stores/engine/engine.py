"""The methods of `Store`: each is a transaction, and what is to be done after its commit."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace as with_fields
from functools import cached_property
from typing import Any, TypeVar, cast

from onthedot.errors import Clash, NodeDead, RunNotFound, StoreUnavailable
from onthedot.model.change import Author
from onthedot.model.freeze import Freeze
from onthedot.model.graph import Graph
from onthedot.model.log_line import LogLine
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.remote import Sent
from onthedot.model.run import Run, for_slot
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.model.token import Session, Token
from onthedot.model.value import Value
from onthedot.model.values import replace
from onthedot.rules import backfill, edits
from onthedot.rules.ahead import Ahead
from onthedot.rules.effects import Decide, Edit, Effects
from onthedot.stores.answers import Finished, Planned, Renewal, Started
from onthedot.stores.base import Store
from onthedot.stores.engine import (
    access,
    alerting,
    changing,
    claiming,
    enqueuing,
    finishing,
    freezing,
    leases,
    operating,
    plainly,
    planning,
    rerouting,
    sending,
    starting,
    valuing,
    waking,
)
from onthedot.stores.engine.apart import in_parts, is_of_the_store
from onthedot.stores.engine.flow_watch import FlowWatch, flows_of
from onthedot.stores.engine.graphs import graph_of
from onthedot.stores.engine.lookout import Lookout, LookPass
from onthedot.stores.plain import PlainDone, PlainStep
from onthedot.stores.transaction import AheadTransaction, Claim, Transaction, TryAgain, once_more_if_cut_off
from onthedot.triggers.pinned import Content, Use, direct_pins, remember

T = TypeVar("T")

_TRIES = 50
_WAKE_AT_ONCE = 100
"""How many things that may be awaited are looked at in one transaction."""
_TAKER = Author("another node", "node", "take over")
"""Where nobody says who took over."""


class Engine(Store):
    """Implements every writing method of `Store` with transactions over `Transaction`."""

    @property
    def finishes_and_starts(self) -> bool:
        """Whether one transaction may record outcomes and start runs."""
        return True

    @abstractmethod
    def begin(self) -> AbstractContextManager[Transaction]:
        """A transaction: committed at the end of the block, rolled back if it is left by an exception."""

    @abstractmethod
    def notify(self) -> None:
        """Something may have become due: tell those who listen."""

    def _transact(self, work: Callable[[Transaction], T]) -> T:
        for _ in range(_TRIES):
            try:
                return once_more_if_cut_off(lambda: self._once(work))
            except TryAgain:
                continue
        raise Clash(f"a transaction clashed with others {_TRIES} times in a row; is one of them stuck?")

    def _once(self, work: Callable[[Transaction], T]) -> T:
        with self.begin() as tx:
            return work(tx)

    # schedules

    def change(self, names: Sequence[str], edit: Edit, by: Author) -> list[Effects]:
        changed = self._transact(lambda tx: changing.change(tx, names, edit, by))
        self._after_end([run for effects in changed for run in effects.ended])
        schedules = [effects.schedule for effects in changed if effects.schedule is not None]
        self._wake({for_slot(each.id) for each in schedules})  # more may be allowed to run at once than before
        self.notify()
        return changed

    # planning

    def plan_due(self, node_id: str, limit: int, free_workers: int, decide: Decide) -> Planned:
        def plan(tx: Transaction) -> tuple[Planned, int]:
            done = planning.plan_due(tx, node_id, limit, free_workers, decide)
            return done, finishing.send(tx, alerting.after_plans(tx, done.effects), self.tasks)

        planned, sent = self._transact(plan)
        if sent:
            self.notify()
        self._after_plan(node_id, planned.effects)
        return planned

    def plan_ahead(self, node_id: str, ahead: Sequence[Ahead], make_id: Callable[[], str]) -> Planned:
        if not self.plans_ahead:
            return super().plan_ahead(node_id, ahead, make_id)
        return self._transact(lambda tx: planning.plan_ahead(cast(AheadTransaction, tx), node_id, ahead, make_id))

    def plan_one(self, node_id: str, schedule_id: str, revision: int, decide: Decide) -> Effects | None:
        def plan(tx: Transaction) -> Effects | None:
            done = planning.plan_one(tx, node_id, schedule_id, revision, decide)
            finishing.send(tx, alerting.after_plans(tx, [] if done is None else [done]), self.tasks)
            return done

        effects = self._transact(plan)
        self._after_plan(node_id, [] if effects is None else [effects])
        return effects

    def _after_plan(self, node_id: str, all_effects: Sequence[Effects]) -> None:
        runs = [run for effects in all_effects for run in effects.runs]
        self._wake(waking.left_behind(runs))
        self._look(run.id for effects in all_effects for run in effects.stopping if run.is_flow)
        if any(run.target not in (None, node_id) for run in runs):
            self.notify()

    # running

    def enqueue(self, runs: Sequence[Run], connection: Any = None, by: Author | None = None) -> list[Run]:
        if connection is not None:
            return self.enqueue_in(connection, runs, by)
        stored = self._transact(lambda tx: enqueuing.enqueue(tx, runs, by))
        self.notify()
        return stored

    def enqueue_in(self, connection: Any, runs: Sequence[Run], by: Author | None = None) -> list[Run]:
        """Enqueue in the caller's own transaction, where the store can."""
        raise StoreUnavailable(f"{type(self).__name__} has no transactions to share; leave connection= out")

    def start_due(
        self,
        node_id: str,
        tasks: Sequence[str],
        limit: int,
        *,
        pools: Sequence[str] | None = None,
        known: Sequence[str] = (),
    ) -> Started:
        if limit <= 0:
            tasks, limit = [name for name in tasks if name.startswith("@")], 0  # a flow needs no worker
            if not tasks:
                return Started()
        claim = self._claim(node_id, tasks, pools, known)
        started = self._short_way.take(node_id, (), claim, limit).started
        return self._start_what_is_due(claim, limit) if started is None else started

    def _start_what_is_due(self, claim: Claim, limit: int) -> Started:
        try:
            started = self._start(claim, limit)
            self._short_way.note_begun(started.runs)
            return started
        except Exception as error:
            if is_of_the_store(error):
                raise
        return self._start_apart(claim, limit)

    def _claim(self, node_id: str, tasks: Sequence[str], pools: Sequence[str] | None, known: Sequence[str]) -> Claim:
        chosen = None if pools is None else tuple(pools)
        every = (*tasks, backfill.TASK)  # any node can
        return Claim(node_id, self._group_of(node_id), every, chosen, tuple(known or tasks))

    def _start(self, claim: Claim, limit: int, only: Collection[str] | None = None) -> Started:
        def work(tx: Transaction) -> starting.StartPass:
            return starting.start_due(tx, claim, limit, Lookout(tx, self._flows.facts), self.tasks, only)

        return self._after_start(self._transact(work))

    def _after_start(self, done: starting.StartPass) -> Started:
        self._after_look(done.looked)
        if done.unblocked:
            self.notify()
        self._wake(waking.left_behind(done.behind) | waking.freed_by(done.started.skipped))
        self._remove_ended(done.started.skipped)
        return done.started

    def _start_apart(self, claim: Claim, limit: int) -> Started:
        """A batch was refused: its culprit ends with the reason, the others start."""
        found, _ = self._transact(lambda tx: starting.candidates_for(tx, claim, limit))
        parts = in_parts(
            [run.id for run in found], lambda ids: self._start(claim, limit, frozenset(ids)), self._fail_to_start
        )
        return Started(
            tuple(run for part in parts for run in part.runs),
            tuple(run for part in parts for run in part.skipped),
            any(part.passed_over for part in parts),
        )

    def _fail_to_start(self, run_id: str, error: Exception) -> None:
        """Not where it only clashed with others: nobody knows whose fault that is. One that cannot be ended either is
        left as it is, and the others go on."""
        if isinstance(error, Clash):
            return

        def work(tx: Transaction) -> None:
            run = tx.live_runs([run_id]).get(run_id)
            if run is not None and run.state is State.WAITING:
                why = f"it could not be started: {type(error).__name__}: {error}"[:1000]
                failed = replace(run, state=State.FAILED, error=why, finished_ms=tx.now_ms, waits_for=None)
                finishing.end_waiting(tx, failed, self.tasks)

        try:
            self._transact(work)
        except Exception as second:
            if is_of_the_store(second):
                raise

    def _group_of(self, node_id: str) -> str | None:
        """Of an incarnation it never changes, so it is asked for once."""
        if node_id not in self._groups:
            node = self._transact(lambda tx: tx.node_shared(node_id))
            if node is None:
                raise NodeDead(node_id)
            self._groups[node_id] = node.group
        return self._groups[node_id]

    @cached_property
    def _groups(self) -> dict[str, str | None]:
        """By the ids of the nodes that were seen here: one process has few in its life."""
        return {}

    # what is plain

    @property
    def hands_places_on(self) -> bool:
        """Whether the short way knows of places of groups: who ends hands them on to who waits for them."""
        return False

    def has_short_way(self, node_id: str) -> bool:
        """Whether this store has a short way for what is plain, and this node takes it."""
        return False

    def held(self, run_id: str) -> Run | None:
        """A run as it was when it was started, if this process knows it; asks nobody."""
        return None

    def step_plainly(self, asked: PlainStep) -> PlainDone | None:
        """End and begin what is plain, in one step; None where it clashed with others, and nothing was done."""
        return self._transact(lambda tx: plainly.step(tx, asked))

    @cached_property
    def _short_way(self) -> plainly.ShortWay:
        return plainly.ShortWay(self)

    # ends

    def finish(self, node_id: str, outcomes: Sequence[Outcome]) -> Finished:
        plain = self._short_way.take(node_id, outcomes)
        if not plain.ended:
            return self._finish_in_parts(node_id, outcomes)
        return _joined([self._after_plain(plain.ended), self._finish_rest(node_id, plain.left)])

    def _finish_in_parts(self, node_id: str, outcomes: Sequence[Outcome]) -> Finished:
        def instead(outcome: Outcome, error: Exception) -> Finished:
            if isinstance(error, Clash):  # nobody's fault, or nobody knows whose: once more, later
                return Finished(again=(outcome.run_id,))
            why = f"its outcome could not be kept: {type(error).__name__}: {error}"[:1000]
            kept = Outcome(outcome.run_id, outcome.claim_no, "failed", error=why, final=True)
            try:
                return self._finish(node_id, [kept])
            except Exception as again:
                if is_of_the_store(again):
                    raise
                return Finished(refused=(outcome.run_id,))

        return _joined(in_parts(outcomes, lambda part: self._finish(node_id, part), instead))

    def _finish_rest(self, node_id: str, outcomes: Sequence[Outcome]) -> Finished:
        """Those that are left of a batch. The others stand, and must be told, even if the store is away by now."""
        try:
            return self._finish_in_parts(node_id, outcomes) if outcomes else Finished()
        except Exception as error:
            if not is_of_the_store(error):
                raise
            return Finished(again=tuple(each.run_id for each in outcomes))

    def _after_plain(self, ended: tuple[Run, ...], begun: Sequence[Run] = ()) -> Finished:
        return self._after_finish(finishing.FinishPass(Finished(ended), ended), begun)

    def finish_and_start(
        self,
        node_id: str,
        outcomes: Sequence[Outcome],
        tasks: Sequence[str],
        limit: int,
        *,
        pools: Sequence[str] | None = None,
        known: Sequence[str] = (),
    ) -> tuple[Finished, Started]:
        if not self.finishes_and_starts:
            return super().finish_and_start(node_id, outcomes, tasks, limit, pools=pools, known=known)
        claim = self._claim(node_id, tasks, pools, known)
        plain = self._short_way.take(node_id, outcomes, claim, limit)
        begun = () if plain.started is None else plain.started.runs
        first = self._after_plain(plain.ended, begun) if plain.ended else Finished()
        if plain.started is not None:
            return _joined([first, self._finish_rest(node_id, plain.left)]), plain.started
        if plain.ended and not plain.left:
            return first, self._start_what_is_due(claim, limit)
        finished, started = self._finish_and_start(claim, plain.left, limit)
        return _joined([first, finished]), started

    def _finish_and_start(self, claim: Claim, outcomes: Sequence[Outcome], limit: int) -> tuple[Finished, Started]:
        """In one transaction."""
        flow_ids = _flows_named(outcomes)

        def both(tx: Transaction) -> tuple[finishing.FinishPass, starting.StartPass, Sequence[Run]]:
            done, lookout = self._record(tx, claim.node_id, outcomes, flow_ids)
            first = waking.next_behind_limits(tx, done.ended, claim)
            return done, starting.start_due(tx, claim, limit, lookout, self.tasks, first=first), first

        try:
            finish, start, waited = self._transact(both)
        except Exception as error:
            if is_of_the_store(error):
                raise
            # Whoever it is, each alone; the next pass starts.
            return self._finish_in_parts(claim.node_id, outcomes), Started(passed_over=True)
        self._short_way.note_begun(start.started.runs, waited)
        return self._after_finish(finish, start.started.runs, flow_ids), self._after_start(start)

    def _finish(self, node_id: str, outcomes: Sequence[Outcome]) -> Finished:
        flow_ids = _flows_named(outcomes)

        def work(tx: Transaction) -> tuple[finishing.FinishPass, LookPass]:
            done, lookout = self._record(tx, node_id, outcomes, flow_ids)
            return done, lookout.write(self.tasks) if done.flows else LookPass()

        done, looked = self._transact(work)
        self._after_look(looked)
        return self._after_finish(done, flow_ids=flow_ids)

    def _record(
        self, tx: Transaction, node_id: str, outcomes: Sequence[Outcome], flow_ids: Collection[str]
    ) -> tuple[finishing.FinishPass, Lookout]:
        """Outcomes; and flows that nobody else has locked are told at once."""
        done = finishing.finish(tx, node_id, outcomes, self.tasks, flow_ids)
        lookout = Lookout(tx, self._flows.facts)
        ended: dict[str, list[Run]] = {}
        for run in done.ended if done.flows else ():
            if run.is_step and run.is_final and run.parent_id is not None:
                ended.setdefault(run.parent_id, []).append(run)
        for flow in done.flows:
            if flow.id in ended:
                lookout.tell(flow, ended[flow.id])
        return done, lookout

    def _after_finish(
        self, done: finishing.FinishPass, started: Sequence[Run] = (), flow_ids: Collection[str] = ()
    ) -> Finished:
        told = {flow.id for flow in done.flows}
        left = {*flow_ids} if done.finished.refused else set()  # it may have been ended by its task, and nobody looked
        self._look((flows_of(done.ended) | left) - told)
        woken = self._wake(waking.still_free(done.ended, started))
        if done.removable:
            self._transact(lambda tx: waking.remove_ended(tx, done.removable))
        return with_fields(done.finished, woken=woken + done.finished.followed)

    # flows

    def save_graphs(self, graphs: Sequence[Graph], connection: Any = None) -> None:
        if graphs:
            self._transact(lambda tx: tx.save_graphs(graphs))

    def graph(self, graph_hash: str) -> Graph | None:
        return self._transact(lambda tx: graph_of(tx, graph_hash))

    def known_flow(self, flow_id: str) -> tuple[Run, Graph] | None:
        return self._flows.facts.flow(flow_id)

    def look(self, flow_ids: Collection[str]) -> int:
        return self._flows.look(flow_ids)

    def tend_flows(self, limit: int = 1000) -> int:
        return self._flows.poll(limit)

    def hear_flows(self, told: Callable[[Sequence[Run]], None]) -> Callable[[], None]:
        self._hearing.append(told)
        return lambda: self._hearing.remove(told) if told in self._hearing else None

    @cached_property
    def _hearing(self) -> list[Callable[[Sequence[Run]], None]]:
        return []

    @cached_property
    def _flows(self) -> FlowWatch:
        return FlowWatch(self)

    def _look(self, flow_ids: Iterable[str]) -> None:
        """After a commit. What is not seen here, as this dies or the store goes away, every poll sees."""
        ids = set(flow_ids)
        if ids:
            self._flows.look(ids)

    def _after_look(self, done: LookPass) -> None:
        if done.ended or done.made or done.next:
            self.after_flows(done.ended, made=bool(done.made))
        self._look(done.next)

    def transact(self, work: Callable[[Transaction], T]) -> T:
        """Do it in a transaction, once more where that clashes."""
        return self._transact(work)

    def after_flows(self, ended: Sequence[Run], *, made: bool) -> None:
        """Flows have ended, or steps were made or asked to stop."""
        flows = [run for run in ended if run.is_flow]
        if flows and self._hearing:
            self._hearing[-1](flows)
        self._wake(waking.freed_by(ended))
        self._remove_ended(ended)
        if made:
            self.notify()

    def log(self, node_id: str, lines: Sequence[LogLine]) -> int:
        return sum(
            in_parts(
                lines, lambda part: self._transact(lambda tx: finishing.log(tx, node_id, part)), lambda line, error: 0
            )
        )

    def note_sent(self, node_id: str, sent: Sequence[Sent]) -> list[str]:
        return self._transact(lambda tx: sending.note_sent(tx, node_id, sent)) if sent else []

    def hand_over(self, node_id: str) -> list[Run]:
        return self._transact(lambda tx: leases.hand_over(tx, node_id))

    # operators

    def request_cancel(self, run_id: str, reason: str, by: Author, *, now: bool = False) -> Run:
        try:
            run = self._transact(lambda tx: operating.request_cancel(tx, run_id, reason, by, self.tasks, now=now))
        except RunNotFound:
            run = self._ended_step(run_id)
        self._after_end([run] if run.state is State.CANCELLED else [])
        if run.is_flow and not run.is_final:
            self._look([run.id])
        self.notify()
        return run

    def _ended_step(self, run_id: str) -> Run:
        """A step whose flow has not been told of its end."""
        found = [run for run in self.runs(ids=[run_id]) if run.is_step and run.is_final]
        if not found:
            raise RunNotFound(run_id)
        return found[0]

    def cancels(self, node_id: str) -> list[str]:
        return self._transact(
            lambda tx: [run.id for run in tx.owned_by(node_id) if run.cancel_requested_ms is not None]
        )

    def retry(self, run_id: str, claim_no: int, by: Author) -> Run:
        flow_id = self._transact(lambda tx: operating.flow_of(tx, run_id))
        if flow_id is None:
            flow_id = next((run.parent_id for run in self.runs(ids=[run_id]) if run.is_step and run.is_final), None)
        if flow_id is None:
            run = self._transact(lambda tx: operating.retry(tx, run_id, claim_no, by))
        else:
            self._look([flow_id])  # it must know of the end that is taken back
            run = self._transact(lambda tx: operating.retry_step(tx, flow_id, run_id, claim_no, by))
            if run.is_flow:
                self._look([flow_id])
        self.notify()
        return run

    def claim_key(self, key: str, value: str) -> str:
        return self._transact(lambda tx: claiming.claim_key(tx, key, value))

    def reroute(self, limit: int = 1000) -> int:
        rerouted = self._transact(lambda tx: rerouting.reroute(tx, limit))
        if rerouted:
            self.notify()
        return rerouted

    # nodes

    def join(self, node: Node, tasks: Sequence[TaskInfo]) -> Node:
        return self._transact(lambda tx: leases.join(tx, node, tasks))

    def renew(self, node: Node) -> Renewal:
        return self._transact(lambda tx: leases.renew(tx, node))

    def drain(self, node_id: str, by: Author | None = None) -> Node:
        node = self._transact(lambda tx: leases.drain(tx, node_id, by))
        self.notify()
        return node

    def forget_node(self, node_id: str, by: Author) -> Node:
        return self._transact(lambda tx: leases.forget(tx, node_id, by))

    def leave(self, node_id: str) -> None:
        try:
            given_back = self._transact(lambda tx: leases.leave(tx, node_id, self.tasks))
        except Exception as error:
            if is_of_the_store(error):
                raise
            self._transact(lambda tx: leases.mark_stopped(tx, node_id))
            given_back = self._give_back_apart(node_id, _TAKER)
        self._after_give_back(given_back)

    def take_over(self, node_id: str, seen_renewals: int, by: Author | None = None) -> list[Run]:
        taker = by or _TAKER
        try:
            given_back = self._transact(lambda tx: leases.take_over(tx, node_id, seen_renewals, self.tasks, taker))
        except Exception as error:
            if is_of_the_store(error):
                raise
            dead = self._transact(lambda tx: leases.mark_dead(tx, node_id, seen_renewals))
            given_back = self._give_back_apart(node_id, taker) if dead else []
        self._after_give_back(given_back)
        return given_back

    def _give_back_apart(self, node_id: str, by: Author) -> list[Run]:
        """The runs of a dead node, one by one where they are refused together; the culprit stays with it, and is told
        of by whoever looks at the node."""
        ids = [run.id for run in self._transact(lambda tx: tx.owned_by(node_id))]

        def some(part: Sequence[str]) -> list[Run]:
            return self._transact(lambda tx: leases.give_back_of_dead(tx, node_id, frozenset(part), self.tasks, by))

        parts = in_parts(ids, some, lambda run_id, error: None)
        return [run for part in parts for run in part]

    def _after_give_back(self, runs: Sequence[Run]) -> None:
        self._after_end([run for run in runs if run.state is not State.RUNNING])
        self.notify()

    # who may use the HTTP API

    def add_token(self, token: Token, by: Author) -> Token:
        return self._transact(lambda tx: access.add_token(tx, token, by))

    def remove_token(self, name: str, by: Author) -> Token:
        return self._transact(lambda tx: access.remove_token(tx, name, by))

    def add_session(self, session: Session) -> None:
        self._transact(lambda tx: access.add_session(tx, session))

    def remove_session(self, session_id: str) -> None:
        self._transact(lambda tx: tx.forget_session(session_id))

    # freezes

    def put_freeze(self, freeze: Freeze, by: Author) -> Freeze:
        return self._transact(lambda tx: freezing.put(tx, freeze, by))

    def thaw(self, name: str, by: Author) -> Freeze:
        return self._transact(lambda tx: freezing.thaw(tx, name, by))

    def carry_out_freezes(self, limit: int = freezing.AT_ONCE) -> bool:
        freezes = self.freezes()
        if not freezes:
            return False
        now_ms = self.now_ms()
        for old in (each for each in freezes if freezing.is_old(each, now_ms)):
            self._transact(lambda tx, name=old.name: tx.forget_freeze(name))  # type: ignore[misc]
        freeze = freezing.to_walk(freezes, now_ms)
        if freeze is None:
            return False
        page = self.schedules(after=freeze.through, limit=limit)
        names = freezing.differing(page, freezes, now_ms)
        if names:
            self.change(names, edits.refreeze(), Author(freeze.by, "node", "freeze"))
        self._transact(lambda tx: freezing.walked(tx, freeze, page, limit))
        return freezing.to_walk(self.freezes(), self.now_ms()) is not None

    # what triggers name

    def put_value(self, use: Use, content: Content, by: Author) -> Value:
        put = self._transact(lambda tx: valuing.put_value(tx, use, content, by))
        remember(put.pinned, put.content)
        self.notify()
        return put

    def remove_value(self, use: Use, by: Author) -> Value:
        def users() -> list[str]:
            named = [
                each.name
                for each in self.values()
                if use in (pinned.use for pinned in direct_pins(each.content.get("trigger")))
            ]
            return [*(f"trigger {name}" for name in named), *(each.name for each in self.users(str(use), limit=4))]

        return self._transact(lambda tx: valuing.remove_value(tx, use, users, by))

    def settle_value(self, value: Value) -> bool:
        return self._transact(lambda tx: valuing.settle_value(tx, value))

    # after an end

    def _after_end(self, runs: Sequence[Run]) -> None:
        self._look(flows_of(runs))
        self._wake(waking.freed_by(runs))
        self._remove_ended([run for run in runs if run.is_final])

    def _remove_ended(self, runs: Iterable[Run]) -> None:
        ids = {run.schedule_id for run in runs if run.schedule_id is not None}
        if ids:
            self._transact(lambda tx: waking.remove_ended(tx, ids))

    def _wake(self, freed: Collection[str]) -> int:
        """Whoever waits for these is judged again, in transactions of their own."""
        if not freed:
            return 0
        woken = self._wake_awaited(sorted(self.awaited_of(freed)))
        if woken:
            self.notify()
        return woken

    def awaited_of(self, whats: Collection[str]) -> set[str]:
        """Those of these that a run waits for: a question that needs no transaction, where a store can do without."""
        return self._transact(lambda tx: tx.are_awaited(whats))

    def _wake_awaited(self, whats: Sequence[str]) -> int:
        parts = [whats[first : first + _WAKE_AT_ONCE] for first in range(0, len(whats), _WAKE_AT_ONCE)]
        return sum(self._transact(lambda tx, part=part: waking.wake(tx, part)) for part in parts)  # type: ignore[misc]

    _swept: str = ""
    """How far the sweep has come: a crowd that cannot start must not hide the others behind it for ever."""

    def sweep(self, limit: int = 1000) -> int:
        whats = self._transact(lambda tx: tx.awaited(limit, self._swept))
        self._swept = whats[-1] if len(whats) >= limit else ""
        found = self._give_back_abandoned() + self._look_for_overdue(limit) + self.tend_flows(limit)
        woken = self._wake_awaited(whats) + found
        if woken:
            self.notify()
        return woken

    def _look_for_overdue(self, limit: int) -> int:
        """Each in a transaction of its own: one that cannot be looked at hides no other."""
        found = self._transact(lambda tx: tx.watched(limit))
        return sum(
            in_parts(
                found,
                lambda part: self._transact(
                    lambda tx: sum(finishing.send(tx, alerting.look(tx, each), self.tasks) for each in part)
                ),
                lambda schedule_id, error: 0,
            )
        )

    def _give_back_abandoned(self) -> int:
        """Runs of dead nodes whose takeover was cut short."""
        alive = {node.id for node in self.nodes()}
        owners = self._transact(lambda tx: tx.owners()) - alive
        found = [run for node_id in sorted(owners) for run in self._give_back_apart(node_id, _TAKER)]
        self._after_end([run for run in found if run.state is not State.RUNNING])
        return len(found)


def _joined(parts: Sequence[Finished]) -> Finished:
    return Finished(
        tuple(run for part in parts for run in part.recorded),
        tuple(run_id for part in parts for run_id in part.refused),
        sum(part.followed for part in parts),
        sum(part.woken for part in parts),
        tuple(run_id for part in parts for run_id in part.again),
    )


def _flows_named(outcomes: Sequence[Outcome]) -> set[str]:
    return {outcome.flow for outcome in outcomes if outcome.flow is not None}
