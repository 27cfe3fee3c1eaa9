"""How a node behaves, as set from code or from outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from onthedot.settings import Settings
from onthedot.stores.retention import Retention


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """How a node behaves; all durations in milliseconds."""

    name: str = ""
    group: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    roles: tuple[str, ...] = ("plan", "execute")
    capacity: int = 200
    lease_ms: int = 30_000
    heartbeat_ms: int = 10_000
    poll_ms: int = 1000
    drain_ms: int = 30_000
    sweep_ms: int = 5000
    plan_ahead: bool = True
    """Whether plain ticks are decided before their moment; it only saves work."""
    hold_on_ms: int = 50
    """Where runs take less, what is due waits for the next worker that comes free, and not in the store; 0: never."""
    tune_gc: bool = False
    """Whether the garbage collector of this process is set up for a node; `onthedot run` does. Left alone elsewhere: it
    may not be ours alone."""
    retention: Retention = field(default_factory=Retention)

    @classmethod
    def of(cls, settings: Settings) -> NodeSettings:
        """What was set from outside."""
        return cls(
            name=settings.name,
            group=settings.group,
            roles=settings.role_names,
            capacity=settings.workers,
            lease_ms=settings.lease_ms,
            heartbeat_ms=settings.heartbeat_ms,
            poll_ms=settings.poll_ms,
            drain_ms=settings.drain_ms,
            retention=Retention(
                history_ms=settings.history_ms,
                per_schedule=settings.history_per_schedule,
                changes_ms=settings.changes_ms,
                nodes_ms=settings.history_ms,
            ),
        )

    @property
    def give_up_ms(self) -> int:
        """Without a renewal for so long, nothing that runs here may be taken to be ours."""
        return self.lease_ms * 5 // 6
