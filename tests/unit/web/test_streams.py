"""Streams: what each is told, where it goes on, how many there are, and who is too slow."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from onthedot.web import streams as streams_module
from onthedot.web.problems import Refused
from onthedot.web.snapshot import Message
from onthedot.web.streams import Holder, Numbered, Stream, Streams

ALL = frozenset({"runs", "nodes"})


def _runs(*ids: str) -> list[Message]:
    return [Message("runs", (each,)) for each in ids]


async def _heard(stream: Stream, count: int) -> list[Numbered]:
    heard: list[Numbered] = []
    async for each in stream:
        heard.append(each)
        if len(heard) == count:
            break
    return heard


def _ids(heard: Iterable[Numbered]) -> list[str]:
    return [each.message.ids[0] for each in heard]


def test_a_stream_is_told_what_it_asked_for_in_order_and_the_store_always() -> None:
    async def story() -> None:
        streams = Streams()
        stream, resumed = streams.open(frozenset({"runs"}), Holder())
        streams.publish([*_runs("a"), Message("nodes", ("n",)), Message("store", ("away",)), *_runs("b")])
        assert _ids(await _heard(stream, 3)) == ["a", "away", "b"]
        assert resumed

    asyncio.run(story())


def test_who_names_the_last_message_hears_those_after_it_and_none_twice() -> None:
    async def story() -> None:
        streams = Streams()
        streams.publish(_runs("a", "b", "c"))
        stream, resumed = streams.open(ALL, Holder(), streams.id_of(1))
        streams.publish(_runs("d"))
        assert (_ids(await _heard(stream, 3)), resumed) == (["b", "c", "d"], True)

    asyncio.run(story())


@pytest.mark.parametrize(
    "last_id", ["other-1", "", "x", "-", "1", "{epoch}-", "{epoch}-999", "{epoch}-1e3", "{epoch}-٣"]
)
def test_who_names_a_message_that_nobody_knows_begins_anew(last_id: str) -> None:
    async def story() -> None:
        streams = Streams()
        streams.publish(_runs("a"))
        stream, resumed = streams.open(ALL, Holder(), last_id.format(epoch=streams.id_of().partition("-")[0]))
        assert (resumed, stream.is_behind) == (False, False)

    asyncio.run(story())


def test_what_is_too_long_ago_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams_module, "REMEMBERED", 3)

    async def story() -> None:
        streams = Streams()
        streams.publish(_runs("a", "b", "c", "d", "e"))
        assert streams.open(ALL, Holder(), streams.id_of(2))[1] is True
        assert streams.open(ALL, Holder(), streams.id_of(1))[1] is False

    asyncio.run(story())


def test_only_so_many_streams_are_open_and_one_that_is_closed_makes_room() -> None:
    async def story() -> None:
        streams = Streams(most=2)
        first, _ = streams.open(ALL, Holder())
        streams.open(frozenset(), Holder())
        with pytest.raises(Refused) as refused:
            streams.open(ALL, Holder())
        assert (refused.value.problem.status, refused.value.problem.headers) == (503, {"Retry-After": "10"})
        streams.close(first)
        streams.close(first)
        assert len(streams) == 1
        streams.open(ALL, Holder())

    asyncio.run(story())


def test_who_lets_too_much_lie_is_dropped_and_the_others_hear_all() -> None:
    async def story() -> None:
        streams = Streams(most_waiting=3)
        slow, _ = streams.open(ALL, Holder())
        quick, _ = streams.open(ALL, Holder())
        for name in "abcd":
            streams.publish(_runs(name))
            assert _ids(await _heard(quick, 1)) == [name]
        assert (slow.is_over, quick.is_over) == (True, False)
        assert await _heard(slow, 1) == []

    asyncio.run(story())


def test_streams_of_who_may_look_no_longer_end() -> None:
    async def story() -> None:
        streams = Streams()
        ann, _ = streams.open(ALL, Holder("ann", "1"))
        bob, _ = streams.open(ALL, Holder("bob", "2"))
        streams.end_where(lambda holder: holder.token == "ann")
        assert await _heard(ann, 1) == []
        assert not bob.is_over

    asyncio.run(story())


def test_a_message_to_a_loop_that_is_gone_harms_nobody() -> None:
    streams = Streams()

    async def story() -> None:
        streams.open(ALL, Holder())

    asyncio.run(story())
    streams.publish(_runs("a"))
    assert len(streams) == 1


def test_a_stream_that_is_opened_while_its_session_ends_is_over() -> None:
    async def story() -> None:
        streams = Streams()
        before, _ = streams.open(ALL, Holder("ann", "digest", session="a"))
        streams.end_session("a")
        after, _ = streams.open(ALL, Holder("ann", "digest", session="a"))
        others = [streams.open(ALL, each)[0] for each in (Holder("ann", "digest", session="b"), Holder())]
        assert (before.is_over, after.is_over) == (True, True)
        assert await _heard(after, 1) == []
        assert not any(each.is_over for each in others)

    asyncio.run(story())
