"""Broadcasts: flows over the nodes that live when they begin."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage, memory

_ALL = memory("TestBroadcast")

BROADCASTS = (
    Sabotage(
        name="broadcast-of-one-run",
        rule="A broadcast becomes a flow over nodes when it starts.",
        file="rules/flows/broadcasting.py",
        find="return replace(run, graph=BROADCAST.hash) if is_whole(run) else run",
        replace="return run",
        tests=_ALL,
    ),
    Sabotage(
        name="broadcast-to-nobody",
        rule="A broadcast waits while all that could take it drain.",
        file="stores/engine/starting.py",
        find="not is_whole(run) or eligible(nodes(), run.task, run.policy.group)",
        replace="True",
        tests=memory("TestBroadcast::test_it_waits_while_all_that_could_take_it_drain"),
    ),
    Sabotage(
        name="broadcast-for-whoever-is-free",
        rule="A shard has its target: every node does its own.",
        file="rules/flows/broadcasting.py",
        find="target=ledger.members[number], ",
        replace="",
        tests=_ALL,
    ),
    Sabotage(
        name="broadcast-counts-its-nodes-anew",
        rule="The members stand in the ledger, and a retry keeps them.",
        file="rules/flows/making.py",
        find="Ledger(members=tuple(members)) if begun.ledger is None else reopened(Ledger.from_json(begun.ledger), graph)",
        replace="Ledger(members=tuple(members))",
        tests=memory("TestRetryingBroadcasts"),
    ),
    Sabotage(
        name="broadcast-goes-around-again",
        rule="A shard is no broadcast itself.",
        file="rules/flows/broadcasting.py",
        find='route="any", ',
        replace="",
        tests=_ALL,
    ),
    Sabotage(
        name="shards-need-places",
        rule="All shards start under the one place of their broadcast.",
        file="rules/flows/broadcasting.py",
        find="limit=None, ",
        replace="",
        tests=memory("TestPlacesOfBroadcasts::test_all_shards_start_under_the_one_place_of_their_broadcast"),
    ),
    Sabotage(
        name="shards-expire",
        rule="A shard does not expire once its broadcast has begun.",
        file="rules/flows/broadcasting.py",
        find="expires_ms=None, ",
        replace="",
        tests=memory("TestBroadcast::test_a_shard_does_not_expire_once_its_broadcast_has_begun"),
    ),
    Sabotage(
        name="broadcast-stops-with-a-shard-s-time-out",
        rule="The time-out of a broadcast is that of each shard.",
        file="rules/flows/making.py",
        find="None if begun.is_broadcast else begun.policy.timeout_ms",
        replace="begun.policy.timeout_ms",
        tests=memory("TestBroadcast::test_the_time_that_a_shard_may_take_is_not_that_of_the_whole"),
    ),
    Sabotage(
        name="shard-forgets-how-many-there-are",
        rule="A shard knows how many there are, also when it has ended.",
        file="rules/end.py",
        find="size = run.size if outcome.size is None else outcome.size",
        replace="size = outcome.size",
        tests=_ALL,
    ),
    Sabotage(
        name="shard-s-arguments-are-read-as-references",
        rule="A shard has the arguments of its broadcast, whatever they look like.",
        file="rules/flows/broadcasting.py",
        find="args={name: {ARG: name} for name in flow.args}",
        replace="args=flow.args",
        tests=memory("TestBroadcast::test_a_shard_has_the_arguments_of_its_broadcast_and_its_moment"),
    ),
    Sabotage(
        name="shard-stays-with-the-dead",
        rule="A shard whose node is gone goes to whoever is free.",
        file="stores/engine/rerouting.py",
        find="target=None if chosen is None else chosen.id",
        replace="target=run.target if chosen is None else chosen.id",
        tests=memory("TestBroadcast::test_a_shard_whose_node_died_goes_to_another_node"),
    ),
    Sabotage(
        name="broadcast-graph-unknown",
        rule="Whoever runs this code knows the graph of broadcasts: no store need keep it.",
        file="stores/engine/graphs.py",
        find="{**found, BROADCAST.hash: BROADCAST} if len(kept) < len(hashes) else found",
        replace="found",
        tests=_ALL,
    ),
)
