"""What a task returned, as it is kept: by which rules depends on whether its run is a step that others build on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onthedot import storable
from onthedot.model.graph import MOST_ITEMS, Graph
from onthedot.model.references import RESULT, results_in

MOST_STEP_BYTES = 1_000_000
"""What is kept of the result of a step that others come after; and what one step may be given of them."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What others do with the result."""

    most_bytes: int = storable.MOST_BYTES
    used_by: str | None = None
    """The step that is given it: it must be kept whole."""
    mapped_by: str | None = None
    """The step that is mapped over it: it must be a list."""


ANYTHING = Expected()
"""Of a run that is no step."""


class NotAsExpected(storable.NotStorable):
    """A result with which the flow cannot go on; says why in one line."""


def expected_of(graph: Graph, name: str) -> Expected:
    """What the other steps of a flow do with the result of this one."""
    later = [step for step in graph.steps if name in step.after]
    over = [step.name for step in later if isinstance(step.over, dict) and step.over.get(RESULT) == name]
    used = [step.name for step in later if name in results_in([step.args, step.when])]
    return Expected(
        MOST_STEP_BYTES if later else storable.MOST_BYTES,
        next(iter([*over, *used]), None),
        next(iter(over), None) if not graph[name].is_map else None,
    )


def kept(result: Any, expected: Expected) -> tuple[Any, int | None, str | None]:
    """A result as it is kept, how long its list is if somebody counts on that, and why it was not kept.

    `NotStorable` if there is no such result.
    """
    try:
        plain = storable.plain(result, expected.most_bytes)
    except storable.TooLarge as error:
        if expected.used_by is None:
            return None, None, f"its result of {error.size:,} bytes was not kept: the most is {error.most:,}"
        raise NotAsExpected(
            f"its result of {error.size:,} bytes is too large for {expected.used_by}, which gets it: the most is"
            f" {error.most:,}. Keep it elsewhere and return its path or id"
        ) from None
    return plain, None if expected.mapped_by is None else _size(plain, expected.mapped_by), None


def _size(result: Any, mapped_by: str) -> int:
    if not isinstance(result, list):
        kind = "None" if result is None else f"a {type(result).__name__}"
        remedy = "list(d.items()) or list(d)" if isinstance(result, dict) else "a list"
        raise NotAsExpected(f"{mapped_by} is mapped over what it returns, which is {kind} and no list; return {remedy}")
    if len(result) > MOST_ITEMS:
        raise NotAsExpected(
            f"it returned {len(result):,} items for {mapped_by}; a map has at most {MOST_ITEMS:,}: return batches"
        )
    return len(result)
