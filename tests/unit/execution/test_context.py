"""What a task may ask of its context: the runs before it, and to be ended in the user's own transaction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy
from tests.unit.execution.places import app_in_memory, done, ended, until

from onthedot import App, Context, OnthedotError, StoreError, cron, current
from onthedot.events import RunEnded
from onthedot.model.run import Run


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = App(f"sqlite:///{tmp_path}/jobs.db")
    with app.running():
        yield app
    app.close()


@pytest.fixture
def shop(tmp_path: Path, app: App) -> Iterator[sqlalchemy.Engine]:
    """The user's own connection to the same file, with a table of their own."""
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/jobs.db", connect_args={"timeout": 30})
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE sold (what TEXT)")
    yield engine
    engine.dispose()


def sold(shop: sqlalchemy.Engine) -> list[str]:
    with shop.connect() as connection:
        return [row[0] for row in connection.exec_driver_sql("SELECT what FROM sold")]


def settled(app: App, run: Run) -> Run:
    """The run when nothing of it is on its way any more."""
    last = ended(app, run)
    assert app.runner is not None
    runner = app.runner
    until(lambda: not runner.worker.executing() and not runner._outcomes.pending())
    return app.runs.get(last.id)


# the runs before it


def test_a_run_knows_the_run_before_it_and_the_last_that_succeeded(app: App) -> None:
    @app.task
    def asks(ctx: Context) -> list[str]:
        answer = [str(ctx.previous_at), str(ctx.last_success_at)]
        if ctx.run.args.get("fail"):
            raise ValueError(answer)
        return answer

    @app.task(name="fails")
    def asks_and_fails() -> None:
        raise ValueError

    app.schedules.put("s", asks, cron("0 0 1 1 *"))
    first = ended(app, app.schedules.trigger("s"))
    app.schedules.put("s", "fails", cron("0 0 1 1 *"))
    second = ended(app, app.schedules.trigger("s"))
    app.schedules.put("s", asks, cron("0 0 1 1 *"))
    third = ended(app, app.schedules.trigger("s"))
    assert first.result == ["None", "None"]
    assert second.state == "failed"
    assert third.result == [str(second.scheduled_at), str(first.scheduled_at)]


def test_one_off_work_has_nothing_before_it(app: App) -> None:
    @app.task
    def asks(ctx: Context) -> bool:
        return ctx.previous_at is None and ctx.last_success_at is None

    done(app, asks)
    assert done(app, asks).result is True


def test_current_is_the_context_of_the_run_and_there_is_none_outside(app: App) -> None:
    @app.task
    async def asks(ctx: Context) -> bool:
        return current() is ctx

    assert done(app, asks).result is True
    with pytest.raises(OnthedotError, match="only inside a task"):
        current()


# complete


def test_a_run_ends_with_the_users_own_transaction(app: App, shop: sqlalchemy.Engine) -> None:
    @app.task
    def sells(ctx: Context) -> str:
        with shop.begin() as connection:
            ctx.complete({"sold": 1}, connection=connection)
            connection.exec_driver_sql("INSERT INTO sold VALUES ('a book')")
        return "this is not what counts"

    run = settled(app, app.enqueue(sells))
    assert (run.state, run.result, run.error) == ("succeeded", {"sold": 1}, None)
    assert sold(shop) == ["a book"]


def test_a_rollback_means_that_it_did_not_happen(app: App, shop: sqlalchemy.Engine) -> None:
    @app.task(retries=1, backoff="0s")
    def sells(ctx: Context) -> None:
        with shop.begin() as connection:
            ctx.complete(connection=connection)
            connection.exec_driver_sql("INSERT INTO sold VALUES ('a book')")
            if ctx.attempt == 1:
                raise ConnectionError("just before the commit")

    run = settled(app, app.enqueue(sells))
    assert (run.state, run.attempt) == ("succeeded", 2)
    assert sold(shop) == ["a book"]


def test_a_rollback_that_the_task_keeps_to_itself_fails_the_run(app: App, shop: sqlalchemy.Engine) -> None:
    @app.task
    def sells(ctx: Context) -> None:
        with shop.connect() as connection, connection.begin() as transaction:
            ctx.complete(connection=connection)
            transaction.rollback()

    run = settled(app, app.enqueue(sells))
    assert (run.state, run.error) == ("failed", "ctx.complete() was called, but its transaction was not committed")


def test_what_is_raised_after_the_commit_changes_nothing(app: App, shop: sqlalchemy.Engine) -> None:
    @app.task(retries=5, backoff="0s")
    def sells(ctx: Context) -> None:
        with shop.begin() as connection:
            ctx.complete(1, connection=connection)
            connection.exec_driver_sql("INSERT INTO sold VALUES ('a book')")
        raise ValueError("too late")

    run = settled(app, app.enqueue(sells))
    assert (run.state, run.result, run.attempt) == ("succeeded", 1, 1)
    assert sold(shop) == ["a book"]


def test_who_waits_behind_a_completed_run_starts(app: App, shop: sqlalchemy.Engine) -> None:
    @app.task
    def sells(ctx: Context) -> None:
        with shop.begin() as connection:
            ctx.complete(connection=connection)

    app.schedules.put("s", sells, cron("0 0 1 1 *"))
    runs = [app.schedules.trigger("s") for _ in range(3)]
    assert [ended(app, run).state for run in runs] == ["succeeded"] * 3


def test_a_completed_run_is_told_as_ended(app: App, shop: sqlalchemy.Engine) -> None:
    told: list[RunEnded] = []
    app.events.subscribe(RunEnded, told.append)

    @app.task
    def sells(ctx: Context) -> None:
        with shop.begin() as connection:
            ctx.complete({"sold": 1}, connection=connection)

    run = app.enqueue(sells)
    until(lambda: told)
    assert [(each.run_id, each.outcome, each.attempt) for each in told] == [(run.id, "succeeded", 1)]


def test_a_superseded_owner_cannot_complete(app: App, shop: sqlalchemy.Engine) -> None:
    said: list[str] = []

    @app.task
    def sells(ctx: Context) -> None:
        runner = app.runner
        assert runner is not None
        app.open_store().leave(runner.node.id)  # as if it had been declared dead
        with shop.connect() as connection, connection.begin() as transaction:
            try:
                ctx.complete(connection=connection)
            except OnthedotError as error:
                said.append(str(error))
                transaction.rollback()

    app.enqueue(sells, delivery="at_most_once")
    until(lambda: said)
    assert "no longer this node's" in said[0]


def test_a_store_without_transactions_to_share_says_so() -> None:
    app = app_in_memory()

    @app.task
    def sells(ctx: Context) -> str:
        try:
            ctx.complete(connection=object())
        except StoreError as error:
            return str(error)
        return ""

    with app.running():
        run = done(app, sells)
    assert "no transactions to share" in run.result
    assert run.state == "succeeded"


def test_what_is_no_connection_is_refused_and_the_run_goes_on(app: App) -> None:
    @app.task
    def sells(ctx: Context) -> None:
        ctx.complete(connection="sqlite:///jobs.db")

    assert "takes a SQLAlchemy Connection" in (done(app, sells).error or "")
