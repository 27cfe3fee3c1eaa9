"""A row that cannot be read is shown and set aside, on every store: it is never started, and stops nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.stores.vandals import HOWS, How, Vandal, vandal_of

from onthedot import App, Conflict
from onthedot.insight.explain import explain
from onthedot.insight.status import read_status
from onthedot.model.key import Key
from onthedot.model.log_line import PROGRESS, LogLine
from onthedot.model.minute import Minute
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.stores.base import Store
from onthedot.stores.engine.engine import Engine
from onthedot.stores.open import open_store
from onthedot.stores.retention import Retention
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance import START_MS
from onthedot.testing.conformance.scene import DAY, MINUTE, SECOND, Scene

STORES = ["sqlite", "postgresql_15_url", "mariadb_url", "mongodb_url", "redis_url"]
JSON: tuple[How, ...] = ("args", "policy")
"""What leaves a run's state readable."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Store]:
    url = f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else request.getfixturevalue(request.param)
    store = open_store(url, create=True, now_ms=clock)
    yield store
    store.close()


@pytest.fixture
def scene(store: Store, clock: ManualClock) -> Scene:
    return Scene(store, clock)


@pytest.fixture
def vandal(store: Store) -> Vandal:
    return vandal_of(store)


@pytest.fixture
def app(store: Store) -> App:
    app = App("memory://", store=store)
    app.task(name="job")(lambda: None)
    return app


def is_shown(scene: Scene, run: Run) -> bool:
    """Whether it is listed, and can be got, with the reason."""
    listed = {each.id: each for each in scene.store.runs(limit=1000)}
    shown = [listed[run.id], scene.run(run)]
    return all(isinstance(each, UnreadableRun) and "cannot be read" in (each.error or "") for each in shown)


# waiting


@pytest.mark.parametrize("how", HOWS)
def test_a_waiting_run_that_cannot_be_read_is_shown_and_never_started_and_hides_nobody(
    scene: Scene, vandal: Vandal, how: How
) -> None:
    node = scene.node()
    bad = [scene.waiting_run() for _ in range(30)]
    scene.wait(SECOND)
    good = [scene.waiting_run() for _ in range(5)]
    for run in bad:
        vandal.spoil_run(run.id, how)
    assert {run.id for run in scene.start(node, limit=5)} == {run.id for run in good}
    assert scene.start(node) == []
    assert all(is_shown(scene, run) for run in bad)
    assert {run.id for run in scene.store.runs(limit=1000)} == {run.id for run in (*bad, *good)}


@pytest.mark.parametrize("how", HOWS)
def test_it_holds_up_no_other_run_of_its_schedule(scene: Scene, vandal: Vandal, how: How) -> None:
    node = scene.node()
    scene.put(max_waiting=5)
    scene.put("other")
    scene.wait(MINUTE)
    scene.plan(node)
    (bad,) = scene.runs()
    vandal.spoil_run(bad.id, how)
    assert [run.schedule for run in scene.start(node)] == ["other"]
    scene.wait(MINUTE)
    scene.plan(node)
    started = scene.start(node)
    assert [run.schedule for run in started] == ["s"]
    assert scene.end(started[0]).state == "succeeded"
    assert is_shown(scene, bad)


def test_how_many_places_a_group_has_is_found_out_anew_where_that_cannot_be_read(scene: Scene) -> None:
    store = scene.store
    assert isinstance(store, Engine)
    node = scene.node()
    runs = [scene.waiting_run(policy=Policy(limit="few:2")) for _ in range(3)]
    first, second = scene.start(node)
    store._transact(lambda tx: tx.save_keys([Key("w:few", "w:few", state="weird")]))
    scene.end(first)
    (third,) = scene.start(node)
    assert {first.id, second.id, third.id} == {run.id for run in runs}
    scene.end(second)
    assert [scene.end(each).state for each in (third,)] == ["succeeded"]


@pytest.mark.parametrize("how", HOWS)
def test_pause_delete_sweep_and_routing_pass_it_by(scene: Scene, vandal: Vandal, how: How) -> None:
    node = scene.node()
    scene.put(route="first", max_waiting=5)
    scene.wait(MINUTE)
    scene.plan(node)
    (bad,) = scene.runs()
    vandal.spoil_run(bad.id, how)
    scene.wait(MINUTE)
    scene.plan(node)
    scene.store.sweep()
    scene.store.reroute()
    scene.edit(edits.pause("why not"))
    assert sorted(run.state for run in scene.runs() if run.id != bad.id) == ["skipped"]
    scene.edit(edits.resume())
    assert scene.edit(edits.delete()) is not None
    assert is_shown(scene, bad)


@pytest.mark.parametrize("how", HOWS)
def test_blocked_runs_that_cannot_be_read_hide_none_from_the_sweep(scene: Scene, vandal: Vandal, how: How) -> None:
    node = scene.node()
    limited = Policy(limit="g:1")
    holder = scene.waiting_run(policy=limited)
    assert len(scene.start(node)) == 1
    behind = [scene.waiting_run(policy=limited) for _ in range(6)]
    assert scene.start(node) == []
    for run in behind[:5]:
        vandal.spoil_run(run.id, how)
    scene.end(scene.run(holder))
    for _ in range(5):
        scene.store.sweep(limit=2)
    assert [run.id for run in scene.start(node)] == [behind[5].id]


# running


@pytest.mark.parametrize("how", HOWS)
def test_renewals_and_outcomes_of_others_stand(scene: Scene, vandal: Vandal, how: How) -> None:
    node = scene.node()
    runs = [scene.waiting_run() for _ in range(3)]
    started = {run.id: run for run in scene.start(node)}
    bad, *good = runs
    vandal.spoil_run(bad.id, how)
    own = {run.id for run in scene.renew(node).own}
    assert own >= {run.id for run in good}
    scene.store.log(node, [LogLine(run.id, 1, START_MS, "INFO", "said") for run in runs])
    outcomes = [Outcome(run.id, started[run.id].claim_no, "succeeded") for run in runs]
    finished = scene.store.finish(node, outcomes)
    assert {run.id for run in finished.recorded} >= {run.id for run in good}
    assert {scene.run(run).state for run in good} == {"succeeded"}
    if how in JSON:
        assert scene.run(bad).state == "succeeded"
    else:
        assert finished.refused == (bad.id,)
        assert is_shown(scene, bad)


@pytest.mark.parametrize("how", HOWS)
def test_a_takeover_gives_back_the_others(scene: Scene, vandal: Vandal, how: How) -> None:
    node, other = scene.node(), scene.node("other")
    runs = [scene.waiting_run() for _ in range(3)]
    assert len(scene.start(node)) == 3
    bad, *good = runs
    vandal.spoil_run(bad.id, how)
    scene.wait(20 * SECOND)
    scene.renew(other)
    taken = scene.kill(node)
    assert {run.id for run in taken} >= {run.id for run in good}
    assert {run.id for run in scene.start(other)} == {good[0].id}, "crashed runs begin one at a time"
    assert is_shown(scene, bad)


@pytest.mark.parametrize("how", HOWS)
def test_the_slot_that_it_has_is_nobody_elses_and_clashes_with_nobody(scene: Scene, vandal: Vandal, how: How) -> None:
    node = scene.node()
    bad = scene.running(node)
    scene.put("other")
    vandal.spoil_run(bad.id, how)
    for _ in range(3):
        scene.wait(MINUTE)
        scene.renew(node)
        runs = [*scene.plan(node, free=5), *scene.start(node)]
        started = [run for run in runs if run.state == "running"]
        assert [run.schedule for run in started] == ["other"]
        scene.end(started[0])
    assert is_shown(scene, bad)


# ended


@pytest.mark.parametrize("how", HOWS)
def test_an_ended_run_that_cannot_be_read_is_listed_and_pruned_with_the_others(
    scene: Scene, vandal: Vandal, how: How
) -> None:
    node = scene.node()
    scene.put()
    ended = []
    for _ in range(3):
        scene.wait(MINUTE)
        (run,) = scene.plan(node, free=1)
        ended.append(scene.end(run, result=[1]))
    bad, broken, good = ended
    vandal.spoil_run(bad.id, how)
    vandal.spoil_result(broken.id)
    assert is_shown(scene, bad)
    assert is_shown(scene, broken)
    assert scene.run(good).result == [1]
    assert {run.id for run in scene.store.runs(schedule="s", limit=10)} >= {good.id}
    scene.wait(31 * DAY)
    scene.store.prune(Retention())
    assert scene.store.runs(ids=[good.id]) == []


@pytest.mark.parametrize("how", HOWS)
def test_what_became_of_ticks_and_what_nodes_run_is_told_with_it(scene: Scene, vandal: Vandal, how: How) -> None:
    node = scene.node()
    ended = scene.end(scene.running(node))
    scene.wait(MINUTE)
    (runs,) = scene.plan(node, free=1)
    for run in (ended, runs):
        vandal.spoil_run(run.id, how)
    marks = [mark.id for mark in scene.store.ticks([scene.schedule().id]).marks]
    found = [each.id for each in scene.store.runs(task="job", node=node)]
    load = [(each.node_id, each.running) for each in scene.store.load()]
    if scene.run(runs).owner == node and scene.run(runs).state is State.RUNNING:
        assert (marks, found, load) == ([runs.id, ended.id], [runs.id, ended.id], [(node, 1)])
    else:  # where a row is one text, nothing is known of it but that it is there
        assert {*marks, *found} <= {runs.id, ended.id}
        assert load in ([], [(node, 1)])


@pytest.mark.parametrize("how", HOWS)
def test_every_question_about_runs_is_answered_with_it(scene: Scene, vandal: Vandal, how: How) -> None:
    node = scene.node()
    good, bad, waiting = (scene.waiting_run() for _ in range(3))
    scene.wait(2 * SECOND)
    scene.start(node, limit=2)
    for run in (bad, waiting):
        vandal.spoil_run(run.id, how)
    for wanted in (
        {},
        {"task": "job"},
        {"node": node},
        {"state": State.RUNNING},
        {"late": True},
        {"since_ms": START_MS},
    ):
        assert good.id in {run.id for run in scene.store.runs(**wanted)}
    scene.store.count_runs()
    assert scene.store.log(node, [LogLine(run.id, 1, START_MS, PROGRESS, "5%") for run in (bad, good)]) >= 1
    assert scene.run(good).progress == "5%"


def test_a_run_whose_earlier_attempts_cannot_be_read_is_a_run_all_the_same(scene: Scene, vandal: Vandal) -> None:
    node = scene.node()
    run = scene.running(node, retries=5, backoff_ms=SECOND)
    scene.end(run, "failed", error="no")
    vandal.spoil_story(run.id)
    assert scene.run(run).earlier == ()
    scene.wait(MINUTE)
    (again,) = scene.start(node)
    scene.end(again, "failed", error="no", final=True)
    kept = scene.run(run)
    assert [each.number for each in kept.attempts] == [2]
    vandal.spoil_story(run.id)
    assert [each.number for each in scene.store.runs(schedule="s")[0].attempts] == [2]


def test_every_question_about_schedules_is_answered_where_one_cannot_be_read(scene: Scene, vandal: Vandal) -> None:
    bad, good = scene.put("bad", tags=("eu",)), scene.put("good", tags=("eu",))
    vandal.spoil_schedule(bad.id)
    scene.wait(5 * MINUTE)
    for wanted in ({}, {"tag": "eu"}, {"task": "job"}, {"state": "active"}, {"search": "o"}, {"mode": "durable"}):
        for order in ("name", "next"):
            found = scene.store.schedules(order=order, **wanted)  # type: ignore[arg-type]
            assert good.id in {row.id for row in found}, wanted
    assert {row.id for row in scene.store.schedules()} == {bad.id, good.id}
    assert good.id in {row.id for row in scene.store.overdue(scene.now_ms)}
    assert scene.store.count_schedules().total == 2
    assert any("good" in each.names for each in scene.store.demands(["job"]))
    assert any(each.task == "job" for each in scene.store.needed())
    assert scene.store.count_overdue(scene.now_ms) >= 1
    scene.store.ticks([bad.id, good.id])


def test_a_minute_that_cannot_be_read_has_counted_nothing(scene: Scene, vandal: Vandal) -> None:
    scene.store.tally([Minute(START_MS, "n", 3)])
    vandal.spoil_minutes()
    scene.store.tally([Minute(START_MS, "o", 4)])
    assert scene.store.minutes(START_MS, START_MS) == [Minute(START_MS, "n"), Minute(START_MS, "o", 4)]


# the others


def test_a_node_that_cannot_be_read_stops_nobody_and_is_taken_over(scene: Scene, vandal: Vandal) -> None:
    bad, node = scene.node("bad"), scene.node("good")
    run = scene.waiting_run()
    assert [each.id for each in scene.start(bad)] == [run.id]
    vandal.spoil_node(bad)
    assert {each.id for each in scene.store.nodes()} == {bad, node}
    assert {each.id for each in scene.renew(node).nodes} == {bad, node}
    scene.put(route="first")
    scene.wait(20 * SECOND)
    scene.renew(node)
    assert [each.id for each in scene.kill(bad)] == [run.id]
    assert [each.id for each in scene.store.nodes()] == [node]
    assert [each.id for each in scene.start(node)] == [run.id]
    assert {info.name for info in scene.store.tasks()} == {"job"}


def test_what_is_only_appended_is_listed_also_where_some_of_it_cannot_be_read(scene: Scene, vandal: Vandal) -> None:
    node = scene.node()
    run = scene.running(node)
    scene.store.log(node, [LogLine(run.id, run.claim_no, START_MS, "INFO", "said")])
    scene.edit(edits.pause("why"))
    scene.wait(5 * MINUTE)
    scene.edit(edits.resume())
    schedule = scene.schedule()
    vandal.spoil_what_is_appended(schedule.id, run.id, node)
    assert scene.store.changes(limit=10)
    assert scene.store.revisions(schedule.id)
    scene.store.tasks()
    assert "said" in {line.text for line in scene.store.logs(run.id)}
    assert scene.decisions()
    assert str(explain(scene.store, schedule, START_MS + 2 * MINUTE))
    assert read_status(scene.store).nodes


# people


@pytest.mark.parametrize("how", HOWS)
def test_people_see_it_and_what_they_can_do_is_told(scene: Scene, vandal: Vandal, app: App, how: How) -> None:
    run = scene.waiting_run()
    vandal.spoil_run(run.id, how)
    shown = app.runs.get(run.id)
    assert "the row of this run cannot be read" in (shown.error or "")
    with pytest.raises(Conflict, match=r"cannot be read.*; mend it, or remove it by hand"):
        app.runs.retry(run.id)
    scene.wait(MINUTE)
    if how in JSON:
        assert [late.reason for late in read_status(scene.store).late] == ["its row cannot be read"]
        assert app.runs.cancel(run.id).state == "cancelled"
    else:
        with pytest.raises(Conflict, match="cannot be read"):
            app.runs.cancel(run.id)
