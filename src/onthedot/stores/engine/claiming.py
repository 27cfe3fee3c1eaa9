"""Keys that stand for a value: who came first?"""

from __future__ import annotations

from onthedot.model.key import Key
from onthedot.stores.retention import KEYS_KEPT_MS
from onthedot.stores.transaction import Transaction


def claim_key(tx: Transaction, key: str, value: str) -> str:
    """The value of whoever claimed it first. Two at once clash when they write it, and the second reads it again.

    The dot at the end makes blanks before it count: MariaDB takes no notice of those at the end of a text.
    """
    name = f"c:{key}."
    held = tx.keys([name]).get(name)
    if held is not None:
        return held.state or ""
    tx.save_keys([Key(name, "", tx.now_ms + KEYS_KEPT_MS, value)])
    return value
