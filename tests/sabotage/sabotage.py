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
        """Take the rule out of a tree, which must be a copy."""
        file = root / self.path
        file.write_text(self.applied_to(file.read_text()))


def memory(*tests: str) -> tuple[str, ...]:
    """Of the conformance suite, on the store in memory: what it notices, every store's own run of it does."""
    return tuple(f"tests/stores/test_memory.py::{each}" for each in tests)


def unit(*tests: str) -> tuple[str, ...]:
    """Of the unit tests."""
    return tuple(f"tests/unit/{each}" for each in tests)


def histories(*variants: int) -> tuple[str, ...]:
    """Random histories of real nodes, of these variants."""
    name = "tests/sabotage/histories.py::test_every_promise_holds_after_every_step"
    return tuple(f"{name}[{variant}]" for variant in variants)
