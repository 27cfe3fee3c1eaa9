"""What the column `remote` of a run says: "sending cluster" before its attempt is given to the engine, "at cluster"
once the engine has said that it took it. Between the two nobody knows whether it is there."""

from __future__ import annotations

from typing import NamedTuple

_SENDING, _AT = "sending ", "at "


class Sent(NamedTuple):
    """What an owner has to say of a run that is executed elsewhere."""

    run_id: str
    claim_no: int
    remote: str


def sending(engine: str) -> str:
    """It is about to be given to this engine."""
    return f"{_SENDING}{engine}"


def taken(engine: str) -> str:
    """This engine has taken it."""
    return f"{_AT}{engine}"


def is_taken(remote: str) -> bool:
    """Whether the engine has said that it took it."""
    return remote.startswith(_AT)


def engine_of(remote: str) -> str:
    """The name of the engine."""
    return remote.removeprefix(_SENDING) if remote.startswith(_SENDING) else remote.removeprefix(_AT)
