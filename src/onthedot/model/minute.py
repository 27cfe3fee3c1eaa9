"""A minute of a node: how many runs it began and ended, and how late they began."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onthedot.model.histogram import Histogram

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Minute:
    """What one incarnation did in one minute, counted by itself. The last seconds of one that is killed are missing."""

    minute_ms: int
    """The beginning of the minute."""
    node_id: str
    begun: int = 0
    ended: Mapping[str, int] = field(default_factory=dict)
    """By how they ended: what workers did, steps of flows among it."""
    lateness: Histogram = field(default_factory=dict)
    """How late those that were begun were (`model.histogram`)."""
    latest_ms: int = 0
    """The latest of them."""
    latest_run: str | None = None
    latest_name: str | None = None
    """Of its schedule, or task."""
    ended_steps: Mapping[str, int] = field(default_factory=dict)
    """Those of `ended` that were steps."""
    ended_flows: Mapping[str, int] = field(default_factory=dict)
    """Flows, which no worker does; those in a flow are steps of it, and do not count."""

    @property
    def listed(self) -> dict[str, int]:
        """What ended, as lists show it: a flow once, without its steps."""
        whole = Counter(self.ended)
        whole.update(self.ended_flows)
        whole.subtract(self.ended_steps)
        return +whole

    def as_json(self) -> dict[str, Any]:
        """All but the minute and the node; what is empty is left out."""
        lateness = {str(bucket): count for bucket, count in self.lateness.items()}
        said: dict[str, Any] = {"begun": self.begun, "ended": dict(self.ended), "lateness": lateness}
        said |= {"ended_steps": dict(self.ended_steps), "ended_flows": dict(self.ended_flows)}
        if self.latest_run is not None:
            said |= {"latest_ms": self.latest_ms, "latest_run": self.latest_run, "latest_name": self.latest_name}
        return {name: value for name, value in said.items() if value}

    @classmethod
    def from_json(cls, minute_ms: int, node_id: str, said: Mapping[str, Any]) -> Minute:
        """What `as_json` gave, of this or an earlier version. `ValueError`, `TypeError` where it is nothing of that."""
        lateness = {int(bucket): int(count) for bucket, count in dict(said.get("lateness", {})).items()}
        return cls(
            minute_ms,
            node_id,
            int(said.get("begun", 0)),
            _counts(said.get("ended", {})),
            lateness,
            int(said.get("latest_ms", 0)),
            said.get("latest_run"),
            said.get("latest_name"),
            _counts(said.get("ended_steps", {})),
            _counts(said.get("ended_flows", {})),
        )


def _counts(said: Any) -> dict[str, int]:
    return {how: int(count) for how, count in dict(said).items()}
