"""Several MariaDB or MySQL servers in one URL, tried in their order: the driver itself knows one.

A Galera server without a majority lets everybody in and answers nothing, and a copy reads and does not write: both are
passed by. What says so later, in the midst of the work, is no longer connected to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy
from sqlalchemy import event

from onthedot.stores.hosts import Host

_USUAL_PORT = 3306
_NOT_CONNECTED = 2003
_OF_NO_USE = frozenset({1047, 1290, 1836})
"""No majority; read-only. The connection lives, and another server may do better."""
_ASKED = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'wsrep_on')"
_READY = "SHOW GLOBAL STATUS LIKE 'wsrep_ready'"
# What one server has committed, another shows a moment later, and our connections may go to both.
_WAIT_FOR_OTHERS = "SET SESSION wsrep_sync_wait = 1"


def use_any_of(engine: sqlalchemy.Engine, hosts: Sequence[Host]) -> None:
    """Each new connection goes to the first of these that can be written."""

    def connect(dialect: Any, _entry: object, _given: object, options: dict[str, Any]) -> Any:
        error = dialect.loaded_dbapi.OperationalError
        failed: list[Exception] = []
        for host in hosts:
            try:
                return _usable(dialect.loaded_dbapi, host, options)
            except error as each:
                failed.append(each)
        if any(each.args[0] != _NOT_CONNECTED for each in failed):  # not let in, or no such database
            raise next(each for each in failed if each.args[0] != _NOT_CONNECTED)
        raise error(_NOT_CONNECTED, "; ".join(str(each.args[-1]) for each in failed))

    event.listen(engine, "do_connect", connect)
    _leave_what_is_of_no_use(engine)


def _usable(driver: Any, host: Host, options: dict[str, Any]) -> Any:
    connection = driver.connect(**{**options, "host": host.name, "port": host.port or _USUAL_PORT})
    try:
        reason = _why_not(connection)
        if reason is not None:
            raise driver.OperationalError(_NOT_CONNECTED, f"{host.name}:{host.port or _USUAL_PORT} {reason}")
    except BaseException:
        connection.close()
        raise
    return connection


def _why_not(connection: Any) -> str | None:
    with connection.cursor() as cursor:
        cursor.execute(_ASKED)
        said = dict(cursor.fetchall())
        if said.get("read_only", "OFF") != "OFF":
            return "is read-only"
        if said.get("wsrep_on") == "ON":
            cursor.execute(_READY)
            if dict(cursor.fetchall()).get("wsrep_ready") != "ON":
                return "is in no majority of its Galera cluster"
            cursor.execute(_WAIT_FOR_OTHERS)
    return None


def _leave_what_is_of_no_use(engine: sqlalchemy.Engine) -> None:
    """The pool gives such a connection up, as it does one that was lost."""
    is_lost = engine.dialect.is_disconnect

    def is_disconnect(error: Any, connection: Any, cursor: Any) -> bool:
        return is_lost(error, connection, cursor) or (bool(error.args) and error.args[0] in _OF_NO_USE)

    engine.dialect.is_disconnect = is_disconnect  # type: ignore[method-assign, assignment]
