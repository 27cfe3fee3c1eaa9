"""The errors of Redis in our words: one clear line each, that says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from redis import exceptions

from onthedot.errors import StoreError, StoreUnavailable


@contextmanager
def in_our_words(place: str) -> Iterator[None]:
    """What the driver raises inside becomes a `StoreError`."""
    try:
        yield
    except exceptions.RedisError as error:
        raise _meaning(place, error) from error
    except (UnicodeError, OSError) as error:
        raise StoreError(f"{place}: {error}") from error


def _meaning(place: str, error: exceptions.RedisError) -> StoreError:
    said = " ".join(str(error).split())
    if isinstance(error, _NOT_LET_IN):
        return StoreError(f"{place} refuses this user: {said}; mind the user, the password and its ACL")
    for kind, why in _AWAY.items():
        if isinstance(error, kind):
            return StoreUnavailable(f"{place} {why}: {said}")
    for sign, why in _SIGNS.items():
        if said.startswith(sign):
            return StoreUnavailable(f"{place} {why}: {said}")
    return StoreError(f"{place}: {said}")


_NOT_LET_IN = (exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.NoPermissionError)
# By their kind: the driver takes the first word of what the server says away. The first that fits counts.
_AWAY: dict[type[exceptions.RedisError], str] = {
    exceptions.ReadOnlyError: "is a replica, or just becoming one; onthedot writes to the primary only",
    exceptions.MasterDownError: "has lost its primary",
    exceptions.ClusterDownError: "is a cluster that is down",
    exceptions.MovedError: "is a node of a cluster that does not hold our slot; write redis+cluster://",
    exceptions.AskError: "is moving our slot to another node of its cluster",
    exceptions.TryAgainError: "is moving our slot to another node of its cluster",
    exceptions.OutOfMemoryError: "is out of memory, so it takes no writes; raise its maxmemory, or prune",
    exceptions.BusyLoadingError: "is still loading its data",
    exceptions.ConnectionError: "does not answer",
    exceptions.TimeoutError: "does not answer",
}
# What the driver has no kind for.
_SIGNS = {
    "BUSY": "is busy with a script",
    "MISCONF": "cannot write to its disk, so it takes no writes",
    "NOREPLICAS": "has too few replicas, so it takes no writes",
    "UNBLOCKED": "has just become a replica",
}
