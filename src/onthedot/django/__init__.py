"""onthedot as a Django app: `INSTALLED_APPS += ["onthedot.django"]`, and `from onthedot.django import app`.

The app is made from the setting `ONTHEDOT` when it is first asked for, so that this may be imported from anywhere.
Where that is wrong, tasks and schedules can be declared all the same: `manage.py check` imports them, and then says
what it is.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onthedot.django.site_app import SiteApp

    app: SiteApp

__all__ = ["app"]

_making = Lock()


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _making:
        if "app" not in globals():
            from onthedot.django.site_app import SiteApp

            globals()["app"] = SiteApp.of_settings()
    return globals()["app"]
