"""A number drawn from a key: the same on every machine, in every process, for ever."""

from __future__ import annotations


def spread_over(key: str, purpose: str, count: int) -> int:
    """A number in [0, count) that depends only on the key and the purpose, spread evenly over many keys."""
    from hashlib import blake2b

    digest = blake2b(f"{purpose}\0{key}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) % count
