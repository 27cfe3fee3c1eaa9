"""The rules of several servers of Redis: what counts, whom to ask, and whom to leave."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage, unit

_SENTINEL = "tests/stores/test_redis_sentinel.py::test_"
_CLUSTER = "tests/stores/test_redis_cluster.py::test_"
_PRIMARY = "stores/redis/test_primary.py::test_"

REDIS_SERVERS = (
    Sabotage(
        name="redis-what-no-replica-has-counts",
        rule="What was written counts when a replica has it, whatever an old primary says.",
        file="stores/redis/server.py",
        find="        if reached < self.replicas:\n",
        replace="        if False:\n",
        tests=(
            f"{_SENTINEL}what_a_frozen_primary_does_when_it_wakes_counts_for_nothing",
            f"{_SENTINEL}what_no_replica_has_is_not_taken_for_done",
        ),
    ),
    Sabotage(
        name="redis-a-fail-over-under-way-is-not-asked-for",
        rule="What is written while sentinels choose another primary does not count.",
        file="stores/redis/server.py",
        find="        if self.primary is not None and not self.client.connection_pool.confirms(asked or self._address()):\n",
        replace="        if False:\n",
        tests=(f"{_SENTINEL}what_was_answered_outlives_a_fail_over_in_which_nobody_was_ill",),
    ),
    Sabotage(
        name="redis-no-replica-is-needed",
        rule="A store that a fail-over would set back is refused, unless that is accepted.",
        file="stores/redis/connect.py",
        find="        _check_replicas(server)\n",
        replace="",
        tests=(f"{_SENTINEL}what_no_replica_has_is_not_taken_for_done",),
    ),
    Sabotage(
        name="redis-who-waits-at-an-old-primary-goes-on-waiting",
        rule="Whoever waits at a server that is the primary no more is cut off.",
        file="stores/redis/primary.py",
        find="            if (connection.host, connection.port) != now:\n",
        replace="            if False:\n",
        tests=(f"{_SENTINEL}other_processes_hear_of_new_work_after_a_fail_over",),
    ),
    Sabotage(
        name="redis-the-oldest-answer-counts",
        rule="Of several who say who is the primary, the newest answer counts.",
        file="stores/redis/primary.py",
        find="return max(claims).address",
        replace="return min(claims).address",
        tests=unit(f"{_PRIMARY}of_several_answers_that_of_the_latest_fail_over_counts"),
    ),
    Sabotage(
        name="redis-a-moved-slot-is-not-followed",
        rule="A commit that was sent to a node which holds the slot no more was not done, and goes to the one that does.",
        file="stores/redis/server.py",
        find="                self._look_anew()\n                return self._write(name, values)\n",
        replace="                raise\n",
        tests=(f"{_CLUSTER}a_slot_that_is_moved_is_waited_for_and_followed",),
    ),
    Sabotage(
        name="loops-wait-long-for-a-store-that-is-away",
        rule="While the store is away it is asked each second, so that its return is noticed.",
        file="loop.py",
        find="return _LONGEST_AWAY_MS if away else _LONGEST_PAUSE_MS",
        replace="return _LONGEST_PAUSE_MS",
        tests=unit("node/test_supervisor.py::test_while_the_store_is_away_a_loop_tries_again_within_a_second"),
    ),
)
