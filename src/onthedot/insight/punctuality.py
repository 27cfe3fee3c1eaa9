"""How punctual runs began, from what nodes counted minute by minute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onthedot.model.histogram import added, percentile
from onthedot.model.minute import Minute
from onthedot.texts import counted

ON_THE_DOT_MS = 1000
_FEW = 100
_NICE_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000)


@dataclass(frozen=True, slots=True)
class Punctuality:
    """Of the runs that began in some minutes."""

    runs: int
    p50_ms: int
    p99_ms: int
    latest_ms: int

    @classmethod
    def of(cls, minutes: Sequence[Minute]) -> Punctuality:
        """Of all nodes together."""
        lateness = added(each.lateness for each in minutes)
        return cls(
            sum(each.begun for each in minutes),
            percentile(lateness, 0.5) or 0,
            percentile(lateness, 0.99) or 0,
            max((each.latest_ms for each in minutes), default=0),
        )


def tell_punctuality(of: Punctuality, needs: int) -> str:
    """ "Everything else is on the dot: 99 of 100 runs of the last hour began within 0.1 s."."""
    if not of.runs:
        return "No run began within the last hour."
    within_ms = of.latest_ms if of.runs < _FEW else of.p99_ms
    whole = "Everything else" if needs else "Everything"
    if within_ms <= ON_THE_DOT_MS:
        return f"{whole} is on the dot: {_share(of.runs)} of the last hour began within {_within(within_ms)}."
    half = f"half of the {counted(of.runs, 'run')} of the last hour began within {_within(of.p50_ms)}"
    return f"Runs are late: {half}, {_share(of.runs)} within {_within(within_ms)}."


def _share(runs: int) -> str:
    if runs == 1:
        return "the one run"
    return f"all {runs:,} runs" if runs < _FEW else "99 of 100 runs"


def _within(ms: int) -> str:
    """Rounded up to what is easily said."""
    nice = next((each for each in _NICE_MS if ms <= each), None)
    if nice is None:
        return f"{-(-ms // 60_000):,} min"
    return f"{nice} ms" if nice < 100 else f"{nice / 1000:g} s"
