"""`app.aio`: the same names, awaited."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from tests.patience import LONGEST, LONGEST_S

from onthedot import App, ArgumentsError, Context, Run, RunNotFound, StoreError, TaskNotFound, every
from onthedot.app.acting import acting_as
from onthedot.app.aio.calls import THREADS
from onthedot.app.aio.faces import AsyncApp
from onthedot.errors import StoreUnavailable
from onthedot.model.states import State


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = App(f"sqlite:///{tmp_path}/jobs.db")

    @app.task
    def double(number: int) -> int:
        return 2 * number

    app.open_store(create=True)
    yield app
    app.close()


@pytest.fixture
def batches(app: App, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many runs each transaction has brought."""
    store, sizes = app.open_store(), []
    enqueue = store.enqueue

    def counted(runs: Sequence[Run], *args: Any, **options: Any) -> list[Run]:
        sizes.append(len(runs))
        return enqueue(runs, *args, **options)

    monkeypatch.setattr(store, "enqueue", counted)
    return sizes


NOT_AWAITED = {
    # what declares, and what hears
    *("task", "schedule", "flow", "command", "http", "mail", "alert", "around", "on", "log_events", "override"),
    *("engine", "engines", "remote"),
    "override_node",
    # what needs no store, or is a block of its own
    *("load_file", "named_tasks", "values_in_use", "web", "running", "run", "standing_on", "prepared", "open_store"),
    *("close", "after_fork", "url", "timezone", "surface", "include", "clock", "connection", "events", "metrics"),
    *("node_settings", "runner", "aio"),
}
OF_THE_REST = {
    "schedules": {"define"},
    "tokens": {"sign_in", "signed_in", "sign_out"},
    "calendars": {"put_content", "declare", "content_of", "said_by", "declares", "kind"},
    "triggers": {"put_content", "declare", "content_of", "said_by", "declares", "kind"},
}


def _names(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def test_every_name_of_the_app_is_there(app: App) -> None:
    assert _names(app) - _names(app.aio) == NOT_AWAITED - {"close", "after_fork"}
    for part in ("runs", "schedules", "nodes", "alerts", "freezes", "flows", "tokens", "calendars", "triggers"):
        missing = _names(getattr(app, part)) - _names(getattr(app.aio, part))
        assert missing == OF_THE_REST.get(part, set()), part
    assert AsyncApp.enqueue.__doc__ == App.enqueue.__doc__


def test_it_answers_as_the_plain_one_does(app: App) -> None:
    async def main() -> None:
        schedule = await app.aio.schedules.put("often", "double", every("1h"), args={"number": 1})
        assert await app.aio.schedules.get("often") == app.schedules.get("often") == schedule
        assert await app.aio.schedules.next("often", 3) == app.schedules.next("often", 3)
        run = await app.aio.enqueue("double", args={"number": 2}, key="a")
        assert await app.aio.enqueue("double", args={"number": 2}, key="a") == run == app.runs.get(run.id)
        assert [each.id for each in await app.aio.runs.list(task="double")] == [run.id]
        assert (await app.aio.status()).nodes == app.status().nodes
        with pytest.raises(RunNotFound):
            await app.aio.runs.get("nobody")

    asyncio.run(main())


def test_the_enqueues_of_one_turn_are_one_transaction(app: App, batches: list[int]) -> None:
    async def main() -> None:
        runs = await asyncio.gather(*(app.aio.enqueue("double", args={"number": number}) for number in range(100)))
        assert [run.args for run in runs] == [{"number": number} for number in range(100)]

    asyncio.run(main())
    assert batches == [100]
    assert len(app.runs.list(limit=200)) == 100


def test_what_comes_while_a_batch_is_written_is_the_next_batch(app: App, batches: list[int]) -> None:
    async def ask(number: int) -> None:
        for _ in range(number):
            await asyncio.sleep(0)
        await app.aio.enqueue("double", args={"number": number})

    async def main() -> None:
        with app.open_store().begin():  # type: ignore[attr-defined]  # the first batch has to wait
            asking = [asyncio.create_task(ask(number)) for number in range(5)]
            for _ in range(20):
                await asyncio.sleep(0)
        await asyncio.gather(*asking)

    asyncio.run(main())
    assert batches == [1, 4]


def test_one_that_is_wrong_fails_alone(app: App, batches: list[int]) -> None:
    async def main() -> None:
        said = await asyncio.gather(
            app.aio.enqueue("double", args={"number": 1}),
            app.aio.enqueue("double", args={"nonsense": 1}),
            app.aio.enqueue("nobody has it"),
            app.aio.enqueue("double", args={"number": 1}, delay="soon"),
            app.aio.enqueue("double", args={"number": 2}),
            return_exceptions=True,
        )
        assert [type(each).__name__ for each in said] == [
            "Run",
            "ArgumentsError",
            "TaskNotFound",
            "DurationError",
            "Run",
        ]
        assert isinstance(said[1], ArgumentsError)
        assert isinstance(said[2], TaskNotFound)

    asyncio.run(main())
    assert batches == [2]
    assert sorted(run.args["number"] for run in app.runs.list()) == [1, 2]


def test_one_that_the_store_refuses_fails_alone(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    store = app.open_store()
    enqueue = store.enqueue

    def refuses_three(runs: Sequence[Run], *args: Any, **options: Any) -> list[Run]:
        if any(run.args == {"number": 3} for run in runs):
            raise ValueError("not this one")
        return enqueue(runs, *args, **options)

    monkeypatch.setattr(store, "enqueue", refuses_three)

    async def main() -> None:
        asked = (app.aio.enqueue("double", args={"number": number}) for number in range(8))
        said = await asyncio.gather(*asked, return_exceptions=True)
        assert [number for number, each in enumerate(said) if not isinstance(each, Run)] == [3]

    asyncio.run(main())
    assert len(app.runs.list()) == 7


def test_while_the_store_is_away_each_is_told_so(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: Any, **options: Any) -> list[Run]:
        raise StoreUnavailable("it is away")

    monkeypatch.setattr(app.open_store(), "enqueue", away)

    async def main() -> None:
        asked = (app.aio.enqueue("double", args={"number": number}) for number in range(3))
        said = await asyncio.gather(*asked, return_exceptions=True)
        assert [str(each) for each in said] == ["it is away"] * 3

    asyncio.run(main())


def test_who_is_cancelled_loses_nothing_and_nobody_else_notices(app: App) -> None:
    async def main() -> None:
        asking = [asyncio.create_task(app.aio.enqueue("double", args={"number": number})) for number in range(3)]
        await asyncio.sleep(0)
        asking[1].cancel()
        said = await asyncio.gather(*asking, return_exceptions=True)
        assert [type(each).__name__ for each in said] == ["Run", "CancelledError", "Run"]

    asyncio.run(main())
    app.close()
    assert sorted(run.args["number"] for run in app.runs.list()) == [0, 1, 2]


def test_a_loop_that_ends_at_once_loses_nothing(app: App) -> None:
    async def main() -> None:
        asyncio.ensure_future(app.aio.enqueue("double", args={"number": 1}))  # noqa: RUF006
        await asyncio.sleep(0)

    asyncio.run(main())
    app.close()  # waits for what was asked
    assert [run.args for run in app.runs.list()] == [{"number": 1}]
    asyncio.run(app.aio.enqueue("double", args={"number": 2}))
    assert len(app.runs.list()) == 2


def test_several_loops_at_once(app: App) -> None:
    async def ask() -> None:
        await asyncio.gather(*(app.aio.enqueue("double", args={"number": number}) for number in range(20)))

    loops = [threading.Thread(target=asyncio.run, args=(ask(),)) for _ in range(5)]
    for each in loops:
        each.start()
    for each in loops:
        each.join()
    assert len(app.runs.list(limit=200)) == 100


def test_all_who_wait_have_one_thread_and_one_question(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    store = app.open_store()
    read = store.runs

    def counted(**options: Any) -> list[Run]:
        if options.get("ids"):
            asked.append(len(options["ids"]))
        return list(read(**options))

    monkeypatch.setattr(store, "runs", counted)

    async def main() -> None:
        numbers = range(50)
        runs = await asyncio.gather(*(app.aio.enqueue("double", args={"number": number}) for number in numbers))
        waiting = [asyncio.create_task(app.aio.runs.wait(run.id, timeout=LONGEST)) for run in runs]
        with pytest.raises(RunNotFound):
            await app.aio.runs.wait("nobody", timeout=LONGEST)
        assert (await app.aio.runs.wait(runs[0].id, timeout="1ms")).state is State.WAITING
        waiting.pop().cancel()
        own = [each.name for each in threading.enumerate() if each.name.startswith("onthedot-aio")]
        assert len(own) <= THREADS + 1
        async with app.running(log=False):
            ended = await asyncio.gather(*waiting)
        assert [run.result for run in ended] == [2 * number for number in numbers[:-1]]

    asyncio.run(main())
    assert max(asked) >= 50, "one question for all"


def test_what_a_run_says_is_followed(app: App) -> None:
    @app.task
    def talk(ctx: Context) -> None:
        ctx.log.info("a")

    async def main() -> None:
        async with app.running(log=False):
            run = await app.aio.enqueue(talk)
            lines = [line async for line in app.aio.runs.follow(run.id)]
            assert lines == list(await app.aio.runs.logs(run.id))

    asyncio.run(main())


def test_a_change_is_kept_under_the_name_of_who_asked(app: App) -> None:
    async def main() -> None:
        await app.aio.schedules.put("often", "double", every("1h"), args={"number": 1})
        with acting_as("ada", "http"):
            await app.aio.schedules.pause("often")

    asyncio.run(main())
    assert next(iter(app.schedules.changes("often"))).by.who == "ada"


def test_a_run_exists_when_the_session_commits_and_never_was_if_it_does_not(app: App, tmp_path: Path) -> None:
    async def main() -> None:
        engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/jobs.db")
        async with AsyncSession(engine) as session, session.begin():
            await session.execute(text("CREATE TABLE orders (id INTEGER PRIMARY KEY)"))
        async with AsyncSession(engine) as session, session.begin():
            await app.aio.enqueue("double", args={"number": 1}, connection=session)
        async with AsyncSession(engine) as session:
            await app.aio.enqueue("double", args={"number": 2}, connection=session)
            await session.rollback()
        async with engine.begin() as connection:
            await app.aio.enqueue("double", args={"number": 3}, connection=connection)
        await engine.dispose()
        with pytest.raises(StoreError, match="AsyncSession or AsyncConnection"):
            await app.aio.enqueue("double", args={"number": 4}, connection=object())

    asyncio.run(main())
    assert sorted(run.args["number"] for run in app.runs.list()) == [1, 3]


def test_after_a_fork_the_child_has_threads_of_its_own(tmp_path: Path) -> None:
    program = f"""
import asyncio, os, sys
from onthedot import App
app = App("sqlite:///{tmp_path}/jobs.db")
app.open_store(create=True)
ask = lambda: asyncio.run(app.aio.enqueue("later", unchecked=True))
ask()
if (child := os.fork()) == 0:
    ask()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
ask()
assert len(app.runs.list()) == 3
app.close()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=LONGEST_S)


def test_a_loop_that_ends_takes_nothing_with_it_however_much_still_gathers(app: App) -> None:
    """Two turns, of which the first is being written when the loop ends."""

    async def main() -> None:
        first = asyncio.create_task(app.aio.enqueue("double", args={"number": 0}))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        later = [asyncio.create_task(app.aio.enqueue("double", args={"number": each})) for each in range(1, 800)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not any(each.done() for each in (first, *later))

    with app.open_store().begin():  # type: ignore[attr-defined]  # nothing can be written before the loop has ended
        asyncio.run(main())
    app.close()
    assert {run.args["number"] for run in app.runs.list(limit=1000)} == {*range(800)}


def test_a_turn_is_one_transaction_beside_others_that_are_written(app: App, batches: list[int]) -> None:
    async def ask(turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        await asyncio.gather(*(app.aio.enqueue("double", args={"number": number}) for number in range(300)))

    async def main() -> None:
        await asyncio.gather(*(ask(turns) for turns in range(0, 8, 2)))

    asyncio.run(main())
    assert sum(batches) == 1200
    assert set(batches) == {300}, "a turn was divided"


def test_who_waits_is_told_when_the_app_is_closed(app: App) -> None:
    async def main() -> None:
        run = await app.aio.enqueue("double", args={"number": 1})
        waiting = asyncio.create_task(app.aio.runs.wait(run.id))
        await asyncio.sleep(0)
        await asyncio.to_thread(app.close)
        with pytest.raises(StoreError, match=rf"app.close\(\) was called while run {run.id} was waited for"):
            await waiting
        assert (await app.aio.runs.wait(run.id, timeout="1ms")).state is State.WAITING

    asyncio.run(main())
