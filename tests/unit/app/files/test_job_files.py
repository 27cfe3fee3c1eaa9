"""Which format a file has, and what is said when it cannot be opened."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from onthedot import FileError
from onthedot.app.files import Shell, read_file, read_text
from onthedot.app.files.machine_zone import machine_zone
from onthedot.app.files.open import is_system
from onthedot.errors import TriggerError

TOML = '[schedules.a]\nevery = "1m"\nshell = "x"\n'


@pytest.mark.parametrize(("name", "text"), [("jobs.toml", TOML), ("jobs.conf", TOML), ("jobs.toml", "")])
def test_toml_is_known_by_its_suffix_or_its_content(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert read_file(path).timezone is None  # a crontab always has one


def test_anything_else_is_a_crontab(tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    path.write_text("\ufeff0 1 * * * bäckup", encoding="utf-8")
    (entry,) = read_file(path, timezone="Asia/Tokyo").entries
    assert (entry.name, str(entry.trigger)) == ("bäckup", "cron('0 1 * * *', tz='Asia/Tokyo')")


def test_a_crontab_without_a_zone_goes_by_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert read_text("0 1 * * * a", "stdin").timezone == "Asia/Tokyo"


@pytest.mark.parametrize(
    ("path", "system"),
    [("/etc/crontab", True), ("/etc/cron.d/x", True), ("/etc/cron.d/sub/x", False), ("/home/me/crontab", False)],
)
def test_the_system_format_is_known_by_its_path(path: str, system: bool) -> None:
    assert is_system(path) is system


def test_a_flag_is_stronger_than_the_path() -> None:
    line = "0 1 * * * root backup"
    users = [
        entry.work.user
        for path, system in (("/etc/crontab", None), ("/etc/crontab", False), ("mine", True))
        for entry in read_text(line, path, system=system, timezone="UTC").entries
        if isinstance(entry.work, Shell)
    ]
    assert users == ["root", None, "root"]


def test_a_missing_file_is_an_error_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    with pytest.raises(FileError) as caught:
        read_file(path)
    assert str(caught.value) == f"{path}: no such file or directory"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a directory"):
        read_file(tmp_path)


def test_bytes_that_are_no_text_are_told_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "crontab"
    path.write_bytes(b"# fine\n0 1 * * * \xff\n")
    with pytest.raises(FileError) as caught:
        read_file(path)
    assert caught.value.problems == ("line 2: this is not UTF-8 text; save the file as UTF-8",)


def test_an_error_of_a_file_survives_pickling() -> None:
    error = FileError("jobs.toml", ["a: b", "c: d"])
    again = pickle.loads(pickle.dumps(error))
    assert (again.path, again.problems, str(again)) == ("jobs.toml", ("a: b", "c: d"), str(error))


@pytest.mark.parametrize(
    ("tz", "zone"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":Europe/Berlin", "Europe/Berlin"),
        ("/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
        (":/usr/share/zoneinfo/posix/Europe/Berlin", "Europe/Berlin"),
        ("", "UTC"),
    ],
)
def test_the_variable_tz_names_the_machines_zone(tmp_path: Path, tz: str, zone: str) -> None:
    assert machine_zone({"TZ": tz}, tmp_path) == zone


def test_a_tz_that_names_no_zone_is_an_error_and_not_another_zone(tmp_path: Path) -> None:
    with pytest.raises(TriggerError, match="names no time zone"):
        machine_zone({"TZ": "CET-1CEST"}, tmp_path)


def test_without_tz_the_machines_files_name_the_zone(tmp_path: Path) -> None:
    assert machine_zone({}, tmp_path) == "UTC"
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/localtime").symlink_to("/usr/share/zoneinfo/Asia/Tokyo")
    assert machine_zone({}, tmp_path) == "Asia/Tokyo"
    (tmp_path / "etc/timezone").write_text("Europe/Berlin\n", encoding="utf-8")
    assert machine_zone({}, tmp_path) == "Europe/Berlin"
    (tmp_path / "etc/timezone").write_text("nonsense\n", encoding="utf-8")
    assert machine_zone({}, tmp_path) == "Asia/Tokyo"
