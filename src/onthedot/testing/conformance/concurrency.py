"""Many at once, with real threads: the store decides who wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from onthedot.errors import RunNotFound
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.stores.retention import Retention
from onthedot.testing.conformance.scene import BY, DAY, LEASE_MS, MINUTE, Promises, Scene, definition

T = TypeVar("T")
THREADS = 16
FEW = 6
"""Where all of them go for one row, again and again."""


class TestManyThreadsAtOnce(Promises):
    def test_many_planners_make_one_run_of_each_tick(self, scene: Scene) -> None:
        scene.store.change([f"s{number:03}" for number in range(500)], edits.put(definition()), BY)
        nodes = [scene.node(f"n{number}") for number in range(THREADS)]
        scene.wait(MINUTE)
        planned = together(lambda number: plan_until_done(scene, nodes[number]))
        runs = scene.store.runs(limit=1000)
        assert len(runs) == sum(planned) == 500
        assert len({run.schedule for run in runs}) == 500

    def test_planners_in_two_modes_make_one_run_of_each_tick(self, scene: Scene) -> None:
        scene.store.change([f"s{number:03}" for number in range(40)], edits.put(definition()), BY)
        rows = scene.store.schedules()
        nodes = [scene.node(f"n{number}") for number in range(THREADS)]
        scene.wait(MINUTE)

        def plan(number: int) -> None:
            if number % 2:
                plan_until_done(scene, nodes[number])
            else:
                for row in rows:
                    scene.plan_one(nodes[number], row)

        together(plan)
        assert sorted(Counter(run.schedule for run in scene.store.runs()).values()) == [1] * 40

    def test_each_waiting_run_is_started_once(self, scene: Scene) -> None:
        nodes = [scene.node(f"n{number}") for number in range(THREADS)]
        scene.store.enqueue([scene.new_run() for _ in range(200)])

        def start(number: int) -> list[Run]:
            mine: list[Run] = []
            while scene.store.runs(state=State.WAITING, limit=1):
                mine += scene.start(nodes[number], limit=7)
            return mine

        started = together(start)
        assert Counter(run.id for runs in started for run in runs) == {run.id: 1 for run in scene.store.runs(limit=500)}
        for node, runs in zip(nodes, started, strict=True):
            assert {run.owner for run in runs} <= {node}
            assert {own.id for own in scene.renew(node).own} == {run.id for run in runs}

    def test_one_slot_is_never_held_by_two(self, scene: Scene) -> None:
        nodes = [scene.node(f"n{number}") for number in range(FEW)]
        scene.put()
        for number in range(FEW):
            scene.trigger(f"r{number:02}")
        held: list[int] = []

        def work(number: int) -> int:
            done = 0
            while scene.store.runs(state=State.WAITING, limit=1):
                for run in scene.start(nodes[number], limit=3):
                    held.append(1)
                    assert sum(held) == 1, "two at once"
                    held.pop()
                    scene.end(run)
                    done += 1
            return done

        assert sum(together(work, FEW)) == FEW
        assert sorted(run.fence for run in scene.runs()) == list(range(1, FEW + 1))

    def test_one_key_gives_one_run_to_all(self, scene: Scene) -> None:
        answers = together(lambda number: scene.waiting_run(key="k:job:same", args={"from": number}))
        assert len({run.id for run in answers}) == 1
        assert [run.id for run in scene.store.runs()] == [answers[0].id]

    def test_no_change_of_a_name_is_lost(self, scene: Scene) -> None:
        def change(number: int) -> None:
            for turn in range(20):
                scene.put(args={"from": number, "turn": turn})

        together(change, FEW)
        schedule = scene.schedule()
        assert schedule.revision == 20 * FEW
        assert [each.revision for each in scene.store.revisions(schedule.id)] == list(range(1, 20 * FEW + 1))
        assert len(scene.store.changes(limit=1000)) == 20 * FEW

    def test_an_outcome_that_many_report_is_recorded_once(self, scene: Scene) -> None:
        run = scene.running(scene.node())

        def report(number: int) -> int:
            outcome = Outcome(run.id, run.claim_no, "succeeded", result=number)
            return len(scene.store.finish(run.owner or "", [outcome]).recorded)

        recorded = together(report)
        assert sum(recorded) == 1
        assert scene.run(run).result == recorded.index(1)

    def test_a_dead_node_is_taken_over_once(self, scene: Scene) -> None:
        node = scene.node()
        scene.store.enqueue([scene.new_run() for _ in range(20)])
        runs = scene.start(node)
        scene.wait(LEASE_MS)
        taken = together(lambda number: scene.store.take_over(node, 0))
        assert sorted(run.id for each in taken for run in each) == sorted(run.id for run in runs)
        assert {run.crashes for run in scene.store.runs()} == {1}

    def test_an_outcome_and_a_takeover_do_not_both_win(self, scene: Scene) -> None:
        node = scene.node()
        scene.store.enqueue([scene.new_run() for _ in range(THREADS)])
        runs = scene.start(node)
        scene.wait(LEASE_MS)

        def act(number: int) -> int:
            if number == THREADS // 2:
                return -len(scene.store.take_over(node, 0))
            outcome = Outcome(runs[number].id, runs[number].claim_no, "succeeded")
            return len(scene.store.finish(node, [outcome]).recorded)

        answers = together(act)
        recorded, taken = sum(each for each in answers if each > 0), -min(answers)
        assert recorded + taken == THREADS
        states = Counter(run.state for run in scene.store.runs())
        assert (states[State.SUCCEEDED], states[State.WAITING]) == (recorded, taken)

    def test_after_a_pause_has_returned_nothing_starts(self, scene: Scene) -> None:
        nodes = [scene.node(f"n{number}") for number in range(THREADS)]
        names = [f"s{number:02}" for number in range(60)]
        scene.store.change(names, edits.put(definition()), BY)
        scene.wait(MINUTE)
        scene.plan(nodes[0])

        def act(number: int) -> None:
            if number == 0:
                for name in names:
                    scene.edit(edits.pause(None), name)
                    held = {run.state for run in scene.store.runs(schedule=name)}
                    assert State.WAITING not in held
            else:
                while scene.store.runs(state=State.WAITING, limit=1):
                    scene.start(nodes[number], limit=1)

        together(act)
        assert {run.state for run in scene.store.runs()} <= {State.RUNNING, State.SKIPPED}

    def test_a_run_is_forgotten_or_revived_and_never_both(self, scene: Scene) -> None:
        ids = [run.id for run in scene.store.enqueue([scene.new_run() for _ in range(60)])]
        shown = {each: scene.store.request_cancel(each, "no", BY).claim_no for each in ids}
        scene.wait(40 * DAY)

        def act(number: int) -> tuple[int, int]:
            """How many were forgotten, and how many revived."""
            if number % 2:
                done = [scene.store.prune(Retention(), limit=3).runs for _ in range(20)]
                return sum(done), 0
            return 0, sum(_is_revived(scene, each, shown[each]) for each in ids[number::FEW])

        forgotten, revived = (sum(each) for each in zip(*together(act, FEW), strict=True))
        waiting = scene.store.runs(limit=100)
        assert {run.state for run in waiting} <= {State.WAITING, State.CANCELLED}
        assert sum(run.state is State.WAITING for run in waiting) == revived
        assert len(waiting) + forgotten == 60

    def test_an_expired_key_is_forgotten_or_taken_anew_and_never_both(self, scene: Scene) -> None:
        keys = [f"k:job:{number}" for number in range(60)]
        for run in scene.store.enqueue([scene.new_run(key=key) for key in keys]):
            scene.store.request_cancel(run.id, "no", BY)
        scene.wait(40 * DAY)

        def act(number: int) -> list[Run]:
            if number % 2:
                for _ in range(20):
                    scene.store.prune(Retention(), limit=3)
                return []
            return [scene.waiting_run(key=key) for key in keys[number::FEW]]

        taken = [run for runs in together(act, FEW) for run in runs]
        assert {run.state for run in taken} == {State.WAITING}
        assert [scene.waiting_run(key=run.key).id for run in taken] == [run.id for run in taken]

    def test_one_of_many_claims_holds_a_key(self, scene: Scene) -> None:
        held = together(lambda number: [scene.store.claim_key(f"run {each}", str(number)) for each in range(FEW)], FEW)
        assert all(answers == held[0] for answers in held)
        scene.wait(30 * DAY)
        again = together(lambda number: scene.store.claim_key("run 0", f"again {number}"), FEW)
        assert len({*again}) == 1
        assert again[0].startswith("again")


def _is_revived(scene: Scene, run_id: str, claim_no: int) -> bool:
    try:
        return scene.store.retry(run_id, claim_no, BY).state is State.WAITING
    except RunNotFound:
        return False


def together(act: Callable[[int], T], threads: int = THREADS) -> list[T]:
    """Let so many threads act at the same moment; what each of them answered, in their order."""
    ready = Barrier(threads)

    def wait_and_act(number: int) -> T:
        ready.wait()
        return act(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(wait_and_act, range(threads)))


def plan_until_done(scene: Scene, node_id: str) -> int:
    """Plan until nothing is due that nobody else has locked; how many runs came of it."""
    made = 0
    while True:
        planned = scene.planned(node_id, limit=20)
        made += sum(len(effects.runs) for effects in planned.effects)
        if not planned.effects and not planned.passed_over:
            return made
