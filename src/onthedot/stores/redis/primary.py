"""Which of several servers takes writes now: sentinels say it, or the nodes of a cluster.

Whoever is asked may be away, frozen, or not have heard yet of the last fail-over. So several are asked, and the newest
answer counts. No promise rests on it: what an old primary still takes reaches no replica, and is refused for that.
"""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from redis import exceptions
from redis.crc import key_slot
from redis.sentinel import MasterNotFoundError, SentinelConnectionPool

from onthedot.clock import SystemClock

Address: TypeAlias = tuple[str, int]
MakeClient: TypeAlias = Callable[[Address], Any]

FOLLOW_MS = 500
"""How often it is asked again which of several servers is the primary."""
_SILENT_MS = 15_000
"""For so long one that did not answer is asked only if nobody else does: each frozen one would cost a second."""
_MOST_NODES = 16
"""Of a large cluster no more are remembered."""
_ENOUGH_NODES = 3
_AWAY = (exceptions.ConnectionError, exceptions.TimeoutError)
_REFUSED = (exceptions.AuthenticationError, exceptions.AuthorizationError)
"""Those who say so answer, though the driver calls it a lost connection."""


@dataclass(frozen=True, slots=True, order=True)
class Claim:
    """Who is the primary, as somebody says; of a later fail-over where the epoch is higher."""

    epoch: int
    address: Address


class Primary(ABC):
    """Asks for the primary whenever the driver opens a connection, under the name by which the driver calls it."""

    enough = 100
    """After so many answers nobody else is asked."""

    def __init__(self, hosts: Sequence[Address], make: MakeClient) -> None:
        self._make = make
        self._clients = {each: make(each) for each in hosts}
        self._silent_since: dict[Address, int] = {}
        self._clock = SystemClock()

    @abstractmethod
    def ask(self, client: Any) -> Claim | None:
        """What one of them says; nothing if it knows of none."""

    @property
    @abstractmethod
    def described(self) -> str:
        """Whom nobody knows, where that is so."""

    def discover_master(self, _service: str = "") -> Address:
        claims: list[Claim] = []
        errors: list[tuple[Address, exceptions.RedisError]] = []
        for asked, answer in self.answers(self.ask):
            if isinstance(answer, exceptions.RedisError):
                errors.append((asked, answer))
            elif answer is not None:
                claims.append(answer)
        if not claims:
            raise _nobody_knows(self.described, errors)
        return max(claims).address

    def confirms(self, address: Address) -> bool:
        """Whether it is certain that nobody else has been made the primary by now."""
        return True

    def answers(self, ask: Callable[[Any], Any]) -> Iterator[tuple[Address, Any]]:
        """What each of them says, or the error. Those that were silent are asked last, and only if nobody answered."""
        now_ms, answered = self._clock.monotonic_ms(), 0
        silent = {each for each, since_ms in self._silent_since.items() if now_ms - since_ms < _SILENT_MS}
        for asked, client in sorted(self._clients.items(), key=lambda item: item[0] in silent):
            if answered >= (1 if asked in silent else self.enough):
                return
            try:
                answer = ask(client)
            except exceptions.RedisError as error:
                if isinstance(error, _AWAY) and not isinstance(error, _REFUSED):
                    self._silent_since[asked] = now_ms
                yield asked, error
            else:
                answered += 1
                self._silent_since.pop(asked, None)
                yield asked, answer

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


def _nobody_knows(whom: str, errors: Sequence[tuple[Address, exceptions.RedisError]]) -> exceptions.RedisError:
    """What is wrong with one that answers says more than that another is away."""
    for (host, port), error in errors:
        if isinstance(error, _REFUSED) or not isinstance(error, _AWAY):
            return type(error)(f"{host}:{port} says: {error}")
    said = "; ".join(f"{host}:{port}: {error}" for (host, port), error in errors)
    return MasterNotFoundError(f"nobody knows {whom}" + (f" ({said})" if said else ""))


class Sentinels(Primary):
    """Of the service that they watch. All are asked: the others hear up to 2 s after the one that led the fail-over."""

    def __init__(self, hosts: Sequence[Address], make: MakeClient, service: str) -> None:
        super().__init__(hosts, make)
        self._service = service

    @property
    def described(self) -> str:
        return f"the primary of {self._service}"

    def ask(self, client: Any) -> Claim:
        claim, _ = self._opinion(client)
        return claim

    def confirms(self, address: Address) -> bool:
        """Asked after each write. Sentinels promote one replica first and tell the others then, a second later; in that
        second an old primary that has just woken still finds a replica that follows it."""
        opinions = [said for _, said in self.answers(self._opinion) if not isinstance(said, exceptions.RedisError)]
        if not opinions or any(is_choosing for _, is_choosing in opinions):
            return False
        newest: Claim = max(claim for claim, _ in opinions)
        return newest.address == address

    def _opinion(self, client: Any) -> tuple[Claim, bool]:
        """Whom it takes for the primary, and whether it leads a fail-over that has not named the next one yet."""
        state = self.state(client)
        claim = Claim(int(state["config-epoch"]), (state["ip"], int(state["port"])))
        if "failover_in_progress" not in state["flags"]:
            return claim, False
        host, port = client.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._service)
        promoted = (host, int(port))
        return (claim, True) if promoted == claim.address else (Claim(claim.epoch + 1, promoted), False)

    def state(self, client: Any) -> dict[str, str]:
        """What a sentinel knows of the service."""
        try:
            told = client.execute_command("SENTINEL", "MASTER", self._service)
        except exceptions.ResponseError as error:
            said = str(error).lower()
            if "no such master" in said:
                known = [_pairs(each)["name"] for each in client.execute_command("SENTINEL", "MASTERS")]
                raise exceptions.ResponseError(
                    f"no service is called {self._service}; known here: {', '.join(known) or 'none'}"
                ) from None
            if "unknown command" in said:
                raise exceptions.ResponseError(
                    "this is no sentinel; name sentinels, or write redis:// for a server"
                ) from None
            raise
        return _pairs(told)


def _pairs(told: Any) -> dict[str, str]:
    return told if isinstance(told, dict) else dict(zip(told[::2], told[1::2], strict=True))


class ClusterNodes(Primary):
    """Of the slot in which all our keys lie. Whoever wins it tells all others at once, so a few answers are enough."""

    enough = _ENOUGH_NODES

    def __init__(self, hosts: Sequence[Address], make: MakeClient, key: str, *, by_name: bool) -> None:
        super().__init__(hosts, make)
        self.slot = key_slot(key.encode())
        self._seeds = frozenset(hosts)
        self._by_name = by_name

    @property
    def described(self) -> str:
        return f"the primary of slot {self.slot}"

    def ask(self, client: Any) -> Claim | None:
        nodes = self.nodes(client)
        self._remember([each.address for each in nodes if not each.failed])
        holders = [each for each in nodes if each.leads and not each.failed and each.holds(self.slot)]
        return max((Claim(each.epoch, each.address) for each in holders), default=None)

    def nodes(self, client: Any) -> list[Node]:
        """As one of them sees the cluster."""
        try:
            told = client.execute_command("CLUSTER", "NODES")
        except exceptions.ResponseError as error:
            if "cluster support disabled" in str(error):
                raise exceptions.ResponseError("this is no cluster; write redis:// for a single server") from None
            raise
        asked = client.connection_pool.connection_kwargs["host"]
        return [_node(line, asked, by_name=self._by_name) for line in told.splitlines()]

    def _remember(self, known: Sequence[Address]) -> None:
        """So that the cluster is found when those that the URL names are gone."""
        wanted = [*self._seeds, *(each for each in known if each not in self._seeds)][: _MOST_NODES + len(self._seeds)]
        if self._clients.keys() != set(wanted):
            self._clients = {each: self._clients.get(each) or self._make(each) for each in wanted}


@dataclass(frozen=True, slots=True)
class Node:
    """A line of CLUSTER NODES."""

    id: str
    address: Address
    leads: bool
    failed: bool
    follows: str
    epoch: int
    slots: tuple[str, ...]

    def holds(self, slot: int) -> bool:
        """Not those that are on their way: in brackets."""
        for each in self.slots:
            first, _, last = each.partition("-")
            if first.isdecimal() and int(first) <= slot <= int(last or first):
                return True
        return False


def _node(line: str, asked: str, *, by_name: bool) -> Node:
    """`ID IP:PORT@BUS,NAME FLAGS PRIMARY PING PONG EPOCH LINK SLOT…`; a node may not know its own address."""
    node_id, place, flags, follows, _, _, epoch, _, *slots = line.split()
    address, _, more = place.partition("@")
    ip, _, port = address.rpartition(":")
    name = next(iter(more.split(",")[1:]), "")
    host = name if by_name and name else ip
    said = flags.split(",")
    return Node(
        node_id, (host or asked, int(port)), "master" in said, "fail" in said, follows, int(epoch), tuple(slots)
    )


class PrimaryPool(SentinelConnectionPool):
    """The driver's own pool for sentinels, over anybody who knows the primary."""

    def __init__(self, primary: Primary, **options: Any) -> None:
        super().__init__(primary.described, primary, **options)  # type: ignore[no-untyped-call]
        self._clock = SystemClock()
        self._followed_ms = self._clock.monotonic_ms()

    def get_connection(self, *args: Any, **options: Any) -> Any:
        """To the primary of the last half second: an older one may not know yet that it is none, and shows the past."""
        if self._clock.monotonic_ms() - self._followed_ms >= FOLLOW_MS:
            with suppress(exceptions.RedisError):  # nobody knows: stay where we are
                self.follow()
        return super().get_connection(*args, **options)

    def confirms(self, address: Address | None) -> bool:
        """Whether the server of this address was the primary still, after all that it has answered."""
        primary: Primary = self.sentinel_manager
        return address is not None and primary.confirms(address) and bool(address == self.master_address)

    def follow(self) -> None:
        """Cut off whoever waits at a server that is the primary no more: one that is frozen would never say so."""
        self._followed_ms = self._clock.monotonic_ms()
        # Disconnects those that nobody uses, if it is another.
        now: Address = self.get_master_address()  # type: ignore[no-untyped-call]
        for connection in list(self._in_use_connections):
            if (connection.host, connection.port) != now:
                _cut_off(connection)


def _cut_off(connection: Any) -> None:
    """Another thread may be reading from it: only the socket is shut, and that thread finds out and tidies up."""
    held = connection._sock  # the driver has no public way
    if held is not None:
        with suppress(OSError):
            socket.socket.shutdown(held, socket.SHUT_RDWR)  # not TLS's own, which would wait for an answer
