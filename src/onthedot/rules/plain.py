"""What is plain: runs whose beginning or end touches no row but their own. Stores have a short way for them.

The one place that says so. Whatever is not plain goes the general way, by the rules beside this one; what is plain
comes to the same by both. What only the store knows at that moment it looks at itself: that the node lives and owns the
run under this claim, that nobody asked it to stop, and that nothing follows its schedule's runs (`is_followed`).
"""

from __future__ import annotations

from onthedot.model.alert import Followers
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.rules import backfill, end
from onthedot.rules.flows.broadcasting import is_whole


def ends_plainly(run: Run, outcome: Outcome) -> bool:
    """Whether the run, which runs, leaves nothing behind when it ends so: it holds no key and no place of a group, no
    flow is to be told, and it does not wait again."""
    if outcome.ending == "handed_back" or outcome.flow is not None or outcome.size is not None:
        return False
    if not _stands_alone(run) or run.key is not None:
        return False
    return outcome.ending not in end.MAY_WAIT_AGAIN or not end.may_retry(run, None, outcome)


def begins_plainly(run: Run) -> bool:
    """Whether the run, once it is due, may begin wherever it finds a worker: no schedule has a say in it, no limit and
    no flow; it has no end to its waiting, and has crashed nobody."""
    if run.schedule_id is not None or run.until_ms is not None or run.waits_for is not None or run.crashes:
        return False
    return _stands_alone(run) and not is_whole(run) and run.task != backfill.TASK


def is_followed(followers: Followers, *, auto_remove: bool) -> bool:
    """Whether something may follow the end of a schedule's run: a task, an alert, a ping, or that it is removed."""
    return auto_remove or any(followers)


def _stands_alone(run: Run) -> bool:
    return type(run) is Run and run.policy.limit is None and not run.is_step and not run.is_flow
