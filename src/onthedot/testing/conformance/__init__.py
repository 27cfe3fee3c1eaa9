"""The promises of `stores.base`, as tests that any store can be put to.

A store's own test file gives two fixtures, and imports the tests:

    import pytest
    from onthedot.testing.clock import ManualClock
    from onthedot.testing.conformance import *  # noqa: F403  (the tests themselves)
    from onthedot.testing.conformance import START_MS

    @pytest.fixture
    def clock():
        return ManualClock(START_MS)

    @pytest.fixture
    def store(clock):
        return MyStore("my://…", now_ms=clock)      # empty, and reading the time from this clock

Nothing else is to be done, and nothing may be left out: a store that needs an exception breaks a promise. Each test is
named after the promise that it keeps, and gets a store of its own. Requires pytest.
"""

from __future__ import annotations

import pytest

_TOPICS = (
    "access",
    "ahead",
    "alerts",
    "asking",
    "backfill",
    "boundaries",
    "broadcasts",
    "concurrency",
    "dispatch",
    "elsewhere",
    "flow_rows",
    "flows",
    "freezing",
    "history",
    "keys",
    "nodes",
    "one_step",
    "planning",
    "running",
    "scene",
    "schedules",
    "statistics",
    "values",
)
# Before they are imported: a failing assert then shows its values.
pytest.register_assert_rewrite(*(f"{__name__}.{topic}" for topic in _TOPICS))

from onthedot.testing.conformance.access import TestAuditOfDrains, TestSessions, TestTokens  # noqa: E402
from onthedot.testing.conformance.ahead import TestPlanningAhead  # noqa: E402
from onthedot.testing.conformance.alerts import TestAlerts, TestOverdue  # noqa: E402
from onthedot.testing.conformance.asking import (  # noqa: E402
    TestAskingForRuns,
    TestAskingForSchedules,
    TestAttempts,
    TestMinutes,
    TestProgress,
    TestTicks,
)
from onthedot.testing.conformance.backfill import TestBackfill  # noqa: E402
from onthedot.testing.conformance.boundaries import (  # noqa: E402
    TestAtNow,
    TestCrowds,
    TestEveryTickIsDecided,
    TestOldBeforeNew,
    TestSelfRemoval,
    TestSlotsAfterEdits,
    TestVersions,
)
from onthedot.testing.conformance.broadcasts import (  # noqa: E402
    TestBroadcast,
    TestPlacesOfBroadcasts,
    TestRetryingBroadcasts,
    TestStoppingBroadcasts,
)
from onthedot.testing.conformance.concurrency import TestManyThreadsAtOnce  # noqa: E402
from onthedot.testing.conformance.dispatch import (  # noqa: E402
    TestChains,
    TestCover,
    TestDependencies,
    TestDraining,
    TestExpiry,
    TestGroupLimits,
    TestRouting,
)
from onthedot.testing.conformance.elsewhere import TestElsewhere  # noqa: E402
from onthedot.testing.conformance.flow_rows import (  # noqa: E402
    TestGraphs,
    TestPruningFlows,
    TestResults,
    TestStepRows,
    TestUntil,
)
from onthedot.testing.conformance.flows import (  # noqa: E402
    TestFlows,
    TestFlowsOfSchedules,
    TestRetryingFlows,
    TestStoppingFlows,
    TestSubFlows,
)
from onthedot.testing.conformance.freezing import TestFreezes, TestSkipping  # noqa: E402
from onthedot.testing.conformance.history import (  # noqa: E402
    TestDecisions,
    TestLogs,
    TestPruning,
    TestPruningDefinitions,
    TestPruningNodes,
    TestPruningTombstones,
    TestRunsThatAreListed,
)
from onthedot.testing.conformance.keys import TestClaimedKeys, TestKeys, TestTriggering  # noqa: E402
from onthedot.testing.conformance.nodes import TestCrashes, TestForgetting, TestLeases, TestTakeover  # noqa: E402
from onthedot.testing.conformance.one_step import TestFinishingAndStarting  # noqa: E402
from onthedot.testing.conformance.planning import (  # noqa: E402
    TestBadRows,
    TestLocalTicks,
    TestMisfire,
    TestOverlapWhenPlanned,
    TestPlanning,
)
from onthedot.testing.conformance.running import (  # noqa: E402
    TestCancelling,
    TestFinishing,
    TestOperatorsRetry,
    TestOverlapWhenStarted,
    TestPriorities,
    TestStarting,
    TestWaking,
)
from onthedot.testing.conformance.scene import START_MS  # noqa: E402
from onthedot.testing.conformance.schedules import (  # noqa: E402
    TestAudit,
    TestDeleting,
    TestListing,
    TestPausing,
    TestPutting,
    TestRescheduling,
)
from onthedot.testing.conformance.statistics import TestStatistics  # noqa: E402
from onthedot.testing.conformance.values import TestCarrying, TestValues  # noqa: E402

__all__ = [
    "START_MS",
    "TestAlerts",
    "TestAskingForRuns",
    "TestAskingForSchedules",
    "TestAtNow",
    "TestAttempts",
    "TestAudit",
    "TestAuditOfDrains",
    "TestBackfill",
    "TestBadRows",
    "TestBroadcast",
    "TestCancelling",
    "TestCarrying",
    "TestChains",
    "TestClaimedKeys",
    "TestCover",
    "TestCrashes",
    "TestCrowds",
    "TestDecisions",
    "TestDeleting",
    "TestDependencies",
    "TestDraining",
    "TestElsewhere",
    "TestEveryTickIsDecided",
    "TestExpiry",
    "TestFinishing",
    "TestFinishingAndStarting",
    "TestFlows",
    "TestFlowsOfSchedules",
    "TestForgetting",
    "TestFreezes",
    "TestGraphs",
    "TestGroupLimits",
    "TestKeys",
    "TestLeases",
    "TestListing",
    "TestLocalTicks",
    "TestLogs",
    "TestManyThreadsAtOnce",
    "TestMinutes",
    "TestMisfire",
    "TestOldBeforeNew",
    "TestOperatorsRetry",
    "TestOverdue",
    "TestOverlapWhenPlanned",
    "TestOverlapWhenStarted",
    "TestPausing",
    "TestPlacesOfBroadcasts",
    "TestPlanning",
    "TestPlanningAhead",
    "TestPriorities",
    "TestProgress",
    "TestPruning",
    "TestPruningDefinitions",
    "TestPruningFlows",
    "TestPruningNodes",
    "TestPruningTombstones",
    "TestPutting",
    "TestRescheduling",
    "TestResults",
    "TestRetryingBroadcasts",
    "TestRetryingFlows",
    "TestRouting",
    "TestRunsThatAreListed",
    "TestSelfRemoval",
    "TestSessions",
    "TestSkipping",
    "TestSlotsAfterEdits",
    "TestStarting",
    "TestStatistics",
    "TestStepRows",
    "TestStoppingBroadcasts",
    "TestStoppingFlows",
    "TestSubFlows",
    "TestTakeover",
    "TestTicks",
    "TestTokens",
    "TestTriggering",
    "TestUntil",
    "TestValues",
    "TestVersions",
    "TestWaking",
]
