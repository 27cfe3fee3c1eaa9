"""Lattices of whole numbers, and what two of them share."""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from onthedot.moments import END_MS
from onthedot.triggers.every import Every


class Lattice(NamedTuple):
    """The numbers phase + n * step."""

    step: int
    phase: int

    def meet(self, other: Lattice) -> Lattice | None:
        """The numbers that both have, which are a lattice again, or None."""
        common = gcd(self.step, other.step)
        turns, rest = divmod(other.phase - self.phase, common)
        if rest:
            return None
        its_turns = other.step // common
        turn = turns * pow(self.step // common, -1, its_turns) % its_turns
        return Lattice(self.step * its_turns, self.phase + turn * self.step)


WHOLE_SECONDS = Lattice(1000, 0)


def lattice_of(interval: Every) -> Lattice:
    """Its milliseconds, without its bounds."""
    return Lattice(interval.interval_ms, interval.phase_ms)


def whole_seconds(interval: Every) -> Lattice | None:
    """Those of its milliseconds that are whole seconds, or None if none of them comes before the end of time."""
    lattice = lattice_of(interval).meet(WHOLE_SECONDS)
    return None if lattice is None or lattice.phase >= END_MS else lattice
