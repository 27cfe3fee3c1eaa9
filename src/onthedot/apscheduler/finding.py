"""A scheduler of APScheduler by its name, as programs name it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from onthedot.errors import SettingsError
from onthedot.storable import brief


def find_scheduler(place: str) -> Any:
    """What stands at module:attribute; its module is imported, and must not start the scheduler for ever by that."""
    module, _, attribute = place.partition(":")
    if not attribute:
        raise SettingsError(f"{place}: name the scheduler in it, as {module}:scheduler")
    try:
        found = getattr(import_module(module), attribute)
    except AttributeError:
        raise SettingsError(f"{place}: {module} has no {attribute}") from None
    except ImportError as error:
        raise SettingsError(f"{place} cannot be imported: {error}") from None
    except Exception as error:  # whatever its module does when it is imported
        raise SettingsError(f"{place} could not be imported: {type(error).__name__}: {error}") from None
    if not is_scheduler(found):
        raise SettingsError(f"{place} is {brief(found)}, not a scheduler of APScheduler 3")
    return found


def is_scheduler(found: object) -> bool:
    """Whether its jobs can be asked for."""
    return callable(getattr(found, "get_jobs", None)) and not isinstance(found, type)
