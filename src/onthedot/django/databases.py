"""One of the project's databases as the store of nodes: the URL that Django's settings of it stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connections
from sqlalchemy import URL

from onthedot.errors import SettingsError

_OF_DJANGO = {"isolation_level", "pool", "server_side_binding", "assume_role", "cursor_factory", "context"}
_OF_MYSQLCLIENT = {"isolation_level", "init_command", "conv", "cursorclass", "sql_mode", "use_unicode", "ssl"}
VENDORS = ("sqlite", "postgresql", "mysql")


def vendor_of(alias: str) -> str:
    """Which of our databases it is; `SettingsError` where it is none of them."""
    vendor = str(connections[alias].vendor)
    if vendor not in VENDORS:
        raise SettingsError(
            f"ONTHEDOT: STORE: the database {alias!r} is {vendor}; onthedot works on SQLite, PostgreSQL, MariaDB and"
            " MySQL: name another database, or the URL of a store"
        )
    if vendor == "postgresql" and connections[alias].Database.__name__ != "psycopg":
        raise SettingsError(
            f"ONTHEDOT: STORE: Django reaches the database {alias!r} by psycopg2; pip install 'psycopg[binary]'"
        )
    return vendor


def is_in_memory(alias: str) -> bool:
    """Whether it is SQLite's in memory, as Django's tests have it: it is only in Django's own connections."""
    return vendor_of(alias) == "sqlite" and bool(connections[alias].is_in_memory_db())


def url_of(alias: str) -> str:
    """Where nodes find it, with connections of their own. Asked at use: a test runner gives it another name."""
    vendor = vendor_of(alias)
    given = connections[alias].settings_dict
    if vendor == "sqlite":
        return f"sqlite:///{given['NAME']}"
    query = _postgresql(given) if vendor == "postgresql" else _mysql(given)
    host = str(given.get("HOST") or "")
    url = URL.create(
        vendor,
        username=given.get("USER") or None,
        password=given.get("PASSWORD") or None,
        host=None if host.startswith("/") else host or ("localhost" if vendor == "mysql" else None),
        port=int(given["PORT"]) if given.get("PORT") else None,
        database=str(given["NAME"]) if given.get("NAME") else None,
        query=query,
    )
    return url.render_as_string(hide_password=False)


def _postgresql(given: Mapping[str, Any]) -> dict[str, str]:
    options = given.get("OPTIONS") or {}
    query = {name: str(value) for name, value in options.items() if name not in _OF_DJANGO}
    if options.get("assume_role"):
        query["options"] = f"{query.get('options', '')} -c role={options['assume_role']}".strip()
    if str(given.get("HOST") or "").startswith("/"):
        query["host"] = str(given["HOST"])
    return query


def _mysql(given: Mapping[str, Any]) -> dict[str, str]:
    options = given.get("OPTIONS") or {}
    query = {name: str(value) for name, value in options.items() if name not in _OF_MYSQLCLIENT}
    query |= {f"ssl_{name}": str(value) for name, value in (options.get("ssl") or {}).items()}
    if str(given.get("HOST") or "").startswith("/"):
        query["unix_socket"] = str(given["HOST"])
    return query
