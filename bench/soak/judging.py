"""Whether anything grew that should not: what was there when all had been done once, beside what is there later."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.soak.sample import NodeSample, Sample

WARM_S, WINDOW_S = 600.0, 300.0
"""After ten minutes every kind of work has been done, and retention holds; then five minutes stand for the beginning,
and the last five for the end. Of a shorter soak, a sixth and a twelfth of it."""
LEAST_S = 1800.0
MOST_GROWTH = 0.10
KEPT_FOR_DAYS = ("hours", "minutes", "keys")
"""Tables that no hour can show to be flat: a row for each minute or hour, for days; and a key, for 30 days after the
end of its run, however short history is kept."""
_FEW_ROWS = 50
"""By so many rows a small table may differ from one minute to the next."""


@dataclass(frozen=True, slots=True)
class Growth:
    """One quantity, of one node or of the store."""

    what: str
    before: float
    after: float

    @property
    def by(self) -> float:
        """0.1 is a tenth more than before."""
        return self.after / self.before - 1 if self.before else float(self.after > 0)


@dataclass(frozen=True, slots=True)
class Windows:
    """The samples that stand for the beginning, and for the end."""

    begin: tuple[Sample, ...]
    end: tuple[Sample, ...]

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Windows:
        total = samples[-1].at_s
        warm, width = min(WARM_S, total / 6), min(WINDOW_S, total / 12)
        begin = tuple(each for each in samples if warm <= each.at_s < warm + width)
        return cls(begin or tuple(samples[:1]), tuple(each for each in samples if each.at_s > total - width))

    def grown(self, what: str, of: Callable[[Sample], float]) -> Growth:
        """Medians: a moment at which something was just being made or cleared away says nothing."""
        return Growth(what, *(statistics.median(map(of, side)) for side in (self.begin, self.end)))


def of_nodes(windows: Windows) -> dict[str, list[Growth]]:
    """Memory, objects, handles and threads of each node."""
    count = len(windows.begin[0].nodes)
    kinds: dict[str, Callable[[NodeSample], float]] = {
        "memory": lambda node: node.rss,
        "objects": lambda node: node.objects,
        "blocks": lambda node: node.blocks,
        "handles": lambda node: node.handles,
        "threads": lambda node: node.threads,
    }
    return {
        kind: [windows.grown(f"node {number + 1}", _of(read, number)) for number in range(count)]
        for kind, read in kinds.items()
    }


def _of(read: Callable[[NodeSample], float], number: int) -> Callable[[Sample], float]:
    return lambda sample: read(sample.nodes[number])


def of_tables(windows: Windows) -> list[Growth]:
    """Rows of each table, those that are kept for days left out."""
    names = [name for name in windows.end[-1].rows if name not in KEPT_FOR_DAYS]
    return [windows.grown(name, _rows(name)) for name in names]


def _rows(name: str) -> Callable[[Sample], float]:
    return lambda sample: sample.rows.get(name, 0)


def is_flat(growth: Growth, few: float = 0) -> bool:
    """Whether it is at most a tenth more, or a few."""
    return growth.after <= max(growth.before * (1 + MOST_GROWTH), growth.before + few)


def busier(windows: Windows) -> float:
    """How many times as many runs ended at the end as in the beginning: on a loaded machine less is done at times."""
    rates = [
        sum(each.done for each in side) / sum(each.seconds for each in side) for side in (windows.begin, windows.end)
    ]
    return max(rates[1] / rates[0], 1.0) if rates[0] else 1.0


def is_flat_table(growth: Growth, busier: float) -> bool:
    """Whether it did not grow, but for having more to hold."""
    return is_flat(Growth(growth.what, growth.before * busier, growth.after), _FEW_ROWS)
