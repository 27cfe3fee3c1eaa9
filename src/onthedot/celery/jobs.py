"""The app of a beat: an ordinary one, with the task that sends and the entries of Celery as its schedules."""

from __future__ import annotations

from dataclasses import replace

from celery import Celery
from onthedot.app.app import App
from onthedot.celery.brokers import labels_of
from onthedot.celery.entries import moves_of
from onthedot.celery.sending import sender
from onthedot.celery.settings import settings_of
from onthedot.errors import SettingsError
from onthedot.node.settings import NodeSettings
from onthedot.settings import load_settings


def jobs_of(celery_app: Celery) -> App:
    """Made without touching the store or the broker; `SettingsError` with all entries that cannot be moved."""
    settings = settings_of(celery_app)
    node = replace(NodeSettings.of(load_settings()), labels=labels_of(celery_app))
    app = App(settings.store, node=node)
    app.surface = "beat"
    send = sender(app, celery_app, delivery=settings.delivery)
    report = moves_of(celery_app, settings)
    if report.refused:
        raise SettingsError("; ".join(f"beat_schedule: {each}" for each in report.refused))
    for move in report.moves:
        app.schedule(move.trigger, name=move.name, args=move.args, **move.options)(send)
    return app
