"""Group limits: a run holds one of its group's places while it runs, each a key that no two runs can have.

A broadcast holds one place for all of its shards. How many places a group has is said by each run, so it may change:
the highest number is remembered as long as a run may hold it, and who holds a place that is no longer there counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from onthedot.model.key import Key
from onthedot.model.run import Run
from onthedot.stores.transaction import Transaction
from onthedot.triggers.stable_hash import spread_over

_REMEMBERED_MS = 30 * 86_400_000


class Limits:
    """The places of all groups that one transaction meets, read when first asked for."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._holders: dict[str, str] = {}
        self._asked: set[str] = set()
        self._widest: dict[str, int] = {}
        """By group the highest limit that any of its runs has lately had."""
        self._changed: dict[str, Key] = {}

    def admits(self, run: Run) -> bool:
        """Take a place for the run; False if its group has none left. Without a group there is always room."""
        free = self._free(run)
        if free is None:
            return True
        if not free:
            return False
        # Not the first one: nodes that start runs at the same time would all want that.
        place = free[spread_over(run.id, "place", len(free))]
        self._holders[place] = run.id
        self._changed[place] = Key(place, run.id)
        return True

    def release(self, runs: Iterable[Run]) -> None:
        """These no longer run."""
        for run in runs:
            for place in self._places(run):
                if self._holders.get(place) == run.id:
                    del self._holders[place]
                    self._changed[place] = Key(place, run.id, expires_ms=1)  # long ago: clocks may be set back

    def save(self) -> None:
        """Write what was taken and released."""
        self._tx.save_keys(list(self._changed.values()))

    def _free(self, run: Run) -> list[str] | None:
        limit = run.policy.group_limit
        if limit is None:
            return None
        group, most = limit
        places = self._known(group, max(most, self._widen(group, most)))
        held = [place in self._holders for place in places]
        # Whoever takes a place at the same time sees the same ones: below this number, all of them may be taken.
        below = next(number for number in range(most, -1, -1) if number + sum(held[number:]) <= most or number == 0)
        return [place for place, taken in zip(places[:below], held, strict=False) if not taken]

    def _widen(self, group: str, most: int) -> int:
        """How many places the group has at most, which is remembered."""
        self._known(group, most)
        if most > self._widest[group]:
            key = width_of(group)
            self._widest[group] = most
            self._changed[key] = Key(key, key, self._tx.now_ms + _REMEMBERED_MS, state=str(most))
        return self._widest[group]

    def _places(self, run: Run) -> list[str]:
        limit = run.policy.group_limit
        return [] if limit is None else self._known(*limit)

    def _known(self, group: str, most: int) -> list[str]:
        places = places_of(group, most)
        widest = width_of(group)
        unknown = [each for each in (*places, widest) if each not in self._asked]
        if unknown:
            self._asked.update(unknown)
            found = self._tx.keys(unknown)
            if widest in unknown:
                self._widest[group] = _width(found.pop(widest, None))
            self._holders.update((key, held.run_id) for key, held in found.items())
        return places


def _width(key: Key | None) -> int:
    """None where it is not there, or cannot be read: it is then written anew by the next that asks for a place."""
    text = "" if key is None else key.state or ""
    return int(text) if text.isdecimal() else 0


def places_of(group: str, most: int) -> list[str]:
    """The keys of its first so many places."""
    return [f"l:{group}/{number}" for number in range(most)]


def width_of(group: str) -> str:
    """The key under which it is remembered how many places it has at most, as its state."""
    return f"w:{group}"
