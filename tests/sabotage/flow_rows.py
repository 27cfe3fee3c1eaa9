"""Where the rows of steps are, how long they are kept, and who sees them."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage, memory

FLOW_ROWS = (
    Sabotage(
        name="ended-steps-run-on",
        rule="A step that has ended and was not told counts for no node.",
        file="stores/sql/statements.py",
        find=".where(tables.OWNED, ~tables.HAS_ENDED)",
        replace=".where(tables.OWNED)",
        tests=("tests/stores/test_sqlite.py::TestStepRows",),
    ),
    Sabotage(
        name="ended-steps-are-locked-as-live",
        rule="What has ended is not among the live runs that are locked.",
        file="stores/memory.py",
        find="return {run.id: run for run in still_live(found)}",
        replace="return {run.id: run for run in found}",
        tests=memory("TestStepRows"),
    ),
    Sabotage(
        name="old-steps-go-before-their-flow",
        rule="A step is kept as long as its flow, however old it is.",
        file="stores/memory_prune.py",
        find="(run for run in old if not run.is_kept_by_flow)",
        replace="old",
        tests=memory("TestPruningFlows"),
    ),
    Sabotage(
        name="too-many-steps-go-before-their-flow",
        rule="A step is kept as long as its flow, however many there are.",
        file="stores/memory_prune.py",
        find=" and group != _OF_FLOWS",
        replace="",
        tests=memory("TestPruningFlows"),
    ),
    Sabotage(
        name="steps-outlive-their-flow",
        rule="The steps of a flow that is forgotten follow it.",
        file="stores/memory_prune.py",
        find="        self._tables.forgotten |= flows\n",
        replace="",
        tests=memory("TestPruningFlows"),
    ),
    Sabotage(
        name="needed-graphs-go",
        rule="A graph is kept while anything needs it.",
        file="stores/memory_prune.py",
        find=" if not self._is_used(graph)",
        replace="",
        tests=memory("TestPruningFlows"),
    ),
    Sabotage(
        name="flows-go-on-as-they-are-remembered",
        rule="What a process remembers of a flow is never older than its row.",
        file="stores/open_flows.py",
        find="said = flow.ledger if known == ledger else json_object(ledger)",
        replace="said = flow.ledger",
        tests=("tests/stores/test_remembered_rows.py",),
    ),
    Sabotage(
        name="a-stop-is-not-seen-in-a-remembered-flow",
        rule="A request to stop reaches whoever moves the flow next.",
        file="stores/open_flows.py",
        find="cancel_requested_ms=cancel_requested_ms, ",
        replace="",
        tests=("tests/stores/test_remembered_rows.py",),
    ),
    Sabotage(
        name="a-flow-between-live-and-ended-has-no-graph",
        rule="Whether runs need a graph is seen at one moment: one that is retried meanwhile is not overlooked.",
        file="stores/mongo/prune.py",
        find='any(place.find_one({"graph": graph}, {"_id": 1}, session=session) for place in places)',
        replace='any(place.find_one({"graph": graph}, {"_id": 1}) for place in places)',
        tests=("tests/stores/test_mongodb_pruning.py",),
    ),
)
