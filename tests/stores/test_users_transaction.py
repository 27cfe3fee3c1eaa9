"""A run enqueued in the user's own transaction exists when that commits, or never was, however they hold it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from onthedot import App, Context
from onthedot.stores.open import open_store

SYNC = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "mariadb": "mysql+pymysql"}
ASYNC = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg", "mariadb": "mysql+aiomysql"}

ORDER = text("INSERT INTO orders VALUES (1)")
Act = Callable[[Connection], None]


class World:
    """An app, and a table of the user's own in the same database."""

    def __init__(self, url: str) -> None:
        self.url = sqlalchemy.make_url(url)
        self.app = App(url, store=open_store(url, create=True))
        self.engine = sqlalchemy.create_engine(self.url.set(drivername=SYNC[self.url.drivername]))
        with self.engine.begin() as connection:
            connection.execute(text("CREATE TABLE orders (id INTEGER)"))

    def enqueue(self, connection: Connection) -> None:
        self.app.enqueue("mail", key="order 1", unchecked=True, connection=connection)
        connection.execute(ORDER)

    def counts(self) -> tuple[int, int]:
        """How many runs there are, and how many orders."""
        with self.engine.connect() as connection:
            orders = connection.execute(text("SELECT count(*) FROM orders")).scalar_one()
        return len(self.app.runs.list().items), orders

    def close(self) -> None:
        self.engine.dispose()
        self.app.open_store().close()


@pytest.fixture(params=["sqlite", "postgresql_15", "mariadb"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    given = f"sqlite:///{tmp_path}/a.db" if request.param == "sqlite" else str(request.getfixturevalue(request.param))
    world = World(given)
    yield world
    world.close()


def with_connection(world: World, *, commit: bool) -> None:
    with world.engine.connect() as connection:
        world.enqueue(connection)
        connection.commit() if commit else connection.rollback()


def with_session(world: World, *, commit: bool) -> None:
    with Session(world.engine) as session:
        world.enqueue(session.connection())
        session.commit() if commit else session.rollback()


def with_async_session(world: World, *, commit: bool) -> None:
    async def act() -> None:
        engine = create_async_engine(world.url.set(drivername=ASYNC[world.url.drivername]))
        async with AsyncSession(engine) as session:
            await session.run_sync(lambda session: world.enqueue(session.connection()))
            await (session.commit() if commit else session.rollback())
        await engine.dispose()

    asyncio.run(act())


WAYS = [with_connection, with_session, with_async_session]


@pytest.mark.parametrize("way", WAYS)
def test_it_exists_when_the_transaction_is_committed(world: World, way: Callable[..., None]) -> None:
    way(world, commit=True)
    assert world.counts() == (1, 1)


@pytest.mark.parametrize("way", WAYS)
def test_it_never_was_when_the_transaction_is_rolled_back(world: World, way: Callable[..., None]) -> None:
    way(world, commit=False)
    assert world.counts() == (0, 0)
    way(world, commit=True)
    assert world.counts() == (1, 1)


# a run that ends in the user's own transaction


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "rollback"])
def test_a_run_ends_with_the_users_transaction_or_goes_on(world: World, commit: bool) -> None:
    seen: list[str] = []

    @world.app.task
    def sells(ctx: Context) -> None:
        with world.engine.connect() as connection:
            ctx.complete({"sold": 1}, connection=connection)
            connection.execute(ORDER)
            seen.append(world.app.runs.get(ctx.run_id).state)
            connection.commit() if commit else connection.rollback()
            seen.append(world.app.runs.get(ctx.run_id).state)

    with world.app.running():
        run = world.app.runs.wait(world.app.enqueue(sells).id)
    assert seen == ["running", "succeeded" if commit else "running"]
    assert (run.state, run.result) == (("succeeded", {"sold": 1}) if commit else ("failed", None))
    assert world.counts() == (1, 1 if commit else 0)


def test_a_node_renews_while_a_task_of_it_holds_its_transaction(world: World) -> None:
    if world.url.drivername == "sqlite":
        return  # a transaction that writes locks the whole file

    @world.app.task
    def sells(ctx: Context) -> bool:
        runner = world.app.runner
        assert runner is not None
        with world.engine.begin() as connection:
            ctx.complete("renewed", connection=connection)
            return runner.heartbeat_once() is not None

    with world.app.running():
        run = world.app.runs.wait(world.app.enqueue(sells).id)
    assert (run.state, run.result) == ("succeeded", "renewed")


def test_a_flow_that_no_node_has_seen_is_enqueued_beside_what_the_user_has_written(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    app = App(url)

    @app.task
    def load() -> None: ...

    @app.flow
    def etl() -> None:
        load()

    app.open_store(create=True)
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE orders (id INTEGER)"))
    for commit in (False, True):
        with engine.connect() as connection:
            connection.execute(text("INSERT INTO orders VALUES (1)"))
            run = app.enqueue(etl, connection=connection)
            if commit:
                connection.commit()
        assert [each.id for each in app.runs.list(task="@etl")] == ([run.id] if commit else [])
        assert (app.open_store().graph(run.graph or "") is not None) == commit
    engine.dispose()
    app.close()
