"""MongoDB's errors in our words: one clear line each, that says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bson.errors import BSONError, InvalidDocument
from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    ConfigurationError,
    InvalidURI,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
)

from onthedot.errors import SettingsError, StoreError, StoreUnavailable
from onthedot.stores.transaction import TryAgain

DUPLICATE_KEY = 11000
_TOO_LATE = 50
"""It was given only so much time, and waited for a document that somebody has written and not committed."""
_NO_TRANSACTIONS = 20
_LOGIN_FAILED = 18
_NOT_ALLOWED = 13
_TOO_LARGE = 10334
_RETRY = {91, 112, 189, 246, 251, 11600, 11602, 10107, 13435, 13436, 263}
"""Shutting down, stepping down, a snapshot that is gone: the same will work soon, if need be on another server."""

TURN_INTO_REPLICA_SET = (
    "start mongod with --replSet rs0 (replication.replSetName in its configuration), then run once: "
    "mongosh --eval 'rs.initiate()'"
)


@contextmanager
def in_our_words(place: str) -> Iterator[None]:
    """What the driver raises inside becomes `TryAgain` or a `StoreError`."""
    try:
        yield
    except (InvalidDocument, BSONError) as error:
        raise StoreError(f"{place} cannot keep this: {_one_line(error)}") from error
    except PyMongoError as error:
        raise _meaning(error, place) from error


def may_be_committed(error: PyMongoError) -> bool:
    """Whether it is not known if a transaction was committed: asking for the commit again will tell."""
    return error.has_error_label("UnknownTransactionCommitResult")


def may_be_repeated(error: PyMongoError) -> bool:
    """Whether the transaction left nothing behind and may be repeated from its beginning."""
    return error.has_error_label("TransientTransactionError")


def is_duplicate(error: PyMongoError) -> bool:
    """Whether a unique index refused a document."""
    if isinstance(error, BulkWriteError):
        return any(each.get("code") == DUPLICATE_KEY for each in (error.details or {}).get("writeErrors", ()))
    return isinstance(error, OperationFailure) and error.code == DUPLICATE_KEY


def _meaning(error: PyMongoError, place: str) -> Exception:
    said = _one_line(error)
    match error:
        case WaitQueueTimeoutError():
            return StoreUnavailable(f"{place}: all connections of this process are in use")
        case ServerSelectionTimeoutError():
            return StoreUnavailable(f"{place} does not answer, or has no primary: {said}")
        case InvalidURI() | ConfigurationError():
            return SettingsError(f"{place}: {said}")
        case _ if may_be_committed(error):
            return StoreUnavailable(f"{place} does not say whether it has committed: {said}")
        case _ if may_be_repeated(error) or is_duplicate(error) or isinstance(error, AutoReconnect):
            return TryAgain(said)
        case OperationFailure():
            return _refusal(error, place, said)
        case _:
            return StoreError(f"{place}: {said}")


def _refusal(error: OperationFailure, place: str, said: str) -> Exception:
    if error.code in _RETRY or error.code == _TOO_LATE:
        return TryAgain(said)
    if error.code == _TOO_LARGE:
        return StoreError(f"{place} cannot keep this: a document of MongoDB has 16 MB at most")
    if error.code == _LOGIN_FAILED:
        return StoreError(f"{place}: MongoDB refuses the user or the password; is authSource= right?")
    if error.code == _NOT_ALLOWED:
        return StoreError(f"{place}: {said}; give this user the role readWrite on that database")
    if error.code == _NO_TRANSACTIONS:
        return StoreError(f"{place} has no transactions: {TURN_INTO_REPLICA_SET}")
    return StoreError(f"{place}: {said}")


def _one_line(error: BaseException) -> str:
    """Without the picture of the whole topology and the whole answer, which the driver adds."""
    text = " ".join(str(error).split())
    for tail in (", full error:", ", Timeout:", ", Topology Description:", " (configured timeouts:"):
        text = text.partition(tail)[0]
    return text
