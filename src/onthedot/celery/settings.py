"""The settings of onthedot in the configuration of a Celery app."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from celery import Celery
from onthedot.app.options import checked
from onthedot.app.remedies import did_you_mean
from onthedot.errors import SettingsError
from onthedot.settings import load_settings
from onthedot.storable import brief

_PREFIX = "onthedot_"
_KNOWN = ("onthedot_store", "onthedot_on_doubt", "onthedot_defaults")
_DELIVERY = {"resend": "at_least_once", "drop": "at_most_once"}


@dataclass(frozen=True, slots=True)
class BeatSettings:
    """What is said there, checked."""

    store: str
    delivery: str = "at_least_once"
    """Where a beat died after a send and nobody knows whether the broker has it: sent again, or given up as lost."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Options of all schedules that come from the app."""


def settings_of(celery_app: Celery) -> BeatSettings:
    """The settings of the app; `SettingsError` for one that is not known, with the nearest."""
    conf = celery_app.conf
    for name in conf:
        if name.lower().startswith(_PREFIX) and name.lower() not in _KNOWN:
            raise SettingsError(f"{name} is no setting of onthedot; {did_you_mean(name.lower(), _KNOWN)}")
    return BeatSettings(
        load_settings({"store": _text("onthedot_store", conf.get("onthedot_store"))}).store,
        _delivery(conf.get("onthedot_on_doubt") or "resend"),
        _defaults(conf.get("onthedot_defaults") or {}),
    )


def _text(name: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise SettingsError(f"{name}: {brief(value)} is no URL of a store; write 'postgresql://user@host/database'")
    return value


def _delivery(word: Any) -> str:
    if word not in _DELIVERY:
        raise SettingsError(f"onthedot_on_doubt: {brief(word)} is not known; {did_you_mean(str(word), _DELIVERY)}")
    return _DELIVERY[word]


def _defaults(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise SettingsError(f"onthedot_defaults: {brief(given)} does not map options to values: {{'misfire': 'skip'}}")
    return checked(given, "onthedot_defaults")
