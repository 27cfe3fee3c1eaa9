"""What is searched for among schedules: words of a name or task, `tag:eu`, `task:report`; one state; an order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from onthedot.model.schedule import Facet, Order

State = Literal["active", "failing", "leaving_out", "paused", "frozen", "parked", "undeclared", "ended"]
STATES: tuple[State, ...] = get_args(State)
Sort = Literal["need", "name", "next"]
SORTS: tuple[Sort, ...] = get_args(Sort)
_MOST_LETTERS = 200


@dataclass(frozen=True, slots=True)
class Filter:
    """All that is given must hold."""

    search: str = ""
    tag: str | None = None
    task: str | None = None
    state: State | None = None
    sort: Sort = "need"

    @property
    def text(self) -> str:
        """As it stands in the search field."""
        parts = [self.search, f"tag:{self.tag}" if self.tag else "", f"task:{self.task}" if self.task else ""]
        return " ".join(filter(None, parts))

    @property
    def is_any(self) -> bool:
        """Whether it takes everything."""
        return not self.text and self.state is None

    @property
    def store_state(self) -> Facet | None:
        """The state, where the store knows it."""
        return None if self.state is None or self.state == "failing" else self.state

    @property
    def order(self) -> Order:
        """The order in which the store is read."""
        return "next" if self.sort == "next" else "name"

    def asked(self) -> dict[str, Any]:
        """For the store, without its order."""
        return {"search": self.search, "tag": self.tag, "task": self.task, "state": self.store_state}

    def parts(self) -> list[tuple[str, Filter]]:
        """Each thing that is asked for, by itself; the reader is told how many each of them has."""
        alone = Filter(sort=self.sort)
        found = [(f"“{self.search}”", replace(alone, search=self.search))] if self.search else []
        found += [(f"tag:{self.tag}", replace(alone, tag=self.tag))] if self.tag else []
        found += [(f"task:{self.task}", replace(alone, task=self.task))] if self.task else []
        return found + ([(self.state, replace(alone, state=self.state))] if self.state else [])


def read_filter(q: str = "", state: str = "", tag: str = "", task: str = "", sort: str = "") -> Filter:
    """Of an address. What nobody knows counts as not given, and is told (`not_understood`): an address that was cut
    short still shows a page."""
    words: list[str] = []
    for word in q[:_MOST_LETTERS].split():
        kind, colon, value = word.partition(":")
        if colon and value and kind.lower() == "tag":
            tag = value
        elif colon and value and kind.lower() == "task":
            task = value
        else:
            words.append(word)
    return Filter(
        search=" ".join(words),
        tag=tag or None,
        task=task or None,
        state=next((each for each in STATES if each == state), None),
        sort=next((each for each in SORTS if each == sort), "need"),
    )


def not_understood(state: str = "", sort: str = "") -> list[str]:
    """What of an address nobody knows, a sentence each."""
    found = []
    if state and state not in STATES:
        found.append(f"There is no state {state!r}: all are shown. There are {', '.join(STATES)}.")
    if sort and sort not in SORTS:
        found.append(f"There is no order {sort!r}: they stand by need. There are {', '.join(SORTS)}.")
    return found
