"""Engines: the store knows first, another goes on with the same attempt, and nothing begins twice for it."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage

_STORE = "tests/stores/test_memory.py::TestElsewhere::"
_POST = "tests/unit/execution/test_engines.py::"
_LEASE = "tests/unit/node/test_lease.py::"

ENGINES = (
    Sabotage(
        name="engine-given-unknown",
        rule="The store knows that a run is given to an engine before the engine has it.",
        file="execution/engines/outpost.py",
        find="        self._say(ready, sending(self.name))\n",
        replace="",
        tests=(f"{_POST}test_the_store_knows_of_it_before_the_engine_is_given_it",),
    ),
    Sabotage(
        name="engine-given-by-two",
        rule="What is no longer the node's is not given to an engine.",
        file="execution/engines/outpost.py",
        find="                if each.run.id not in stood:",
        replace="                if False:",
        tests=(f"{_POST}test_what_is_no_longer_ours_is_not_given_to_the_engine",),
    ),
    Sabotage(
        name="engine-silence-is-unknown",
        rule="An engine that does not answer says nothing of its runs.",
        file="execution/engines/outpost.py",
        find="        except Exception as error:\n            raise _Away(error) from None\n        for each in given:",
        replace="        except Exception:\n            found = {}\n        for each in given:",
        tests=(f"{_POST}test_an_engine_that_does_not_answer_ends_no_run_and_its_silence_is_no_unknown",),
    ),
    Sabotage(
        name="engine-queue-sent-again",
        rule="What a queue has taken is not sent again.",
        file="execution/engines/away.py",
        find="or (self.taken and not dedupes)",
        replace="or False",
        tests=(f"{_POST}test_what_a_queue_has_taken_is_not_sent_again_however_long_it_waits",),
    ),
    Sabotage(
        name="engine-at-most-once-again",
        rule="What may run once at most is given to an engine once.",
        file="execution/engines/away.py",
        find='if self.run.policy.delivery == "at_most_once":',
        replace="if False:",
        tests=(f"{_POST}test_what_may_run_once_at_most_is_lost_where_the_engine_knows_nothing_of_it",),
    ),
    Sabotage(
        name="engine-adopted-given-again",
        rule="What another node has given to an engine is only watched.",
        file="execution/engines/away.py",
        find="self.given, self.taken = run.remote is not None, run.is_taken",
        replace="self.given, self.taken = False, False",
        tests=(f"{_POST}test_what_another_node_has_given_to_the_engine_is_only_watched",),
    ),
    Sabotage(
        name="engine-forgotten-early",
        rule="An engine forgets a run when its outcome is recorded.",
        file="execution/engines/outposts.py",
        find="            if run_id not in finished.again:",
        replace="            if True:",
        tests=(f"{_POST}test_an_engine_forgets_a_run_when_its_outcome_is_recorded_and_not_before",),
    ),
    Sabotage(
        name="dask-result-kept",
        rule="A scheduler of Dask keeps nothing of runs whose ends are recorded.",
        file="dask/engine.py",
        find="        self._reached().unpublish_dataset(engine_id)",
        replace="        return",
        tests=("tests/engines/test_dask.py::test_the_scheduler_keeps_nothing_of_runs_whose_ends_are_recorded",),
    ),
    Sabotage(
        name="engine-run-crashes",
        rule="What an engine has goes on when its node dies, and no crash is counted.",
        file="stores/engine/leases.py",
        find="    held = [run for run in owned if run.remote is None]",
        replace="    held = [run for run in owned if run.remote is None or not adopted]",
        tests=(f"{_STORE}test_no_run_begins_in_its_place_while_nobody_watches_it",),
    ),
    Sabotage(
        name="engine-heir-without-engine",
        rule="Who goes on with a run has its engine.",
        file="rules/end.py",
        find="if run.engine in engines(each) and not each.expired(now_ms)",
        replace="if not each.expired(now_ms)",
        tests=(f"{_STORE}test_it_stays_until_a_node_comes_that_has_its_task_and_its_engine",),
    ),
    Sabotage(
        name="engine-old-owner-heard",
        rule="Who watched a run before is not heard any more.",
        file="rules/end.py",
        find="return replace(run, owner=heir.id, claim_no=run.claim_no + 1)",
        replace="return replace(run, owner=heir.id)",
        tests=(f"{_STORE}test_when_its_node_dies_another_watches_the_same_attempt_and_no_crash_is_counted",),
    ),
    Sabotage(
        name="engine-waits-at-engine",
        rule="A run that waits again is at no engine.",
        file="rules/end.py",
        find="        progress=None,\n        remote=None,\n",
        replace="        progress=None,\n",
        tests=(f"{_STORE}test_an_attempt_that_waits_again_is_at_no_engine",),
    ),
    Sabotage(
        name="engine-unwatched-fails",
        rule="What an engine has and nobody watches any more is watched again, and does not fail.",
        file="node/lease.py",
        find="elsewhere = {claim for claim in without_outcome if own[claim].remote is not None}",
        replace="elsewhere: set[Claim] = set()",
        tests=(f"{_LEASE}test_what_an_engine_has_and_nobody_watches_any_more_is_watched_again_and_does_not_fail",),
    ),
)
