"""Where settings come from, which of them counts, and what is said about those that cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onthedot.errors import SettingsError
from onthedot.node.settings import NodeSettings
from onthedot.settings import Settings, load_settings


def loaded(folder: Path, overrides: dict[str, Any] | None = None, **environment: str) -> Settings:
    return load_settings(overrides, environment=environment, folder=folder)


def refusal(folder: Path, overrides: dict[str, Any] | None = None, environment: dict[str, str] | None = None) -> str:
    with pytest.raises(SettingsError) as refused:
        loaded(folder, overrides, **(environment or {}))
    return str(refused.value)


def test_without_any_setting_the_defaults_of_the_public_face_count(tmp_path: Path) -> None:
    settings = loaded(tmp_path)
    assert settings == Settings()
    assert NodeSettings.of(settings) == NodeSettings()


def test_code_counts_before_the_environment_before_onthedot_toml_before_pyproject(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.onthedot]\nstore = "d"\ntimezone = "d"\nname = "d"\ngroup = "d"\n', encoding="utf-8"
    )
    (tmp_path / "onthedot.toml").write_text('store = "c"\ntimezone = "c"\nname = "c"\n', encoding="utf-8")
    settings = loaded(tmp_path, {"store": "a"}, ONTHEDOT_STORE="b", ONTHEDOT_TIMEZONE="b")
    assert (settings.store, settings.timezone, settings.name, settings.group) == ("a", "b", "c", "d")


def test_an_override_of_none_and_an_empty_variable_say_nothing(tmp_path: Path) -> None:
    assert loaded(tmp_path, {"store": None}, ONTHEDOT_STORE="") == Settings()


def test_durations_stay_text_and_can_be_had_in_milliseconds(tmp_path: Path) -> None:
    (tmp_path / "onthedot.toml").write_text('lease = "1m"\nlog-format = "json"\nworkers = 3\n', encoding="utf-8")
    settings = loaded(tmp_path, ONTHEDOT_HISTORY="7d", ONTHEDOT_CHANGES="1d")
    assert (settings.lease, settings.lease_ms, settings.history_ms) == ("1m", 60_000, 7 * 86_400_000)
    assert (settings.log_format, settings.workers, settings.changes_ms) == ("json", 3, 86_400_000)


def test_workers_are_read_from_text_in_the_environment(tmp_path: Path) -> None:
    assert loaded(tmp_path, ONTHEDOT_WORKERS="8").workers == 8


def test_what_is_kept_is_what_nodes_keep(tmp_path: Path) -> None:
    settings = loaded(tmp_path, ONTHEDOT_HISTORY="7d", ONTHEDOT_HISTORY_PER_SCHEDULE="50", ONTHEDOT_CHANGES="1d")
    kept = NodeSettings.of(settings).retention
    assert (kept.history_ms, kept.per_schedule, kept.changes_ms) == (7 * 86_400_000, 50, 86_400_000)
    assert kept.nodes_ms == kept.history_ms, "history names them"


def test_variables_of_the_projects_own_scripts_and_tests_are_no_settings(tmp_path: Path) -> None:
    assert loaded(tmp_path, ONTHEDOT_VENV="/x", ONTHEDOT_POSTGRESQL_URL="postgresql://x") == Settings()


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"ONTHEDOT_STOER": "x"}, "ONTHEDOT_STOER: there is no such setting; did you mean ONTHEDOT_STORE?"),
        ({"ONTHEDOT_XYZZY": "x"}, "ONTHEDOT_XYZZY: there is no such setting; there are ONTHEDOT_STORE, "),
        ({"ONTHEDOT_LEASE": "30"}, "ONTHEDOT_LEASE: '30' lacks a unit"),
        ({"ONTHEDOT_POLL": "0s"}, "ONTHEDOT_POLL: 0s is too short"),
        ({"ONTHEDOT_WORKERS": "many"}, "ONTHEDOT_WORKERS: 'many' is not a whole number of 1 or more"),
        ({"ONTHEDOT_WORKERS": "0"}, "ONTHEDOT_WORKERS: '0' is not a whole number of 1 or more"),
        ({"ONTHEDOT_HISTORY_PER_SCHEDULE": "0"}, "ONTHEDOT_HISTORY_PER_SCHEDULE: '0' is not a whole number of 1 or"),
        ({"ONTHEDOT_CHANGES": "0d"}, "ONTHEDOT_CHANGES: 0d is too short"),
        ({"ONTHEDOT_LOG_FORMAT": "xml"}, "ONTHEDOT_LOG_FORMAT: 'xml' is not known; there are text and json"),
        ({"ONTHEDOT_HEARTBEAT": "20s"}, "ONTHEDOT_HEARTBEAT: a heartbeat of 20s is too slow for a lease of 30s"),
    ],
)
def test_a_variable_that_cannot_be_honoured_is_refused_with_the_remedy(
    tmp_path: Path, variables: dict[str, str], said: str
) -> None:
    assert refusal(tmp_path, environment=variables).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('stroe = "x"', "onthedot.toml: no setting 'stroe'; did you mean store?"),
        ("workers = true", "onthedot.toml: workers: True is not a whole number of 1 or more"),
        ("lease = 30", 'onthedot.toml: lease: 30 is not text; write it like "30s"'),
        ("lease = ", "onthedot.toml: Invalid value (at end of document)"),
    ],
)
def test_a_file_that_cannot_be_honoured_is_refused_with_its_name(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "onthedot.toml").write_text(text, encoding="utf-8")
    assert refusal(tmp_path) == said


def test_an_unknown_override_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    assert refusal(tmp_path, {"worker": 3}) == "no setting 'worker'; did you mean workers?"


def test_other_tools_in_pyproject_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.other]\nx = 1\n", encoding="utf-8")
    assert loaded(tmp_path) == Settings()


@pytest.mark.parametrize("roles", ["plan,dance", "dance", "plan,", "plan execute"])
def test_a_role_that_there_is_not_is_refused(tmp_path: Path, roles: str) -> None:
    said = refusal(tmp_path, environment={"ONTHEDOT_ROLES": roles})
    assert said.startswith("ONTHEDOT_ROLES: no role ")
    assert said.endswith("; there are plan and execute")
