"""What follows: the end of a run is told once, by each alert and to each task that follows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from onthedot.model.run import Run
from onthedot.testing.history.broken import Broken, in_order, run_line
from onthedot.testing.history.history import History

FOLLOWS_ONCE = "what follows the end of a run comes once"
_MOST_KEPT = 10_000

_Identity = tuple[str, str, str, str]


def followers_once(history: History) -> Iterator[Broken]:
    """No end has two alerts of one name and kind, nor a task that follows it twice. Of a run that an operator had done
    again, each end has its own."""
    yield from Followed().judge(history)


class Followed:
    """Remembers the latest thousands of what followed: work without a schedule is read in pages."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Identity, Run] = OrderedDict()

    def judge(self, history: History) -> Iterator[Broken]:
        """The runs of one page."""
        for run in history.runs:
            identity = _identity(run)
            ended = history.followed.get(run.parent_id or "")
            if identity is None or ended is None or ended.exempt or ended.is_step:
                continue
            first = self._known.setdefault(identity, run)
            if first.id != run.id and first.created_ms != run.created_ms:  # one list may name a task twice
                what = f"run {ended.id} ended once, and {run.task} follows it twice ({run.cause})"
                yield Broken(FOLLOWS_ONCE, what, ended.schedule, in_order(map(run_line, (ended, first, run))))
            if len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)


def _identity(run: Run) -> _Identity | None:
    if run.parent_id is None or run.cause not in ("alert", "chain", "ping"):
        return None
    about = f"{run.args.get('alert')} {run.args.get('on')}" if run.cause == "alert" else ""
    return run.parent_id, run.cause, run.task, about
