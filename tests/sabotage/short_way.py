"""What is plain takes a short way: each condition that keeps a promise there."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage, memory, sqlite

_SHORT = "tests/stores/test_short_way.py::test_"
_ALIKE = f"{_SHORT}a_run_begins_and_ends_alike_by_both_ways"
_POSTGRESQL = "tests/stores/test_postgresql.py::"

SHORT_WAY = (
    Sabotage(
        name="plain-end-forgets-the-key",
        rule="A key outlives its run for a while, and is free after that: with a key, no end is plain.",
        file="rules/plain.py",
        find="    if not _stands_alone(run) or run.key is not None:\n",
        replace="    if not _stands_alone(run):\n",
        tests=memory("TestKeys::test_a_key_is_free_again_long_after_the_end_of_its_run"),
    ),
    Sabotage(
        name="plain-end-of-a-try",
        rule="What is to be tried again waits again: such an end is not plain.",
        file="rules/plain.py",
        find="    return outcome.ending not in end.MAY_WAIT_AGAIN or not end.may_retry(run, None, outcome)\n",
        replace="    return True\n",
        tests=memory("TestFinishing"),
    ),
    Sabotage(
        name="plain-run-of-a-group",
        rule="A run of a group takes a place when it begins and gives it back when it ends: neither is plain.",
        file="rules/plain.py",
        find="type(run) is Run and run.policy.limit is None and",
        replace="type(run) is Run and",
        tests=memory("TestGroupLimits"),
    ),
    Sabotage(
        name="plain-start-after-a-crash",
        rule="A run that has crashed a node begins alone: its start is not plain.",
        file="rules/plain.py",
        find=" or run.waits_for is not None or run.crashes:",
        replace=" or run.waits_for is not None:",
        tests=memory("TestCrashes"),
    ),
    Sabotage(
        name="plain-start-of-what-expires",
        rule="What waits longer than it is worth is skipped: the start of what may expire is not plain.",
        file="rules/plain.py",
        find="run.schedule_id is not None or run.until_ms is not None or",
        replace="run.schedule_id is not None or",
        tests=memory("TestExpiry"),
    ),
    Sabotage(
        name="plain-start-of-a-broadcast",
        rule="A broadcast begins as a flow: its start is not plain.",
        file="rules/plain.py",
        find="_stands_alone(run) and not is_whole(run) and",
        replace="_stands_alone(run) and",
        tests=memory("TestBroadcast"),
    ),
    Sabotage(
        name="short-way-drops-a-repeat",
        rule="Each outcome stands or is refused by itself, also twice in one batch.",
        file="stores/engine/plainly.py",
        find="            del recorded[outcome.run_id]\n",
        replace="            continue\n",
        tests=memory("TestFinishing::test_outcomes_stand_or_are_refused_one_by_one"),
    ),
    Sabotage(
        name="short-way-of-the-dead",
        rule="A dead incarnation cannot record: PostgreSQL reads the node's row again under its lock.",
        file="stores/sql/plain_postgresql.py",
        find=" AND {plain.LIVES} FOR SHARE)",
        replace=" AND {plain.LIVES})",
        tests=(
            "tests/stores/test_row_locks.py"
            "::test_the_short_way_waits_for_the_takeover_of_its_node_and_ends_nothing_then[postgresql_15]",
        ),
    ),
    Sabotage(
        name="short-way-locks-what-is-due-and-waits",
        rule="Nobody waits for a user's transaction but who ends its run.",
        file="stores/sql/plain_postgresql.py",
        find='    after_ends = " AND (SELECT count(*) FROM ours) >= 0" if ends else ""\n',
        replace='    after_ends = ""\n',
        tests=(
            "tests/stores/test_row_locks.py"
            "::test_while_an_end_waits_for_a_users_transaction_nothing_that_is_due_is_locked[postgresql_15]",
        ),
    ),
    Sabotage(
        name="short-way-of-the-dead-on-sqlite",
        rule="A dead incarnation cannot record.",
        file="stores/sql/plain.py",
        find="""LIVES = "state IN ('alive', 'draining')\"""",
        replace="""LIVES = "state IN ('alive', 'draining', 'dead')\"""",
        tests=sqlite("TestFinishingAndStarting::test_a_dead_node_neither_records_nor_starts"),
    ),
    Sabotage(
        name="short-way-of-an-old-claim",
        rule="A superseded owner cannot record: the claim is compared in the statement.",
        file="stores/sql/plain.py",
        find=" ours.claim_no = given.claim_no AND ours.owner",
        replace=" ours.owner",
        tests=(f"{_SHORT}an_outcome_of_a_claim_that_is_over_is_refused_whatever_is_remembered_of_it[sqlite]",),
    ),
    Sabotage(
        name="short-way-beside-a-wish-to-cancel",
        rule="Why a run was stopped is kept with its end: one that was asked to stop does not end plainly.",
        file="stores/sql/plain.py",
        find=" AND ours.cancel_requested_ms IS NULL AND ours.remote IS NULL",
        replace=" AND ours.remote IS NULL",
        tests=(f"{_ALIKE}[sqlite]",),
    ),
    Sabotage(
        name="short-way-past-what-follows",
        rule="What follows an end is enqueued with it, exactly once.",
        file="stores/sql/plain.py",
        find="their.id = ours.schedule_id AND their.followed = 1)",
        replace="their.id = ours.schedule_id AND their.followed = 2)",
        tests=sqlite("TestChains::test_what_follows_a_success_is_enqueued_with_its_outcome_once"),
    ),
    Sabotage(
        name="short-way-past-what-is-first",
        rule="If more are due than may start, those of least precedence start: nobody is overtaken.",
        file="stores/sql/plain_sqlite.py",
        find="            others = bool(lives and lives[0][0])\n",
        replace="            others = False\n",
        tests=(f"{_SHORT}what_comes_before_plain_runs_is_started_before_them[sqlite]",),
    ),
    Sabotage(
        name="short-way-past-what-is-first-on-postgresql",
        rule="If more are due than may start, those of least precedence start: nobody is overtaken.",
        file="stores/sql/plain_postgresql.py",
        find=" AND NOT (SELECT any_due FROM others) ORDER BY",
        replace=" ORDER BY",
        tests=(f"{_SHORT}what_comes_before_plain_runs_is_started_before_them[postgresql]",),
    ),
    Sabotage(
        name="short-way-begins-what-is-not-plain",
        rule="A run of a group begins only in a place of it.",
        file="stores/sql/plain_postgresql.py",
        find=' AND NOT EXISTS (SELECT 1 FROM due WHERE plain = 0) RETURNING *"',
        replace=' RETURNING *"',
        tests=(f"{_SHORT}what_comes_before_plain_runs_is_started_before_them[postgresql]",),
    ),
    Sabotage(
        name="short-way-keeps-what-cannot-be-read",
        rule="A row that cannot be read is shown and set aside, and hides nobody.",
        file="stores/sql/plain_postgresql.py",
        find="        if unreadable:\n",
        replace="        if not unreadable:\n",
        tests=("tests/stores/test_unreadable_rows.py",),
    ),
    Sabotage(
        name="ahead-at-once-of-another-version",
        rule="What was decided on an older version is decided anew.",
        file="stores/sql/ahead_postgresql.py",
        find=" WHERE theirs.version = given.version AND given.tick_ms",
        replace=" WHERE given.tick_ms",
        tests=(f"{_POSTGRESQL}TestPlanningAhead",),
    ),
    Sabotage(
        name="ahead-at-once-beside-a-live-run",
        rule="What was decided ahead is written only where nothing of the schedule is live.",
        file="stores/sql/ahead_postgresql.py",
        find=" WHERE NOT EXISTS (SELECT 1 FROM {runs} AS live WHERE live.schedule_id = locked.id)",
        replace=" WHERE TRUE",
        tests=(f"{_POSTGRESQL}TestPlanningAhead",),
    ),
    Sabotage(
        name="ahead-at-once-too-early-or-too-late",
        rule="Never early; and what is late is decided anew.",
        file="stores/sql/ahead_postgresql.py",
        find=" AND given.tick_ms <= {_MY_MS} AND given.until_ms > {_MY_MS}",
        replace="",
        tests=(f"{_POSTGRESQL}TestPlanningAhead",),
    ),
    Sabotage(
        name="ahead-at-once-waits-for-schedules",
        rule="Planning waits for nobody's lock, decided ahead or not.",
        file="stores/sql/ahead_postgresql.py",
        find=" FOR NO KEY UPDATE OF theirs SKIP LOCKED",
        replace=" FOR NO KEY UPDATE OF theirs",
        tests=(
            "tests/stores/test_row_locks.py"
            "::test_what_was_decided_ahead_waits_for_no_lock_and_says_that_something_is_left[postgresql_15]",
        ),
    ),
)
