"""The law, kept once: every store that has transactions is this engine over its own `Transaction`."""

from __future__ import annotations

from onthedot.stores.engine.changes import Changes
from onthedot.stores.engine.enqueuing import Enqueuing
from onthedot.stores.engine.finishing import Finishing
from onthedot.stores.engine.leases import Leases
from onthedot.stores.engine.operating import Operating
from onthedot.stores.engine.planning import Planning
from onthedot.stores.engine.routing import Routing
from onthedot.stores.engine.starting import Starting


class Engine(Changes, Planning, Enqueuing, Starting, Finishing, Operating, Routing, Leases):
    """Implements every writing method of `Store` with transactions over `Transaction`."""
