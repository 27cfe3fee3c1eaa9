"""Starts: none early, none beside too many others, none in a pause."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from onthedot.model.freeze import WALK_AGAIN_MS, Freeze
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.moments import iso
from onthedot.testing.history.broken import (
    Broken,
    Line,
    attempt_lines,
    change_line,
    decision_line,
    entry_line,
    in_order,
    run_line,
)
from onthedot.testing.history.history import History, Hold, holds_of, is_part

EARLY = "never early"
OVERLAP = "no overlap where the rule forbids it"
LIMIT = "limits are held"
PAUSE = "pause means pause"
FREEZE = "freezes are held"


def never_early(history: History) -> Iterator[Broken]:
    """By the store's clock: no run is made or begun, and no tick decided, before its moment. The journal agrees."""
    for run in history.runs:
        if run.cause == "tick" and run.created_ms < run.scheduled_ms:
            yield _early(history, f"run {run.id} was made {_before(run.scheduled_ms, run.created_ms)}", run_line(run))
        for attempt in run.attempts:
            latest = attempt.claim_no == run.claim_no and run.state is not State.WAITING
            moment = run.due_ms if latest else _first_due_ms(run)
            if attempt.started_ms < moment:
                what = f"run {run.id} began {_before(moment, attempt.started_ms)}"
                yield _early(history, what, run_line(run), *attempt_lines(run, attempt))
        yield from _early_in_journal(history, run)
    for each in history.decisions:
        if each.decided_ms < each.last_ms:
            what = f"{iso(each.last_ms)} was decided {_before(each.last_ms, each.decided_ms)}"
            yield _early(history, what, decision_line(each))


def _early_in_journal(history: History, run: Run) -> Iterator[Broken]:
    for attempt in run.attempts:
        for entry in history.entries.get((run.id, attempt.claim_no), ()):
            if entry.at_ms is None or entry.what != "begin":
                continue
            moment = max(_first_due_ms(run), attempt.started_ms) - history.slack_ms
            if entry.at_ms < moment:
                what = f"run {run.id} was entered {_before(moment, entry.at_ms)}"
                yield _early(history, what, run_line(run), entry_line(entry), *attempt_lines(run, attempt))


def _first_due_ms(run: Run) -> int:
    """What no attempt may come before, whatever it was due at later."""
    return run.scheduled_ms if run.cause == "tick" else 0


def _before(moment_ms: int, at_ms: int) -> str:
    return f"{moment_ms - at_ms:,} ms before its moment {iso(moment_ms)}"


def _early(history: History, what: str, *lines: Line) -> Broken:
    return Broken(EARLY, what, history.name, in_order(lines))


# how many at once


def no_overlap(history: History) -> Iterator[Broken]:
    """No run of a schedule begins beside as many as its policy then in force allows; by the store, and by the journal.

    By the journal a task is under way while its claim is the latest: a process that was frozen may still be inside user
    code when it wakes, and nobody can keep it from that.
    """
    if all(most_at_once(each.policy) is None for each in history.definitions):
        return
    for holds in (begun_at_the_latest(history, history.holds), executed(history)):
        for beside in _crowds(holds, history.slack_ms):
            policies = history.policies_at(_dated_ms(beside[-1]))
            slots = [most_at_once(policy) for policy in policies]
            if slots and None not in slots and len(beside) > max(each for each in slots if each is not None):
                yield _crowd(history, beside, max(each for each in slots if each is not None))
                return  # one is enough to show it: what follows mostly follows from it


def most_at_once(policy: Policy) -> int | None:
    """How many runs of a schedule may be under way; None for any number."""
    return 1 if policy.overlap in ("serial", "discard", "cover") else policy.max_concurrent_runs


def _crowd(history: History, beside: list[Hold], most: int) -> Broken:
    shown = beside[-most - 1 :]
    lines = [line for hold in shown for line in _hold_lines(history, hold)]
    what = f"{len(beside)} runs were under way at {iso(beside[-1].first_ms)}, and {most} may be"
    return Broken(OVERLAP, what, history.name, in_order(lines))


def _hold_lines(history: History, hold: Hold) -> list[Line]:
    if hold.attempt is None:
        return [run_line(hold.run)]
    entries = history.entries.get((hold.run.id, hold.attempt.claim_no), ())
    return [*attempt_lines(hold.run, hold.attempt), *map(entry_line, entries)]


def begun_at_the_latest(history: History, holds: Iterable[Hold]) -> list[Hold]:
    """A beginning is dated by that of its transaction, which a server that stood still carries out after others that
    it dates later. Where the journal knows when the task was entered, it was no later than that."""
    return sorted((_at_the_latest(history, hold) for hold in holds), key=_in_turn)


def _at_the_latest(history: History, hold: Hold) -> Hold:
    latest_ms = min(hold.first_ms + history.transaction_ms, hold.end_ms)
    claim_no = hold.run.claim_no if hold.attempt is None else hold.attempt.claim_no
    entries = history.entries.get((hold.run.id, claim_no), ())
    entered = [each.at_ms for each in entries if each.what == "begin" and each.at_ms is not None]
    return hold._replace(first_ms=max(min([latest_ms, *entered]), hold.first_ms))


def _dated_ms(hold: Hold) -> int:
    """When it began, as the store has it."""
    return hold.first_ms if hold.attempt is None else hold.attempt.started_ms


def _in_turn(hold: Hold) -> tuple[int, int, str]:
    return hold.first_ms, hold.end_ms, hold.run.id


def executed(history: History) -> list[Hold]:
    """When tasks were under way by the journal, each as long as its claim was the latest by the store."""
    found = []
    for hold in history.holds:
        if hold.attempt is None:
            continue
        entries = history.entries.get((hold.run.id, hold.attempt.claim_no), ())
        begun = [each.at_ms for each in entries if each.what == "begin" and each.at_ms is not None]
        ended = [each.at_ms for each in entries if each.what == "end" and each.at_ms is not None]
        if begun:
            found.append(hold._replace(first_ms=min(begun), end_ms=min([hold.end_ms, *ended])))
    return sorted(found, key=_in_turn)


def _crowds(holds: Iterable[Hold], slack_ms: int) -> Iterator[list[Hold]]:
    """For each that begins: those that are under way then, itself last. What ended just then is not."""
    under_way: list[tuple[int, int, Hold]] = []
    for number, hold in enumerate(holds):
        while under_way and under_way[0][0] <= hold.first_ms:
            heappop(under_way)
        yield [*(each for _, _, each in sorted(under_way, key=lambda each: each[1])), hold]
        heappush(under_way, (max(hold.end_ms - slack_ms, hold.first_ms), number, hold))


def limits_held(history: History) -> Iterator[Broken]:
    """No run begins beside as many of its group as its own limit allows, whatever schedules they are of."""
    groups: dict[str, list[Hold]] = defaultdict(list)
    for run in (*history.carried, *history.runs):
        if run.policy.group_limit is not None and not is_part(run):
            groups[run.policy.group_limit[0]] += holds_of(run, history.now_ms)
    for group, holds in sorted(groups.items()):
        for beside in _crowds(begun_at_the_latest(history, holds), history.slack_ms):
            _, most = beside[-1].run.policy.group_limit or ("", len(beside))
            if len(beside) > most:
                lines = [line for hold in beside[-most - 1 :] for line in _hold_lines(history, hold)]
                what = f"{len(beside)} runs of {group} were under way at {iso(beside[-1].first_ms)}, and {most} may be"
                yield Broken(LIMIT, what, history.name, in_order(lines))
                break


# pauses


def pause_held(history: History) -> Iterator[Broken]:
    """No tick run begins in a pause, unless an operator asked for it; steps of a flow that has begun go on."""
    for span, changes in history.pauses:
        for run in history.runs:
            if run.cause != "tick" or run.exempt or run.is_step:
                continue
            for hold in holds_of(run, history.now_ms):
                if span.first_ms + history.slack_ms < hold.first_ms < span.end_ms:
                    lines = (*_hold_lines(history, hold), *map(change_line, changes))
                    what = f"run {run.id} began at {iso(hold.first_ms)}, in a pause"
                    yield Broken(PAUSE, what, history.name, in_order(lines))


def freeze_held(history: History) -> Iterator[Broken]:
    """No tick run begins in a freeze, nor is made of a tick in it, once that was written into the schedules. One that
    was changed or ended since is not judged: when it was what is not kept."""
    for freeze in history.freezes:
        concerned = all(freeze.concerns(each.name, each.tags) for each in history.definitions)
        if freeze.revision > 1 or not freeze.walks or not history.definitions or not concerned:
            continue
        known_ms = _known_ms(history, freeze)
        first_ms = max(freeze.start_ms, known_ms) + history.slack_ms
        for run in history.runs:
            if run.cause != "tick" or run.exempt or is_part(run):
                continue
            inside = freeze.window.covers(run.scheduled_ms) or freeze.window.covers(run.created_ms)
            if inside and run.created_ms > known_ms + history.transaction_ms:
                what = f"run {run.id} was made in, or of a tick in, freeze {freeze.name}"
                yield Broken(FREEZE, what, history.name, in_order((_freeze_line(freeze), run_line(run))))
            for hold in holds_of(run, history.now_ms):
                if first_ms <= hold.first_ms < freeze.end_ms:
                    what = f"run {run.id} began at {iso(hold.first_ms)}, in freeze {freeze.name}"
                    yield Broken(
                        FREEZE, what, history.name, in_order((_freeze_line(freeze), *_hold_lines(history, hold)))
                    )


def _known_ms(history: History, freeze: Freeze) -> int:
    """When the schedule had it for certain: after the first walk, or where it was put meanwhile, after the second."""
    was_put = any(each.updated_ms > freeze.created_ms - history.transaction_ms for each in history.definitions)
    return freeze.walked_ms if freeze.walks < 2 or was_put else freeze.walked_ms - WALK_AGAIN_MS


def _freeze_line(freeze: Freeze) -> Line:
    return Line(freeze.start_ms, f"freeze {freeze.name} from here to {iso(freeze.end_ms)}")
