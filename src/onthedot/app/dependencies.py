"""Warnings of schedules that wait for others which there are not."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from onthedot.rules.edits import Definition
from onthedot.stores.base import Store
from onthedot.triggers.base import Trigger

_log = logging.getLogger("onthedot.schedules")
_LOOKED_AT = 1000


def warn_of_missing(store: Store, defined: Mapping[str, Definition[Trigger]]) -> None:
    """Log a warning for each `depends_on` that names no schedule, neither in the store nor among these.

    It is no error: whoever deploys two programs deploys one of them first.
    """
    wanted = {name: each.policy.depends_on for name, each in defined.items() if each.policy.depends_on}
    missing = {other for others in wanted.values() for other in others} - {*defined}
    if missing:
        missing -= {each.name for each in store.schedules(names=sorted(missing), limit=len(missing))}
    for name, other in _pairs(wanted, missing):
        _log.warning(
            "%s depends on %r, and there is no such schedule: it waits for one%s", name, other, _hint(store, other)
        )


def _pairs(wanted: Mapping[str, tuple[str, ...]], missing: set[str]) -> Iterator[tuple[str, str]]:
    for name, others in wanted.items():
        yield from ((name, other) for other in others if other in missing)


def _hint(store: Store, name: str) -> str:
    known = [each.name for each in store.schedules(limit=_LOOKED_AT)]
    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
