"""The keys of runs: as they are kept, where no two tasks or schedules share one, and as somebody gave them."""

from __future__ import annotations

import re

from onthedot.model.run import Run
from onthedot.model.values import replace

_KEPT = re.compile(r"k:[^/]*/(.*)\.|m:[^:]*:(.*)", re.DOTALL)


def key_of_task(task: str, key: str) -> str:
    """No two pairs of task and key have the same: a task's name has no slash in it, so it ends at the first.

    The dot at the end makes blanks before it count: MariaDB takes no notice of those at the end of a text.
    """
    return f"k:{task}/{key}."


def key_of_schedule(schedule_id: str, token: str) -> str:
    """The same for a token that a run by hand was asked for with."""
    return f"m:{schedule_id}:{token}"


def as_given(run: Run) -> Run:
    """A run of the store with its key, or its token, as it was given; for whoever asks, and never to be written."""
    found = None if run.key is None else _KEPT.fullmatch(run.key)
    return run if found is None else replace(run, key=found[1] if found[2] is None else found[2])
