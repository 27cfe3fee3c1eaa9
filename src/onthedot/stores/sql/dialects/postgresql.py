"""PostgreSQL 12 and newer."""

from __future__ import annotations

from sqlalchemy import BigInteger, Connection, literal_column, text
from sqlalchemy.exc import DBAPIError

from onthedot.stores.sql.dialects.base import Dialect, Fault

_FAULTS = {
    "23505": Fault.CLASH,  # unique_violation
    "40001": Fault.CLASH,  # serialization_failure
    "40P01": Fault.CLASH,  # deadlock_detected
    "55P03": Fault.BUSY,  # lock_not_available
    "25006": Fault.AWAY,  # read_only_sql_transaction: this server is a copy, until the other one is back
    "25P03": Fault.AWAY,  # idle_in_transaction_session_timeout
    "57014": Fault.AWAY,  # query_canceled, by statement_timeout
    "28000": Fault.NOT_LET_IN,
    "28P01": Fault.NOT_LET_IN,
    "3D000": Fault.NO_DATABASE,
    "42P01": Fault.NO_TABLES,
    "42501": Fault.READ_ONLY,  # insufficient_privilege
}
_FAULTS_BY_CLASS = {
    "08": Fault.AWAY,  # connection
    "53": Fault.AWAY,  # out of resources, too many connections
    "57": Fault.AWAY,  # shutdown, starting up
    "58": Fault.AWAY,  # system
}
# A connection that was not made comes without a code.
_SAID_ON_CONNECTING = (
    ("password", Fault.NOT_LET_IN),
    ("pg_hba.conf", Fault.NOT_LET_IN),
    ('role "', Fault.NOT_LET_IN),
    ('database "', Fault.NO_DATABASE),
    ("invalid connection option", Fault.OTHER),
)


def _fault(error: DBAPIError) -> Fault:
    code = getattr(error.orig, "sqlstate", None)
    if code is not None:
        return _FAULTS.get(code) or _FAULTS_BY_CLASS.get(code[:2], Fault.OTHER)
    said = str(error.orig)
    for words, fault in _SAID_ON_CONNECTING:
        if words in said:
            return fault
    kind = type(error.orig).__name__
    return Fault.AWAY if error.connection_invalidated or kind in _CONNECTION_ERRORS else Fault.OTHER


_CONNECTION_ERRORS = frozenset({"OperationalError", "InterfaceError", "ConnectionTimeout", "PipelineAborted"})


def _hold_creation(connection: Connection, place: str) -> None:
    connection.execute(text("SELECT pg_advisory_xact_lock(hashtext(:place))"), {"place": f"onthedot {place}"})


POSTGRESQL = Dialect(
    name="postgresql",
    also_known_as=frozenset(),
    fault=_fault,
    exclusive=False,
    upgrades_itself=False,
    most_values=10_000,
    # now() would be when the transaction began, clock_timestamp() is no condition for an index. Never rounded up.
    clock=literal_column("CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS bigint)", BigInteger),
    begin_snapshot="SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    one_read={"isolation_level": "AUTOCOMMIT"},
    hold_creation=_hold_creation,
)
