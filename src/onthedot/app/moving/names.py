"""What a schedule of another scheduler is called here."""

from __future__ import annotations

import hashlib
import unicodedata

from onthedot.app.names import name_problem
from onthedot.storable import MOST_CHARACTERS


def schedule_name(key: str) -> str:
    """The name that it has there where it can be a name; else one that is as near as can be, and as unique."""
    if name_problem(key) is None:
        return key
    plain = "".join(letter if letter.isprintable() and letter != "/" else "-" for letter in key)
    short = unicodedata.normalize("NFC", plain).strip()[: MOST_CHARACTERS - 20]
    mark = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{short}~{mark}"
