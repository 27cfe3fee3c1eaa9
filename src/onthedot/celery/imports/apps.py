"""A Celery app by its name, as `celery -A` takes it."""

from __future__ import annotations

import sys
from types import ModuleType

from celery.app.utils import find_app

from celery import Celery
from onthedot.errors import SettingsError
from onthedot.storable import brief


def find_celery_app(place: str) -> tuple[Celery, str]:
    """The app that is named by its module, or by module:attribute; and where it stands, as module:attribute."""
    try:
        found = find_app(place)
    except (ImportError, AttributeError) as error:
        module, _, attribute = place.partition(":")
        said = f"{module} has no {attribute!r}" if attribute and module in sys.modules else str(error)
        raise SettingsError(f"{place}: no Celery app was found there: {said}") from None
    except Exception as error:  # whatever its module does when it is imported
        raise SettingsError(f"{place} could not be imported: {type(error).__name__}: {error}") from None
    if isinstance(found, ModuleType) or not isinstance(found, Celery):
        raise SettingsError(f"{place} is {brief(found)}, not a Celery app; write it like proj.celery:app")
    found.loader.import_default_modules()
    found.finalize()
    return found, _where(found, place)


def _where(celery_app: Celery, place: str) -> str:
    """The attribute that it stands at: in the module that was named, or in the one of its name inside of that."""
    if ":" in place:
        return place
    for module in (place, f"{place}.celery"):
        names = vars(sys.modules[module]).items() if module in sys.modules else ()
        attribute = next((name for name, value in names if value is celery_app), None)
        if attribute is not None:
            return f"{module}:{attribute}"
    return place
