"""One page of a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items, and the cursor to ask for those after them; None at the end."""

    items: Sequence[T]
    cursor: str | None = None

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __getitem__(self, place: int) -> T:
        return self.items[place]

    def __len__(self) -> int:
        return len(self.items)
