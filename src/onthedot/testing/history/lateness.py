"""What comes late: no more of it is run than was chosen, and nothing begins that is not worth it any more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.moments import iso
from onthedot.testing.history.broken import Broken, in_order, run_line
from onthedot.testing.history.history import History, is_part

MISFIRE = "catch-up is chosen and bounded"
EXPIRED = "what has expired is not begun"
_MOST_LINES = 20


def late_ticks_as_chosen(history: History) -> Iterator[Broken]:
    """Of what one plan found too late it made one run, none, or no more than `max_catch_up`; each as it was planned."""
    plans: dict[int, list[Run]] = defaultdict(list)
    for run in history.runs:
        if run.cause == "tick" and not is_part(run):
            plans[run.created_ms].append(run)
    for planned_ms, runs in sorted(plans.items()):
        oldest = min(runs, key=lambda run: run.scheduled_ms)
        late_ms = planned_ms - oldest.scheduled_ms
        if late_ms > oldest.policy.grace_ms + history.slack_ms:
            why = _too_many(oldest, runs, late_ms, history.slack_ms)
            if why is not None:
                what = f"at {iso(planned_ms)} {len(runs)} late ticks became runs, the oldest {late_ms:,} ms late: {why}"
                yield Broken(MISFIRE, what, history.name, in_order(map(run_line, runs[:_MOST_LINES])))


def _too_many(oldest: Run, runs: Sequence[Run], late_ms: int, slack_ms: int) -> str | None:
    policy = oldest.policy
    match policy.misfire:
        case "skip":
            return "its misfire policy is skip"
        case "fire_once":
            return "its misfire policy is fire_once" if len(runs) > 1 else None
        case "catch_up" if len(runs) > policy.max_catch_up:
            return f"max_catch_up is {policy.max_catch_up}"
        case "catch_up" if late_ms > policy.catch_up_window_ms + slack_ms:
            return f"catch_up_window is {policy.catch_up_window_ms:,} ms"
        case _:
            return None


def nothing_expired_begins(history: History) -> Iterator[Broken]:
    """A first attempt begins within `expires` of when it was due, unless an operator asked for it later."""
    for run in history.runs:
        expires_ms = run.policy.expires_ms
        if expires_ms is None or run.exempt or run.earlier or run.attempt != 1 or run.state is State.WAITING:
            continue
        if run.started_ms is not None and run.started_ms > run.due_ms + expires_ms + history.slack_ms:
            late_ms = run.started_ms - run.due_ms
            what = f"run {run.id} began {late_ms:,} ms after it was due, and was worth it for {expires_ms:,} ms"
            yield Broken(EXPIRED, what, history.name, in_order([run_line(run)]))
