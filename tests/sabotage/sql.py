"""The same rules in SQL databases: their indexes, and the locks of their rows."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage

_LOCKS = "tests/stores/test_row_locks.py::test_"
_SQLITE, _POSTGRESQL = "tests/stores/test_sqlite.py::", "tests/stores/test_postgresql.py::"

_CUT_OFF = "tests/stores/test_busy_processes.py::test_"

SQL = (
    Sabotage(
        name="sql-a-server-without-a-majority-is-stayed-with",
        rule="Of several servers, one that takes no work any more is left.",
        file="stores/sql/mysql_hosts.py",
        find="_OF_NO_USE = frozenset({1047, 1290, 1836})",
        replace="_OF_NO_USE = frozenset({0})",
        tests=(
            "tests/stores/test_mysql_hosts.py::test_a_connection_whose_server_takes_no_work_any_more_is_given_up[1047]",
        ),
    ),
    Sabotage(
        name="sql-tables-made-meanwhile-are-an-error",
        rule="Tables may be made through two servers of a cluster at once.",
        file="stores/sql/mysql.py",
        find="    1050: Fault.CLASH,  # the table was made meanwhile\n",
        replace="",
        tests=(
            "tests/cluster/test_galera.py::test_stores_are_made_from_two_servers_at_once_and_outlive_the_loss_of_one",
        ),
    ),
    Sabotage(
        name="sql-settings-stay-in-a-shared-session",
        rule="Behind PgBouncer, time-outs hold in each transaction of ours and in nobody else's.",
        file="stores/sql/pgbouncer.py",
        find="SET LOCAL {name}",
        replace="SET {name}",
        tests=("tests/stores/test_pgbouncer.py::test_each_transaction_has_our_settings_and_leaves_none_to_others",),
    ),
    Sabotage(
        name="sql-any-of-several-servers-will-do",
        rule="Of several servers, connections go to one that can be written.",
        file="stores/sql/postgresql.py",
        find='return {"target_session_attrs": str(wanted), ',
        replace='return {"target_session_attrs": "any", ',
        tests=(
            "tests/cluster/test_postgresql_failover.py::"
            "test_two_nodes_go_on_after_the_promotion_and_no_tick_is_lost_or_doubled",
        ),
    ),
    Sabotage(
        name="sql-what-was-cut-off-is-given-up",
        rule="A transaction that its server has ended before the commit is made again.",
        file="stores/sql/store.py",
        find="                    lost = was_cut_off(error, self._dialect)\n",
        replace="                    lost = False\n",
        tests=(
            f"{_CUT_OFF}what_writes_is_made_again_where_it_was_cut_off_before_its_commit[postgresql_15_url]",
            f"{_CUT_OFF}what_is_old_is_forgotten_though_it_was_cut_off[postgresql_15_url]",
        ),
    ),
    Sabotage(
        name="sql-a-lost-commit-is-made-again",
        rule="What was cut off at its commit is not made again: nobody knows whether it stands.",
        file="stores/sql/store.py",
        find="        except StoreUnavailable as error:\n            if lost:\n                raise CutOff(error) from error\n",
        replace="        except StoreUnavailable as error:\n            if True:\n                raise CutOff(error) from error\n",
        tests=(
            f"{_CUT_OFF}who_is_cut_off_at_the_commit_is_told_since_nobody_knows_what_became_of_it[postgresql_15_url]",
        ),
    ),
    Sabotage(
        name="sql-tables-are-waited-for-in-the-server",
        rule="Who waits for the tables is not cut off by the time-out of its own URL.",
        file="stores/sql/mysql.py",
        find="GET_LOCK({_CREATION}, 0)",
        replace="GET_LOCK({_CREATION}, 30)",
        tests=(
            "tests/stores/test_on_servers.py::"
            "test_who_waits_for_the_tables_is_not_cut_off_by_the_time_out_of_its_own_url[mariadb]",
        ),
    ),
    Sabotage(
        name="sql-an-interrupted-answer-is-read-by-the-next",
        rule="A connection that was interrupted in the midst of an answer is not used again.",
        file="stores/sql/driver.py",
        find="        if not isinstance(error, Exception):  # raised from outside, in the midst of an answer",
        replace="        if False:",
        tests=(
            "tests/unit/stores/sql/test_driver.py::"
            "test_a_connection_that_was_interrupted_in_the_midst_of_an_answer_is_not_used_again",
        ),
    ),
    Sabotage(
        name="sql-slots-may-be-shared",
        rule="A run holds a slot in a unique nullable column while it runs.",
        file="stores/sql/tables.py",
        find='_index("onthedot_runs_slot", runs.c.slot, unique=True,',
        replace='_index("onthedot_runs_slot", runs.c.slot,',
        tests=(f"{_SQLITE}TestOverlapWhenStarted::test_no_two_live_runs_have_one_slot_whoever_writes_them",),
    ),
    Sabotage(
        name="sql-ticks-may-be-shared",
        rule="A unique index on schedule and tick of live runs stays as a net under the watermark.",
        file="stores/sql/tables.py",
        find="*_OF_TICK, unique=True,",
        replace="*_OF_TICK,",
        tests=("tests/unit/stores/sql/test_store.py::test_no_two_live_runs_are_of_one_tick_whoever_writes_them",),
    ),
    Sabotage(
        name="sql-ticks-without-their-index",
        rule="What became of a schedule's ticks is found by the moment, however much history it has.",
        file="stores/sql/ticks.py",
        find="            table.c.schedule_id == _schedule(number),\n            table.c.scheduled_ms",
        replace="            table.c.schedule_id + '' == _schedule(number),\n            table.c.scheduled_ms",
        tests=(
            "tests/unit/stores/sql/test_query_plans.py::"
            "test_what_people_ask_for_is_found_by_an_index[full-ended ticks]",
        ),
    ),
    Sabotage(
        name="sql-planning-waits-for-schedules",
        rule="Lock the due schedules with SKIP LOCKED: planners share the work, nobody waits.",
        file="stores/sql/statements.py",
        find='bindparam("now_ms"))\n).with_for_update(skip_locked=True, key_share=True)',
        replace='bindparam("now_ms"))\n).with_for_update(key_share=True)',
        tests=(f"{_LOCKS}a_schedule_that_is_locked_is_passed_over_and_told_and_the_others_are_planned[postgresql_15]",),
    ),
    Sabotage(
        name="sql-passed-over-untold",
        rule="Planning says whether due schedules were passed over because they were locked.",
        file="stores/sql/transaction.py",
        find="return due, not self._dialect.exclusive and self._others_are_due(len(due), limit)",
        replace="return due, False",
        tests=(f"{_LOCKS}a_schedule_that_is_locked_is_passed_over_and_told_and_the_others_are_planned[postgresql_15]",),
    ),
    Sabotage(
        name="sql-starting-waits-for-schedules",
        rule="A transaction that has touched a run takes schedule locks only with SKIP LOCKED.",
        file="stores/sql/statements.py",
        find="SCHEDULES_IF_FREE = _BY_ID.with_for_update(skip_locked=True, key_share=True)",
        replace="SCHEDULES_IF_FREE = _BY_ID.with_for_update(key_share=True)",
        tests=(
            f"{_LOCKS}runs_of_a_schedule_that_is_locked_are_passed_over_and_told_and_the_others_start[postgresql_15]",
        ),
    ),
    Sabotage(
        name="sql-starting-waits-for-runs",
        rule="Of runs without a schedule a node takes only what nobody else is about to start.",
        file="stores/sql/lane_statements.py",
        find=".with_for_update(skip_locked=True, key_share=True)",
        replace=".with_for_update(key_share=True)",
        tests=(f"{_LOCKS}a_run_that_is_locked_is_passed_over_and_the_others_start[mariadb]",),
    ),
    Sabotage(
        name="sql-planning-locks-runs",
        rule="Planning never waits for a run's lock: a user's open transaction around `ctx.complete` must not stop it.",
        file="stores/sql/statements.py",
        find='LIVE_BESIDE = LIVE_OF.limit(bindparam("most"))',
        replace='LIVE_BESIDE = LIVE_OF.limit(bindparam("most")).with_for_update()',
        tests=(
            "tests/stores/test_locks_on_servers.py"
            "::test_planning_goes_on_while_a_users_transaction_that_ends_a_run_is_open[postgresql_15]",
        ),
    ),
    Sabotage(
        name="sql-planning-waits-for-holders",
        rule="Planning asks a holder to stop only if nobody has it locked.",
        file="stores/sql/statements.py",
        find="LIVE_RUNS_IF_FREE = _LIVE_RUNS.with_for_update(skip_locked=True)",
        replace="LIVE_RUNS_IF_FREE = _LIVE_RUNS.with_for_update()",
        tests=(f"{_LOCKS}planning_asks_no_holder_to_stop_that_is_locked_and_waits_for_none[postgresql_15]",),
    ),
    Sabotage(
        name="sql-no-lock-for-a-change",
        rule="What was read before the lock is read again under it: two changes of a name happen one after the other.",
        file="stores/sql/statements.py",
        find="in_list(_schedules.name)).order_by(_schedules.id).with_for_update(key_share=True)",
        replace="in_list(_schedules.name)).order_by(_schedules.id)",
        tests=(f"{_POSTGRESQL}TestManyThreadsAtOnce::test_no_change_of_a_name_is_lost[15]",),
    ),
    Sabotage(
        name="sql-no-lock-for-a-takeover",
        rule="A takeover and a finish do not both win: the incarnation's row is locked.",
        file="stores/sql/statements.py",
        find="NODE_SHARED = _THE_NODE.with_for_update(read=True)",
        replace="NODE_SHARED = _THE_NODE",
        tests=(f"{_LOCKS}an_outcome_waits_for_the_takeover_of_its_node_and_is_then_refused[postgresql_15]",),
    ),
    Sabotage(
        name="sqlite-locks-late",
        rule="SQLite: a writing transaction begins with the lock (BEGIN IMMEDIATE).",
        file="stores/sql/sqlite.py",
        find='begin_writing="BEGIN IMMEDIATE",',
        replace='begin_writing="BEGIN",',
        tests=("tests/unit/stores/sql/test_store.py::test_who_decides_has_the_file_and_nobody_writes_meanwhile",),
    ),
    Sabotage(
        name="unreadable-row-ends-the-batch",
        rule="A row that cannot be read is shown and set aside.",
        file="stores/json_text.py",
        find="UNREADABLE = (ValueError, TypeError, RecursionError)",
        replace="UNREADABLE = (RecursionError,)",
        tests=(
            "tests/unit/stores/sql/test_store.py"
            "::test_a_row_that_cannot_be_read_is_parked_and_shown_and_the_rest_of_its_batch_is_planned",
        ),
    ),
    Sabotage(
        name="sql-floor-hides",
        rule="A lower bound in the claim is a hint: what is written below it is claimed at once.",
        file="stores/sql/store.py",
        find="        self._floors.lower(tx.due_schedules_ms, tx.due_runs_ms)\n",
        replace="",
        tests=(
            "tests/unit/stores/sql/test_due_floor.py::test_what_is_written_here_below_the_floor_is_claimed_at_once",
        ),
    ),
    Sabotage(
        name="sql-ahead-of-another-version",
        rule="What was decided on an older version is decided anew.",
        file="stores/sql/transaction.py",
        find="for schedule_id, version in found if version == given[schedule_id].version}",
        replace="for schedule_id, version in found}",
        tests=(f"{_SQLITE}TestPlanningAhead::test_a_tick_is_planned_once_whichever_way_and_how_often",),
    ),
    Sabotage(
        name="sql-ahead-beyond-the-next-tick",
        rule="The watermark never passes a tick that is not decided, however late the one before it was.",
        file="stores/sql/copying.py",
        find='f"CASE WHEN given.next_ms <= {now_ms} THEN given.next_ms - 1 ELSE {now_ms} END"',
        replace="now_ms",
        tests=(
            f"{_SQLITE}TestPlanningAhead::test_where_further_ticks_are_due_too_they_are_left_to_be_decided_after_it",
        ),
    ),
    Sabotage(
        name="sql-ahead-beside-a-live-run",
        rule="What was decided ahead is written only where nothing of the schedule is live.",
        file="stores/sql/transaction.py",
        find="        same -= {schedule_id for (schedule_id,) in self._chunks(statements.WITH_LIVE, same)}\n",
        replace="",
        tests=(f"{_SQLITE}TestPlanningAhead::test_beside_a_run_that_is_still_live_it_is_decided_anew",),
    ),
    Sabotage(
        name="sql-ahead-waits-for-schedules",
        rule="Planning waits for nobody's lock, decided ahead or not.",
        file="stores/sql/statements.py",
        find="    .where(in_list(_schedules.id))\n    .order_by(_schedules.id)\n"
        "    .with_for_update(skip_locked=True, key_share=True)",
        replace="    .where(in_list(_schedules.id))\n    .order_by(_schedules.id)\n    .with_for_update(key_share=True)",
        tests=(f"{_LOCKS}what_was_decided_ahead_waits_for_no_lock_and_says_that_something_is_left[mariadb]",),
    ),
)
