"""The setting `ONTHEDOT`, checked: a word that is not known gets one line, with the nearest that is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import connections

from onthedot.app.options import checked_for_runs
from onthedot.app.remedies import did_you_mean
from onthedot.errors import SettingsError
from onthedot.storable import brief

KEYS = ("STORE", "DEFAULTS", "AUTODISCOVER", "DASHBOARD")


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """What the project says of onthedot."""

    store: str = "default"
    """The alias of one of its databases, or a URL."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Policies of all runs."""
    autodiscover: tuple[str, ...] = ("jobs",)
    """The modules that are imported from each installed app."""
    dashboard: str = ""
    """Where the dashboard is, for a link to it; empty where there is none."""

    @property
    def alias(self) -> str | None:
        """The database of the project that is the store; None where that is a URL."""
        return None if "://" in self.store else self.store


def read_settings() -> SiteSettings:
    """`SettingsError` in one line for whatever is wrong with them."""
    given = getattr(settings, "ONTHEDOT", {})
    if not isinstance(given, Mapping):
        raise SettingsError(f"ONTHEDOT: write a dict, {{'STORE': 'default'}}, not {brief(given)}")
    for key in given:
        if key not in KEYS:
            raise SettingsError(f"ONTHEDOT: no key {key!r}; {_nearest(str(key))}")
    return SiteSettings(
        store=_store(given.get("STORE") or os.environ.get("ONTHEDOT_STORE") or "default"),
        defaults=_defaults(given.get("DEFAULTS", {})),
        autodiscover=_modules(given.get("AUTODISCOVER", "jobs")),
        dashboard=_text("DASHBOARD", given.get("DASHBOARD") or ""),
    )


def _nearest(key: str) -> str:
    found = did_you_mean(key, [each.lower() for each in KEYS])
    return found.upper().replace("DID YOU MEAN", "did you mean").replace("THERE ARE", "there are").replace("AND", "and")


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise SettingsError(f"ONTHEDOT: {key}: {brief(value)} is no text")
    return value


def _store(value: object) -> str:
    store = _text("STORE", value)
    if "://" not in store and store not in connections.settings:
        known = did_you_mean(store, connections.settings)
        stop = "" if known.endswith("?") else "."
        raise SettingsError(f"ONTHEDOT: STORE: DATABASES has no {store!r}; {known}{stop} Or give the URL of a store")
    return store


def _defaults(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise SettingsError(f"ONTHEDOT: DEFAULTS: write a dict of policies, {{'retries': 3}}, not {brief(value)}")
    return checked_for_runs(value, "ONTHEDOT: DEFAULTS")


def _modules(value: object) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else None
    if value is None or value == "":
        return ()
    if names is None or not all(isinstance(each, str) and each.isidentifier() for each in names):
        raise SettingsError(
            f"ONTHEDOT: AUTODISCOVER: {brief(value)} names no module of an app; write 'jobs', or a list of such names"
        )
    return names
