"""Settings: what the code or the command line says, then ONTHEDOT_*, then onthedot.toml, then [tool.onthedot]."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from onthedot.durations import to_duration_ms
from onthedot.errors import DurationError, SettingsError
from onthedot.storable import label_problem, text_problem

LOG_FORMATS = ("text", "json")
ROLES = ("plan", "execute")
_WORDS = {"log_format": LOG_FORMATS, "metrics_by": ("task", "schedule"), "tracing": ("off", "on")}

_PREFIX = "ONTHEDOT_"
_SERVERS = {"POSTGRESQL_URL", "MYSQL_URL", "MYSQL_9", "MONGODB_URL", "REDIS_URL"}
_NOT_SETTINGS = {"VENV", "REQUIRE_SERVERS", "PYTHON_FOR_DJANGO", *_SERVERS}
"""Variables of the scripts and the tests of this project."""
_OF_A_RUN = {"RUN_ID", "SCHEDULE", "SCHEDULED_AT", "ATTEMPT", "FENCE", "SHARD", "SHARDS"}
"""What a command is told of its run: it may well call `onthedot` itself."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that may be set from outside; durations as text, checked to be readable."""

    store: str = "sqlite:///onthedot.db"
    """The URL of the store, or of an HTTP API."""
    timezone: str = "UTC"
    """The zone of triggers that name none."""
    name: str = ""
    """The node's label; empty for host and process."""
    group: str | None = None
    """Which group of nodes it belongs to: schedules may ask for one."""
    roles: str = "plan,execute"
    """What the node does."""
    workers: int = 200
    """How many runs it may have at once."""
    lease: str = "30s"
    heartbeat: str = "10s"
    poll: str = "1s"
    drain: str = "30s"
    history: str = "30d"
    max_args_bytes: int = 1_000_000
    """How large the arguments of a run may be, as JSON."""
    history_per_schedule: int = 1000
    """How many ended runs of a schedule, or of a task without one, are kept."""
    changes: str = "90d"
    log_format: str = "text"
    """How `onthedot run` tells what happens: text or json."""
    metrics_port: int = 0
    """Where the node serves /metrics and /healthz; 0 for nowhere."""
    metrics_host: str = "0.0.0.0"
    """On which address it does."""
    metrics_by: str = "task"
    """"schedule" adds the names of schedules to the metrics, of which there may be many."""
    tracing: str = "off"
    """Whether runs are traced with OpenTelemetry."""
    token: str = ""
    """By which one is let in where the store is the URL of an HTTP API."""

    @property
    def role_names(self) -> tuple[str, ...]:
        """The roles, one by one."""
        return _role_names(self.roles)

    @property
    def lease_ms(self) -> int:
        """How long a node owns its runs without a sign of life."""
        return to_duration_ms(self.lease)

    @property
    def heartbeat_ms(self) -> int:
        """How often it gives one."""
        return to_duration_ms(self.heartbeat)

    @property
    def poll_ms(self) -> int:
        """How often it looks for what is due."""
        return to_duration_ms(self.poll)

    @property
    def drain_ms(self) -> int:
        """How long its runs may still take when it is told to stop."""
        return to_duration_ms(self.drain)

    @property
    def history_ms(self) -> int:
        """How long ended runs and decisions are kept."""
        return to_duration_ms(self.history)

    @property
    def changes_ms(self) -> int:
        """How long the audit is kept."""
        return to_duration_ms(self.changes)


def _role_names(roles: str) -> tuple[str, ...]:
    return tuple(role.strip() for role in roles.split(","))


NAMES = tuple(each.name for each in fields(Settings))
_NUMBERS: dict[str, tuple[int, int | None]] = {
    "workers": (1, None),
    "history_per_schedule": (1, None),
    "metrics_port": (0, 65_535),
    "max_args_bytes": (1000, 10_000_000),
}
_LABELS = {"name", "group"}
_DURATIONS = {"lease", "heartbeat", "poll", "drain", "history", "changes"}


def load_settings(
    overrides: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """The settings that count here. An override that is None says nothing; an unknown setting is an error anywhere."""
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    for name, value, place in (
        *_files(Path() if folder is None else folder),
        *_environment(os.environ if environment is None else environment),
        *_given(overrides or {}),
    ):
        values[name] = _checked(name, value, place)
        places[name] = place
    settings = Settings(**values)
    if settings.heartbeat_ms * 2 > settings.lease_ms:
        place = places.get("heartbeat") or places.get("lease") or "heartbeat"
        raise SettingsError(
            f"{place}: a heartbeat of {settings.heartbeat} is too slow for a lease of {settings.lease};"
            " the lease must last two heartbeats or more"
        )
    return settings


Found = tuple[str, Any, str]
"""A setting's name, its value, and where it was found."""


def _given(overrides: Mapping[str, Any]) -> Iterator[Found]:
    for key, value in overrides.items():
        if key not in NAMES:
            raise SettingsError(f"no setting {key!r}; {_nearest(key)}")
        if value is not None:
            yield key, value, key


def _environment(environment: Mapping[str, str]) -> Iterator[Found]:
    for variable in sorted(environment):
        key = variable.removeprefix(_PREFIX)
        if key == variable or key in _NOT_SETTINGS or key in _OF_A_RUN:
            continue
        name = key.lower()
        if name not in NAMES:
            raise SettingsError(f"{variable}: there is no such setting; {_nearest(name, _PREFIX)}")
        if environment[variable]:
            yield name, environment[variable], variable


def _files(folder: Path) -> Iterator[Found]:
    """The less important file first."""
    table = _read(folder / "pyproject.toml").get("tool", {})
    yield from _table(table.get("onthedot", {}) if isinstance(table, dict) else {}, "pyproject.toml [tool.onthedot]")
    yield from _table(_read(folder / "onthedot.toml"), "onthedot.toml")


def _table(table: Any, place: str) -> Iterator[Found]:
    if not isinstance(table, dict):
        raise SettingsError(f"{place} is no table of settings")
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in NAMES:
            raise SettingsError(f"{place}: no setting {key!r}; {_nearest(name)}")
        yield name, value, f"{place}: {key}"


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:  # unreadable, not UTF-8, or not TOML
        raise SettingsError(f"{path.name}: {error}") from None


def _checked(name: str, value: Any, place: str) -> Any:
    if name in _NUMBERS:
        least, most = _NUMBERS[name]
        return _whole(value, place, least=least, most=most)
    if not isinstance(value, str):
        written = f'; write it like "{value}s"' if name in _DURATIONS else ""
        raise SettingsError(f"{place}: {value!r} is not text{written}")
    _check_text(name, value, place)
    if name in _DURATIONS:
        try:
            shortest = to_duration_ms(value)
        except DurationError as error:
            raise SettingsError(f"{place}: {error}") from None
        if not shortest and name != "drain":
            raise SettingsError(f"{place}: {value} is too short")
    if name == "roles":
        unknown = [role for role in _role_names(value) if role not in ROLES]
        if unknown:
            raise SettingsError(f"{place}: no role {unknown[0]!r}; there are {' and '.join(ROLES)}")
    words = _WORDS.get(name)
    if words is not None and value not in words:
        raise SettingsError(f"{place}: {value!r} is not known; there are {' and '.join(words)}")
    return value


def _check_text(name: str, value: str, place: str) -> None:
    problem = label_problem(value) if value and name in _LABELS else text_problem(value)
    if problem is not None:
        raise SettingsError(f"{place}: {problem}")


def _whole(value: Any, place: str, *, least: int, most: int | None = None) -> int:
    number = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
    if isinstance(number, bool) or not isinstance(number, int) or number < least or (most and number > most):
        span = f"of {least} or more" if most is None else f"from {least} to {most}"
        raise SettingsError(f"{place}: {value!r} is not a whole number {span}")
    return number


def _nearest(name: str, prefix: str = "") -> str:
    shown = [f"{prefix}{each.upper()}" if prefix else each for each in NAMES]
    near = get_close_matches(name.lower().replace("-", "_"), NAMES, n=1)
    if near:
        return f"did you mean {shown[NAMES.index(near[0])]}?"
    return f"there are {', '.join(shown[:-1])} and {shown[-1]}"
