"""What stores on a server promise beyond the suite: making the tables once, one clear line for what is wrong, time."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

import psycopg
import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from tests.patience import LONGEST_S
from tests.servers.base import free_port

from onthedot import every
from onthedot.errors import OnthedotError, SchemaError, SettingsError, StoreError, StoreUnavailable
from onthedot.model.change import Author
from onthedot.model.run import Run
from onthedot.model.token import Role, Session, Token
from onthedot.rules import edits
from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.stores.sql import include_name, schema, tables, views
from onthedot.stores.sql.mysql import MYSQL
from onthedot.stores.sql.postgresql import POSTGRESQL

BY = Author("test", "test", "put")
DRIVERS = {"postgresql": "postgresql+psycopg", "mariadb": "mysql+pymysql"}
ONLY_ON_MYSQL = {
    "onthedot_runs_waiting",
    "onthedot_runs_ranked",
    "onthedot_runs_ready",
    "onthedot_schedules_plannable",
    "onthedot_schedules_mode",
    "onthedot_schedules_deleted",
    "onthedot_schedules_error",
    "onthedot_schedules_using",
    "onthedot_schedules_windows",
    "onthedot_history_moment",
}
NOT_ON_MYSQL = {
    "onthedot_history_tick",
    "onthedot_schedules_parked",
    "onthedot_schedules_paused",
    "onthedot_schedules_ended",
    "onthedot_runs_lane",
    "onthedot_runs_levels",
    "onthedot_runs_moment",
    "onthedot_runs_untold",
    "onthedot_schedules_due",
    "onthedot_schedules_local",
    "onthedot_schedules_uses",
    "onthedot_schedules_frozen",
    "onthedot_schedules_tombstones",
}

Open = Callable[..., Store]


@pytest.fixture(params=["postgresql_15", "mariadb"])
def url(request: pytest.FixtureRequest) -> str:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, str)
    return found


@pytest.fixture
def opened() -> Iterator[Open]:
    stores: list[Store] = []

    def opened(url: str, *, create: bool = True, upgrade: bool = False) -> Store:
        stores.append(open_store(url, create=create, upgrade=upgrade))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()


@pytest.fixture
def engine(url: str) -> Iterator[sqlalchemy.Engine]:
    engine = engine_of(url)
    yield engine
    engine.dispose()


def engine_of(url: str) -> sqlalchemy.Engine:
    parsed = sqlalchemy.make_url(url)
    return sqlalchemy.create_engine(parsed.set(drivername=DRIVERS[parsed.drivername]))


def _put(store: Store, name: str) -> None:
    store.change([name], edits.put(edits.Definition("task", every("1m"))), BY)


def _run(run_id: str = "run", key: str | None = None) -> Run:
    return Run(run_id, "task", "enqueue", 1, 1, key=key)


# tables


def test_many_who_open_an_empty_database_at_once_make_its_tables_once(url: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(lambda _: open_store(url, create=True), range(6)))
    for number, store in enumerate(stores):
        _put(store, f"s{number}")
    assert len(stores[0].schedules()) == 6
    for store in stores:
        store.close()


def test_who_waits_for_the_tables_is_not_cut_off_by_the_time_out_of_its_own_url(
    url: str, engine: sqlalchemy.Engine, opened: Open
) -> None:
    hold = (POSTGRESQL if engine.dialect.name == "postgresql" else MYSQL).hold_creation
    assert hold is not None
    with ThreadPoolExecutor(1) as pool, engine.connect() as other:
        assert hold(other)
        opening = pool.submit(opened, f"{url}?read_timeout=1&connect_timeout=2")
        time.sleep(1.5)  # longer than its time-out
        assert not opening.done()
        other.rollback()
        other.invalidate()
        assert opening.result(LONGEST_S).nodes() == []


def test_a_store_is_not_created_unless_asked(url: str, opened: Open) -> None:
    with pytest.raises(SchemaError, match="run `onthedot migrate` or start a node"):
        opened(url, create=False)


def test_alembic_from_empty_to_head_makes_the_declared_tables(url: str, engine: sqlalchemy.Engine) -> None:
    with engine.begin() as connection:
        schema.upgrade(connection)
    migrated = _everything(engine)
    with engine.begin() as connection:
        views.drop(connection)
        tables.metadata.drop_all(connection)
    open_store(url, create=True).close()
    assert _everything(engine) == migrated


def _everything(engine: sqlalchemy.Engine) -> dict[str, object]:
    inspector = sqlalchemy.inspect(engine)
    return {
        table: (
            {column["name"]: (str(column["type"]), column["nullable"]) for column in inspector.get_columns(table)},
            inspector.get_pk_constraint(table)["constrained_columns"],
            {
                index["name"]: (index["column_names"], index["unique"], str(index.get("dialect_options")))
                for index in inspector.get_indexes(table)
            },
        )
        for table in inspector.get_table_names()
    }


def test_alembic_finds_nothing_to_change_in_what_the_first_node_made(url: str, engine: sqlalchemy.Engine) -> None:
    open_store(url, create=True).close()
    others = NOT_ON_MYSQL if engine.dialect.name == "mysql" else ONLY_ON_MYSQL
    options = {"version_table": tables.meta.name, "include_object": lambda _thing, name, *_: name not in others}
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, tables.metadata) == []


def test_a_users_own_alembic_leaves_our_tables_alone(url: str, engine: sqlalchemy.Engine) -> None:
    open_store(url, create=True).close()
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_name": include_name})
        assert compare_metadata(context, sqlalchemy.MetaData()) == []


def test_older_tables_are_changed_by_migrate_and_by_no_node(
    url: str, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(url)
    upgraded: list[str | None] = []
    monkeypatch.setattr(schema, "HEAD", "0002")
    monkeypatch.setattr(schema, "upgrade", lambda _connection, schema: upgraded.append(schema))
    with pytest.raises(SchemaError, match=r"tables of an older onthedot .* run `onthedot migrate`"):
        opened(url)
    assert upgraded == []
    opened(url, upgrade=True)
    assert upgraded == [None]


def test_making_the_tables_goes_on_after_a_statement_that_took_longer_than_the_url_allows(
    mariadb: str, opened: Open
) -> None:
    engine = engine_of(mariadb)
    tables.schedules.create(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP INDEX onthedot_schedules_task ON onthedot_schedules")
    with ThreadPoolExecutor(1) as pool, engine.connect() as other, engine.connect() as looking:
        other.exec_driver_sql("LOCK TABLES onthedot_schedules READ")  # whoever makes its index waits
        opening = pool.submit(opened, f"{mariadb}?read_timeout=1&connect_timeout=2")
        _wait_for_two_makers(looking, opening)
        other.exec_driver_sql("UNLOCK TABLES")
        assert opening.result(LONGEST_S).nodes() == []
    engine.dispose()


def _wait_for_two_makers(connection: sqlalchemy.Connection, opening: Future[Store]) -> None:
    """Until a second connection makes what the first was cut off from."""
    seen: set[int] = set()
    while len(seen) < 2 and not opening.done():
        asked = "SELECT id FROM information_schema.processlist WHERE info LIKE 'CREATE INDEX%'"
        seen |= {number for (number,) in connection.exec_driver_sql(asked.replace("%", "%%"))}
        connection.rollback()
        time.sleep(0.05)


def test_making_the_tables_goes_on_where_it_was_killed(mariadb: str, opened: Open) -> None:
    engine = engine_of(mariadb)
    with engine.begin() as connection:
        tables.runs.create(connection)
        connection.exec_driver_sql("DROP INDEX onthedot_runs_slot ON onthedot_runs")
        tables.meta.create(connection)
    opened(mariadb)
    assert "onthedot_runs_slot" in {index["name"] for index in sqlalchemy.inspect(engine).get_indexes("onthedot_runs")}
    engine.dispose()


def test_the_sql_that_migrate_shows_makes_the_tables(url: str, engine: sqlalchemy.Engine, opened: Open) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "onthedot", "migrate", "--sql", "--store", url],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    lines = [line for line in shown.splitlines() if not line.startswith("--")]
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for statement in "\n".join(lines).split(";\n"):
            if statement.strip() not in ("", "BEGIN", "COMMIT"):
                connection.exec_driver_sql(statement)
    assert opened(url, create=False).schedules() == []


# schemas


def test_two_schemas_of_one_database_are_two_stores(postgresql_15: str, opened: Open) -> None:
    plain, other, third = (opened(f"{postgresql_15}{end}") for end in ("", "?schema=Other One", "?schema=third"))
    for store, name in ((plain, "a"), (other, "b"), (third, "c")):
        _put(store, name)
        store.enqueue([_run(name, key="k")])
    assert [[row.name for row in store.schedules()] for store in (plain, other, third)] == [["a"], ["b"], ["c"]]
    assert [[run.id for run in store.runs()] for store in (plain, other, third)] == [["a"], ["b"], ["c"]]
    with psycopg.connect(postgresql_15) as connection:
        found = connection.execute("SELECT schemaname FROM pg_tables WHERE tablename = 'onthedot_meta' ORDER BY 1")
        assert [name for (name,) in found] == ["Other One", "public", "third"]


def test_a_schema_that_no_statement_could_name_is_refused(postgresql_15: str) -> None:
    for name in ("a%25b", "x" * 64):
        assert "schema= takes one name" in refusal(f"{postgresql_15}?schema={name}", SettingsError)


def test_migrations_stay_in_their_schema(postgresql_15: str, opened: Open) -> None:
    engine = engine_of(postgresql_15)
    translated = engine.execution_options(schema_translate_map={None: "apart"})
    with translated.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA apart")
        schema.upgrade(connection, "apart")
    assert sqlalchemy.inspect(engine).get_table_names() == []
    assert opened(f"{postgresql_15}?schema=apart", create=False).schedules() == []
    engine.dispose()


def test_a_run_enqueued_in_the_callers_transaction_is_in_our_schema_and_leaves_theirs_as_it_was(
    postgresql_15: str, opened: Open
) -> None:
    store = opened(f"{postgresql_15}?schema=apart")
    engine = engine_of(postgresql_15)
    theirs = {None: "tenant"}
    with engine.connect().execution_options(schema_translate_map=theirs) as connection:
        store.enqueue([_run()], connection)
        assert connection.get_execution_options()["schema_translate_map"] == theirs
        connection.commit()
    assert [run.id for run in store.runs()] == ["run"]
    engine.dispose()


def test_a_schema_on_mariadb_is_answered_with_a_database(mariadb: str) -> None:
    assert "name another one" in refusal(f"{mariadb}?schema=x", SettingsError)


# what is wrong


def refusal(url: str, kind: type[OnthedotError]) -> str:
    with pytest.raises(OnthedotError) as caught:
        open_store(url, create=True)
    assert type(caught.value) is kind, caught.value
    text = str(caught.value)
    assert "\n" not in text
    assert "secret" not in text
    return text


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+asyncpg", "mysql", "mariadb"])
def test_a_server_that_is_not_there_is_said_in_one_line_without_the_password(scheme: str) -> None:
    text = refusal(f"{scheme}://u:secret@127.0.0.1:{free_port()}/d", StoreUnavailable)
    assert "does not answer" in text
    assert "u:***@" in text


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_url_without_a_database_is_answered_with_an_example(scheme: str) -> None:
    assert "names no database" in refusal(f"{scheme}://u:secret@h", SettingsError)


def test_an_unknown_database_is_named(url: str) -> None:
    assert "nowhere" in refusal(url.rpartition("/")[0] + "/nowhere", StoreError)


def test_an_unknown_user_is_said_in_one_line(url: str) -> None:
    scheme, _, rest = url.partition("://")
    host = rest.partition("@")[2]
    assert "check user and password" in refusal(f"{scheme}://nobody:secret@{host}", StoreError)


@pytest.mark.parametrize(("url", "word"), [("postgresql", "wrong_option"), ("mysql", "wrong_option")])
def test_an_option_that_the_driver_does_not_know_is_named(url: str, word: str) -> None:
    with pytest.raises(OnthedotError, match=word) as caught:
        open_store(f"{url}://u:secret@127.0.0.1/d?{word}=1", create=True)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("scheme", "module", "extra"), [("postgresql", "psycopg", "postgresql"), ("mariadb", "pymysql", "mysql")]
)
def test_a_missing_driver_is_answered_with_what_to_install(scheme: str, module: str, extra: str) -> None:
    code = (
        f"import sys\nsys.modules[{module!r}] = None\nfrom onthedot.stores.open import open_store\n"
        f"try:\n    open_store('{scheme}://u:p@h/d', create=True)\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert said.startswith("DriverMissing")
    assert f"pip install 'onthedot[{extra}]'" in said


# time


def test_the_time_is_the_servers_in_utc_whatever_its_zone(url: str, opened: Open) -> None:
    store = opened(url)
    before_ms = time.time_ns() // 1_000_000
    now_ms = store.now_ms()
    assert before_ms - 1 <= now_ms <= time.time_ns() // 1_000_000


# what a database might change


def test_names_differ_by_case_and_accent_and_are_ordered_byte_by_byte(url: str, opened: Open) -> None:
    store = opened(url)
    names = ["B", "a", "A", "b", "é", "e", "É", "straße", "strasse"]
    for name in names:
        _put(store, name)
    assert [row.name for row in store.schedules()] == sorted(names)


def test_long_texts_and_any_character_come_back_as_they_were(url: str, opened: Open) -> None:
    store = opened(url)
    run = Run("run", "task", "enqueue", 1, 1, args={"text": "🦀 \x00 ' \\ %s" + "x" * 200_000})
    store.enqueue([run])
    assert store.runs()[0].args == run.args


# notifications


def test_another_process_hears_of_new_work(postgresql_15: str, opened: Open) -> None:
    here, there = opened(postgresql_15), opened(postgresql_15)
    apart = opened(f"{postgresql_15}?schema=apart")
    heard, heard_apart = Event(), Event()
    stop, stop_apart = _connected(here, heard), _connected(apart, heard_apart)
    there.enqueue([_run()])
    assert heard.wait(LONGEST_S)
    assert not heard_apart.is_set()
    stop()
    stop_apart()


def _connected(store: Store, heard: Event) -> Callable[[], None]:
    """Listen, and wait until the ear is open, which says so by waking once."""
    stop = store.listen(heard.set)
    assert heard.wait(LONGEST_S)
    heard.clear()
    return stop


def test_the_ear_opens_again_after_its_connection_was_cut(postgresql_15: str, opened: Open) -> None:
    here, there = opened(postgresql_15), opened(postgresql_15)
    heard = Event()
    stop = _connected(here, heard)
    with psycopg.connect(postgresql_15, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
    assert heard.wait(LONGEST_S)  # it wakes once when it is back
    heard.clear()
    there.enqueue([_run()])
    assert heard.wait(LONGEST_S)
    stop()


def test_a_thousand_announcements_are_few_notifications(postgresql_15: str, opened: Open) -> None:
    here = opened(postgresql_15)
    with psycopg.connect(postgresql_15, autocommit=True) as listener:
        listener.execute("LISTEN onthedot")
        for _ in range(1000):
            here.notify()  # type: ignore[attr-defined]
        here.close()  # says what is left to say
        first = list(listener.notifies(timeout=LONGEST_S, stop_after=1))
        others = list(listener.notifies(timeout=0.5))
    assert 1 <= len(first) + len(others) < 500


def test_sessions_are_over_by_the_servers_own_clock(url: str, opened: Open) -> None:
    store = opened(url, create=True)
    token = store.add_token(Token("ann", Role.VIEWER, "d" * 64), BY)
    now_ms = store.now_ms()
    store.add_session(Session("old", "ann", token.digest, now_ms - 2, now_ms - 1))
    store.add_session(Session("new", "ann", token.digest, now_ms, now_ms + 60_000))
    assert [store.session(each) is None for each in ("old", "new")] == [True, False]
