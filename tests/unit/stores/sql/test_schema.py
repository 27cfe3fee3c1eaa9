"""The tables that Alembic makes are the tables that are declared; a newer schema is refused, an older one upgraded."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from onthedot.errors import SchemaError
from onthedot.stores.open import open_store
from onthedot.stores.sql import include_name, schema, tables


@contextmanager
def _transaction(path: Path) -> Iterator[sqlalchemy.Connection]:
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def _definitions(path: Path) -> dict[str, str]:
    """Everything in the file, in SQLite's own words, whatever the white space."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {name: " ".join(sql.split()).replace("( ", "(").replace(" )", ")") for name, sql in found}


def _is_of_sqlite(_thing: object, name: str | None, *_: object) -> bool:
    """Not the indexes that stand in for those which MySQL cannot have."""
    return name not in (
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
    )


def _migrated(path: Path) -> Path:
    with _transaction(path) as connection:
        schema.upgrade(connection)
    return path


def _created(path: Path) -> Path:
    open_store(f"sqlite:///{path}", create=True).close()
    return path


def test_alembic_from_empty_to_head_makes_the_declared_tables(tmp_path: Path) -> None:
    migrated, created = _definitions(_migrated(tmp_path / "a.db")), _definitions(_created(tmp_path / "b.db"))
    assert migrated == created
    assert set(tables.metadata.tables) <= set(created)


def test_alembic_finds_nothing_to_change_in_what_the_first_node_made(tmp_path: Path) -> None:
    with _transaction(_created(tmp_path / "a.db")) as connection:
        options = {"version_table": tables.meta.name, "include_object": _is_of_sqlite}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, tables.metadata) == []


def test_migrating_twice_changes_nothing(tmp_path: Path) -> None:
    path = _migrated(tmp_path / "a.db")
    before = _definitions(path)
    assert _definitions(_migrated(path)) == before


def test_migrating_what_the_first_node_made_changes_nothing(tmp_path: Path) -> None:
    path = _created(tmp_path / "a.db")
    before = _definitions(path)
    assert _definitions(_migrated(path)) == before


def test_the_version_of_the_declared_tables_is_that_of_the_last_migration() -> None:
    assert ScriptDirectory.from_config(schema.alembic_config()).get_heads() == [schema.HEAD]


def test_a_migrated_file_is_opened_as_it_is(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{_migrated(tmp_path / 'a.db')}", create=False)
    assert store.schedules() == []
    store.close()


def test_tables_of_a_newer_onthedot_are_refused_in_one_line(tmp_path: Path) -> None:
    path = _created(tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE onthedot_meta SET version_num = '0999'")
        connection.commit()
    with pytest.raises(SchemaError, match="newer onthedot") as caught:
        open_store(f"sqlite:///{path}", create=True)
    assert "\n" not in str(caught.value)


def test_tables_of_an_older_onthedot_are_upgraded_by_opening_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _created(tmp_path / "a.db")
    upgraded: list[str] = []
    monkeypatch.setattr(schema, "HEAD", "0002")
    monkeypatch.setattr(schema, "upgrade", lambda connection, _schema: upgraded.append(connection.dialect.name))
    open_store(f"sqlite:///{path}", create=False).close()
    assert upgraded == ["sqlite"]


def test_our_tables_in_a_users_database_leave_theirs_alone(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER NOT NULL PRIMARY KEY)")
    store = open_store(f"sqlite:///{path}", create=True)
    store.close()
    theirs = sqlalchemy.MetaData()
    sqlalchemy.Table("orders", theirs, sqlalchemy.Column("id", sqlalchemy.Integer, primary_key=True))
    with _transaction(path) as connection:
        everything = MigrationContext.configure(connection)
        assert compare_metadata(everything, theirs) != []
        filtered = MigrationContext.configure(connection, opts={"include_name": include_name})
        assert compare_metadata(filtered, theirs) == []


def test_opening_a_store_that_is_not_there_yet_loads_no_alembic(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom onthedot.stores.open import open_store\n"
        f"open_store('sqlite:///{tmp_path}/a.db', create=True).close()\n"
        "assert 'alembic' not in sys.modules and 'sqlalchemy' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
