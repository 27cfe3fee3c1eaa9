"""One Redis server, or whichever of several is the primary: a command or a script at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha1
from pathlib import Path
from random import uniform
from threading import Event
from typing import Any, TypeVar

from redis import exceptions

from onthedot.clock import SystemClock
from onthedot.errors import StoreUnavailable
from onthedot.rules.precedence import LEVEL_MS
from onthedot.stores.redis.errors import in_our_words
from onthedot.stores.redis.indexes import AWAITED, RUNS_FIRST
from onthedot.stores.redis.primary import Primary

T = TypeVar("T")

_FOLDER = Path(__file__).parent / "lua"
AT_ONCE = 2000
"""So many members of an index a script looks at, where people ask: everybody else waits meanwhile."""
_CONSTANTS = f"local LEVEL_MS, RUNS_FIRST, AWAITED, AT_ONCE = {LEVEL_MS}, '{RUNS_FIRST}', '{AWAITED}', {AT_ONCE}\n"
_WRITING_RUNS = ("commit", "plain")
_READ_TRIES = 3
_PAUSE_MS = 50
_REPLICA_MS = 5000
"""For so long a replica may take to have what was written. Less than a connection waits for an answer."""


@dataclass(frozen=True, slots=True)
class Script:
    """A text that the server keeps under its hash, until it restarts."""

    text: str
    sha: str


@cache
def script(name: str) -> Script:
    """A script of the folder `lua`."""
    text = _text("close") + _text(name) if name in _WRITING_RUNS else _CONSTANTS + _text("lib") + _text(name)
    return Script(text, sha1(text.encode()).hexdigest())


def _text(name: str) -> str:
    return (_FOLDER / f"{name}.lua").read_text(encoding="ascii")


@dataclass(frozen=True, slots=True)
class Server:
    """Connections are opened when they are needed, also after a fork or a restart of the server."""

    client: Any
    """A `redis.Redis`; its types say of every answer that it might have to be awaited."""
    prefix: str
    """What every key begins with: its hash tag, so that all of them lie in one slot of a cluster."""
    place: str
    """The URL as it may be shown."""
    replicas: int = 0
    """So many must have what is written before it counts."""
    primary: Primary | None = None
    """Who knows it, where there are several servers."""
    clock: SystemClock = field(default_factory=SystemClock)

    def key(self, name: str) -> str:
        """A key of ours."""
        return self.prefix + name

    def ask(self, command: str, name: str, *values: str | int) -> Any:
        """The answer to one command about one of our keys that only reads, or may be done twice."""
        return self.with_retries(lambda: self.client.execute_command(command, self.key(name), *values))

    def rows(self, table: str, ids: Sequence[str]) -> list[str | None]:
        """What stands in the hash under these ids, in their order; a script's worth of them at a time."""
        found: list[str | None] = []
        for start in range(0, len(ids), AT_ONCE):
            found += self.ask("HMGET", table, *ids[start : start + AT_ONCE])
        return found

    def now_ms(self) -> int:
        """The server's time."""
        seconds, microseconds = self.with_retries(self.client.time)
        return int(seconds) * 1000 + int(microseconds) // 1000

    def with_retries(self, act: Callable[[], T]) -> T:
        """Once more if the connection breaks, since the server may just have been restarted; in our words.

        Not if it does not answer in time: a node must know soon, so that it can still renew its lease.
        """
        with in_our_words(self.place):
            for tried in range(1, _READ_TRIES + 1):
                try:
                    return act()
                except (exceptions.ConnectionError, exceptions.MovedError):
                    if tried == _READ_TRIES:
                        raise
                    self._look_anew()
                self.clock.wait(Event(), int(uniform(1, 2) * _PAUSE_MS * tried))
        raise AssertionError("unreachable")

    def read_script(self, name: str, *values: str | int) -> Any:
        """The answer of a script that changes nothing but hints."""
        return self.with_retries(lambda: self._run(name, values))

    def write_script(self, name: str, values: Sequence[str | int]) -> Any:
        """The answer of a script that is sent once: if its answer is lost, nobody knows whether it was done.

        Where replicas must have it and too few do, nobody knows either. A primary that was frozen and is none any
        more still does what it is asked; its replicas have left it by then.
        """
        with in_our_words(self.place):
            try:
                return self._write(name, values)
            except exceptions.MovedError:  # it was not done
                if self.primary is None:
                    raise
                self._look_anew()
                return self._write(name, values)

    def _write(self, name: str, values: Sequence[str | int]) -> Any:
        if not self.replicas:
            return self._run(name, values)
        wanted, asked = script(name), self._address()
        answer, reached = self._run_and_wait("EVALSHA", wanted.sha, values)
        if isinstance(answer, exceptions.NoScriptError):
            answer, reached = self._run_and_wait("EVAL", wanted.text, values)
        for each in (answer, reached):
            if isinstance(each, exceptions.RedisError):
                raise each
        if reached < self.replicas:
            self._look_anew()
            raise StoreUnavailable(
                f"{self.place} does not know that a replica has what was written ({reached} of {self.replicas} "
                f"said so within {_REPLICA_MS // 1000} s), so it may be lost"
            )
        if self.primary is not None and not self.client.connection_pool.confirms(asked or self._address()):
            self._look_anew()
            raise StoreUnavailable(f"{self.place} is choosing another primary, so what was written may be lost")
        return answer

    def _address(self) -> Any:
        """Of the server that is taken for the primary; None before the first connection."""
        return None if self.primary is None else self.client.connection_pool.master_address

    def _run_and_wait(self, command: str, which: str, values: Sequence[str | int]) -> tuple[Any, Any]:
        """Both in one message, since `WAIT` is about what its own connection has written."""
        with self.client.pipeline(transaction=False) as both:
            both.execute_command(command, which, 1, self.prefix, *values)
            both.execute_command("WAIT", self.replicas, _REPLICA_MS)
            answer, reached = both.execute(raise_on_error=False)
        return answer, reached

    def _look_anew(self) -> None:
        """Where the primary is, with the next connections."""
        if self.primary is not None:
            self.client.connection_pool.disconnect(inuse_connections=False)

    def _run(self, name: str, values: Sequence[str | int]) -> Any:
        wanted = script(name)
        try:
            return self.client.evalsha(wanted.sha, 1, self.prefix, *values)
        except exceptions.NoScriptError:  # restarted since: it says so before it does anything
            return self.client.eval(wanted.text, 1, self.prefix, *values)

    def follow(self) -> None:
        """Leave a server that is the primary no more, whoever waits for it."""
        if self.primary is not None:
            self.client.connection_pool.follow()

    def close(self) -> None:
        """Not the connections in use by other threads: what they have asked is still answered."""
        self.client.connection_pool.disconnect(inuse_connections=False)
        if self.primary is not None:
            self.primary.close()


def counted(*lists: Collection[str]) -> list[str | int]:
    """For a script: each list behind how many it has."""
    values: list[str | int] = []
    for each in lists:
        values += (len(each), *each)
    return values
