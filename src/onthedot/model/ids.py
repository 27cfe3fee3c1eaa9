"""Identities: UUIDv7, so that new rows lie together in an index and sort by when they were made."""

from __future__ import annotations

import os


def new_id(now_ms: int) -> str:
    """A UUIDv7 (RFC 9562) of this millisecond, with 74 random bits."""
    random = int.from_bytes(os.urandom(10))
    value = (now_ms & (1 << 48) - 1) << 80 | 7 << 76 | (random >> 62 & 0xFFF) << 64 | 2 << 62 | random & (1 << 62) - 1
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
