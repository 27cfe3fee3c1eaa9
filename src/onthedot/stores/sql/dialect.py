"""What differs between databases, and nothing else: one small object each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol, TypeAlias

from sqlalchemy import Column, ColumnElement, Connection, Table
from sqlalchemy.exc import DBAPIError

from onthedot.model.finding import Finding
from onthedot.rules.ahead import Ahead, AtOnce
from onthedot.stores.plain import PlainDone, PlainStep
from onthedot.stores.sql.given_rows import GivenRows


class Fault(Enum):
    """What a database's error means for us."""

    CLASH = auto()
    """Another transaction was first, and this one left nothing behind: once more."""
    BUSY = auto()
    """Locked by another for longer than we wait."""
    READ_FIRST = auto()
    """A transaction that began with a read can no longer write."""
    AWAY = auto()
    """It does not answer now, and may later."""
    READ_ONLY = auto()
    """This user, or this copy of the database, may not write."""
    NO_TABLES = auto()
    NO_DATABASE = auto()
    """What is there is no database, or a damaged one; or a server has none of that name."""
    NOT_LET_IN = auto()
    """The server knows no such user, or not with this password."""
    POOLED = auto()
    """Something between us and the server shares its sessions, and the URL does not say so."""
    OTHER = auto()


class PlainStatements(Protocol):
    """The short way of plain runs (`rules.plain`), as one database has it."""

    at_once: bool
    """In one statement, which needs no transaction around it."""
    hands_places_on: bool
    """Whether runs that hold places of groups may be among those that end."""

    def step(self, connection: Connection, asked: PlainStep, now_ms: int | None, floor_ms: int) -> PlainDone:
        """All of it. `now_ms` of None: by the server's clock. Nothing is due below the floor."""


PlanAhead: TypeAlias = Callable[[Connection, str, Sequence[tuple[Ahead, str]], int | None, int], AtOnce]
"""From the node, what was decided, each with the id of its run, the store's time (None: by the server's clock), and a
moment below which nothing is due."""
Rows: TypeAlias = Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """One database. Locks that it does not have (`FOR UPDATE` on SQLite) its compiler leaves out by itself."""

    name: str
    also_known_as: frozenset[str]
    """Other names that SQLAlchemy gives to connections to it."""
    fault: Callable[[DBAPIError], Fault]
    exclusive: bool
    """Whether a writing transaction has the whole database to itself: what it has read stays true, nothing is locked
    by others, and writers of one process had better queue in it."""
    upgrades_itself: bool
    """Whether a node may change older tables: only where no node of an older version can be at work on them."""
    most_values: int
    """How many values one statement may name."""
    given: GivenRows
    """How it reads rows that a statement is given."""
    plain: PlainStatements | None = None
    """Its short way of plain runs; None: all go the general one."""
    plan_ahead: PlanAhead | None = None
    """How it writes what was decided ahead in one statement; None: in some, in a transaction."""
    compares_rows: bool = False
    """Whether it finds by an index what lies between two rows of values: `(a, b) <= (1, 2)`."""
    nests_limits: bool = False
    """Whether a part of a UNION can have a LIMIT of its own only in a subquery."""
    groups_by_jumping: bool = False
    """Whether GROUP BY goes from one value to the next along an index, and does not read all rows between them."""
    insert_many: Callable[[Connection, Table, Sequence[str], Rows], int] | None = None
    """Insert rows with these columns in one statement; None: the driver does."""
    change_many: Callable[[Connection, Column[Any], Sequence[str], Rows], int | None] | None = None
    """Set these columns, in one statement, in the rows whose keys come last; without any, delete them. How many there
    were. None, also as an answer: the driver does as well one by one."""
    clock: ColumnElement[int] | None = None
    """The server's time in milliseconds; None: there is no server, and this machine's clock is the store's."""
    begin_writing: str | None = None
    """First statement of a transaction that will write; None: the driver begins it."""
    begin_snapshot: str | None = None
    """First statement of a transaction whose reads shall all see one state; None: they do anyway."""
    take_write_lock: str | None = None
    """First statement in a caller's transaction, where reading before writing could fail; None: not needed."""
    hold_creation: Callable[[Connection], bool] | None = None
    """Whether nobody else makes the tables, nor can from now on, asked without waiting; None: the transaction itself
    is that lock."""
    let_go_of_creation: Callable[[Connection], None] | None = None
    """Where the lock does not end with the transaction."""
    examine: Callable[[Connection, int], list[Finding]] | None = None
    """What only this database can tell of its health; transactions are old from so many milliseconds on."""

    def is_of(self, connection: Connection) -> bool:
        """Whether this connection goes to such a database."""
        return connection.dialect.name == self.name or connection.dialect.name in self.also_known_as
