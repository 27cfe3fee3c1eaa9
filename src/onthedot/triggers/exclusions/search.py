"""Which search answers for an exclusion. Each has its own kind of leaves; what it cannot hold, it does not exclude."""

from __future__ import annotations

from functools import lru_cache
from math import gcd, lcm

from onthedot.triggers.at import At
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.every import Every
from onthedot.triggers.every_days import EveryDays
from onthedot.triggers.exclusions import day_search
from onthedot.triggers.exclusions.clock_days import DAY
from onthedot.triggers.exclusions.day_masks import Interval
from onthedot.triggers.exclusions.day_search import MOST_KINDS, Daily, DaySearch
from onthedot.triggers.exclusions.expression import (
    Either,
    Expression,
    Just,
    Leaf,
    Minus,
    OnDates,
    Other,
    Triggers,
    leaves_of,
    replaced,
)
from onthedot.triggers.exclusions.finder import Finder, FirstOf, OneByOne, Verified
from onthedot.triggers.exclusions.interval_search import MOST_SPANS, MOST_TURNS, IntervalSearch, Turns
from onthedot.triggers.exclusions.lattice import WHOLE_SECONDS, Lattice, lattice_of, whole_seconds


@lru_cache(maxsize=256)
def search_of(base: Cron | Every | EveryDays, without: Triggers) -> Finder:
    """Finds the ticks of the base that are not in the other."""
    if isinstance(base, EveryDays):
        return Verified(Minus(Just(Other(base)), without), OneByOne(base))
    if isinstance(base, Cron):
        return _by_day(base, without)
    if not _has(Cron, without):
        return _by_number(base, without)
    whole = whole_seconds(base)
    if whole == lattice_of(base):
        return _by_day(base, without)
    if whole is None:
        return _by_number(base, _without_crons(without))
    fractions: Triggers = Either((_without_crons(without), Just(Every(whole.step, whole.phase))))
    return FirstOf([_by_day(base, without), _by_number(base, fractions)])


def count_ms(expression: Triggers, start_ms: int, end_ms: int) -> int | None:
    """How many moments it leaves in [start, end), if they are whole seconds and that is soon counted; else None."""

    def daily(leaf: Leaf, most: bool) -> Expression[Daily]:
        return _daily(leaf, most, None)

    if not all(_is_whole(leaf) for leaf in leaves_of(expression)):
        return None
    return day_search.count_ms(replaced(expression, daily), start_ms, end_ms)


def _is_whole(leaf: Leaf) -> bool:
    match leaf:
        case Every():
            return whole_seconds(leaf) == lattice_of(leaf)
        case At():
            return leaf.at_ms % 1000 == 0
        case Cron() | OnDates():
            return True
        case Other():
            return False


def _without_crons(expression: Triggers) -> Triggers:
    """The same where there are no whole seconds, and so no ticks of cron texts."""

    def kept(leaf: Leaf, _: bool) -> Triggers:
        return Either() if isinstance(leaf, Cron) else Just(leaf)

    return replaced(expression, kept)


def _has(kind: type, expression: Triggers) -> bool:
    return any(isinstance(leaf, kind) for leaf in leaves_of(expression))


# by day: whole seconds


def _by_day(base: Cron | Every, without: Triggers) -> Finder:
    whole = None if isinstance(base, Cron) else whole_seconds(base)
    kept: Daily = base if isinstance(base, Cron) else _seconds(base, whole)

    def daily(leaf: Leaf, most: bool) -> Expression[Daily]:
        return _daily(leaf, most, whole)

    taken = replaced(without, daily, most=False)
    loose = _too_many_kinds(kept, taken)

    def held(leaf: Daily, most: bool) -> Expression[Daily]:
        return _loosened(leaf, most) if leaf in loose else Just(leaf)

    roughly = replaced(taken, held, most=False)
    hint = _numbered(base, without)[0] if loose and isinstance(base, Every) else None
    search = DaySearch(kept, taken, roughly, hint)
    return Verified(Minus(Just(base), without), search) if _has(Other, without) else search


def _daily(leaf: Leaf, most: bool, seen_from: Lattice | None) -> Expression[Daily]:
    match leaf:
        case Cron() | OnDates():
            return Just(leaf)
        case Every():
            return _interval(leaf, seen_from)
        case At():
            second, rest = divmod(leaf.at_ms, 1000)
            return Either() if rest else Just(Interval(1, 0, second, second + 1))
        case Other():
            return Just(Interval(1, 0)) if most else Either()


def _interval(leaf: Every, seen_from: Lattice | None) -> Expression[Daily]:
    """The whole seconds of an interval; all seconds, where it has all ticks of the lattice that it is taken from."""
    lattice = whole_seconds(leaf)
    shared = lattice if lattice is None or seen_from is None else lattice.meet(seen_from)
    if lattice is None or shared is None:
        return Either()
    has_all = seen_from is not None and shared.step == seen_from.step
    return Just(_seconds(leaf, WHOLE_SECONDS if has_all else lattice))


def _seconds(interval: Every, lattice: Lattice | None) -> Interval:
    assert lattice is not None
    return Interval(
        lattice.step // 1000, lattice.phase // 1000, -(-interval.first_ms // 1000), interval.last_ms // 1000 + 1
    )


def _too_many_kinds(base: Daily, taken: Expression[Daily]) -> set[Daily]:
    """The intervals, those with most kinds of days first, that would give too many kinds of days together."""
    kinds = base.kinds if isinstance(base, Interval) and base.kinds <= MOST_KINDS else 1
    loose: set[Daily] = set()
    intervals = {leaf for leaf in leaves_of(taken) if isinstance(leaf, Interval)}
    for leaf in sorted(intervals, key=lambda each: each.kinds):
        kinds *= leaf.kinds
        if kinds > MOST_KINDS:
            loose.add(leaf)
    return loose


def _loosened(leaf: Daily, most: bool) -> Expression[Daily]:
    if not most:
        return Either()
    assert isinstance(leaf, Interval)
    step = gcd(leaf.step, DAY)  # on some day it ticks at each of these seconds
    return Just(Interval(step, leaf.phase % step, leaf.first, leaf.end))


# by number: the ticks of an interval


def _by_number(base: Every, without: Triggers) -> Finder:
    search, exact = _numbered(base, without)
    return search if exact else Verified(Minus(Just(base), without), search)


def _numbered(base: Every, without: Triggers) -> tuple[IntervalSearch, bool]:
    """A search that finds all that is left, and whether it finds nothing else."""
    lattice = lattice_of(base)
    kept = Turns(spans=((base.first_ms, base.last_ms + 1),))

    def turns(leaf: Leaf, most: bool) -> Expression[Turns]:
        return _turns(leaf, most, lattice)

    taken = replaced(without, turns, most=False)
    loose = _too_many_turns(taken)

    def held(leaf: Turns, most: bool) -> Expression[Turns]:
        return _any(most) if leaf in loose else Just(leaf)

    search = IntervalSearch(lattice, Minus(Just(kept), replaced(taken, held, most=False)))
    return search, not loose and not _has(Other, without) and not _has(Cron, without)


def _turns(leaf: Leaf, most: bool, lattice: Lattice) -> Expression[Turns]:
    match leaf:
        case Every():
            shared = lattice.meet(lattice_of(leaf))
            if shared is None:
                return Either()
            turns, turn = shared.step // lattice.step, (shared.phase - lattice.phase) // lattice.step
            ticks = range(shared.phase, leaf.last_ms + 1, shared.step)
            if turns > MOST_TURNS and len(ticks) <= MOST_SPANS:
                return Just(Turns(spans=tuple((tick, tick + 1) for tick in ticks if tick >= leaf.first_ms)))
            return Just(Turns(turns, turn, ((leaf.first_ms, leaf.last_ms + 1),)))
        case At():
            return Just(Turns(spans=((leaf.at_ms, leaf.at_ms + 1),)))
        case OnDates():
            return Just(Turns(spans=leaf.spans()))
        case Cron() | Other():
            return _any(most)


def _any(most: bool) -> Expression[Turns]:
    return Just(Turns()) if most else Either()


def _too_many_turns(taken: Expression[Turns]) -> set[Turns]:
    """The intervals, the rarest first, with which the pattern would repeat itself too late."""
    period, loose = 1, set()
    for leaf in sorted(set(leaves_of(taken)), key=lambda each: each.every):
        if lcm(period, leaf.every) > MOST_TURNS:
            loose.add(leaf)
        else:
            period = lcm(period, leaf.every)
    return loose
