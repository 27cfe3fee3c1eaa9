"""The time zone that this machine lives in, which is the zone that its cron goes by."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from onthedot.errors import TriggerError
from onthedot.triggers.zones import get_zone


def machine_zone(environment: Mapping[str, str] | None = None, root: Path = Path("/")) -> str:
    """Its name: from TZ, else /etc/timezone, else the link /etc/localtime, else UTC.

    A TZ that is set counts even if it cannot be honoured, as it does for cron itself: that is a `TriggerError`.
    """
    settings = os.environ if environment is None else environment
    if "TZ" in settings:
        return _from_variable(settings["TZ"])
    for name in (_from_text(root / "etc/timezone"), _from_link(root / "etc/localtime")):
        if name and _is_zone(name):
            return name
    return "UTC"


def _from_variable(text: str) -> str:
    """Empty means UTC; a colon or a path before the name are allowed, as in the C library."""
    name = _inside_zoneinfo(text.strip().removeprefix(":"))
    if not name:
        return "UTC"
    if not _is_zone(name):
        raise TriggerError(f"TZ={text!r} in the environment names no time zone", hint="write TZ=Europe/Berlin")
    return name


def _from_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _from_link(path: Path) -> str:
    try:
        return _inside_zoneinfo(str(path.readlink()))
    except OSError:
        return ""


def _inside_zoneinfo(path: str) -> str:
    name = path.rpartition("zoneinfo/")[2]
    return name.removeprefix("posix/").removeprefix("right/")


def _is_zone(name: str) -> bool:
    try:
        get_zone(name)
    except TriggerError:
        return False
    return True
