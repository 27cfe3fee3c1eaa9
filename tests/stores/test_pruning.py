"""What real databases do when they forget: bad rows, rows that they will not delete, a full Redis, and many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
import redis
import sqlalchemy
from tests.servers.mongodb_set import client_of
from tests.servers.redis import running
from tests.stores.redis_indexes import check_indexes

from onthedot.errors import StoreUnavailable
from onthedot.model.log_line import LogLine
from onthedot.rules import edits
from onthedot.stores.open import open_store
from onthedot.stores.retention import Pruned
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance.scene import DAY, MINUTE, SECOND, START_MS, Scene
from onthedot.triggers.every import every

SQL = ("sqlite", "postgresql_15", "mariadb")
STORES = (*SQL, "mongodb_url", "redis_url")
DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "mariadb": "mysql+pymysql"}


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    """Of the store that the test is parametrised with."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/jobs.db"
    given: str = request.getfixturevalue(request.param)
    return given


@pytest.fixture
def scene(url: str) -> Iterator[Scene]:
    clock = ManualClock(START_MS)
    with closing(open_store(url, create=True, now_ms=clock)) as store:
        yield Scene(store, clock)


def one_of_each(scene: Scene) -> None:
    """Something old in every table, and a tombstone."""
    node = scene.node()
    scene.put(misfire="skip")
    scene.wait(10 * MINUTE + 30 * SECOND)
    scene.plan(node)
    scene.put(trigger=every("7m"))
    run = scene.waiting_run(key="k:job:a")
    (started,) = scene.start(node)
    scene.store.log(node, [LogLine(run.id, started.claim_no, scene.now_ms, "info", "x")])
    scene.end(started)
    scene.store.leave(node)
    scene.edit(edits.delete())


ALL = Pruned(runs=1, logs=1, decisions=1, keys=1, changes=3, revisions=2, tombstones=1, nodes=1)


# rows that cannot be read


def _execute(url: str, *statements: str) -> None:
    """By hand, past the store."""
    parsed = sqlalchemy.make_url(url)
    engine = sqlalchemy.create_engine(parsed.set(drivername=DRIVERS[parsed.drivername]))
    with engine.begin() as connection:
        for each in statements:
            connection.exec_driver_sql(each)
    engine.dispose()


def _spoil_sql(url: str) -> None:
    quote = "`" if url.startswith("mariadb") else '"'
    spoilt = {
        "history": ("state", "args", "policy", "task"),
        "decisions": ("reason", "detail"),
        "keys": ("state",),
        "changes": ("before", "after"),
        "revisions": ("body",),
        "schedules": ("definition", "policy", "tags"),
        "nodes": ("labels", "roles"),
        "logs": ("level",),
    }
    for table, names in spoilt.items():
        changes = ", ".join(f"{quote}{name}{quote} = '{{'" for name in names)
        _execute(url, f"UPDATE onthedot_{table} SET {changes}")


def _spoil_mongodb(url: str) -> None:
    with closing(client_of(url)) as client:
        database = client.get_default_database()
        for name in ("history", "decisions", "keys", "changes", "revisions", "schedules", "nodes", "logs"):
            spoilt = dict.fromkeys(("args", "policy", "reason", "before", "body", "definition", "labels", "level"), "{")
            database[f"onthedot_{name}"].update_many({}, {"$set": spoilt})


def _spoil_redis(url: str) -> None:
    bare, _, namespace = url.partition("?namespace=")
    prefix = f"{{{namespace}}}:"
    client: Any = redis.Redis.from_url(bare, decode_responses=True)
    with closing(client):
        for table in ("runs", "keys", "nodes", "schedules", "change", "tasks"):
            for each in client.hkeys(prefix + table):
                client.hset(prefix + table, each, "{")
        for key in client.scan_iter(match="*", _type="list"):
            if key.startswith((f"{prefix}decisions:", f"{prefix}revisions:", f"{prefix}log:")):
                client.lset(key, 0, "{")


SPOIL: dict[str, Callable[[str], None]] = {
    **dict.fromkeys(SQL, _spoil_sql),
    "mongodb_url": _spoil_mongodb,
    "redis_url": _spoil_redis,
}


@pytest.mark.parametrize(("url", "spoil"), SPOIL.items(), indirect=["url"], ids=SPOIL)
def test_rows_that_cannot_be_read_are_forgotten_like_any_other(
    scene: Scene, url: str, spoil: Callable[[str], None]
) -> None:
    one_of_each(scene)
    spoil(url)
    scene.wait(400 * DAY)
    assert scene.prune_all() == ALL


@pytest.mark.parametrize("url", STORES, indirect=True)
def test_in_the_end_nothing_is_left_in_any_table(scene: Scene, url: str) -> None:
    one_of_each(scene)
    scene.wait(400 * DAY)
    assert scene.prune_all() == ALL
    assert _left(url) == {}


def _left(url: str) -> dict[str, int]:
    """Rows of each table, but the version of the schema, and up to which moment ends are counted."""
    if url.startswith("mongodb"):
        with closing(client_of(url)) as client:
            database = client.get_default_database()
            names = set(database.list_collection_names()) - {"onthedot_meta", "onthedot_wakes", "onthedot_rolled"}
            return {name: count for name in names if (count := database[name].count_documents({}))}
    if url.startswith("redis"):
        bare, _, namespace = url.partition("?namespace=")
        with closing(redis.Redis.from_url(bare, decode_responses=True)) as client:
            keys = [key.partition("}:")[2] for key in client.scan_iter(match=f"{{{namespace}}}:*")]
            return dict.fromkeys(set(keys) - {"schema", "queues", "rolled"}, 1)
    parsed = sqlalchemy.make_url(url)
    engine = sqlalchemy.create_engine(parsed.set(drivername=DRIVERS[parsed.drivername]))
    with engine.connect() as connection:
        names = set(sqlalchemy.inspect(connection).get_table_names()) - {"onthedot_meta", "onthedot_rolled"}
        counts = {name: connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar_one() for name in names}
    engine.dispose()
    return {name: count for name, count in counts.items() if count}


# rows that the database will not delete

NO_DELETE = {
    "sqlite": [
        """CREATE TRIGGER no BEFORE DELETE ON onthedot_history WHEN OLD.task = 'kept'
        BEGIN SELECT RAISE(ABORT, 'yours says no'); END"""
    ],
    "postgresql_15": [
        """CREATE FUNCTION no() RETURNS trigger AS $$ BEGIN
        IF OLD.task = 'kept' THEN RAISE 'yours says no'; END IF; RETURN OLD; END $$ LANGUAGE plpgsql""",
        "CREATE TRIGGER no BEFORE DELETE ON onthedot_history FOR EACH ROW EXECUTE FUNCTION no()",
    ],
    "mariadb": [
        """CREATE TRIGGER no BEFORE DELETE ON onthedot_history FOR EACH ROW IF OLD.task = 'kept' THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'yours says no'; END IF"""
    ],
}


@pytest.mark.parametrize(("url", "statements"), NO_DELETE.items(), indirect=["url"], ids=NO_DELETE)
def test_a_row_that_the_database_will_not_delete_is_told_and_passed_over(
    scene: Scene, url: str, statements: list[str]
) -> None:
    node = scene.node(tasks=("job", "kept"))
    for number in range(20):
        scene.waiting_run(task="kept" if number == 7 else "job", key=f"k:job:{number}")
    for run in scene.start(node, tasks=("job", "kept")):
        scene.end(run)
    _execute(url, *statements)
    scene.wait(40 * DAY)
    done = scene.prune()
    assert (done.runs, done.keys, len(done.refused)) == (19, 20, 1)
    assert "yours says no" in done.refused[0]
    assert "\n" not in done.refused[0]
    assert [run.task for run in scene.store.runs()] == ["kept"]
    assert scene.prune().refused == (), "it is passed over from now on"


# a Redis that is full


def test_on_a_full_redis_pruning_makes_room() -> None:
    clock = ManualClock(START_MS)
    with running() as server:
        client: Any = redis.Redis.from_url(server.url)
        url = f"{server.url}?namespace=full"
        with closing(open_store(url, create=True, now_ms=clock)) as store:
            scene = Scene(store, clock)
            one_of_each(scene)
            node = scene.node("works")
            for _ in range(5):
                store.enqueue([scene.new_run(args={"x": "y" * 500}) for _ in range(1000)])
                for run in scene.start(node, limit=1000):
                    scene.end(run)
            clock.pass_by(400 * DAY)
            client.config_set("maxmemory", client.info("memory")["used_memory"] - 1_000_000)
        client.script_flush()
        with closing(open_store(url, create=False, now_ms=clock)) as store:
            scene = Scene(store, clock)
            with pytest.raises(StoreUnavailable, match="out of memory, so it takes no writes; raise its maxmemory, or"):
                scene.waiting_run()
            done = scene.prune_all()
            assert done.counts() == (ALL + Pruned(runs=5000)).counts()
            scene.waiting_run()
            assert len(store.runs()) == 1
        client.config_set("maxmemory", 0)
        client.close()
        check_indexes(url)
