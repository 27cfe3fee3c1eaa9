"""The database of another scheduler, opened for reading."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from onthedot.errors import DriverMissing, SettingsError
from onthedot.stores.open import mask_url

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine

_DRIVERS = {
    **dict.fromkeys(("postgresql", "postgres"), "postgresql+psycopg"),
    **dict.fromkeys(("mysql", "mariadb"), "mysql+pymysql"),
}
_EXTRAS = {"psycopg": "postgresql", "pymysql": "mysql"}


def reading_engine(url: str, what: str) -> Engine:
    """With our drivers, whichever the URL names. A file of SQLite is opened for reading, and not made.

    `SettingsError` for what is no URL of `what`, and for a driver that is not installed.
    """
    import sqlalchemy
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError

    try:
        return sqlalchemy.create_engine(_engine_url(url))
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise SettingsError(f"{mask_url(url)} is no URL of {what}: {error}") from None
    except ModuleNotFoundError as error:
        if error.name in _EXTRAS:
            raise DriverMissing(url.partition("://")[0], error.name, _EXTRAS[error.name]) from None
        raise SettingsError(f"{mask_url(url)} needs {error.name}, which is not installed") from None


def _engine_url(url: str) -> URL:
    import sqlalchemy

    parsed = sqlalchemy.make_url(url)
    kind = parsed.get_backend_name()
    if kind != "sqlite":
        return parsed.set(drivername=_DRIVERS.get(kind, parsed.drivername))
    if not parsed.database or parsed.database.startswith("file:"):
        return parsed
    if not Path(parsed.database).is_file():
        raise SettingsError(f"there is no file {parsed.database}")
    path = Path(parsed.database).resolve().as_uri()
    return parsed.set(drivername="sqlite", database=f"{path}?mode=ro", query={**parsed.query, "uri": "true"})
