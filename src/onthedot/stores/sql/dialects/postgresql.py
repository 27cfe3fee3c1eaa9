"""PostgreSQL 12 and newer."""

from __future__ import annotations

from sqlalchemy import BigInteger, Connection, literal_column, text
from sqlalchemy.exc import DBAPIError

from onthedot.durations import format_duration
from onthedot.model.finding import Finding, Level
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


# What keeps rows that nobody needs any more from being cleaned away, so that each claim reads past them.
_OLD = text("""
    SELECT pid, coalesce(nullif(application_name, ''), 'an unnamed program'), usename, state,
        CAST(extract(epoch FROM clock_timestamp() - xact_start) AS bigint)
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
        AND xact_start <= clock_timestamp() - make_interval(secs => :old_s)
    ORDER BY xact_start
""")
_HIDDEN = text("""
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND query = '<insufficient privilege>'
""")


def _examine(connection: Connection, old_ms: int) -> list[Finding]:
    old = [_old_transaction(*row) for row in connection.execute(_OLD, {"old_s": old_ms / 1000})]
    hidden = connection.execute(_HIDDEN).scalar_one()
    if hidden:
        what = f"{hidden} sessions of other users cannot be looked at"
        old.append(Finding(Level.WARNING, "snapshot", what, "GRANT pg_read_all_stats to this user to see them"))
    return old or [Finding(Level.OK, "snapshot", "no old transaction is open in this database")]


def _old_transaction(pid: int, program: str, user: str, state: str, seconds: int) -> Finding:
    """One that does nothing was forgotten; one that works may be a backup."""
    idle = state.startswith("idle")
    what = (
        f"a transaction has been open for {format_duration(seconds * 1000)} ({state}), and keeps old rows:"
        f" pid {pid}, {program}, user {user}"
    )
    remedy = f"end it there, or here by SELECT pg_terminate_backend({pid})" if idle else "let it end; claims are slower"
    return Finding(Level.PROBLEM if idle else Level.WARNING, "snapshot", what, remedy)


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
    examine=_examine,
)
