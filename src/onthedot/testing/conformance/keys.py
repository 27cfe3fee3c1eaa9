"""Names that stand for one run: whoever brings one again gets that run."""

from __future__ import annotations

import pytest

from onthedot.errors import StoreError
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.stores.retention import Retention
from onthedot.testing.conformance.scene import BY, DAY, MINUTE, SECOND, Promises, Scene

KEY = "k:job:invoice-7"


class TestKeys(Promises):
    def test_an_enqueued_run_waits_as_it_was_given(self, scene: Scene) -> None:
        run = scene.new_run(delay_ms=MINUTE, args={"n": [1, {"x": None}]}, key=KEY)
        (stored,) = scene.store.enqueue([run])
        assert scene.run(run) == stored
        assert (stored.id, stored.task, stored.args, stored.key) == (run.id, "job", run.args, KEY)
        assert (stored.state, stored.due_ms, stored.created_ms) == (State.WAITING, run.due_ms, scene.now_ms)

    def test_a_run_without_a_moment_is_due_now(self, scene: Scene) -> None:
        (stored,) = scene.store.enqueue([Run("r", "job", "enqueue", 0, 0)])
        assert stored.due_ms == scene.now_ms
        assert [run.id for run in scene.start(scene.node())] == ["r"]

    def test_a_repeated_call_finds_its_own_run(self, scene: Scene) -> None:
        run = scene.new_run()
        (first,) = scene.store.enqueue([run])
        assert scene.store.enqueue([run]) == [first]
        (started,) = scene.start(scene.node())
        assert scene.store.enqueue([run]) == [started]
        ended = scene.end(started)
        assert scene.store.enqueue([run]) == [ended]
        assert len(scene.store.runs()) == 1

    def test_a_known_key_is_answered_with_the_run_that_has_it(self, scene: Scene) -> None:
        first = scene.waiting_run(key=KEY)
        assert scene.waiting_run(key=KEY) == first
        (started,) = scene.start(scene.node())
        assert scene.waiting_run(key=KEY) == started
        ended = scene.end(started, "failed")
        assert scene.waiting_run(key=KEY) == ended
        assert len(scene.store.runs()) == 1

    def test_one_key_twice_in_one_call_is_one_run(self, scene: Scene) -> None:
        a, b, c = scene.new_run(key=KEY), scene.new_run(key=KEY), scene.new_run(key="k:job:other")
        stored = scene.store.enqueue([a, b, c])
        assert [run.id for run in stored] == [a.id, a.id, c.id]
        assert len(scene.store.runs()) == 2

    def test_a_key_outlives_the_history_of_its_run(self, scene: Scene) -> None:
        run = scene.waiting_run(key=KEY)
        (started,) = scene.start(scene.node())
        scene.end(started)
        scene.wait(DAY)
        scene.store.prune(Retention(history_ms=0))
        assert scene.store.runs() == []
        again = scene.waiting_run(key=KEY)
        assert (again.id, again.state) == (run.id, State.SUCCEEDED)
        assert scene.store.runs() == []

    def test_a_key_is_free_again_long_after_the_end_of_its_run(self, scene: Scene) -> None:
        first = scene.waiting_run(key=KEY)
        scene.store.request_cancel(first.id, "no", BY)
        scene.wait(30 * DAY - 1)
        assert scene.waiting_run(key=KEY).id == first.id
        scene.wait(1)
        second = scene.waiting_run(key=KEY)
        assert second.id != first.id
        assert scene.waiting_run(key=KEY) == second

    def test_a_key_does_not_expire_while_its_run_lives(self, scene: Scene) -> None:
        run = scene.waiting_run(key=KEY, delay_ms=300 * DAY)
        scene.wait(100 * DAY)
        scene.store.prune(Retention())
        assert scene.waiting_run(key=KEY) == run

    def test_a_key_lives_on_with_a_run_that_is_retried(self, scene: Scene) -> None:
        first = scene.waiting_run(key=KEY)
        cancelled = scene.store.request_cancel(first.id, "no", BY)
        scene.wait(29 * DAY)
        waiting = scene.store.retry(cancelled.id, cancelled.claim_no, BY)
        scene.wait(2 * DAY)
        scene.store.prune(Retention())
        assert scene.waiting_run(key=KEY) == waiting

    def test_a_key_of_a_tick_lasts_as_long_as_its_schedule(self, scene: Scene) -> None:
        key = f"t:{scene.put().id}:{scene.now_ms}"
        first = scene.waiting_run(key=key)
        scene.store.request_cancel(first.id, "no", BY)
        scene.wait(400 * DAY)
        scene.store.prune(Retention())
        assert scene.waiting_run(key=key).id == first.id

    def test_runs_are_enqueued_all_or_none(self, scene: Scene) -> None:
        runs = [scene.new_run(key=f"k:job:{number}") for number in range(50)]
        stored = scene.store.enqueue(runs)
        assert [run.id for run in stored] == [run.id for run in runs]
        assert len(scene.store.runs(limit=1000)) == 50

    def test_a_connection_that_cannot_be_shared_is_refused(self, scene: Scene) -> None:
        with pytest.raises((StoreError, TypeError, ValueError)):
            scene.store.enqueue([scene.new_run()], connection=object())
        assert scene.store.runs() == []


class TestClaimedKeys(Promises):
    def test_a_key_is_held_by_whoever_claims_it_first(self, scene: Scene) -> None:
        assert scene.store.claim_key("a run", "1") == "1"
        assert scene.store.claim_key("a run", "2") == "1"
        assert scene.store.claim_key("a run", "1") == "1"
        assert scene.store.claim_key("another", "2") == "2"

    def test_a_blank_at_the_end_makes_another_key(self, scene: Scene) -> None:
        assert [scene.store.claim_key(key, value) for key, value in (("a", "1"), ("a ", "2"))] == ["1", "2"]

    def test_a_claimed_key_meets_no_key_of_a_run(self, scene: Scene) -> None:
        scene.waiting_run(key=KEY)
        assert scene.store.claim_key(KEY, "mine") == "mine"
        assert scene.waiting_run(key=KEY).task == "job"
        assert len(scene.store.runs()) == 1

    def test_a_claim_lasts_as_long_as_other_keys_and_is_forgotten_then(self, scene: Scene) -> None:
        scene.store.claim_key("a run", "1")
        scene.wait(30 * DAY - 1)
        scene.store.prune(Retention())
        assert scene.store.claim_key("a run", "2") == "1"
        scene.wait(1)
        assert scene.store.claim_key("a run", "2") == "2"
        assert scene.store.claim_key("a run", "3") == "2"
        scene.wait(30 * DAY)
        assert scene.store.prune(Retention()).keys == 1


class TestTriggering(Promises):
    def test_a_manual_run_leaves_the_next_moment_alone(self, scene: Scene) -> None:
        before = scene.put()
        scene.wait(SECOND)
        scene.trigger("manual")
        assert scene.schedule() == replace(before, version=before.version + 1)
        (run,) = scene.start(scene.node())
        assert (run.cause, run.schedule, run.scheduled_ms) == ("manual", "s", scene.now_ms)

    def test_the_same_token_gives_the_same_run(self, scene: Scene) -> None:
        scene.put()
        first = scene.trigger("a", token="once")
        assert scene.trigger("b", token="once") == first
        assert scene.trigger("c", token="twice").id == "c"
        scene.end(scene.start(scene.node())[0])
        assert scene.trigger("d", token="once").state is State.SUCCEEDED

    def test_tokens_of_two_schedules_do_not_meet(self, scene: Scene) -> None:
        scene.put("a")
        scene.put("b")
        assert [scene.trigger(f"r-{name}", name, token="once").id for name in "ab"] == ["r-a", "r-b"]
