"""Boundaries of failure: one bad item stops nothing else; and what a node takes upon itself."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage, memory, unit

ITEMS = (
    Sabotage(
        name="batch-not-split",
        rule="A batch that the store refuses is split until the culprit stands alone; the rest stands.",
        file="stores/engine/apart.py",
        find="        if is_of_the_store(error) or not items:\n            raise",
        replace="        if len(items) != 1:\n            raise",
        tests=unit("stores/engine/test_refusals.py"),
    ),
    Sabotage(
        name="store-away-splits",
        rule="A lost connection is no item's fault: nothing is split or failed for it.",
        file="stores/engine/apart.py",
        find="return isinstance(error, (StoreUnavailable, SchemaError, NodeDead, OSError))",
        replace="return False",
        tests=unit("stores/engine/test_refusals.py"),
    ),
    Sabotage(
        name="culprit-unfinished",
        rule="An outcome that the store refuses ends its run as failed, with the reason.",
        file="stores/engine/engine.py",
        find='            kept = Outcome(outcome.run_id, outcome.claim_no, "failed", error=why, final=True)\n            try:\n',
        replace='            kept = Outcome(outcome.run_id, outcome.claim_no, "failed", error=why, final=True)\n'
        "            return Finished(refused=(outcome.run_id,))\n            try:\n",
        tests=unit("stores/engine/test_refusals.py"),
    ),
    Sabotage(
        name="start-not-split",
        rule="A start that the store refuses is tried apart: the culprit fails with its reason, the others start.",
        file="stores/engine/engine.py",
        find="            if is_of_the_store(error):\n                raise\n        return self._start_apart(claim, limit)",
        replace="            raise\n        return self._start_apart(claim, limit)",
        tests=unit("stores/engine/test_refusals.py"),
    ),
    Sabotage(
        name="takeover-not-split",
        rule="A takeover that the store refuses gives the runs back one by one; the node is dead all the same.",
        file="stores/engine/engine.py",
        find="            if is_of_the_store(error):\n                raise\n            dead = ",
        replace="            raise\n            dead = ",
        tests=unit("stores/engine/test_refusals.py"),
    ),
    Sabotage(
        name="bad-row-ends-the-batch",
        rule="A schedule that cannot be planned is parked, visible with its error; the rest of its batch runs.",
        file="rules/plan.py",
        find="        except (OnthedotError, ArithmeticError, LookupError, TypeError, ValueError) as error:",
        replace="        except ZeroDivisionError as error:",
        tests=memory("TestBadRows::test_a_row_that_cannot_be_planned_is_parked_and_the_rest_of_its_batch_runs"),
    ),
    Sabotage(
        name="newer-row-parked",
        rule="A codec newer than this node's is left alone for nodes that know it.",
        file="rules/plan.py",
        find="        except TriggerTooNew:\n            return Effects()  # left alone, for nodes that know it\n",
        replace="",
        tests=memory("TestBadRows::test_a_trigger_of_a_newer_version_is_left_alone"),
    ),
    Sabotage(
        name="newer-rows-hide-others",
        rule="Rows that are left alone hide none of the others.",
        file="stores/engine/planning.py",
        find="        if not full or any(each.schedule is not None for each in decided):",
        replace="        if True:",
        tests=memory("TestBadRows::test_triggers_of_a_newer_version_do_not_hide_the_others"),
    ),
    Sabotage(
        name="refused-plan-not-parked",
        rule="A schedule whose plan the store refuses is parked, if it takes at least that.",
        file="node/planner.py",
        find="        if self._refused[schedule.id] != FAILURES:\n            return\n",
        replace="        return\n",
        tests=unit("node/test_node.py::test_a_schedule_whose_plan_the_store_refuses_is_parked_and_the_others_go_on"),
    ),
    Sabotage(
        name="no-fallback",
        rule="Fallback, when planning keeps failing: schedule by schedule.",
        file="node/planner.py",
        find="            return self._plan_one_by_one(node_id)\n",
        replace="            raise\n",
        tests=unit(
            "node/test_fallback.py::test_a_row_that_refuses_every_write_does_not_keep_the_others_from_their_ticks"
        ),
    ),
    Sabotage(
        name="outcome-forgotten",
        rule="Nothing is forgotten until the store has taken or refused it.",
        file="node/writers.py",
        find="        finished = self._store.finish(node_id, list(batch.values()))\n",
        replace="        with self._lock:\n            self._pending.clear()\n"
        "        finished = self._store.finish(node_id, list(batch.values()))\n",
        tests=unit("node/test_writers.py"),
    ),
    Sabotage(
        name="outcome-of-another-incarnation",
        rule="An outcome is written by the incarnation under which it was made.",
        file="node/writers.py",
        find="        node_id = oldest[0][1][0]  #",
        replace="        node_id = self._node_id()  #",
        tests=unit("node/test_writers.py"),
    ),
)

LOOPS = (
    Sabotage(
        name="loop-dies",
        rule="Whatever is raised in a pass, the loop goes on.",
        file="loop.py",
        find="        except BaseException as error:  # SystemExit too",
        replace="        except Exception as error:  # SystemExit too",
        tests=unit("node/test_supervisor.py::test_a_loop_goes_on_after_whatever_is_raised_in_a_pass"),
    ),
    Sabotage(
        name="loop-not-restarted",
        rule="Loops are supervised: one that has ended is restarted, and told.",
        file="node/supervisor.py",
        find="            if loop.restart_if_dead():",
        replace="            if False:",
        tests=unit("node/test_supervisor.py::test_a_loop_whose_thread_has_ended_is_restarted_and_told"),
    ),
    Sabotage(
        name="nobody-supervises",
        rule="The node looks after its loops while it watches its lease.",
        file="node/node.py",
        find="        self._supervisor.look()\n",
        replace="",
        tests=unit("node/test_heartbeat.py::test_who_watches_the_lease_looks_after_the_loops"),
    ),
    Sabotage(
        name="stuck-is-healthy",
        rule="Healthy means that each loop has passed lately.",
        file="node/supervisor.py",
        find="if loop.busy_for_ms() > STUCK_MS]",
        replace="if False]",
        tests=unit("node/test_supervisor.py::test_a_pass_that_does_not_end_is_not_healthy"),
    ),
    Sabotage(
        name="run-ends-without-an-outcome",
        rule="Whatever goes wrong in the midst of a run becomes its outcome.",
        file="execution/worker.py",
        find="        self._leave(execution, outcome_of(execution.context, error))\n        self._note_empty()",
        replace="        self._note_empty()",
        tests=unit("execution/test_worker.py::test_whatever_goes_wrong_in_the_midst_of_a_run_becomes_its_outcome"),
    ),
    Sabotage(
        name="place-of-a-run-kept",
        rule="A run's place in its pool is given back in `finally`.",
        file="execution/worker.py",
        find="            self._commands.discard(execution.run.id)\n            self._release(execution)",
        replace="            self._commands.discard(execution.run.id)",
        tests=unit("execution/test_worker.py::test_the_place_of_a_run_is_given_back_whatever_goes_wrong"),
    ),
    Sabotage(
        name="thread-ends-with-its-item",
        rule="A thread of a pool outlives whatever its items raise.",
        file="execution/thread_pool.py",
        find="            except BaseException as error:\n                self._on_error(error)",
        replace="            except ZeroDivisionError as error:\n                self._on_error(error)",
        tests=unit("execution/test_boundary.py::test_a_thread_outlives_its_items"),
    ),
    Sabotage(
        name="hook-in-a-thread-of-the-core",
        rule="Hooks run on a bounded queue in a thread of their own.",
        file="hooks.py",
        find="        lane = self._lanes.get(os.getpid())\n        if lane is None:",
        replace="        self._call(item)\n        return\n        lane = self._lanes.get(os.getpid())\n        if lane is None:",
        tests=unit("test_hooks.py::test_a_hook_is_called_in_a_thread_of_its_own_and_gets_its_events_in_order"),
    ),
    Sabotage(
        name="hook-without-a-bound",
        rule="The queue of a hook is bounded: what it cannot hear is dropped and counted.",
        file="hooks.py",
        find="if len(self._waiting) < MOST_WAITING and self._has_thread():",
        replace="if self._has_thread():",
        tests=unit("test_hooks.py::test_what_a_hook_cannot_hear_is_dropped_and_counted_and_told_in_one_line"),
    ),
    Sabotage(
        name="text-not-repaired",
        rule="Texts and values are cut or refused before they reach a store.",
        file="storable.py",
        find='return _repaired(copy) if "\\\\u0000" in text or "\\\\ud" in text else copy',
        replace="return copy",
        tests=unit("execution/test_boundary.py::test_texts_inside_a_result_are_repaired"),
    ),
    Sabotage(
        name="result-of-any-size",
        rule="Results are cut or refused at the boundary, never in the store's batch.",
        file="storable.py",
        find="    if len(text) > most_bytes:\n        raise TooLarge(len(text), most_bytes)\n",
        replace="",
        tests=unit("test_storable.py"),
    ),
)

QUARANTINE = (
    Sabotage(
        name="deadly-plan-tried-on",
        rule="A plan that kills its process is parked after three tries.",
        file="rules/quarantine.py",
        find="    if schedule.plan_attempts >= TRIES:",
        replace="    if schedule.plan_attempts > 2 * TRIES:",
        tests=unit(
            "rules/test_quarantine.py::test_the_culprit_is_parked_after_three_tries_and_its_neighbours_are_planned"
        ),
    ),
    Sabotage(
        name="overdue-all-at-once",
        rule="After an unclean death overdue schedules are planned one by one, counted before.",
        file="rules/quarantine.py",
        find="return schedule.next_run_ms is not None and schedule.next_run_ms <= self.since_ms",
        replace="return False",
        tests=unit(
            "rules/test_quarantine.py::test_overdue_schedules_are_tried_one_by_one_and_their_counts_are_gone_afterwards"
        ),
    ),
    Sabotage(
        name="innocent-parked",
        rule="An innocent schedule is not parked for two deaths of others.",
        file="rules/quarantine.py",
        find="TRIES = 3",
        replace="TRIES = 2",
        tests=unit("rules/test_quarantine.py::test_an_innocent_schedule_is_not_parked_for_two_deaths_of_others"),
    ),
    Sabotage(
        name="tries-of-others-counted",
        rule="Many nodes that are careful at once do not count each other's tries.",
        file="rules/quarantine.py",
        find="under_way = schedule.plan_attempts > 0 and now_ms - schedule.updated_ms < UNDER_WAY_MS",
        replace="under_way = False",
        tests=unit("rules/test_quarantine.py::test_many_careful_nodes_at_once_do_not_count_each_others_tries"),
    ),
    Sabotage(
        name="count-kept",
        rule="A plan that comes back sets the count to 0.",
        file="rules/plan.py",
        find="            plan_attempts=0,\n            version=before.version + 1,\n            fence",
        replace="            version=before.version + 1,\n            fence",
        tests=unit(
            "rules/test_quarantine.py::test_overdue_schedules_are_tried_one_by_one_and_their_counts_are_gone_afterwards"
        ),
    ),
    Sabotage(
        name="death-not-suspected",
        rule="After a peer's death what it left overdue is planned with care.",
        file="node/heartbeat.py",
        find="        around.on_suspect()\n",
        replace="",
        tests=unit("node/test_heartbeat.py::test_after_a_peer_s_death_what_is_overdue_is_planned_one_by_one"),
    ),
)
