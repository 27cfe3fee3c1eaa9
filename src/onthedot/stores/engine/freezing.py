"""Freezes: written once, then into each schedule that they concern, in short transactions that any node can go on with.

Whoever writes a schedule reads all freezes in the same transaction, under the schedule's lock: so it does not matter
who walks, how many do at once, and which freeze they walk for.
"""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.errors import FreezeNotFound
from onthedot.model.change import Author
from onthedot.model.freeze import Freeze
from onthedot.model.schedule import Schedule
from onthedot.model.values import replace
from onthedot.rules.freezing import is_as_wanted
from onthedot.stores.engine.audit import freeze_changed
from onthedot.stores.transaction import Transaction

AT_ONCE = 500
"""So many schedules are looked at, and written, in one transaction."""
KEPT_MS = 30 * 86_400_000
"""So long after its end a freeze is still shown."""


def put(tx: Transaction, freeze: Freeze, by: Author) -> Freeze:
    """Keep it as it is now; the walk begins anew."""
    old = tx.freeze(freeze.name)
    new = replace(
        freeze,
        by=by.who,
        created_ms=tx.now_ms if old is None else old.created_ms,
        revision=1 if old is None else old.revision + 1,
        through="",
        walks=0,
        thawed=False,
    )
    tx.save_freeze(new)
    tx.add_changes([freeze_changed(old, new, by, tx.now_ms)])
    return new


def thaw(tx: Transaction, name: str, by: Author) -> Freeze:
    """It counts no more from now on; the walk takes it out of the schedules."""
    old = tx.freeze(name)
    if old is None or old.thawed:
        raise FreezeNotFound(name, tuple(each.name for each in tx.freezes() if not each.thawed))
    new = replace(old, thawed=True, revision=old.revision + 1, through="", walks=0)
    tx.save_freeze(new)
    tx.add_changes([freeze_changed(old, None, by, tx.now_ms)])
    return new


def to_walk(freezes: Sequence[Freeze], now_ms: int) -> Freeze | None:
    """One for which schedules are to be looked through now."""
    return next((each for each in freezes if each.is_to_walk(now_ms)), None)


def is_old(freeze: Freeze, now_ms: int) -> bool:
    """Whether nobody needs it any more."""
    done = freeze.walks >= 2 and not freeze.through
    return done and (freeze.thawed or freeze.end_ms + KEPT_MS < now_ms)


def differing(schedules: Sequence[Schedule], freezes: Sequence[Freeze], now_ms: int) -> list[str]:
    """The names of those that do not have the windows that they shall have."""
    return [each.name for each in schedules if not is_as_wanted(each, freezes, now_ms)]


def walked(tx: Transaction, freeze: Freeze, page: Sequence[Schedule], at_once: int) -> None:
    """Note how far the walk has come, unless the freeze is another by now."""
    now = tx.freeze(freeze.name)
    if now is None or now.revision != freeze.revision or now.walks != freeze.walks:
        return
    if len(page) >= at_once:
        tx.save_freeze(replace(now, through=max(now.through, page[-1].name)))
    else:
        tx.save_freeze(replace(now, through="", walks=now.walks + 1, walked_ms=tx.now_ms))
