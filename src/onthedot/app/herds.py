"""Warnings of minutes in which hundreds of schedules begin."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from onthedot.stores.base import Store
from onthedot.triggers.base import Trigger
from onthedot.triggers.herd import HERD, find_herds

_log = logging.getLogger("onthedot.schedules")


def warn_of_herds(store: Store, triggers: Mapping[str, Trigger]) -> None:
    """Log a warning for each herd among these schedules, which were put or declared together.

    Others in the store are not looked at: a pass over all of them for each put would cost more than it tells.
    `onthedot forecast` looks at a whole file.
    """
    if len(triggers) >= HERD:
        for herd in find_herds((each.with_key(name) for name, each in triggers.items()), store.now_ms()):
            _log.warning("%s", herd)
