"""A rule taken out of the core, and the tests that should notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src/onthedot")


@dataclass(frozen=True, slots=True)
class Sabotage:
    """One place in the code, changed so that one rule of the design no longer holds."""

    name: str
    rule: str
    """What the design says, and the code no longer does."""
    file: str
    """Below `src/onthedot`."""
    find: str
    """Occurs there once."""
    replace: str
    tests: tuple[str, ...]
    """What pytest runs, in this order, up to the first failure."""

    @property
    def path(self) -> Path:
        """The file, below the root of a tree."""
        return PACKAGE / self.file

    def applied_to(self, text: str) -> str:
        """The file without the rule."""
        found = text.count(self.find)
        if found != 1:
            raise ValueError(f"{self.name}: its text occurs {found} times in {self.path}, and not once")
        return text.replace(self.find, self.replace)

    def apply(self, root: Path) -> None:
        """Take the rule out of a tree, which must be a copy; its files may be links to those of another."""
        file = root / self.path
        text = self.applied_to(file.read_text())
        file.unlink()
        file.write_text(text)


def memory(*tests: str) -> tuple[str, ...]:
    """Of the conformance suite, on the store in memory: what it notices, every store's own run of it does."""
    return tuple(f"tests/stores/test_memory.py::{each}" for each in tests)


def sqlite(*tests: str) -> tuple[str, ...]:
    """The same on SQLite: for what memory cannot break, since it has one lock for all."""
    return tuple(f"tests/stores/test_sqlite.py::{each}" for each in tests)


def unit(*tests: str) -> tuple[str, ...]:
    """Of the unit tests."""
    return tuple(f"tests/unit/{each}" for each in tests)


_HISTORIES = "tests/sabotage/histories.py::test_"


def histories(*variants: int) -> tuple[str, ...]:
    """Random histories of real nodes, of these variants."""
    return tuple(f"{_HISTORIES}every_promise_holds_after_every_step[{each}]" for each in variants)


def unswept(*variants: int) -> tuple[str, ...]:
    """The same without faults, in which nobody sweeps."""
    return tuple(f"{_HISTORIES}where_nobody_dies_all_comes_to_an_end_without_a_sweep[{each}]" for each in variants)
