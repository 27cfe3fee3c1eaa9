"""Sentences of `explain` and its kin on a page: their moments in the page's zone, their runs as links."""

from __future__ import annotations

import re
from datetime import tzinfo

from markupsafe import Markup

from onthedot.moments import floor_ms
from onthedot.web.dashboard.addresses import Addresses
from onthedot.web.dashboard.moments import told

_MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"
_RUN = r"(?<=run )[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"
_FOUND = re.compile(f"({_MOMENT}|{_RUN})")

_LENGTH = re.compile(r"(\d) (ms|s|min|h|d)\b")
"""How long something took is not torn apart at the end of a line."""


def prose(text: str, url: Addresses, now_ms: int, zone: tzinfo) -> Markup:
    """The text as HTML."""
    parts = _FOUND.split(_LENGTH.sub("\\1\u00a0\\2", text))  # every second one was found
    return Markup("").join(_found(each, url, now_ms, zone) if place % 2 else each for place, each in enumerate(parts))


def _found(text: str, url: Addresses, now_ms: int, zone: tzinfo) -> Markup:
    if text[4] == "-" and text.endswith("Z"):
        shown = told(floor_ms(text), now_ms, zone)
        return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(text, shown)
    return Markup('<a class="now mono" href="{}" title="{}">…{}</a>').format(url.run(text), text, text[-6:])
