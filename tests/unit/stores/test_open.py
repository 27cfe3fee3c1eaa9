"""A URL opens the store that it names, or says in one clear line why not."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from onthedot.errors import OnthedotError, SchemaError, SettingsError, StoreError, StoreUnavailable
from onthedot.stores.memory import MemoryStore
from onthedot.stores.open import mask_url, open_store


def _refusal(url: str, kind: type[OnthedotError], *, create: bool = True) -> str:
    with pytest.raises(OnthedotError) as caught:
        open_store(url, create=create)
    assert type(caught.value) is kind
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_memory_is_a_store_in_memory() -> None:
    assert isinstance(open_store("memory://", create=False, now_ms=lambda: 7), MemoryStore)
    assert open_store("memory://", create=False, now_ms=lambda: 7).now_ms() == 7


def test_three_slashes_are_a_file_in_this_folder_and_four_one_with_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    open_store("sqlite:///here.db", create=True).close()
    open_store(f"sqlite:///{tmp_path}/there.db", create=True).close()
    assert {path.name for path in tmp_path.iterdir()} == {"here.db", "there.db"}


def test_a_store_stays_where_it_was_opened_when_the_process_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store("sqlite:///here.db", create=True)
    store.close()
    monkeypatch.chdir("/")
    assert store.schedules() == []
    store.close()


@pytest.mark.parametrize("name", ["with space.db", "50%.db", "a#b.db", "größe 日本.db", "a&b=c.db"])
def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    open_store(f"sqlite:///{tmp_path}/{name}", create=True).close()
    assert (tmp_path / name).exists()


def test_the_time_of_a_file_is_the_clock_that_was_given(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/a.db", create=True, now_ms=lambda: 7)
    assert store.now_ms() == 7
    store.close()


@pytest.mark.parametrize("url", ["", "jobs.db", "sqlite:jobs.db", "/var/jobs.db"])
def test_what_is_no_url_is_answered_with_examples(url: str) -> None:
    assert "sqlite:///jobs.db" in _refusal(url, SettingsError)


@pytest.mark.parametrize(
    ("url", "near"), [("sqlit:///a.db", "sqlite://"), ("postgre://h/d", "postgres"), ("oracle://h/d", "memory://")]
)
def test_an_unknown_scheme_is_answered_with_the_nearest_known_ones(url: str, near: str) -> None:
    assert near in _refusal(url, SettingsError)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite:///:memory:"])
def test_sqlite_without_a_file_is_answered_with_memory_or_a_file(url: str) -> None:
    assert "memory://" in _refusal(url, SettingsError) or "sqlite:///jobs.db" in _refusal(url, SettingsError)


def test_two_slashes_are_answered_with_three() -> None:
    assert "sqlite:///jobs.db" in _refusal("sqlite://jobs.db", SettingsError)


def test_options_that_would_be_ignored_are_refused() -> None:
    assert "no options" in _refusal("sqlite:///jobs.db?timeout=5", SettingsError)
    assert "no name" in _refusal("memory://jobs", SettingsError)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:p@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:p@ss/w:o@h/d", "postgresql://u:***@h/d"),
        ("redis://:p@h/0", "redis://:***@h/0"),
        ("postgresql://u@h/d", "postgresql://u@h/d"),
        ("postgresql://h/d?user=u&password=p&x=1", "postgresql://h/d?user=u&password=***&x=1"),
        ("redis://h/0?AuthToken=p", "redis://h/0?AuthToken=***"),
        ("sqlite:///jobs.db", "sqlite:///jobs.db"),
    ],
)
def test_a_password_is_masked_wherever_it_stands(url: str, shown: str) -> None:
    assert mask_url(url) == shown


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert f"the folder {tmp_path}/no of the store does not exist" in _refusal(
        f"sqlite:///{tmp_path}/no/a.db", StoreError
    )


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    assert "is a folder" in _refusal(f"sqlite:///{tmp_path}", StoreError)


def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("dear diary, " * 100)
    assert "not a database" in _refusal(f"sqlite:///{path}", StoreError)
    assert path.read_text() == "dear diary, " * 100


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_or_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path}/a.db", create=True).close()
    (tmp_path / "a.db").chmod(0o444)
    assert "cannot be written" in _refusal(f"sqlite:///{tmp_path}/a.db", StoreError)
    tmp_path.chmod(0o555)
    assert "cannot be written" in _refusal(f"sqlite:///{tmp_path}/b.db", StoreError)
    tmp_path.chmod(0o755)


def test_a_file_that_the_system_says_is_read_only_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.db").touch()
    monkeypatch.setattr(os, "access", lambda path, _mode: Path(path).name != "a.db")
    assert f"{tmp_path}/a.db cannot be written" in _refusal(f"sqlite:///{tmp_path}/a.db", StoreError)


def test_a_store_is_not_created_unless_asked(tmp_path: Path) -> None:
    text = _refusal(f"sqlite:///{tmp_path}/a.db", SchemaError, create=False)
    assert text == f"no onthedot store at sqlite:///{tmp_path}/a.db: run `onthedot migrate` or start a node"
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_others_is_not_touched_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
    before = path.read_bytes()
    assert "no onthedot store" in _refusal(f"sqlite:///{path}", SchemaError, create=False)
    assert path.read_bytes() == before


def test_a_file_that_another_process_keeps_locked_is_named_after_a_bounded_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onthedot.stores.sql.store._WAIT_MS", 20)
    monkeypatch.setattr("onthedot.stores.sql.sqlite._BUSY_SECONDS", 0.01)
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert "locked by another process" in _refusal(f"sqlite:///{tmp_path}/a.db", StoreUnavailable)


def test_opening_a_store_in_memory_loads_no_sqlalchemy() -> None:
    code = (
        "import sys\nfrom onthedot.stores.open import open_store\nopen_store('memory://', create=False)\n"
        "assert 'sqlalchemy' not in sys.modules and 'alembic' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
