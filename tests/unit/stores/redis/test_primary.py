"""What the nodes of a cluster say of each other, and which of several answers counts."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from redis import exceptions
from redis.sentinel import MasterNotFoundError

from onthedot.stores.redis.primary import Address, Claim, Node, Primary, _node

HOLDER = "a1 10.0.0.1:7000@17000,one.example myself,master - 0 0 7 connected 0-5460 5462 [5463->-b2]"


def test_a_line_says_who_where_and_which_slots() -> None:
    node = _node(HOLDER, "asked", by_name=False)
    assert node == Node("a1", ("10.0.0.1", 7000), True, False, "-", 7, ("0-5460", "5462", "[5463->-b2]"))
    assert [node.holds(slot) for slot in (0, 5460, 5461, 5462, 5463)] == [True, True, False, True, False]


@pytest.mark.parametrize(
    ("place", "by_name", "address"),
    [
        ("10.0.0.1:7000@17000", False, ("10.0.0.1", 7000)),
        ("10.0.0.1:7000@17000", True, ("10.0.0.1", 7000)),
        ("10.0.0.1:7000@17000,one.example", True, ("one.example", 7000)),
        ("10.0.0.1:7000@17000,,shard-id=12", True, ("10.0.0.1", 7000)),
        ("::1:7000@17000", False, ("::1", 7000)),
        (":7000@17000", False, ("asked", 7000)),
    ],
)
def test_a_node_is_found_by_its_address_or_with_tls_by_the_name_that_it_announces(
    place: str, by_name: bool, address: tuple[str, int]
) -> None:
    assert _node(f"a1 {place} slave,fail b2 0 0 7 connected", "asked", by_name=by_name).address == address


OLD, NEW, OTHER = ("z", 1), ("a", 1), ("b", 1)
SILENT = exceptions.TimeoutError("timeout")


class Told(Primary):
    """By some who say what is given here."""

    described = "the primary"

    def __init__(self, said: Mapping[Address, Claim | exceptions.RedisError | None]) -> None:
        super().__init__(list(said), lambda address: address)
        self.said = dict(said)
        self.asked: list[Address] = []

    def ask(self, client: Address) -> Claim | None:
        self.asked.append(client)
        said = self.said[client]
        if isinstance(said, exceptions.RedisError):
            raise said
        return said


@pytest.mark.parametrize("said", [[Claim(3, OLD), Claim(4, NEW)], [Claim(4, NEW), None, SILENT, Claim(3, OLD)]])
def test_of_several_answers_that_of_the_latest_fail_over_counts(
    said: list[Claim | exceptions.RedisError | None],
) -> None:
    told = Told({(f"s{number}", 1): each for number, each in enumerate(said)})
    assert told.discover_master() == NEW


def test_one_that_was_silent_is_asked_last_and_only_if_nobody_answers() -> None:
    told = Told({OLD: SILENT, OTHER: Claim(1, NEW)})
    assert [told.discover_master(), told.discover_master()] == [NEW, NEW]
    assert told.asked == [OLD, OTHER, OTHER]
    told.said = {OLD: Claim(2, OLD), OTHER: SILENT}
    assert told.discover_master() == OLD


def test_where_nobody_knows_what_is_wrong_with_one_that_answers_is_said_before_who_is_away() -> None:
    told = Told({OLD: SILENT, NEW: exceptions.AuthenticationError("WRONGPASS")})
    with pytest.raises(exceptions.AuthenticationError, match=r"^a:1 says: WRONGPASS$"):
        told.discover_master()
    with pytest.raises(MasterNotFoundError, match=r"^nobody knows the primary \(z:1: timeout\)$"):
        Told({OLD: SILENT, NEW: None}).discover_master()
