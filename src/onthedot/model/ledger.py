"""A flow's ledger: what is known of its steps, kept on the flow's own row and written only under its lock.

The items of a step are held as sets, never as counts: whoever tells of an end twice has told of it once. A set is an
integer with a bit for each item, and a step that is not mapped is a map of one. In JSON a set is hexadecimal text;
the items of a map begin in their order, so what ended is mostly all up to some number, which is then said instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from onthedot.model.values import replace

Verdict = Literal["good", "bad", "skip", "cut"]
"""Cut: the flow was asked to stop before all of its items had been made."""
_SETS = ("good", "bad", "skip", "live", "old")
_SAID = ("again", "stopped", "size", "problem")


@dataclass(frozen=True)  # no slots: see values.replace
class Entry:
    """What is known of one step, from when it was judged."""

    n: int
    """How many items it has."""
    good: int = 0
    bad: int = 0
    skip: int = 0
    """The items that ended so."""
    live: int = 0
    """The items that were made and of whose end the flow has not been told."""
    old: int = 0
    """The items that are to be made again from their rows in history."""
    verdict: Verdict | None = None
    """None until all of its items have ended."""
    again: bool = False
    """It is retried: judged anew when all that come before it have a verdict again."""
    stopped: bool = False
    """It was skipped because the flow was asked to stop."""
    size: int | None = None
    """How long the list is that it returned, where it is not mapped and another is mapped over it."""
    problem: str | None = None
    """Why it could not be judged."""

    @property
    def ended(self) -> int:
        """The set of all items that have."""
        return self.good | self.bad | self.skip

    @property
    def was_never_made(self) -> bool:
        """Whether it has its verdict without any run: nothing is left of it when that is taken back."""
        return self.verdict is not None and not (self.ended | self.live | self.old)

    def as_json(self) -> dict[str, Any]:
        """Only what differs from the defaults."""
        fields = self.__dict__
        said: dict[str, Any] = {"n": self.n}
        for name in _SETS:
            if items := fields[name]:
                said[name] = _text_of(items)
        if self.verdict is not None:
            said["st"] = self.verdict
        for name in _SAID:
            value = fields[name]
            if value is not None and value is not False:
                said[name] = value
        return said

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Entry:
        """What `as_json` gave; names of a later version are left out."""
        sets: dict[str, Any] = {name: _set_of(said[name]) for name in _SETS if name in said}
        others = {name: said[name] for name in _SAID if name in said}
        return cls(said["n"], verdict=said.get("st"), **sets, **others)


@dataclass(frozen=True)  # no slots: see values.replace
class Ledger:
    """What is known of a flow's steps, and of what was asked of it."""

    steps: Mapping[str, Entry] = field(default_factory=dict)
    """By name, those that were judged."""
    round: int = 1
    """+1 with every retry of the whole flow: closing steps of another round are other runs."""
    fence: int = 0
    """No step that begins from now on has a lower one."""
    carried: int = 0
    """How far a request to stop was carried out: 1 all but the closing steps, 2 those too."""
    hard: bool = False
    """It was asked to stop its closing steps too."""
    late: bool = False
    """It was its time-out that asked it to stop."""
    members: tuple[str, ...] = ()
    """Of a broadcast: the nodes that lived when it began, by the numbers of its shards."""

    @property
    def live(self) -> int:
        """How many of its steps were made and have not been told of."""
        return sum(entry.live.bit_count() for entry in self.steps.values() if entry.live)

    def with_steps(self, changed: Mapping[str, Entry]) -> Ledger:
        """The ledger with these entries in the place of those of the same names."""
        return replace(self, steps={**self.steps, **changed}) if changed else self

    def as_json(self, before: Ledger | None = None, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Only what differs from the defaults. Entries that it has in common with the one before are taken from its
        JSON, where that is known: of many steps few change at once."""
        old = {} if before is None or known is None else before.steps
        kept: Mapping[str, Any] = {} if known is None else known.get("steps", {})
        steps = {
            name: kept[name] if old.get(name) is entry and name in kept else entry.as_json()
            for name, entry in self.steps.items()
        }
        said: dict[str, Any] = {"steps": steps}
        if self.round != 1:
            said["round"] = self.round
        for name in ("fence", "carried", "hard", "late"):
            if value := getattr(self, name):
                said[name] = value
        if self.members:
            said["members"] = list(self.members)
        return said

    @classmethod
    def from_json(cls, said: Mapping[str, Any] | None) -> Ledger:
        """What `as_json` gave; an empty one where nothing is known yet."""
        if said is None:
            return cls()
        steps = {name: Entry.from_json(entry) for name, entry in said.get("steps", {}).items()}
        known = {name: said[name] for name in ("round", "fence", "carried", "hard", "late") if name in said}
        return cls(steps, **known, members=tuple(said.get("members", ())))


_FEW = 64


def _text_of(items: int) -> str:
    """Of a set. "7000+5" are the first 7,000 items, and of those behind them the first and the third; in "7000-5" the
    first 7,000 are none of it."""
    has_first = bool(items & 1)
    alike = _zeros_below(~items if has_first else items)
    return f"{items:x}" if alike < _FEW else f"{alike}{'+' if has_first else '-'}{items >> alike:x}"


def _set_of(text: str) -> int:
    alike, sign, rest = text.partition("+") if "+" in text else text.partition("-")
    if not sign:
        return int(text, 16)
    return int(rest, 16) << int(alike) | (all_items(int(alike)) if sign == "+" else 0)


def _zeros_below(items: int) -> int:
    """Below the lowest of a set that is not empty."""
    return (items & -items).bit_length() - 1


def all_items(n: int) -> int:
    """The set of so many items."""
    return (1 << n) - 1


def items_in(items: int) -> Iterator[int]:
    """The numbers in a set, ascending."""
    while items:
        lowest = items & -items
        yield lowest.bit_length() - 1
        items ^= lowest


def first_items(items: int, most: int) -> int:
    """The lowest so many of a set."""
    if most <= 0:
        return 0
    if items.bit_count() <= most:
        return items
    chosen = 0
    for _ in range(most):
        lowest = items & -items
        chosen |= lowest
        items ^= lowest
    return chosen
