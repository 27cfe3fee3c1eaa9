"""The same `app.*` over HTTP, for programs that cannot reach the database: `App("https://jobs.example", token=…)`."""

from onthedot.app.remote.alerts import RemoteAlerts
from onthedot.app.remote.connection import Connection
from onthedot.app.remote.enqueuing import enqueue
from onthedot.app.remote.flows import RemoteFlows
from onthedot.app.remote.freezes import RemoteFreezes
from onthedot.app.remote.kept_values import RemoteCalendars, RemoteNamedTriggers
from onthedot.app.remote.nodes import RemoteNodes
from onthedot.app.remote.runs import RemoteRuns
from onthedot.app.remote.schedules import RemoteSchedules
from onthedot.app.remote.tasks import RemoteTasks
from onthedot.app.remote.tokens import RemoteTokens

__all__ = [
    "Connection",
    "RemoteAlerts",
    "RemoteCalendars",
    "RemoteFlows",
    "RemoteFreezes",
    "RemoteNamedTriggers",
    "RemoteNodes",
    "RemoteRuns",
    "RemoteSchedules",
    "RemoteTasks",
    "RemoteTokens",
    "enqueue",
]
