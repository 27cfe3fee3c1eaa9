"""Identities: UUIDv7, so that new rows lie together in an index and sort by when they were made."""

from __future__ import annotations

import os
import random

# Ids must be unique, not secret: a generator that the system seeds once costs a twentieth of asking it each time.
_generator = random.Random(os.urandom(32))
os.register_at_fork(after_in_child=lambda: _generator.seed(os.urandom(32)))


def new_id(now_ms: int) -> str:
    """A UUIDv7 (RFC 9562) of this millisecond, with 74 random bits."""
    bits = _generator.getrandbits(74)
    value = (now_ms & (1 << 48) - 1) << 80 | 7 << 76 | (bits >> 62) << 64 | 2 << 62 | bits & (1 << 62) - 1
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
