"""What `manage.py check` says of the setting `ONTHEDOT`, before anything uses it."""

from __future__ import annotations

from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, Error
from django.db import connections

from onthedot.django.conf import read_settings
from onthedot.django.databases import vendor_of
from onthedot.errors import OnthedotError


def check_settings(**_more: Any) -> list[CheckMessage]:
    """One line for each thing that is wrong."""
    try:
        site = read_settings()
        return [] if site.alias is None else _check_database(site.alias)
    except OnthedotError as error:
        return [Error(str(error), id="onthedot.E001")]


def _check_database(alias: str) -> list[CheckMessage]:
    options = connections[alias].settings_dict.get("OPTIONS") or {}
    if vendor_of(alias) != "sqlite" or options.get("transaction_mode") in ("IMMEDIATE", "EXCLUSIVE"):
        return []
    return [
        checks.Warning(
            f"DATABASES[{alias!r}] is SQLite: a transaction that reads first, and in which something is enqueued, fails"
            " where a node writes meanwhile.",
            hint=f"DATABASES[{alias!r}]['OPTIONS'] = {{'transaction_mode': 'IMMEDIATE'}}",
            id="onthedot.W001",
        )
    ]
