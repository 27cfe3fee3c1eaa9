"""What a store needs for so many schedules on so many nodes, from what one of each costs. Values in, values out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil

CONNECTIONS = 6
"""That a node keeps open: five to work with, and one to listen."""
POOLED = 60
"""That PgBouncer keeps open for all nodes behind it."""
RENEWAL_S = 10
LOOK_AHEAD_S = 5
FULL = 0.7
"""A server that is used beyond this part of what it has answers late."""
_MICRO = 1e-6
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Costs:
    """Of one tick, one second or one row, as they were measured: of the server in µs of one core, or in bytes."""

    plan_us: float
    """A tick that was decided ahead is written."""
    finish_us: float
    """Its outcome is."""
    read_us: float
    """A tick is read ahead; by every node that plans."""
    moment_us: float
    """The moment of a tick is read into a ring; by every node, once for each second that it looks ahead."""
    poll_us: float
    """A node looks for what is due, once a second."""
    renew_us: float
    """A node renews its lease."""
    renew_peer_us: float
    """For each live node that it is told of then."""
    schedule_bytes: float
    run_bytes: float
    """An ended run, with its indexes."""
    wal_bytes: float
    """That a tick writes into the server's log, from its plan to its outcome."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of one store."""

    schedules: float
    ticks: float
    """A second, on the average of a day."""
    nodes: int
    planners: int
    """How many of them plan."""
    kept_days: float
    """Of ended runs."""
    pooled: bool = False
    """Whether those that do not plan come through PgBouncer."""
    kept_each: int = 1000
    """Of them for each schedule at most."""

    def shared_by(self, stores: int) -> Load:
        """The part of one of so many stores, each with nodes of its own; two at least, so that one may die."""
        nodes = max(ceil(self.nodes / stores), min(self.nodes, 2))
        parted = replace(self, schedules=self.schedules / stores, ticks=self.ticks / stores, nodes=nodes)
        return replace(parted, planners=min(self.planners, nodes))


@dataclass(frozen=True, slots=True)
class Server:
    """What one has: an assumption, said beside every figure that rests on it."""

    cores: float = 32
    connections: float = 500
    wal_mb: float = 200
    """A second."""
    disk_gb: float = 4000


PARTS = ("ticks", "reading ahead", "reading moments", "looking once a second", "renewing leases")


def cores_of(costs: Costs, load: Load) -> dict[str, float]:
    """Of the server, by what they are needed for."""
    renewals = load.nodes / RENEWAL_S
    found = (
        load.ticks * (costs.plan_us + costs.finish_us),
        load.ticks * costs.read_us * load.planners,
        load.ticks * costs.moment_us * LOOK_AHEAD_S * load.nodes,
        load.nodes * costs.poll_us,
        renewals * (costs.renew_us + costs.renew_peer_us * load.nodes),
    )
    return {name: each * _MICRO for name, each in zip(PARTS, found, strict=True)}


def kept_runs(load: Load) -> float:
    """How many ended runs the store holds."""
    return min(load.ticks * _DAY_S * load.kept_days, load.schedules * load.kept_each)


def connections(load: Load) -> int:
    """That the server has open."""
    behind = (load.nodes - load.planners) * CONNECTIONS
    return load.planners * CONNECTIONS + (min(behind, POOLED) if load.pooled else behind)


def used(costs: Costs, load: Load, server: Server) -> dict[str, float]:
    """Which part of what the server has is used, by what it has."""
    disk_gb = (load.schedules * costs.schedule_bytes + kept_runs(load) * costs.run_bytes) / 1e9
    return {
        "processors": sum(cores_of(costs, load).values()) / server.cores,
        "connections": connections(load) / server.connections,
        "log": load.ticks * costs.wal_bytes / 1e6 / server.wal_mb,
        "disk": disk_gb / server.disk_gb,
    }


def bottleneck(costs: Costs, load: Load, server: Server) -> str:
    """What is used up first, and of processors by what."""
    parts = used(costs, load, server)
    first = max(parts, key=lambda name: parts[name])
    return f"processors: {_largest(cores_of(costs, load))}" if first == "processors" else first


def _largest(parts: Mapping[str, float]) -> str:
    return max(parts, key=lambda name: parts[name])


def stores_for(costs: Costs, load: Load, server: Server) -> int:
    """The least number of databases, each on a server of its own, that share it so that none is fuller than `FULL`."""
    least, most = 0, 1
    while not _fits(costs, load.shared_by(most), server):
        least, most = most, most * 2
        if most > max(load.schedules, 1):
            raise ValueError("no number of servers is enough: even two nodes alone fill one")
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if _fits(costs, load.shared_by(middle), server) else (middle, most)
    return most


def _fits(costs: Costs, load: Load, server: Server) -> bool:
    return max(used(costs, load, server).values()) <= FULL
