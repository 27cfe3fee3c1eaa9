"""What is plain: runs whose beginning or end touches no row but their own, and the place of their group, which goes on
to who waits for it. Stores have a short way for them.

The one place that says so. Whatever is not plain goes the general way, by the rules beside this one; what is plain
comes to the same by both. What only the store knows at that moment it looks at itself: that the node lives and owns the
run under this claim, that nobody asked it to stop, and that nothing follows its schedule's runs (`is_followed`).
"""

from __future__ import annotations

from onthedot.model.alert import Followers
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run, for_limit
from onthedot.rules import backfill, end
from onthedot.rules.flows.broadcasting import is_whole

MOST_PLACES = 100
"""Of a group whose places are handed on so; those of a larger one are too many to look through in one statement."""


def ends_plainly(run: Run, outcome: Outcome) -> bool:
    """Whether the run, which runs, leaves nothing behind when it ends so: it holds no key and no place of a group, no
    flow is to be told, and it does not wait again."""
    return run.policy.limit is None and _leaves_its_place_at_most(run, outcome)


def ends_but_for_its_place(run: Run, outcome: Outcome) -> bool:
    """The same of a run that holds a place of a group: whoever ends it hands that on, or gives it back."""
    limit = run.policy.group_limit
    return limit is not None and 0 < limit[1] <= MOST_PLACES and _leaves_its_place_at_most(run, outcome)


def _leaves_its_place_at_most(run: Run, outcome: Outcome) -> bool:
    if outcome.ending == "handed_back" or outcome.flow is not None or outcome.size is not None:
        return False
    if not _stands_alone(run) or run.key is not None:
        return False
    return outcome.ending not in end.MAY_WAIT_AGAIN or not end.may_retry(run, None, outcome)


def begins_plainly(run: Run) -> bool:
    """Whether the run, once it is due, may begin wherever it finds a worker: no schedule has a say in it, no limit and
    no flow; it has no end to its waiting, and has crashed nobody."""
    return run.waits_for is None and run.policy.limit is None and _needs_a_worker_at_most(run)


def begins_in_a_place_of(run: Run) -> int:
    """How many places its group has, where the run waits for nothing but one of these, and may then begin on any node;
    else 0."""
    limit = run.policy.group_limit
    if limit is None or limit[1] > MOST_PLACES or run.waits_for != for_limit(limit[0]):
        return 0
    anywhere = run.target is None and run.policy.group is None
    return limit[1] if anywhere and _needs_a_worker_at_most(run) else 0


def _needs_a_worker_at_most(run: Run) -> bool:
    if run.schedule_id is not None or run.until_ms is not None or run.crashes:
        return False
    return _stands_alone(run) and not is_whole(run) and run.task != backfill.TASK


def is_followed(followers: Followers, *, auto_remove: bool) -> bool:
    """Whether something may follow the end of a schedule's run: a task, an alert, a ping, or that it is removed."""
    return auto_remove or any(followers)


def _stands_alone(run: Run) -> bool:
    return type(run) is Run and not run.is_step and not run.is_flow
