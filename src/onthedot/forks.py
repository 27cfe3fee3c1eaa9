"""What a forked child inherits, and must neither use nor close: it is the parent's.

A child has the parent's memory, and none of its threads. A node that lived in these threads is not there, a lock that
one of them held is never released, and a connection is one that two processes would talk on.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Protocol
from weakref import WeakSet


class Forked(Protocol):
    """Somebody who holds what a child must not touch."""

    def after_fork(self) -> None:
        """Called in the child, before anything else happens there: let go of it without ending it."""


def tell_of_forks(owner: Forked) -> None:
    """From now on, and as long as it lives, in every child of this process."""
    _owners.add(owner)


def leave_alone(*inherited: object) -> None:
    """Have it never finalised in this process, not even when the interpreter ends.

    SQLite must not be told to close what a parent has opened, and a driver would say good-bye to the server in the
    parent's name. A list that keeps it is not enough: at the end of the program that is cleared too.
    """
    if not any(each is not None for each in inherited):
        return
    import ctypes

    for each in inherited:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


def notice_fork() -> None:
    """For servers that fork without telling Python, as uWSGI does: called before anything inherited could be used."""
    if os.getpid() != _Process.pid:
        _in_child()


class _Process:
    pid = os.getpid()
    """Of the process that was last told that it is one of its own."""


_owners: WeakSet[Forked] = WeakSet()


def _in_child() -> None:
    _Process.pid = os.getpid()
    for owner in list(_owners):
        with suppress(Exception):  # one of them must not keep the others from hearing of it
            owner.after_fork()


os.register_at_fork(after_in_child=_in_child)
