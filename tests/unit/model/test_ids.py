"""Ids are unique, also after a fork, and sort by when they were made."""

from __future__ import annotations

import os
from uuid import UUID

from onthedot.model.ids import new_id


def test_an_id_is_a_uuid_of_version_7_and_tells_its_millisecond() -> None:
    uuid = UUID(new_id(1_800_000_000_123))
    assert (uuid.version, uuid.variant) == (7, "specified in RFC 4122")
    assert uuid.int >> 80 == 1_800_000_000_123


def test_ids_of_one_millisecond_differ_and_those_of_later_ones_sort_behind() -> None:
    ids = [new_id(1000) for _ in range(10_000)]
    assert len(set(ids)) == 10_000
    assert max(ids) < new_id(1001)


def test_a_child_process_makes_other_ids_than_its_parent() -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, new_id(1000).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100).decode() != new_id(1000)
    os.close(read)
    os.close(write)
