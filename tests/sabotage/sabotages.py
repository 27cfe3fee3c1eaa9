"""All of them: each rule of DESIGN.md, section 4, taken out by itself."""

from __future__ import annotations

from tests.sabotage import (
    alerting,
    boundaries,
    flows,
    freezing,
    identity,
    leases,
    locks,
    overlap,
    routing,
    sql,
    states,
    timing,
)
from tests.sabotage.sabotage import Sabotage

SABOTAGES: tuple[Sabotage, ...] = (
    *identity.IDENTITY,
    *identity.WATERMARK,
    *leases.IN_THE_STORE,
    *leases.ON_THE_NODE,
    *states.CLAIMS,
    *states.STORY,
    *states.CRASHES,
    *states.STOPPED,
    *overlap.SLOTS,
    *overlap.GROUPS,
    *overlap.BROADCASTS,
    *overlap.WAKING,
    *locks.LOCKS,
    *locks.VERSIONS,
    *timing.CLOCK,
    *timing.MISFIRES,
    *timing.DEPENDENCIES,
    *freezing.FREEZES,
    *freezing.SKIPS,
    *boundaries.ITEMS,
    *boundaries.LOOPS,
    *boundaries.QUARANTINE,
    *routing.ROUTES,
    *routing.CLAIMING,
    *routing.LOCAL,
    *sql.SQL,
    *alerting.ALERTS,
    *flows.TELLING,
    *flows.JUDGING,
    *flows.STOPPING,
    *flows.RETRYING,
)
