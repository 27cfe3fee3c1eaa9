"""Flows: ended steps are told of once, nothing begins too early or after a stop, what went wrong is done again."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage, memory, unit

_RULES = "tests/properties/test_flow_rules.py::test_"


def rules(*tests: str) -> tuple[str, ...]:
    """Of the rules, on random graphs."""
    return tuple(f"{_RULES}{each}" for each in tests)


def flow_histories(*parts: int) -> tuple[str, ...]:
    """Random histories with crashes."""
    return tuple(f"tests/sabotage/flow_histories.py::test_every_promise_holds[{each}]" for each in parts)


_ONCE = rules("every_step_runs_once_after_what_it_waits_for_and_the_flow_ends_as_they_did")
_STOP = rules("a_flow_that_is_asked_to_stop_closes_and_begins_nothing_else")
_AGAIN = rules("a_retried_flow_does_again_what_went_wrong_and_what_follows_from_it")
_ALONE = rules("a_step_is_retried_alone_only_where_nothing_has_used_its_end")
_DIES = memory("TestFlows::test_a_node_that_dies_between_the_end_of_a_step_and_the_look_costs_a_poll")
_CANCEL = memory(
    "TestStoppingFlows::test_a_cancelled_flow_ends_what_waits_asks_what_runs_and_begins_only_its_closing_steps"
)
_RETRY = memory("TestRetryingFlows::test_a_retried_flow_does_again_what_went_wrong_and_keeps_what_ended_well")
_SLOT = memory("TestFlowsOfSchedules::test_the_slot_is_held_throughout_and_the_fences_of_a_later_flow_are_higher")

TELLING = (
    Sabotage(
        name="flow-ended-step-vanishes",
        rule="An ended step stays among the live rows until its flow has been told.",
        file="stores/engine/settling.py",
        find="stays = {run.id for run in ended if run.is_step and run.parent_id not in told}",
        replace="stays: set[str] = set()",
        tests=_DIES,
    ),
    Sabotage(
        name="flow-told-without-its-lock",
        rule="A step leaves the live rows only where its flow is locked, and told.",
        file="stores/engine/finishing.py",
        find="ended = put_down(tx, recorded, flows.keys())",
        replace='ended = put_down(tx, recorded, {run.parent_id or "" for run in recorded} if flows is not None else ())',
        tests=flow_histories(0, 1),
    ),
    Sabotage(
        name="flow-nobody-looks-after-a-takeover",
        rule="Whoever ended a step looks at its flow after the commit.",
        file="stores/engine/engine.py",
        find="        self._look(flows_of(runs))\n        self._wake(waking.freed_by(runs))",
        replace="        self._wake(waking.freed_by(runs))",
        tests=memory("TestFlows::test_a_step_that_was_lost_with_its_node_is_bad_and_its_flow_is_told"),
    ),
    Sabotage(
        name="flow-poll-misses-untold",
        rule="The poll looks at flows with ended steps.",
        file="stores/engine/flow_watch.py",
        find="found = {*ids, *(run.id for run in late if run.state is State.RUNNING)}",
        replace="found = {run.id for run in late if run.state is State.RUNNING}",
        tests=_DIES,
    ),
    Sabotage(
        name="flow-poll-misses-time-outs",
        rule="The poll looks at flows with an open request or a passed deadline.",
        file="stores/engine/flow_watch.py",
        find="found = {*ids, *(run.id for run in late if run.state is State.RUNNING)}",
        replace="found = {*ids}",
        tests=memory("TestStoppingFlows::test_a_flow_that_runs_longer_than_its_time_out_is_stopped_and_says_so"),
    ),
    Sabotage(
        name="flow-counts-instead-of-sets",
        rule="The ledger holds sets of items, not counters: telling twice is telling once.",
        file="rules/flows/telling.py",
        find="        good=entry.good | good,",
        replace="        good=entry.good ^ good,",
        tests=_ONCE,
    ),
    Sabotage(
        name="flow-random-step-ids",
        rule="A step's run id is made from flow, step, item (and round).",
        file="rules/flows/making.py",
        find='f"{flow.id}:{name}{again}".encode()',
        replace="f'{flow.id}:{name}{again}{__import__(chr(111) + chr(115)).urandom(9)!r}'.encode()",
        tests=unit("rules/test_flow_making.py"),
    ),
    Sabotage(
        name="flow-closing-steps-of-all-rounds-are-one",
        rule="Ids of closing steps carry the round.",
        file="rules/flows/making.py",
        find="    return ledger.round if step.closing else None",
        replace="    return None",
        tests=_RETRY,
    ),
    Sabotage(
        name="flow-opened-without-steps",
        rule="Opening makes the first steps in the same transaction.",
        file="stores/engine/lookout.py",
        find="        self.move(flow, graph, Ledger.from_json(flow.ledger))\n        return True",
        replace="        self.flows.append(flow)\n        return True",
        tests=memory("TestFlows::test_a_flow_needs_no_worker_to_be_opened_and_takes_none"),
    ),
    Sabotage(
        name="flow-sub-flow-written-twice",
        rule="A flow and its sub-flow are not moved by one look: the flow may write the sub-flow's row.",
        file="stores/engine/lookout.py",
        find="    later = {run.id for run in flows if run.is_step and run.parent_id in locked}",
        replace="    later: set[str] = set()",
        tests=memory(
            "TestStoppingFlows::test_a_flow_that_stops_undoes_nothing_of_what_its_sub_flow_is_told_at_that_moment"
        ),
    ),
)

JUDGING = (
    Sabotage(
        name="flow-map-judged-early",
        rule="A mapped step is judged when all items have ended.",
        file="rules/flows/judging.py",
        find="    if not all_ended and (entry.live or not stops):",
        replace="    if not all_ended and not entry.bad and (entry.live or not stops):",
        tests=_ONCE,
    ),
    Sabotage(
        name="flow-no-window",
        rule="A map has at most so many live items.",
        file="rules/flows/judging.py",
        find="min(step.parallel - entry.live.bit_count(), self.room)",
        replace="self.room",
        tests=_ONCE,
    ),
    Sabotage(
        name="flow-closing-too-early",
        rule="Closing steps come when all others have ended.",
        file="rules/flows/judging.py",
        find="    if ended:\n        ended = work.move_all(",
        replace="    if ended or work.entries:\n        ended = work.move_all(",
        tests=_ONCE,
    ),
    Sabotage(
        name="flow-map-over-a-bad-source",
        rule="A map over a step that did not end well is skipped, whatever its `on`.",
        file="rules/flows/judging.py",
        find='        if source is not None and self.entries[source].verdict != "good":\n            return "skip"\n',
        replace="",
        tests=_ONCE,
    ),
    Sabotage(
        name="flow-judged-by-parents-alone",
        rule="A step is judged when all its ancestors have ended, not only its parents.",
        file="rules/flows/judging.py",
        find="        if not self.have_verdicts(self.graph.ancestors[step.name]):\n            return None\n",
        replace="",
        tests=unit("rules/test_flow_retrying.py"),
    ),
    Sabotage(
        name="flow-fence-from-nothing",
        rule="A new step's fence begins above all ended siblings'.",
        file="rules/flows/making.py",
        find='            "fence": ledger.fence,',
        replace='            "fence": 0,',
        tests=memory(
            "TestFlows::test_each_step_begins_once_what_it_waits_for_has_ended_well_and_the_flow_ends_with_the_last"
        ),
    ),
    Sabotage(
        name="flow-reserves-no-fences",
        rule="Opening reserves a block of the schedule's fences.",
        file="rules/start.py",
        find="fence = self.schedule.fence + (FENCES if flow.is_flow else 1)",
        replace="fence = self.schedule.fence + 1",
        tests=_SLOT,
    ),
    Sabotage(
        name="flow-without-its-slot",
        rule="The flow row holds the slot from opening to end.",
        file="rules/flows/making.py",
        find="        begun,\n        owner=None,",
        replace="        begun,\n        slot=None,\n        owner=None,",
        tests=_SLOT,
    ),
)

STOPPING = (
    Sabotage(
        name="flow-stop-not-carried-out",
        rule="Look carries a request to stop out: waiting steps end, running ones are asked.",
        file="stores/engine/lookout.py",
        find="        if stop_level(flow, ledger) > ledger.carried:",
        replace="        if stop_level(flow, ledger) > ledger.carried + 9:",
        tests=_CANCEL,
    ),
    Sabotage(
        name="flow-goes-on-while-it-stops",
        rule="Look makes no step of a flow that shall stop.",
        file="rules/flows/judging.py",
        find="    return flow.cancel_requested_ms is not None and (not step.closing or ledger.hard)",
        replace="    return False",
        tests=_STOP,
    ),
    Sabotage(
        name="flow-stop-stops-closing-steps",
        rule="Closing steps run after a cancel as well.",
        file="rules/flows/judging.py",
        find="    return flow.cancel_requested_ms is not None and (not step.closing or ledger.hard)",
        replace="    return flow.cancel_requested_ms is not None",
        tests=_STOP,
    ),
    Sabotage(
        name="flow-stop-past-a-locked-row",
        rule="A stop counts as carried out when every live step was ended or asked.",
        file="stores/engine/lookout.py",
        find="        if len(free) == len(live):",
        replace="        if len(free) <= len(live):",
        tests=unit("stores/engine/test_lookout.py"),
    ),
    Sabotage(
        name="flow-repeated-cancel-asks-for-more",
        rule="A repeated cancel asks for no more than the first.",
        file="rules/flows/telling.py",
        find="    if flow.cancel_requested_ms is not None and not (hard and not ledger.hard):\n        return flow\n",
        replace="    hard = hard or flow.cancel_requested_ms is not None\n",
        tests=_CANCEL,
    ),
)

RETRYING = (
    Sabotage(
        name="flow-retry-forgets-what-was-skipped",
        rule="A retry clears what was skipped because of what is retried.",
        file="rules/flows/retrying.py",
        find="    again = _with_skipped_after(wrong, ledger, graph)\n    closing",
        replace="    again = wrong\n    closing",
        tests=_RETRY,
    ),
    Sabotage(
        name="flow-retry-redoes-what-was-tolerated",
        rule="A tolerated failure counts as ended well: a retry leaves it.",
        file="rules/flows/retrying.py",
        find='    return entry.verdict in ("bad", "cut", None) or entry.stopped',
        replace='    return entry.verdict in ("bad", "cut", None) or entry.bad > 0 or entry.stopped',
        tests=_AGAIN,
    ),
    Sabotage(
        name="flow-retry-does-not-judge-anew",
        rule="What is retried is judged anew when its parents have ended again.",
        file="rules/flows/retrying.py",
        find="bad=0, verdict=None, again=True, stopped=False)",
        replace="bad=0, verdict=None, again=False, stopped=False)",
        tests=_AGAIN,
    ),
    Sabotage(
        name="flow-retry-makes-another-row",
        rule="A retried item revives its row, it does not get another.",
        file="stores/engine/lookout.py",
        find="            ended = old.get(maker.id_of(item)) if item in wanted.old else None",
        replace="            ended = None if item in wanted.old else None",
        tests=_RETRY,
    ),
    Sabotage(
        name="flow-step-retried-under-its-descendants",
        rule="A step is retried alone only while no descendant has begun.",
        file="rules/flows/retrying.py",
        find='        return "a step after it has begun"',
        replace="        return None",
        tests=_ALONE,
    ),
    Sabotage(
        name="flow-step-retried-beside-its-ancestors",
        rule="A step is retried alone only while all its ancestors have a verdict.",
        file="rules/flows/retrying.py",
        find='        return "a step before it has not ended"',
        replace="        pass",
        tests=unit("rules/test_flow_retrying.py"),
    ),
    Sabotage(
        name="flow-step-retried-while-it-closes",
        rule="A step is retried alone only while its flow runs and does not close.",
        file="rules/flows/retrying.py",
        find='        return "its flow is closing"',
        replace="        pass",
        tests=unit("rules/test_flow_retrying.py"),
    ),
    Sabotage(
        name="flow-step-retried-while-it-stops",
        rule="A step is retried alone only while its flow does not stop.",
        file="rules/flows/retrying.py",
        find='        return "its flow is asked to stop"',
        replace="        pass",
        tests=unit("rules/test_flow_retrying.py"),
    ),
)
