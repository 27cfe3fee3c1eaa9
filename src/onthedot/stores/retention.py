"""What a store keeps and for how long, and what it says when it has forgotten something."""

from __future__ import annotations

from dataclasses import dataclass, fields

_DAY_MS = 86_400_000

MINUTES_KEPT_MS = 7 * _DAY_MS
"""So long the counts of each minute are kept."""
KEYS_KEPT_MS = 30 * _DAY_MS
"""So long after the end of its run a key still stands for it, whatever else is kept."""
ROLL_UP_AFTER_MS = 60_000
"""So long after its end a run is counted into its hour: by then all that ended before it can be seen, also what was
written by a transaction that took its time."""


@dataclass(frozen=True, slots=True)
class Retention:
    """What is kept, and for how long: every table has its rule. What lives is never forgotten, whatever its age.

    Tokens stay until they are revoked, and sessions until another of their token begins after they are over.
    """

    history_ms: int = 30 * _DAY_MS
    """Ended runs with their logs, decisions, and definitions that were replaced; these also while a run or a decision
    that is kept needs them. The steps of a flow are kept as long as the flow, and a graph while anything needs it."""
    per_schedule: int = 1000
    """So many ended runs of each schedule, and of each task that runs without one; at times a tenth more."""
    decisions_per_schedule: int = 10_000
    """The same of decisions."""
    statistics_ms: int = 30 * _DAY_MS
    """Hours in which runs were counted."""
    changes_ms: int = 90 * _DAY_MS
    """Lines of the audit."""
    most_changes: int = 100_000
    """So many of them; at times a tenth more."""
    nodes_ms: int = 30 * _DAY_MS
    """Nodes that have stopped or died and hold no runs, with the tasks that they published: since they last renewed. As
    long as history, which names them and is explained by them."""
    tombstones_ms: int = 365 * _DAY_MS
    """Tombstones of deleted schedules, with the keys of their ticks; never before their history. After that the name
    is new: its fence begins at nothing, and a single moment of before, put again, is one that never was."""


_NO_COUNTS = ("refused", "more")


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was forgotten, of each kind. Two of them can be added."""

    runs: int = 0
    logs: int = 0
    """Lines."""
    decisions: int = 0
    keys: int = 0
    changes: int = 0
    """Lines of the audit."""
    revisions: int = 0
    tombstones: int = 0
    nodes: int = 0
    hours: int = 0
    """Of statistics."""
    graphs: int = 0
    """Of flows."""
    refused: tuple[str, ...] = ()
    """What the database would not delete, one line each with its reason; it is passed over from now on."""
    more: bool = False
    """More is known to be left, and this call got on: call again at once."""

    def counts(self) -> dict[str, int]:
        """How many of each kind."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in _NO_COUNTS}

    @property
    def total(self) -> int:
        """How many rows of all kinds."""
        return sum(self.counts().values())

    def __add__(self, other: Pruned) -> Pruned:
        mine, theirs = self.counts(), other.counts()
        both = {name: mine[name] + theirs[name] for name in mine}
        return Pruned(**both, refused=self.refused + other.refused, more=self.more or other.more)
