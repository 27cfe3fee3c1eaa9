"""Forgetting what is old, the same way in every store.

Each kind of row is searched without a lock, gets its share of the limit, and goes in short transactions that look again
at what they delete. A store says how it finds and deletes each kind; all else is here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from onthedot.errors import StoreError, StoreUnavailable
from onthedot.stores.answers import RolledUp
from onthedot.stores.base import Store
from onthedot.stores.kept_graphs import KEPT_MS
from onthedot.stores.retention import Pruned, Retention
from onthedot.stores.roll_up import Rolling, roll_up
from onthedot.stores.transaction import TryAgain, once_more_if_cut_off

Item = TypeVar("Item", bound=Hashable)
T = TypeVar("T")

BATCH = 1000
"""So many rows of a kind in one transaction: nobody else waits for long."""
LOOKS = 10
"""At so many groups, or pages, a search looks without finding anything before it leaves the rest to the next call."""
_TOMBSTONES_AT_ONCE = 100
"""For each of them the keys of its ticks are looked for."""
_CULPRITS = 20
"""So many rows of a kind are found out one by one in a call; the others in the next."""
_ROLLED_UP = 10_000
"""So many ends are counted before: more than are forgotten, so that these do not wait for it."""
_MOST_REFUSED = 10_000
"""So many are remembered, to be passed over."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[Item]):
    """One kind of row, or one reason to forget it."""

    name: str
    find: Callable[[int], Sequence[Item]]
    """Up to so many that may be forgotten; it only reads."""
    forget: Callable[[Sequence[Item]], Pruned]
    """Forget those of them that are still as they were found, in one short transaction: all of it, or nothing."""
    batch: int = BATCH
    """So many at once."""


def fair_shares(wanted: Sequence[int], limit: int) -> list[int]:
    """How many each may have of so many: who wants less than an equal share leaves the rest to the others."""
    shares = [0] * len(wanted)
    in_turn = sorted(range(len(wanted)), key=wanted.__getitem__)
    for place, which in enumerate(in_turn):
        equal = -(-limit // (len(in_turn) - place))
        shares[which] = min(wanted[which], equal)
        limit -= shares[which]
    return shares


class Forgetting(Protocol):
    """How a store finds and deletes each kind of row. What it finds are items of its own, for its own `forget_…`.

    To find only reads: up to `most` rows that are of `before_ms` or earlier, or beyond the newest `keep`. To forget is
    one short transaction for those that are still as they were found: all of it, or nothing.
    """

    def old_runs(self, before_ms: int, most: int) -> Sequence[Any]: ...

    def surplus_runs(self, keep: int, most: int, *, thorough: bool, before_ms: int) -> Sequence[Any]:
        """Of those beyond the newest only what ended by then."""

    def forget_runs(self, items: Sequence[Any]) -> Pruned:
        """The steps of a flow go after it, not too many at once: from now on they are `steps_left`."""

    def steps_left(self, most: int) -> Sequence[Any]:
        """Ended steps of flows that are forgotten. No step is found in any other way: as too old, or one too many."""

    def bare_flows(self, most: int) -> Sequence[Any]:
        """Flows that are forgotten, and of which no steps are left, live or ended."""

    def forget_flows(self, items: Sequence[Any]) -> Pruned: ...

    def unused_graphs(self, before_ms: int, most: int, *, thorough: bool) -> Sequence[Any]:
        """Those that nobody has asked to keep since then, and that no run, schedule or other graph refers to, nor a
        former definition of a schedule of that flow."""

    def forget_graphs(self, items: Sequence[Any]) -> Pruned: ...

    def old_decisions(self, before_ms: int, most: int) -> Sequence[Any]: ...

    def surplus_decisions(self, keep: int, most: int, *, thorough: bool) -> Sequence[Any]: ...

    def forget_decisions(self, items: Sequence[Any]) -> Pruned: ...

    def expired_keys(self, before_ms: int, most: int) -> Sequence[Any]: ...

    def forget_keys(self, items: Sequence[Any]) -> Pruned: ...

    def old_changes(self, before_ms: int, most: int) -> Sequence[Any]: ...

    def surplus_changes(self, keep: int, most: int) -> Sequence[Any]: ...

    def forget_changes(self, items: Sequence[Any]) -> Pruned: ...

    def replaced_revisions(self, before_ms: int, most: int, *, thorough: bool) -> Sequence[Any]:
        """Definitions that were replaced by then, and that nothing needs any more (`is_needed`)."""

    def forget_revisions(self, items: Sequence[Any]) -> Pruned: ...

    def bare_tombstones(self, before_ms: int, most: int) -> Sequence[Any]:
        """Those of which neither runs nor decisions are left."""

    def forget_tombstones(self, items: Sequence[Any]) -> Pruned:
        """Their definitions go with them, and first the keys of their ticks, not too many at once."""

    def gone_nodes(self, before_ms: int, most: int) -> Sequence[Any]:
        """Those that hold no runs."""

    def forget_nodes(self, items: Sequence[Any]) -> Pruned: ...

    def old_hours(self, before_ms: int, most: int) -> Sequence[Any]: ...

    def forget_hours(self, items: Sequence[Any]) -> Pruned: ...


def kinds_of(
    rows: Forgetting, keep: Retention, now_ms: int, rolled_through_ms: int, *, thorough: bool
) -> list[Kind[Any]]:
    """The rule of every table. A run that is not counted yet stays."""
    before_ms = now_ms - keep.history_ms
    counted_ms = min(before_ms, rolled_through_ms)
    long_ago_ms = now_ms - max(keep.tombstones_ms, keep.history_ms)
    surplus_runs = partial(rows.surplus_runs, keep.per_schedule, thorough=thorough, before_ms=rolled_through_ms)
    surplus_decisions = partial(rows.surplus_decisions, keep.decisions_per_schedule, thorough=thorough)
    return [
        Kind("run", partial(rows.old_runs, counted_ms), rows.forget_runs),
        Kind("run too many", surplus_runs, rows.forget_runs),
        Kind("step", rows.steps_left, rows.forget_runs),
        Kind("flow", rows.bare_flows, rows.forget_flows),
        Kind("graph", partial(rows.unused_graphs, now_ms - KEPT_MS, thorough=thorough), rows.forget_graphs),
        Kind("decision", partial(rows.old_decisions, before_ms), rows.forget_decisions),
        Kind("decision too many", surplus_decisions, rows.forget_decisions),
        Kind("key", partial(rows.expired_keys, now_ms), rows.forget_keys),
        Kind("change", partial(rows.old_changes, now_ms - keep.changes_ms), rows.forget_changes),
        Kind("change too many", partial(rows.surplus_changes, keep.most_changes), rows.forget_changes),
        Kind("revision", partial(rows.replaced_revisions, before_ms, thorough=thorough), rows.forget_revisions),
        Kind("tombstone", partial(rows.bare_tombstones, long_ago_ms), rows.forget_tombstones, _TOMBSTONES_AT_ONCE),
        Kind("node", partial(rows.gone_nodes, now_ms - keep.nodes_ms), rows.forget_nodes),
        Kind("hour", partial(rows.old_hours, now_ms - keep.statistics_ms), rows.forget_hours),
    ]


class Pruner:
    """Of one store: remembers which rows the database refuses to delete."""

    def __init__(self, rows: Forgetting, rolling: Rolling) -> None:
        self._rows = rows
        self._rolling = rolling
        self._refused: dict[str, set[Hashable]] = {}

    def prune(self, now_ms: int, keep: Retention, limit: int, *, thorough: bool) -> Pruned:
        """See `Store.prune`."""
        rolled, problem = self._roll_up(now_ms, now_ms - keep.statistics_ms)
        through_ms = self._rolling.rolled_through()
        done = self.share(kinds_of(self._rows, keep, now_ms, through_ms, thorough=thorough), limit)
        return replace(done + problem, more=done.more or (rolled.more and rolled.ends > 0))

    def _roll_up(self, now_ms: int, oldest_ms: int) -> tuple[RolledUp, Pruned]:
        try:
            return roll_up(self._rolling, now_ms, _ROLLED_UP, oldest_ms), Pruned()
        except StoreUnavailable:
            raise
        except StoreError as error:  # no reason to keep decisions, keys and nodes for ever
            return RolledUp(), Pruned(refused=(f"statistics: {error}",))

    def share(self, kinds: Sequence[Kind[Any]], limit: int) -> Pruned:
        """Forget up to so many rows, a fair share of each kind."""
        done = Pruned()
        found: list[list[Any]] = []
        for kind in kinds:
            items, problem = self._find(kind, limit + 1)
            found.append(items)
            done += problem
        shares = fair_shares([len(items) for items in found], limit)
        for kind, items, share in zip(kinds, found, shares, strict=True):
            done += self._forget_all(kind, items[:share])
        more = done.more or any(len(items) > share for items, share in zip(found, shares, strict=True))
        return replace(done, more=more and done.total > 0)

    def _find(self, kind: Kind[Item], most: int) -> tuple[list[Item], Pruned]:
        refused = self._refused.get(kind.name, set())
        try:
            found = kind.find(most + len(refused))
        except StoreUnavailable:
            raise
        except StoreError as error:  # a damaged table, say: it leaves the others alone
            return [], Pruned(refused=(f"{kind.name}: {error}",))
        return [each for each in found if each not in refused][:most], Pruned()

    def _forget_all(self, kind: Kind[Item], items: Sequence[Item]) -> Pruned:
        done = Pruned()
        for start in range(0, len(items), kind.batch):
            done += self._forget(kind, items[start : start + kind.batch])
            if len(done.refused) >= _CULPRITS:
                break
        return done

    def _forget(self, kind: Kind[Item], batch: Sequence[Item]) -> Pruned:
        """Where a batch is refused, it is split until the culprits stand alone."""
        try:
            return once_more_if_cut_off(lambda: kind.forget(batch))
        except TryAgain:
            return Pruned(more=True)  # somebody else is at it just now
        except StoreUnavailable:
            raise
        except StoreError as error:
            if len(batch) == 1:
                return self._refuse(kind, batch[0], error)
        middle = len(batch) // 2
        done = self._forget(kind, batch[:middle])
        return done if len(done.refused) >= _CULPRITS else done + self._forget(kind, batch[middle:])

    def _refuse(self, kind: Kind[Item], item: Item, error: StoreError) -> Pruned:
        refused = self._refused.setdefault(kind.name, set())
        if len(refused) >= _MOST_REFUSED:
            refused.clear()
        refused.add(item)
        name = item[0] if isinstance(item, tuple) else item
        return Pruned(refused=(f"{kind.name} {name}: {error}",))


def prune_all(store: Store, keep: Retention) -> Pruned:
    """Prune until nothing is left to be forgotten, in short calls."""
    done = Pruned()
    # Every schedule is looked at when nothing else is left; twice, since some things wait for what they hang on: a
    # definition for its last run, a tombstone for its history.
    for thorough in (False, True, False, True):
        last = Pruned(more=True)
        while last.more:
            last = store.prune(keep, thorough=thorough)
            done += last
    return replace(done, more=False)


@dataclass(frozen=True, slots=True)
class Groups(Generic[Item]):
    """How a store finds the groups of a table (a schedule's runs, say), and what they have too many of."""

    newest: Callable[[int], Iterable[str]]
    """The groups of the newest rows, of so many rows. What is in none has an empty name, and is never too many."""
    following: Callable[[str], str | None]
    """The first group after one; the very first after an empty name."""
    beyond: Callable[[str, int, int], Sequence[Item]]
    """Of a group all but the newest so many, up to so many of them."""


class Surplus:
    """Finds groups with too many rows: those where something happened just now, and the others in turn.

    A group is looked at by reading as many entries of an index as it may keep, so not all are looked at each time. It
    is cut down when a tenth too many are there: then each look that finds something finds much.
    """

    def __init__(self) -> None:
        self._after = ""
        """The last group that was looked at in turn."""

    def find(
        self,
        groups: Groups[Item],
        keep: int,
        most: int,
        *,
        thorough: bool,
        may_go: Callable[[Item], bool] = lambda _: True,
    ) -> list[Item]:
        """Up to so many rows that are too many, and that may go."""
        found: dict[Item, None] = {}
        for group in filter(None, dict.fromkeys(groups.newest(LOOKS))):
            found.update(dict.fromkeys(_too_many(groups, group, keep, most - len(found), may_go)))
        in_vain = 0
        for group in self._in_turn(groups, thorough=thorough):
            too_many = _too_many(groups, group, keep, most - len(found), may_go)
            found.update(dict.fromkeys(too_many))
            in_vain = 0 if too_many else in_vain + 1
            if len(found) >= most:
                break  # of this group there may be more: the next call begins with it
            self._after = group
            if in_vain >= LOOKS and not thorough:
                break
        return list(found)

    def _in_turn(self, groups: Groups[Item], *, thorough: bool) -> Iterator[str]:
        """From where the last call has stopped; all of them once, if need be."""
        begun = self._after
        while (group := groups.following(self._after)) is not None:
            yield group
        self._after = ""
        while thorough and (group := groups.following(self._after)) is not None and group <= begun:
            yield group


def _too_many(groups: Groups[Item], group: str, keep: int, most: int, may_go: Callable[[Item], bool]) -> Sequence[Item]:
    if most <= 0:
        return ()
    page = max(most, keep // 10 + 1)
    beyond = groups.beyond(group, keep, page)
    if len(beyond) <= keep // 10:
        return ()
    found = [each for each in beyond if may_go(each)]
    for looks in range(1, LOOKS):  # the newest come first: behind a crowd of those that must stay, others may go
        if found or len(beyond) < page:
            break
        beyond = groups.beyond(group, keep + looks * page, page)
        found = [each for each in beyond if may_go(each)]
    return found[:most]


class Walk(Generic[T]):
    """Goes along a whole table, page by page, and round again: for what no index can tell apart."""

    def __init__(self, start: T) -> None:
        self._start = start
        self._after = start

    def find(self, page: Callable[[T], tuple[Sequence[Item], T | None]], most: int, *, thorough: bool) -> list[Item]:
        """Up to so many. A page is what it has, and where the next one begins: None after the last."""
        found: list[Item] = []
        rounds = 2 if thorough and self._after != self._start else 1
        while rounds and len(found) < most:
            items, following = page(self._after)
            found += items
            if len(found) > most:
                break  # the rest of this page is for the next call
            self._after = self._start if following is None else following
            rounds -= following is None
            if not items and not thorough:
                break
        return found[:most]


def is_needed(revision: int, replaced_ms: int, oldest_run: int | None, oldest_decision_ms: int | None) -> bool:
    """Whether a definition that was replaced still explains something that is kept.

    `oldest_run` is the revision of the schedule's oldest run, live or ended; `oldest_decision_ms` the first moment of
    its oldest decision. Runs and decisions follow revisions in order, so the oldest of them tell for all.
    """
    by_run = oldest_run is not None and oldest_run <= revision
    by_decision = oldest_decision_ms is not None and oldest_decision_ms < replaced_ms
    return by_run or by_decision
