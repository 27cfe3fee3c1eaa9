"""A trigger as it is typed: on the command line, or in a field of a form."""

from __future__ import annotations

import re
from typing import cast

from onthedot.errors import TriggerError
from onthedot.triggers import cron, every
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.every import Every
from onthedot.triggers.zones import Fold, Gap

_INTERVAL = re.compile(r"\s*every\s+(.*)", re.IGNORECASE)


def read_trigger(
    text: str, *, tz: str | None = None, gap: str | None = None, fold: str | None = None, key: str | None = None
) -> Cron | Every:
    """A cron text, "@every 90s" or "every 15m"."""
    trigger = _read(text, tz, gap, fold)
    return trigger if key is None else trigger.with_key(key)


def _read(text: str, tz: str | None, gap: str | None, fold: str | None) -> Cron | Every:
    interval = _INTERVAL.fullmatch(text)
    if interval is None:
        return cron(text, tz=tz, gap=cast(Gap | None, gap), fold=cast(Fold | None, fold))  # cron refuses other words
    if gap or fold:
        raise TriggerError("an interval follows real time: gap and fold have no meaning for it")
    return every(interval[1], tz=tz)
