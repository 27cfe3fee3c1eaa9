"""The short way beside the general one, chosen row by row: see `rules.plain` and docs/decisions/0076-a-short-way.md

It only saves work. Whatever it does not do, for whatever reason, goes the general way right after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from onthedot.model.outcome import Outcome
from onthedot.model.run import Run, for_limit
from onthedot.model.states import State
from onthedot.rules import end, start
from onthedot.rules.plain import (
    begins_in_a_place_of,
    begins_plainly,
    ends_but_for_its_place,
    ends_plainly,
    is_followed,
)
from onthedot.rules.precedence import turn_of
from onthedot.stores.answers import Started
from onthedot.stores.engine.apart import is_of_the_store
from onthedot.stores.engine.limits import Limits, width_of
from onthedot.stores.plain import End, PlainDone, PlainStep
from onthedot.stores.transaction import Claim, Transaction


class PlainStore(Protocol):
    """What the short way asks of a store."""

    @property
    def hands_places_on(self) -> bool: ...

    def has_short_way(self, node_id: str) -> bool: ...

    def held(self, run_id: str) -> Run | None: ...

    def step_plainly(self, asked: PlainStep) -> PlainDone | None: ...


class Taken(NamedTuple):
    """What went the short way, and what is left for the general one."""

    ended: tuple[Run, ...]
    left: Sequence[Outcome]
    started: Started | None = None
    """None where nothing was asked to begin, or what is due is not plain."""


Begin = Callable[[Any, Claim, int], tuple[Run, ...] | None]
"""Begin the foremost due runs of a claim, at most so many; None where they are not all plain."""


class ShortWay:
    """Of one store, for any number of threads."""

    def __init__(self, store: PlainStore) -> None:
        self._store = store
        self._may_begin = True
        """What is due was plain when it was last looked at: where it was not, asking for it would be in vain."""

    def take(self, node_id: str, outcomes: Sequence[Outcome], claim: Claim | None = None, most: int = 0) -> Taken:
        """End what ends plainly; and begin what is due, where all that was to end has, and all that is due is plain.

        Only where both may be done places of groups are handed on: else the general way does that in one step.
        """
        nothing = Taken((), outcomes)
        if not self._store.has_short_way(node_id):
            return nothing
        ends = tuple(self._ends(outcomes))
        begins = claim if most > 0 and self._may_begin and len(ends) == len(outcomes) else None
        if begins is None or not self._store.hands_places_on:
            ends = tuple(each for each in ends if ends_plainly(*each))
            begins = begins if len(ends) == len(outcomes) else None
        if not ends and begins is None:
            return nothing
        done = self._step(PlainStep(node_id, ends, begins, most))
        if done is None:
            return nothing
        left = list(_left(outcomes, ends, {run.id for run in done.ended}))
        if begins is not None:
            self._may_begin = done.begun is not None
        if done.begun is None:
            return Taken(done.ended, left)
        return Taken(done.ended, left, Started(done.begun, passed_over=done.passed_over, now_ms=done.now_ms))

    def note_begun(self, runs: Sequence[Run], waited: Sequence[Run] = ()) -> None:
        """What the general way has begun, and which of it had waited for places that came free; where all of it was
        plain, the short one is worth another try."""
        handed = {run.id for run in waited if begins_in_a_place_of(run)}
        self._may_begin = all(run.id in handed or begins_plainly(run) for run in runs)

    def _ends(self, outcomes: Sequence[Outcome]) -> Iterator[End]:
        """Of each run the first that counts: another one is refused, the general way."""
        seen: set[str] = set()
        for outcome in outcomes:
            run = self._store.held(outcome.run_id)
            if run is None or run.claim_no != outcome.claim_no or run.id in seen:
                continue
            seen.add(run.id)
            if ends_plainly(run, outcome) or ends_but_for_its_place(run, outcome):
                yield End(run, outcome)

    def _step(self, asked: PlainStep) -> PlainDone | None:
        """What it refuses as a whole, the general way takes apart."""
        try:
            return self._store.step_plainly(asked)
        except Exception as error:
            if is_of_the_store(error):
                raise
            return None


def _left(outcomes: Sequence[Outcome], ends: Sequence[End], ended: Collection[str]) -> Iterator[Outcome]:
    """The others; and a repeat of one that has just been recorded, which is to be refused."""
    recorded = {run.id: outcome for run, outcome in ends if run.id in ended}
    for outcome in outcomes:
        if recorded.get(outcome.run_id) is outcome:
            del recorded[outcome.run_id]
        else:
            yield outcome


def step(tx: Transaction, asked: PlainStep, begin: Begin | None = None) -> PlainDone:
    """The whole of it in one transaction, by the rules: what the statements of databases do. `begin` is for a store
    that can do that part with less."""
    tx.prefetch(asked.node_id, [run.id for run, _ in asked.ends])
    node = tx.node_shared(asked.node_id)
    if node is None or not node.lives:
        return PlainDone(tx.now_ms)
    hands_on = not asked.limits or _may_hand_on(tx, asked)
    live = tx.live_runs([run.id for run, _ in asked.ends])
    summaries = tx.summaries({run.schedule_id for run, _ in asked.ends if run.schedule_id is not None})
    followed = {each for each, how in summaries.items() if is_followed(how.followers, auto_remove=how.auto_remove)}
    ended = [
        end.settle(live[run.id], None, outcome, tx.now_ms)
        for run, outcome in asked.ends
        if run.id in live and _still_ends_plainly(live[run.id], outcome, asked.node_id)
        if run.schedule_id not in followed and (hands_on or run.policy.limit is None)
    ]
    limits = Limits(tx)
    limits.release(ended)
    limits.save()
    tx.end_runs(ended)
    if asked.claim is None or not hands_on:
        return PlainDone(tx.now_ms, tuple(ended))
    begun = _begin(tx, asked.claim, asked.most, ended) if begin is None else begin(tx, asked.claim, asked.most)
    return PlainDone(tx.now_ms, tuple(ended), begun)


def _still_ends_plainly(run: Run, outcome: Outcome, node_id: str) -> bool:
    return end.may_record(run, node_id, outcome.claim_no) and run.cancel_requested_ms is None


def _may_hand_on(tx: Transaction, asked: PlainStep) -> bool:
    """Whether nobody is overtaken who is due, or waits for one of these places; nor a width that was changed."""
    assert asked.claim is not None, "places go on only to what is asked for"
    due = tx.due_runs(asked.claim, asked.most)
    if len(due) + asked.limits.total() > asked.most or not all(map(begins_plainly, due)):
        return False
    widths = tx.keys([width_of(group) for group, _ in asked.limits])
    return all(
        width_of(group) in widths
        and widths[width_of(group)].state == str(most)
        and all(_may_inherit(run, asked.claim, most) for run in tx.waiting_for(for_limit(group), places))
        for (group, most), places in asked.limits.items()
    )


def _may_inherit(run: Run, claim: Claim, most: int) -> bool:
    return begins_in_a_place_of(run) == most and claim.takes(run)


def _begin(tx: Transaction, claim: Claim, most: int, ended: Sequence[Run]) -> tuple[Run, ...] | None:
    due = tx.due_runs(claim, most)
    if not all(may_begin(run) for run in due):
        return None
    chosen = sorted([*due, *_heirs(tx, claim, ended)], key=turn_of)
    begun = tuple(start.started(run, claim.node_id, tx.now_ms) for run in chosen)
    tx.save_runs(begun)
    return begun


def may_begin(run: Run) -> bool:
    """Whether a run that was found due begins plainly."""
    return run.state is State.WAITING and begins_plainly(run)


def _heirs(tx: Transaction, claim: Claim, ended: Sequence[Run]) -> list[Run]:
    """Of those that wait for the places of these, the foremost: as many of each group as have ended, with a place."""
    limits = Limits(tx)
    left = Counter(run.policy.group_limit for run in ended if run.policy.group_limit is not None)
    waiting = [
        (run, most) for (group, most), places in left.items() for run in tx.waiting_for(for_limit(group), places)
    ]
    free = tx.live_runs_if_free({run.id for run, _ in waiting}) if waiting else {}
    heirs = [run for run, most in waiting if run.id in free and _may_inherit(run, claim, most) and limits.admits(run)]
    limits.save()
    return heirs
