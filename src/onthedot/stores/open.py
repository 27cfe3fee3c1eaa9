"""From a URL to a store. Only the store that is asked for is imported."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import parse_qs

from onthedot.clock import SystemClock
from onthedot.errors import DriverMissing, SettingsError
from onthedot.stores.base import Store

_KNOWN = ("memory", "sqlite", "postgresql", "postgres", "mysql", "mariadb", "mongodb", "redis", "rediss")
_SQL = {"sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql", "mysql": "mysql", "mariadb": "mysql"}
_EXAMPLES = (
    "sqlite:///jobs.db (a file), sqlite:////var/lib/jobs.db (with its whole path), "
    "postgresql://user:password@host/database, mysql://user:password@host/database, "
    "mongodb://host:27017/database, redis://host:6379/0 or memory://"
)


def open_store(url: str, *, create: bool, upgrade: bool = False, now_ms: Callable[[], int] | None = None) -> Store:
    """The store that the URL names; one that is not there yet is made only if `create`.

    Older tables on a server, where other nodes may be at work, are changed only if `upgrade`. `now_ms` replaces the
    store's clock, for tests.
    """
    scheme, rest = _split(url)
    read_clock = now_ms or SystemClock().now_ms
    match scheme:
        case "memory":
            return _open_memory(rest, read_clock)
        case "sqlite":
            from onthedot.stores.sql.sqlite import open_sqlite

            return open_sqlite(_sqlite_path(url, rest), create=create, now_ms=read_clock)
        case "mongodb":
            return _open_mongodb(url, create=create, now_ms=now_ms)
        case "redis" | "rediss":
            return _open_redis(url, create=create, now_ms=now_ms)
        case "postgresql" | "postgres":
            from onthedot.stores.sql.postgresql import open_postgresql

            return open_postgresql(url, mask_url(url), create=create, upgrade=upgrade, now_ms=now_ms)
        case "mysql" | "mariadb":
            from onthedot.stores.sql.mysql import open_mysql

            return open_mysql(url, mask_url(url), create=create, upgrade=upgrade, now_ms=now_ms)
        case _:
            raise AssertionError(f"{scheme}:// is known, and nobody opens it")


def sql_dialect_of(url: str) -> tuple[str | None, str | None]:
    """Which SQL the store at this URL speaks (None: no SQL), and in which schema its tables are, if it says."""
    scheme, rest = _split(url)
    options = parse_qs(rest.partition("?")[2])
    return _SQL.get(scheme), options.get("schema", [None])[0]


def mask_url(url: str) -> str:
    """The URL as it may be shown: without its password, wherever that stands."""
    masked = re.sub(r"(://[^:@/?#]*:)(.*)@", r"\1***@", url, flags=re.DOTALL)
    return re.sub(r"(?i)([?&][^=&]*(?:pass|pwd|secret|token)[^=&]*=)[^&]*", r"\1***", masked)


def _split(url: str) -> tuple[str, str]:
    if not isinstance(url, str) or "://" not in url:
        shown = mask_url(url) if isinstance(url, str) and url else repr(url)
        raise SettingsError(f"{shown} is no URL of a store; write it like {_EXAMPLES}")
    scheme, _, rest = url.partition("://")
    name = scheme.lower().partition("+")[0]  # postgresql+psycopg: which driver is used is our choice
    if name not in _KNOWN:
        near = get_close_matches(name, _KNOWN, n=2) or [each for each in _KNOWN if each not in ("postgres", "rediss")]
        raise SettingsError(
            f"no store is called {scheme}:// ({mask_url(url)}); there is {' or '.join(f'{each}://' for each in near)}"
        )
    return name, rest


def _open_memory(rest: str, now_ms: Callable[[], int]) -> Store:
    if rest.strip("/"):
        raise SettingsError(f"memory://{rest}: the store in memory has no name; write memory://")
    from onthedot.stores.memory import MemoryStore

    return MemoryStore(now_ms)


def _open_mongodb(url: str, *, create: bool, now_ms: Callable[[], int] | None) -> Store:
    try:
        from onthedot.stores.mongo.store import open_mongodb
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("pymongo", "bson"):
            raise
        raise DriverMissing("mongodb", "pymongo", "mongodb") from None
    return open_mongodb(url, mask_url(url), create=create, now_ms=now_ms)


def _open_redis(url: str, *, create: bool, now_ms: Callable[[], int] | None) -> Store:
    try:
        from onthedot.stores.redis.connect import open_redis
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "redis":
            raise
        raise DriverMissing("redis", "redis", "redis") from None
    return open_redis(url, mask_url(url), create=create, now_ms=now_ms)


def _sqlite_path(url: str, rest: str) -> Path:
    if not rest.startswith("/"):
        raise SettingsError(
            f"{mask_url(url)} names no file; three slashes, as in sqlite:///{rest.rpartition('/')[2] or 'jobs.db'}"
        )
    path = rest[1:]
    if path in ("", ":memory:"):
        raise SettingsError(f"{url} names no file; for a store that forgets, write memory://")
    if "?" in path:
        raise SettingsError(
            f"{mask_url(url)}: a sqlite:// URL takes no options; leave out what follows the question mark"
        )
    return Path(path).expanduser()
