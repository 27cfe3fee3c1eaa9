"""The installed app: it imports the modules that declare schedules, and makes its tables with those of the project."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.core.checks import register
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules

from onthedot.errors import SettingsError


class OnthedotConfig(AppConfig):
    """`onthedot.django` in `INSTALLED_APPS`."""

    name = "onthedot.django"
    label = "onthedot"
    verbose_name = "onthedot"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Starts nothing and asks no database: it is called for every command, and twice by `runserver`."""
        from onthedot.django.checks import check_settings
        from onthedot.django.conf import read_settings
        from onthedot.django.scheduled_tasks import has_our_backend

        register(check_settings, "onthedot")
        post_migrate.connect(make_tables, sender=self, dispatch_uid="onthedot.django")
        try:
            modules = read_settings().autodiscover
        except SettingsError:
            return  # the system check says it, in one line
        wanted = dict.fromkeys([*modules, *(["tasks"] if has_our_backend() else [])])
        if wanted:
            autodiscover_modules(*wanted)


def make_tables(*, using: str, **_more: Any) -> None:
    """With `migrate`, and so in test databases too: there are no models, and no router is asked."""
    from onthedot.django.conf import read_settings
    from onthedot.django.store import SiteStore

    if read_settings().alias == using:
        SiteStore(using).make_tables()
