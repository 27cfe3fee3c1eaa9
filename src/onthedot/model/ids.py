"""Identities: UUIDv7, so that new rows lie together in an index and sort by when they were made."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_STEP_BITS = 32
_MOMENT = re.compile(r"[0-9a-f]{12}")
_LAST_MS = (1 << 48) - 1
"""That an id can tell: in the year 10889."""


class _Series:
    """The ids of one process: of one millisecond each is larger than the one before, so a batch fills whole pages."""

    def __init__(self, seed: int | bytes) -> None:
        # Unique, not secret: a generator that the system seeds once costs a twentieth of asking it each time.
        self._generator = random.Random(seed)
        self._lock = Lock()
        self._ms = -1
        self._bits = 0

    def next_bits(self, now_ms: int) -> int:
        with self._lock:
            if now_ms == self._ms:
                self._bits += 1 + self._generator.getrandbits(_STEP_BITS)
            else:
                self._ms = now_ms
                self._bits = self._generator.getrandbits(73)  # one bit less than there is room for: it cannot run over
            return self._bits


def _begin_anew() -> None:
    global _series  # noqa: PLW0603  (a forked child has its own)
    _series = _Series(os.urandom(32))


_series = _Series(os.urandom(32))
os.register_at_fork(after_in_child=_begin_anew)


def new_id(now_ms: int) -> str:
    """A UUIDv7 (RFC 9562) of this millisecond, larger than the last one of this process and millisecond."""
    bits = _series.next_bits(now_ms)
    text = f"{now_ms & 0xFFFFFFFFFFFF:012x}{0x7000 | bits >> 62:04x}{1 << 63 | bits & 0x3FFFFFFFFFFFFFFF:016x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def least_id(ms: int) -> str:
    """No id that is made in this millisecond or later is less; every one that was made before is."""
    ms = min(ms, _LAST_MS)
    return f"{ms >> 16 & 0xFFFFFFFF:08x}-{ms & 0xFFFF:04x}-7000-8000-000000000000"


def made_ms(made_id: str) -> int | None:
    """The millisecond that an id of `new_id` was made in; None of an id that is none of those."""
    digits = made_id[:8] + made_id[9:13]
    return int(digits, 16) if len(made_id) == 36 and _MOMENT.fullmatch(digits) else None


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Inside, this process makes the same ids in every replay: for simulations, never beside a real node."""
    global _series  # noqa: PLW0603  (the one series of this process)
    held, _series = _series, _Series(seed)
    try:
        yield
    finally:
        _series = held
