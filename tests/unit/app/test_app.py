"""An app on the store in memory: what is declared runs, once, and can be explained."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from tests.patience import LONGEST, LONGEST_S

from onthedot import App, Conflict, Context, GiveUp, Retry, SettingsError, Skip, TaskNotFound, cron, current, every
from onthedot.app.json_documents import run_document
from onthedot.app.modules import modules_of
from onthedot.clock import ManualClock, SystemClock
from onthedot.events import Emitter
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.moments import ceil_ms
from onthedot.node.node import NodeRunner
from onthedot.node.settings import NodeSettings
from onthedot.stores.memory import MemoryStore
from onthedot.triggers.codec import encode


@pytest.fixture
def app() -> App:
    return App("memory://", store=MemoryStore(SystemClock().now_ms), node=NodeSettings(poll_ms=100, drain_ms=2000))


def ended(app: App, run: Run) -> Run:
    finished = app.runs.wait(run.id, timeout=LONGEST)
    assert finished.is_final, finished
    return finished


def test_a_task_is_still_the_plain_function(app: App) -> None:
    @app.task
    def double(number: int) -> int:
        return number * 2

    assert double(21) == 42


def test_plain_and_async_tasks_run_and_their_results_are_kept(app: App) -> None:
    @app.task
    def plain(number: int) -> int:
        return number + 1

    @app.task
    async def later(ctx: Context, number: int) -> dict[str, int]:
        await asyncio.sleep(0)
        return {"number": number, "attempt": ctx.attempt, "current": current().attempt}

    with app.running():
        runs = [app.enqueue(plain, args={"number": 1}), app.enqueue(later, args={"number": 2})]
        assert [ended(app, run).result for run in runs] == [2, {"number": 2, "attempt": 1, "current": 1}]


def test_a_failed_task_is_tried_again_as_often_as_it_may(app: App) -> None:
    attempts: list[int] = []

    @app.task(retries=2, backoff="1ms")
    def fails(ctx: Context) -> None:
        attempts.append(ctx.attempt)
        raise ValueError("no luck")

    with app.running():
        run = ended(app, app.enqueue(fails))
    assert (run.state, run.attempt, attempts) == ("failed", 3, [1, 2, 3])
    assert "ValueError: no luck" in (run.error or "")


@pytest.mark.parametrize(
    ("make", "state", "attempts"),
    [(lambda: GiveUp("never"), "failed", 1), (lambda: Skip("nothing to do"), "skipped", 1), (SystemExit, "failed", 3)],
)
def test_a_task_can_say_how_it_ends(app: App, make: Callable[[], BaseException], state: str, attempts: int) -> None:
    @app.task(retries=2, backoff="1ms")
    def ends() -> None:
        raise make()

    with app.running():
        run = ended(app, app.enqueue(ends))
    assert (run.state, run.attempt) == (state, attempts)


def test_a_task_that_asks_to_be_tried_again_is_whatever_its_retries(app: App) -> None:
    @app.task
    def twice(ctx: Context) -> str:
        if ctx.attempt == 1:
            raise Retry(after="1ms")
        return "done"

    with app.running():
        run = ended(app, app.enqueue(twice))
    assert (run.state, run.attempt, run.result) == ("succeeded", 2, "done")


def test_a_result_that_is_no_json_value_fails_the_run_and_says_so(app: App) -> None:
    @app.task
    def odd() -> object:
        return object()

    with app.running():
        run = ended(app, app.enqueue(odd))
    assert "no JSON value" in (run.error or "")


def test_a_known_key_gives_the_run_that_has_it(app: App) -> None:
    @app.task
    def order() -> None: ...

    first = app.enqueue(order, key="42")
    assert app.enqueue(order, key="42").id == first.id
    assert app.enqueue(order, key="43").id != first.id


@pytest.mark.parametrize("key", ["invoice-7", "a/b.", "two\nlines ", "k:order/7."])
def test_the_key_of_a_run_is_the_one_that_was_given(app: App, key: str) -> None:
    @app.task
    def order() -> None: ...

    app.schedules.put("nightly", order, cron("0 3 * * *"))
    run, made = app.enqueue(order, key=key, delay="1h"), app.schedules.trigger("nightly", token=key)
    batched = asyncio.run(_enqueued(app, "batched"))
    assert [each.key for each in (run, made, batched)] == [key, key, "batched"]
    assert {each.key for each in app.runs.list()} == {key, "batched"}
    assert run_document(app.runs.get(run.id))["key"] == app.runs.cancel(run.id).key == key
    assert app.runs.retry(run.id).key == key


async def _enqueued(app: App, key: str) -> Run:
    return await app.aio.enqueue("order", key=key)


@pytest.mark.parametrize("between", [":", ".", "%2F"])
def test_keys_of_different_tasks_never_collide(app: App, between: str) -> None:
    pairs = [(f"mail{between}eu", "42"), ("mail", f"eu{between}42")]
    for name, _ in pairs:
        app.task(name=name)(lambda: None)
    assert [app.enqueue(name, key=key).task for name, key in pairs] == [name for name, _ in pairs]


def test_a_declared_schedule_runs_on_its_ticks_and_each_tick_once(app: App) -> None:
    seen: list[int] = []
    enough = Event()

    @app.schedule(every("1s"))
    def tick(ctx: Context) -> None:
        seen.append(int(ctx.scheduled_at.timestamp()))
        if len(seen) == 3:
            enough.set()

    with app.running():
        assert enough.wait(LONGEST_S)
    assert seen[:3] == [seen[0], seen[0] + 1, seen[0] + 2]
    told = app.schedules.explain("tick", app.runs.list(schedule="tick").items[-1].scheduled_at)
    assert "succeeded" in str(told)


def test_a_running_run_is_cancelled_when_it_is_asked_to_stop(app: App) -> None:
    entered = Event()

    @app.task
    def patient(ctx: Context) -> None:
        entered.set()
        ctx.sleep("1h")

    with app.running():
        run = app.enqueue(patient)
        assert entered.wait(LONGEST_S)
        app.runs.cancel(run.id)
        assert ended(app, run).state == "cancelled"


def test_a_task_that_nobody_here_knows_is_refused_unless_told_otherwise(app: App) -> None:
    @app.task
    def known() -> None: ...

    with pytest.raises(TaskNotFound, match=r"No task named 'unknwon'\. Did you mean known\?"):
        app.enqueue("unknwon")
    with pytest.raises(TaskNotFound, match=r"No task named 'xyz'\. Known: known\."):
        app.enqueue("xyz")
    run = app.enqueue("elsewhere", unchecked=True)
    with app.running():
        assert ended(app, app.enqueue(known)).state == "succeeded"
        assert app.runs.get(run.id).state == "waiting"


def test_two_functions_under_one_name_are_refused_with_both_places(app: App) -> None:
    @app.task(name="same")
    def one() -> None: ...

    with pytest.raises(Conflict, match=r"two tasks are named 'same': .*test_app.py:\d+ and .*test_app.py:\d+"):

        @app.task(name="same")
        def two() -> None: ...


def test_an_alias_keeps_rows_of_a_renamed_task_alive(app: App) -> None:
    run = app.enqueue("old", unchecked=True)

    @app.task(aliases=["old"])
    def new() -> str:
        return "done"

    with app.running():
        assert ended(app, run).result == "done"


@pytest.mark.parametrize(
    ("trigger", "hint"),
    [("0 8 * * *", r"write cron\('0 8 \* \* \*'\)"), ("15m", r'write every\("15m"\)'), (900, r'write every\("15m"\)')],
)
def test_what_is_no_trigger_is_refused_with_what_to_write(app: App, trigger: Any, hint: str) -> None:
    app.task(name="job")(lambda: None)
    with pytest.raises(SettingsError, match=hint):
        app.schedule(trigger)
    with pytest.raises(SettingsError, match=f"nightly: .* is no trigger; {hint}"):
        app.schedules.put("nightly", "job", trigger)
    with pytest.raises(SettingsError, match="is no task"):
        app.schedules.put("nightly", every("1h"), "job")  # type: ignore[call-overload]


def test_a_follower_that_there_is_not_is_refused(app: App) -> None:
    app.task(name="job")(lambda: None)
    for option in ("then", "on_failure"):
        following: dict[str, Any] = {option: "nosuch"}
        with pytest.raises(TaskNotFound, match="'nosuch'"):
            app.schedules.put("nightly", "job", every("1h"), **following)
        app.schedules.put("nightly", "job", every("1h"), unchecked=True, **following)


def test_an_unknown_option_is_refused_with_the_nearest_name(app: App) -> None:
    with pytest.raises(SettingsError, match=r"no option 'overlapp'; did you mean overlap\?"):
        app.schedule(cron("0 9 * * *"), name="nightly", overlapp="discard")(lambda: None)


def test_an_operators_edit_survives_a_sync_and_a_changed_declaration_wins(app: App) -> None:
    def declare(trigger: str) -> App:
        again = App("memory://", store=app.open_store())

        @again.schedule(cron(trigger), name="nightly")
        def nightly() -> None: ...

        return again

    assert declare("0 2 * * *").sync().created == ("nightly",)
    app.schedules.pause("nightly", note="migration")
    app.schedules.update("nightly", misfire="skip")
    assert declare("0 2 * * *").sync().unchanged == ("nightly",)
    held = app.schedules.get("nightly")
    assert (held.enabled, held.paused_note, held.policy.misfire) == (False, "migration", "skip")
    assert declare("0 3 * * *").sync().updated == ("nightly",)
    assert declare("0 2 * * *").sync().unchanged == ("nightly",), "older code must not undo newer"
    assert app.schedules.get("nightly").trigger["text"] == "0 3 * * *"


def test_a_stop_lets_what_runs_finish(app: App) -> None:
    entered, release = Event(), Event()

    @app.task
    def slow() -> str:
        entered.set()
        release.wait(LONGEST_S)
        return "finished"

    app.start()
    run = app.enqueue(slow)
    assert entered.wait(LONGEST_S)
    stopping = Thread(target=app.stop)
    stopping.start()
    release.set()
    stopping.join(LONGEST_S)
    assert app.runs.get(run.id).result == "finished"


def test_async_tasks_run_on_the_surrounding_loop(app: App) -> None:
    async def main() -> bool:
        loops: list[asyncio.AbstractEventLoop] = []

        @app.task
        async def where() -> None:
            loops.append(asyncio.get_running_loop())

        async with app.running():
            run = await asyncio.to_thread(app.enqueue, where)
            await asyncio.to_thread(ended, app, run)
        return loops == [asyncio.get_running_loop()]

    assert asyncio.run(main())


def test_async_tasks_that_wait_already_run_on_the_surrounding_loop_too(app: App) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    @app.task
    async def where() -> None:
        loops.append(asyncio.get_running_loop())

    runs = [app.enqueue(where) for _ in range(3)]

    async def main() -> bool:
        asyncio.get_running_loop().call_later(0.01, Event().wait, 0.5)  # it is busy while the node starts
        async with app.running():
            for run in runs:
                await asyncio.to_thread(ended, app, run)
        return set(loops) == {asyncio.get_running_loop()}

    assert asyncio.run(main())


def test_two_schedules_of_one_name_are_refused_with_both_places(app: App) -> None:
    @app.schedule(every("1m"), name="nightly")
    def first() -> None: ...

    with pytest.raises(Conflict, match=r"two schedules are named 'nightly': .*test_app.py:\d+ and .*test_app.py:\d+"):

        @app.schedule(every("1h"), name="nightly")
        def second() -> None: ...

    with pytest.raises(Conflict, match="two schedules are named 'twice'"):

        @app.schedule(every("1m"), name="twice")
        @app.schedule(every("1h"), name="twice")
        def third() -> None: ...


def test_a_function_that_is_declared_again_replaces_its_schedule_but_a_second_one_needs_a_name(app: App) -> None:
    for period in ("1h", "2h"):

        @app.schedule(every(period))
        def job() -> None: ...

    app.sync()
    assert app.schedules.get("job").trigger == encode(every("2h").with_default_zone("UTC"))
    with pytest.raises(SettingsError, match="'job' has a schedule already; give the second one a name="):
        app.schedule(every("3h"))(job)


def test_of_two_nodes_with_one_name_the_id_says_which_is_to_drain(app: App) -> None:
    store = app.open_store()
    first, _ = (store.join(Node(new_id(1), "same"), []) for _ in range(2))
    with pytest.raises(Conflict, match=f"2 live nodes are called 'same'; .*{first.id}"):
        app.nodes.drain("same")
    assert app.nodes.drain(first.id).id == first.id


def test_what_is_asked_for_where_its_task_is_not_declared_follows_the_task_as_nodes_publish_it(tmp_path: Path) -> None:
    there, here = App(f"sqlite:///{tmp_path}/jobs.db"), App(f"sqlite:///{tmp_path}/jobs.db", timeout="1m")

    @there.task(route="broadcast", retries=3, limit="db:2")
    def job() -> None: ...

    there.open_store(create=True).join(Node(new_id(1), "there"), there.tasks.infos())
    wanted = Policy(route="broadcast", retries=4, limit="db:2", timeout_ms=60_000)
    assert here.enqueue("job", retries=4).policy == wanted
    assert here.schedules.put("s", "job", every("1h"), retries=4).policy == wanted
    assert here.enqueue("job", unchecked=True).policy == Policy(timeout_ms=60_000), "nobody was asked"
    for app in (there, here):
        app.close()


def test_a_hook_that_fails_fails_no_run(app: App) -> None:
    @app.task
    def fine() -> None: ...

    @app.on("run_started")
    def broken(event: object) -> None:
        raise RuntimeError("a bad hook")

    with app.running():
        assert ended(app, app.enqueue(fine)).state == "succeeded"


def test_what_runs_longer_than_the_drain_time_is_handed_back_and_not_lost(app: App) -> None:
    short = App("memory://", store=app.open_store(), node=NodeSettings(poll_ms=100, drain_ms=50))
    entered, release = Event(), Event()

    @short.task
    def endless(ctx: Context) -> str:
        entered.set()
        if ctx.attempt == 1:
            release.wait(LONGEST_S)
        return "done"

    short.start()
    run = short.enqueue(endless)
    assert entered.wait(LONGEST_S)
    assert short.stop() is False
    given_back = short.runs.get(run.id)
    assert (given_back.state, given_back.attempt, given_back.owner) == ("waiting", 1, None)
    release.set()
    with short.running():
        assert ended(short, run).attempt == 2


def test_schedules_of_a_node_that_lives_for_hours_stay_declared(app: App) -> None:
    clock = ManualClock(ceil_ms("2026-11-15T12:00Z"))
    store = MemoryStore(clock.now_ms)
    long_lived = App("memory://", store=store, clock=clock)

    @long_lived.schedule(every("1h"))
    def hourly() -> None: ...

    long_lived.sync()
    runner = NodeRunner(
        store,
        clock,
        Emitter(lambda event, error: None),
        long_lived.tasks.lookup,
        lambda: (long_lived.tasks.names(), long_lived.tasks.infos()),
        settings=NodeSettings(),
        declare=long_lived._declared.touch,
    )
    runner.join()
    for _ in range(5 * 60):
        clock.advance(60_000)
        runner.heartbeat_once()
        runner.plan_once()
        runner.loops["sweep"].step()
        assert runner.worker._empty.wait(LONGEST_S)
        runner.write_once()
    held = long_lived.schedules.get("hourly")
    assert store.decisions(held.id) == []
    assert len(long_lived.runs.list(schedule="hourly")) == 5


def test_modules_that_fit_a_pattern_are_included(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("shop_under_test", "shop_under_test/orders", "shop_under_test/mail"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "shop_under_test/orders/jobs.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert modules_of("shop_under_test.*.jobs") == ["shop_under_test.orders.jobs"]
    assert modules_of("shop_under_test.orders.jobs") == ["shop_under_test.orders.jobs"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": "mail:1000000000"}, "at most 1,000 places"),
        ({"limit": "mail"}, "write it like 'mail:5'"),
        ({"name": "nightly "}, "begins or ends with a blank"),
    ],
)
def test_what_a_store_could_not_bear_is_refused_in_one_line(app: App, options: dict[str, Any], said: str) -> None:
    app.task(name="work")(lambda: None)
    name = options.pop("name", "s")
    with pytest.raises(SettingsError, match=said):
        app.schedules.put(name, "work", every("1m"), **options)
