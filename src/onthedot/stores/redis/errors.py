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
    match error:
        case exceptions.AuthenticationError() | exceptions.AuthorizationError() | exceptions.NoPermissionError():
            return StoreError(f"{place} refuses this user: {said}; mind the user, the password and its ACL")
        case exceptions.ReadOnlyError():
            return StoreUnavailable(f"{place} is a replica, or just becoming one; onthedot writes to the primary only")
        case exceptions.ConnectionError() | exceptions.TimeoutError():
            return StoreUnavailable(f"{place} does not answer: {said}")
        case exceptions.OutOfMemoryError():
            return StoreUnavailable(f"{place} is out of memory, so it takes no writes; raise its maxmemory, or prune")
    for sign, remedy in _SIGNS.items():
        if said.startswith(sign):
            return StoreUnavailable(f"{place} {remedy}: {said}")
    return StoreError(f"{place}: {said}")


_SIGNS = {
    "OOM": "is out of memory, so it takes no writes; raise its maxmemory, or prune",
    "BUSY": "is busy with a script",
    "LOADING": "is still loading its data",
    "MISCONF": "cannot write to its disk, so it takes no writes",
    "NOREPLICAS": "has too few replicas, so it takes no writes",
    "MASTERDOWN": "has lost its primary",
    "CLUSTERDOWN": "is a cluster that is down",
    "MOVED": "is a cluster, and this node does not hold our slot; name the node that does",
}
