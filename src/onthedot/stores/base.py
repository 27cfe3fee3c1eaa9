"""The law of every store: what each method promises when many nodes call it at once, and what a repeat does.

Three habits run through all of it.

*Lock, decide, write.* What happens to a schedule is decided by a pure function that gets the rows as they are under the
schedule's lock and returns `Effects`; the store writes all of them or none. A store that cannot lock reads, decides,
and writes only if no row's `version` has changed meanwhile; then it decides anew. So the function may be called more
than once for one call, and must not act.

*The store decides who wins.* Due and expired are judged by the store's own clock. Whoever acts as a node is checked to
be alive in the same transaction (`NodeDead`); whoever ends a run must hold its latest claim number.

*Answers may get lost.* Ids are made by the caller before the first try. A call that is repeated because its answer was
lost finds its own ids and changes nothing more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from onthedot.errors import StoreError
from onthedot.model.alert import AlertState
from onthedot.model.change import Author, Change
from onthedot.model.decision import Decision
from onthedot.model.finding import Finding
from onthedot.model.freeze import Freeze
from onthedot.model.graph import Graph
from onthedot.model.hour import Hour
from onthedot.model.log_line import LogLine
from onthedot.model.minute import Minute
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.remote import Sent
from onthedot.model.run import Run
from onthedot.model.schedule import Facet, Mode, Order, Schedule
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.model.token import Session, Token
from onthedot.model.value import Value
from onthedot.rules.ahead import Ahead
from onthedot.rules.effects import Decide, Edit, Effects
from onthedot.stores.answerable import answerable
from onthedot.stores.answers import OLD_MS, Finished, Planned, Renewal, RolledUp, Started, Ticks
from onthedot.stores.counts import COUNTED, Demand, Load, Needed, RunCounts, ScheduleCounts
from onthedot.stores.retention import Pruned, Retention
from onthedot.stores.run_filter import RunFilter
from onthedot.triggers.pinned import Content, Use


class Store(ABC):
    """One durable place that any number of processes share."""

    # time

    @abstractmethod
    def now_ms(self) -> int:
        """The store's time: the only one by which anything is due, late or expired."""

    # schedules

    @abstractmethod
    def change(self, names: Sequence[str], edit: Edit, by: Author) -> list[Effects]:
        """Lock the schedules of these names (and the names that do not exist yet), edit each, write all or nothing.

        Two changes of one name happen one after the other, each seeing what the other wrote. Every change of a row is
        kept with who, when and what (`changes`), and each revision as it was (`revisions`). A name may not be repeated.
        """

    @abstractmethod
    def schedules(
        self,
        *,
        names: Sequence[str] | None = None,
        tag: str | None = None,
        task: str | None = None,
        mode: Mode | None = None,
        state: Facet | None = None,
        search: str = "",
        order: Order = "name",
        after: str = "",
        limit: int = 100,
    ) -> list[Schedule]:
        """Schedules in order, tombstones left out; `after` is where the page before ended (`paging.place_of`).

        All that is given must hold; `search` is part of the name or of the task's, whatever the case of its letters
        from a to z. Every node asks for `mode="local"` once a second: it costs what there is of that. Who is
        undeclared, leaves out ticks or is frozen now is judged by the store's clock.
        """

    @abstractmethod
    def count_schedules(self, most: int = COUNTED, *, now_ms: int | None = None) -> ScheduleCounts:
        """How many there are of each state, up to so many of each. Who is undeclared, leaves out ticks or is frozen is
        judged at that moment of the store's time; None: now, which a server may have to be asked for.
        """

    @abstractmethod
    def needed(self) -> list[Needed]:
        """What active schedules need, each need once, in any order; for who judges all of them without reading all of
        them. Nobody is counted or named for it: see `demands`."""

    @abstractmethod
    def demands(self, tasks: Sequence[str]) -> list[Demand]:
        """What active schedules of these tasks need, each need once, and how many need it."""

    @abstractmethod
    def overdue(self, before_ms: int, limit: int = 100) -> list[Schedule]:
        """Plannable schedules whose next moment is before that one, oldest first."""

    @abstractmethod
    def count_overdue(self, before_ms: int, most: int = COUNTED) -> int:
        """How many of them there are, up to so many."""

    @abstractmethod
    def alert_states(self, schedule_ids: Sequence[str]) -> dict[str, AlertState]:
        """What has been told of these schedules, by id; those of which nothing was are left out."""

    @abstractmethod
    def revisions(self, schedule_id: str) -> list[Schedule]:
        """Every definition that the schedule ever had, oldest first."""

    @abstractmethod
    def changes(self, *, name: str | None = None, before: str | None = None, limit: int = 100) -> list[Change]:
        """The audit, newest first; `before` is the id of the last line of the page before. A line that is forgotten
        has none before it."""

    # planning

    @abstractmethod
    def upcoming(self, after_ms: int, until_ms: int) -> list[int]:
        """Hints for the ring: the moments in (after, until] at which plannable schedules or unblocked waiting runs are
        due, each once, ascending; before them the earliest of all that are due at or before `after`, if there is one.
        """

    @abstractmethod
    def plan_due(self, node_id: str, limit: int, free_workers: int, decide: Decide) -> Planned:
        """Lock due schedules that nobody else has locked, on-time ones before overdue ones, and write what is decided.

        A tick is decided once, ever: whoever commits first moves the watermark, and nobody else can decide at or before
        it. All or nothing. If the answer is lost, the runs are in the next `renew`. `NodeDead` if the node is.
        """

    plans_ahead: bool = False
    """Whether `coming` and `plan_ahead` do anything. They only save work: `plan_due` does all that they do."""

    def coming(self, after_ms: int, until_ms: int, known: Mapping[str, int]) -> list[Schedule]:
        """Plannable schedules whose next moment is in (after, until], but for those that are known by this version."""
        return []

    def plan_ahead(self, node_id: str, ahead: Sequence[Ahead], make_id: Callable[[], str]) -> Planned:
        """Write what was decided before its moment, where that holds now: the schedule is of the same version, nothing
        of it is live, and nobody else has it locked. The others are left to `plan_due`.

        Promises what `plan_due` does. `more`: some schedule is due all the same.
        """
        return Planned((), more=True)

    @abstractmethod
    def plan_one(self, node_id: str, schedule_id: str, revision: int, decide: Decide) -> Effects | None:
        """The same for one schedule, whatever its mode, if it is enabled and still of that revision; else None.

        For `local` schedules and the fallback: whoever comes second finds the watermark moved, and decides nothing.
        """

    # running

    @abstractmethod
    def enqueue(self, runs: Sequence[Run], connection: Any = None, by: Author | None = None) -> list[Run]:
        """Insert waiting runs; a run whose key (or id) is known already is answered with the one that has it.

        In the caller's own transaction where a connection is given: then they exist when that commits, or never were.
        Where it is said who asks for them, each new run leaves a line in the audit.
        """

    @abstractmethod
    def start_due(
        self,
        node_id: str,
        tasks: Sequence[str],
        limit: int,
        *,
        pools: Sequence[str] | None = None,
        known: Sequence[str] = (),
    ) -> Started:
        """Make due, unblocked waiting runs of these tasks this node's, up to the limit; skip those that must not run.

        Where `pools` are given, a run that names its pool is meant if that is one of them and its task is `known`.

        If more are due, those of least precedence (`model.rules.precedence`), of which nobody else has locked any.
        Judged under the schedule's lock: not paused, not deleted, a slot free. Two nodes never get the same run. A run
        behind a slot is marked blocked, unless the slot came free meanwhile. `NodeDead` if the node is.
        """

    @abstractmethod
    def finish(self, node_id: str, outcomes: Sequence[Outcome]) -> Finished:
        """Record how runs ended, or that they shall be tried again or were handed back; wake who waited behind them.

        Each stands or is refused by itself: one counts only if the run is running, owned by this node, under this claim
        number, and the node is alive. A repeat of what was recorded is refused and changes nothing.
        """

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
        """`finish`, then `start_due`: in one step where a store can. For a node whose runs wait for places."""
        finished = self.finish(node_id, outcomes)
        return finished, self.start_due(node_id, tasks, limit, pools=pools, known=known)

    def finish_in(self, connection: Any, node_id: str, outcome: Outcome) -> bool:
        """The same for one outcome, in the caller's own transaction: it counts when that commits, or never was.

        False, and nothing is written, if the claim is no longer the node's. The run's rows stay locked until the caller
        ends its transaction; who waits behind them is woken by `sweep`. Only where a store has transactions to share.
        """
        raise StoreError(f"{type(self).__name__} has no transactions to share; let the task return instead")

    # flows

    @abstractmethod
    def save_graphs(self, graphs: Sequence[Graph], connection: Any = None) -> None:
        """Keep graphs, and those that they refer to, before anything is written that refers to them: for at least a
        day, and as long as a schedule, a run or another graph does. A repeat changes nothing.

        A caller with a transaction of its own says so: where there is one writer at a time, they are written in it.
        """

    @abstractmethod
    def graph(self, graph_hash: str) -> Graph | None:
        """The graph with that hash, if it is kept."""

    def known_flow(self, flow_id: str) -> tuple[Run, Graph] | None:
        """A flow that this process has moved of late, as it was then, with its graph; asks nobody.

        What a flow was given and what it is part of never changes; the rest may have.
        """
        return None

    @abstractmethod
    def look(self, flow_ids: Collection[str]) -> int:
        """Tell flows which of their steps have ended, stop them where that was asked, and move them as far as they go.

        Repeatable, and for anybody: whoever ends a step does it after the commit. Says how many moved.
        """

    @abstractmethod
    def tend_flows(self, limit: int = 1000) -> int:
        """Look at flows whose steps have ended while nobody looked, that were asked to stop, or whose time is over; and
        end runs that have waited longer than they may. Cheap enough to ask once a second. Says how many moved."""

    @abstractmethod
    def hear_flows(self, told: Callable[[Sequence[Run]], None]) -> Callable[[], None]:
        """Have the flows told that end by what this process does, after the commit: each once, where it does not die
        before. Where several ask, the last one is told. What is returned ends that."""

    @abstractmethod
    def results(self, flow_id: str, step: str, first: int = 0, limit: int = 1000) -> list[tuple[int, State, Any]]:
        """How runs of a step have ended, and what they returned, in the order of items from `first` on.

        A step that is not mapped has one run, item 0. Those that have not ended are left out.
        """

    @abstractmethod
    def log(self, node_id: str, lines: Sequence[LogLine]) -> int:
        """Append to the logs of runs that the node still owns under those claim numbers; says how many lines stood.

        A line of the level `PROGRESS` is from then on also the run's own `progress`.
        """

    @abstractmethod
    def note_sent(self, node_id: str, sent: Sequence[Sent]) -> list[str]:
        """Say of runs that the node owns under those claim numbers that they are about to be given to an engine, or
        that it has taken them; the ids of those that stood. A run of which it was not said is at no engine.

        From then on such a run never waits again because its node is gone: `take_over`, `leave` and `hand_over` give it
        to another node that has the engine, with the next claim number and the same attempt, and count no crash. While
        there is none it stays with the node that is gone, and `sweep` looks again.
        """

    @abstractmethod
    def hand_over(self, node_id: str) -> list[Run]:
        """Give what the node has at engines to others that have them, while it lives; as they are now. The rest stays.

        Each leaves a line in the audit. The heir learns of it by its next renewal.
        """

    @abstractmethod
    def request_cancel(self, run_id: str, reason: str, by: Author, *, now: bool = False) -> Run:
        """A waiting run is cancelled at once; a running one is marked, for its owner to see. `RunNotFound`.

        Of a flow that runs the waiting steps end and the running ones are asked; only closing ones begin from then on,
        and with `now` not even those. A repeat asks for no more than the first. Kept in the audit, unless the run has
        ended and nothing changes.
        """

    @abstractmethod
    def cancels(self, node_id: str) -> list[str]:
        """The running runs of a node that were asked to stop: cheap enough to ask once a second."""

    @abstractmethod
    def retry(self, run_id: str, claim_no: int, by: Author) -> Run:
        """An ended run waits again, if it still has the claim number that the operator was shown; else `Conflict`.

        A flow goes on where it was: what ended well stays, all else is done again. A step is retried by itself while
        its flow runs and nothing rests on its end; else `Conflict`, and its flow can be. Kept in the audit.
        """

    @abstractmethod
    def claim_key(self, key: str, value: str) -> str:
        """The value that holds the key: this one, if nobody has claimed it before.

        Of any number who claim a key at once, with values of their own, one wins and all are answered with its value; a
        repeat changes nothing. It is held for as long as other keys (`KEYS_KEPT_MS`) from the first claim on,
        whatever becomes of whoever made it. A key has at most 400 characters, and meets no key of a run.
        """

    @abstractmethod
    def sweep(self, limit: int = 1000) -> int:
        """Let blocked runs that could start be judged again: what a lost wake-up left behind. Says how many.

        Looks at so many of the things that runs wait for, and at the next so many when it is called again: a crowd
        hides nothing for ever. Also gives back what a node holds that is dead, where its takeover was cut short, and
        does what `tend_flows` does.
        """

    @abstractmethod
    def reroute(self, limit: int = 1000) -> int:
        """Choose another node for due runs whose node is gone, drains, or did not start them in time. Says how many.

        A shard is its node's own part of a broadcast, and waits for it, however busy that is.
        A run that starts meanwhile is left alone: both happen under the run's lock, and only a waiting one moves.
        """

    # nodes

    @abstractmethod
    def join(self, node: Node, tasks: Sequence[TaskInfo]) -> Node:
        """Register an incarnation, and publish its tasks. Joining again with its id only publishes them, and
        the sizes of its pools, anew; one that was forgotten meanwhile is answered as a dead one."""

    @abstractmethod
    def renew(self, node: Node) -> Renewal:
        """Extend the lease by the store's clock, and answer with everything at once. `NodeDead` if the node is.

        State, capacity and labels are as the node now says.
        """

    @abstractmethod
    def leave(self, node_id: str) -> None:
        """The node ends its own incarnation. What it still holds is given back at once, and no crash is counted.

        Each run that is given back leaves a line in the audit.
        """

    @abstractmethod
    def drain(self, node_id: str, by: Author | None = None) -> Node:
        """Ask a node to take no more runs, and to stop when it has none. It learns of it at its next renewal, and
        stays so whatever it says of itself then. Asking twice is asking once; `NodeNotFound` if it is gone.

        Where it is said who asks, the first time leaves a line in the audit.
        """

    @abstractmethod
    def forget_node(self, node_id: str, by: Author) -> Node:
        """Forget a node that has stopped or died, with the tasks that it published, before `prune` would; the node as
        it was. `Conflict` if it lives, also while its lease is over and nobody has declared it dead, or if the store
        still holds runs of it; `NodeNotFound` if it is not known.

        Its runs, attempts and counts stay, and name it by its id. Kept in the audit.
        """

    @abstractmethod
    def nodes(self) -> list[Node]:
        """Those that are neither dead nor stopped."""

    @abstractmethod
    def gone_nodes(self, limit: int = 1000) -> list[Node]:
        """Those that have stopped or died, as far as they are kept; who was heard of last comes first."""

    @abstractmethod
    def take_over(self, node_id: str, seen_renewals: int, by: Author | None = None) -> list[Run]:
        """Declare a node dead and give its runs back, if its lease is over and it has not renewed since it was seen.

        First the node is marked dead, in the same transaction: from then on it cannot renew, plan, start or record.
        Its runs wait again (`crashes` + 1), or end: `lost` if at most once, `failed` after too many crashes; those that
        an engine has go on as another node's (`note_sent`). Each leaves a line in the audit: which node died, when it
        was last heard of, and who took over. Taking over twice is taking over once.
        """

    # history

    @answerable
    def runs(
        self,
        *,
        ids: Sequence[str] | None = None,
        schedule: str | None = None,
        task: str | None = None,
        node: str | None = None,
        parent: str | None = None,
        step: str | None = None,
        steps: bool = True,
        state: State | None = None,
        late: bool = False,
        since_ms: int | None = None,
        until_ms: int | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[Run]:
        """Runs, live and ended, newest first by id; `before` is the last id of the page before.

        All that is given must hold. `node` is the incarnation that has or had it last. `parent` is the broadcast that
        it is a shard of, the flow that it is a step of, or the run that it follows; `step` is the name of a step in a
        flow ("shard" in a broadcast), and without `steps` there are none. Late ones began more than `LATE_MS` after
        they were due. They were made at `since_ms` or later, and before `until_ms`.

        One whose row cannot be read is among them, as an `UnreadableRun`.
        """
        wanted = RunFilter(
            ids=None if ids is None else frozenset(ids),
            schedule=schedule,
            task=task,
            node=node,
            parent=parent,
            step=step,
            steps=steps,
            state=state,
            late=late,
            since_ms=since_ms,
            until_ms=until_ms,
            before=before,
            limit=limit,
        )
        return self.find_runs(wanted)

    @abstractmethod
    def find_runs(self, wanted: RunFilter) -> list[Run]:
        """What `runs` answers; nothing that is asked here is more than the store can keep."""

    @abstractmethod
    def count_runs(self, most: int = COUNTED) -> RunCounts:
        """How many `runs` would list of each, up to so many: without steps, and steps alone."""

    @abstractmethod
    def load(self) -> list[Load]:
        """What nodes run, by node, task and the pool that runs name."""

    @abstractmethod
    def ticks(self, schedule_ids: Sequence[str], *, first_ms: int = 0, last_ms: int = 1 << 62, each: int = 24) -> Ticks:
        """Of each of these schedules the newest runs whose scheduled moment is in [first, last], and the newest
        decisions whose range touches it: up to `each` of both. By indexes, in a round trip or two for fifty.
        """

    @abstractmethod
    def decisions(
        self, schedule_id: str, *, first_ms: int = 0, last_ms: int = 1 << 62, limit: int = 100
    ) -> list[Decision]:
        """Decisions whose range touches [first, last], newest first."""

    @abstractmethod
    def logs(self, run_id: str, *, after: int = 0, limit: int = 1000) -> list[LogLine]:
        """The lines of a run's log in order; `after` so many have been read."""

    @abstractmethod
    def tally(self, minutes: Sequence[Minute]) -> None:
        """Keep what nodes counted, in the place of what was said of the same minute and node. What is older than
        `MINUTES_KEPT_MS` is forgotten.
        """

    @abstractmethod
    def minutes(self, first_ms: int, last_ms: int) -> list[Minute]:
        """What was counted in the minutes that begin in [first, last], by minute and node."""

    @abstractmethod
    def roll_up(self, limit: int = 10_000) -> RolledUp:
        """Count up to so many ended runs into the hours in which they ended: those that ended after `rolled_through`,
        and `ROLL_UP_AFTER_MS` ago or earlier. Where more have ended at one moment, all of them.

        Any number of processes may do it at once: each end is counted once. One that can be seen only later than that
        is not counted, if others that ended after it are. One that is revived and ends again has ended twice.
        """

    @abstractmethod
    def rolled_through(self) -> int:
        """The moment up to which ends are counted; 0 before the first."""

    @abstractmethod
    def hours(self, of: str, step: str = "", *, first_ms: int = 0, last_ms: int = 1 << 62) -> list[Hour]:
        """What was counted of a schedule, a task or everything (`Hour.of`) in the hours that begin in [first, last], in
        order; of runs that are no steps, or of one step of a flow. An hour in which nothing ended is left out.
        """

    @abstractmethod
    def tasks(self) -> list[TaskInfo]:
        """What live nodes have published, by name."""

    @abstractmethod
    def prune(self, keep: Retention, limit: int = 5000, *, thorough: bool = False) -> Pruned:
        """Forget up to so many rows of what `keep` does not keep; says what, and whether more is left.

        Fair: each kind gets a share of the limit, and what one does not need is the others'. A kind that floods delays
        itself, not the others. By indexes and in short transactions, so that it may be called again and again beside
        everything else, by any number of processes. Of schedules with too many runs it looks for those that ran just
        now and some others, the next ones when it is called again; `thorough` looks at all of them.

        First, ends are counted (`roll_up`): a run that is not counted yet is not forgotten.

        Safe at any time: the watermark, not history, keeps ticks from coming back. What is no longer as it was found (a
        run that an operator has revived, an expired key that was taken anew) stays. What the database refuses to delete
        is passed over, the rest goes.
        """

    # who may use the HTTP API

    @abstractmethod
    def freezes(self) -> list[Freeze]:
        """All freezes by name: those to come, those that last, and for a while those that are over."""

    @abstractmethod
    def put_freeze(self, freeze: Freeze, by: Author) -> Freeze:
        """Keep a freeze, or another window under its name; kept in the audit. It is in no schedule yet: see
        `carry_out_freezes`. A schedule that is put from now on has it."""

    @abstractmethod
    def thaw(self, name: str, by: Author) -> Freeze:
        """End a freeze, or take back one to come; `FreezeNotFound`. Kept in the audit, and carried out likewise."""

    @abstractmethod
    def carry_out_freezes(self, limit: int = 500) -> bool:
        """Write what freezes say into the next so many schedules that do not have it yet; whether there are more.

        May be called by anybody, at any time and by many at once; where one stopped or died, the next goes on. Once it
        says False, every schedule that a freeze concerns has it, but for those whose put began before the freeze was
        kept and has not ended: a minute later a second walk looks for these.
        """

    @abstractmethod
    def tokens(self, name: str | None = None) -> list[Token]:
        """All tokens by name, or the one of that name; those that have expired too."""

    @abstractmethod
    def add_token(self, token: Token, by: Author) -> Token:
        """Keep a token, which is made at the store's time; `Conflict` if its name is taken. Kept in the audit."""

    @abstractmethod
    def remove_token(self, name: str, by: Author) -> Token:
        """Forget a token, and its sessions with it: when this returns neither is found. `TokenNotFound`.

        Kept in the audit.
        """

    @abstractmethod
    def session(self, session_id: str) -> Session | None:
        """The session of that id, also one that has expired."""

    @abstractmethod
    def add_session(self, session: Session) -> None:
        """Keep a session; those of the same token that have expired are forgotten."""

    @abstractmethod
    def remove_session(self, session_id: str) -> None:
        """Forget a session, if it is there."""

    # what triggers name: calendars, and triggers of a name

    @abstractmethod
    def values(self, use: Use | None = None, *, new: bool = False) -> list[Value]:
        """The last revision of each that is there, by kind and name, or of this one.

        `new`: only those of which schedules may still go by an earlier one. Every node asks for these every few
        seconds: it costs what there is of them.
        """

    @abstractmethod
    def values_at(self, ids: Collection[str]) -> list[Value]:
        """Those of these revisions (`model.value.value_id`) that are kept, in any order. No revision ever changes."""

    @abstractmethod
    def put_value(self, use: Use, content: Content, by: Author) -> Value:
        """Write the next revision, which is `new`; or answer with the last one, if it says the same.

        Two puts of one name happen one after the other. When this returns, no schedule can be put any more that goes by
        an earlier revision. Kept in the audit. Of each name the last 100 revisions are kept.
        """

    @abstractmethod
    def remove_value(self, use: Use, by: Author) -> Value:
        """Delete it: a sign stays, so that a later put goes on with the next number. `ValueNotFound`.

        `Conflict` while a schedule or a named trigger uses it; none can be put with it meanwhile. Kept in the audit.
        """

    @abstractmethod
    def settle_value(self, value: Value) -> bool:
        """No schedule goes by an earlier revision than this any more. False, and nothing, if it is not the last."""

    @abstractmethod
    def users(self, use: str, *, after: str = "", limit: int = 500) -> list[Schedule]:
        """The schedules whose trigger names it, as "calendar/de", by name; `after` is the last name of the page before.
        Costs what there is of schedules that name anything."""

    # life

    def examine(self, old_ms: int = OLD_MS) -> list[Finding]:
        """What only this store knows of its own health; transactions elsewhere count as old from `old_ms` on."""
        return []

    @abstractmethod
    def listen(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` when something may have become due or been asked for; a hint only. Returns what ends it."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections and threads; the next call opens them anew."""
