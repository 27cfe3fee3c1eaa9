"""Group limits: a run holds one of its group's places while it runs, each a key that no two runs can have.

A broadcast holds one place for all of its shards.
"""

from __future__ import annotations

from collections.abc import Iterable

from onthedot.model.key import Key
from onthedot.model.run import Run
from onthedot.stores.transaction import Transaction
from onthedot.triggers.stable_hash import spread_over


class Limits:
    """The places of all groups that one transaction meets, read when first asked for."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._holders: dict[str, str] = {}
        self._asked: set[str] = set()
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
        if run.policy.group_limit is None or run.is_shard:
            return None
        return [place for place in self._places(run) if place not in self._holders]

    def _places(self, run: Run) -> list[str]:
        limit = run.policy.group_limit
        if limit is None or run.is_shard:
            return []
        group, most = limit
        places = [f"l:{group}/{number}" for number in range(most)]
        unknown = [place for place in places if place not in self._asked]
        if unknown:
            self._asked.update(unknown)
            self._holders.update((key, held.run_id) for key, held in self._tx.keys(unknown).items())
        return places
