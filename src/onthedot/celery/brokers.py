"""What the broker of a Celery app cannot promise: told by the labels of a beat's node, for `onthedot doctor`."""

from __future__ import annotations

from celery import Celery
from onthedot.errors import SettingsError
from onthedot.model.node import NOTE_LABEL, WARNING_LABEL
from onthedot.stores.open import mask_url

_WRONG = (KeyError, ImportError, ValueError, AttributeError)
"""What Celery says to a URL of a broker that means nothing."""
_AMQP = frozenset({"amqp", "amqps", "pyamqp", "librabbitmq"})
_WARNINGS = {
    "memory": "what is sent to a broker in memory stays in the beat: no worker sees it; name a real one in broker_url",
    "filesystem": "the filesystem transport is for one machine and for trying things out; take redis or amqp for more",
}
_UNCONFIRMED = (
    "amqp does not say whether it has taken a message; set broker_transport_options = {'confirm_publish': True}"
)
_AGAIN = "redis delivers again what no worker has acknowledged within visibility_timeout (1 h unless set)"
_NOTES = {
    "redis": _AGAIN,
    "rediss": _AGAIN,
    "sentinel": _AGAIN,
    "sqs": "a standard queue of SQS may deliver a message twice; a task that must not run twice says so itself",
}


def labels_of(celery_app: Celery) -> dict[str, str]:
    """The labels of a node that sends by this app's broker; `SettingsError` where nobody knows such a broker."""
    name = transport_of(celery_app)
    warning, note = _WARNINGS.get(name), _NOTES.get(name)
    if name in _AMQP and not (celery_app.conf.broker_transport_options or {}).get("confirm_publish"):
        warning = _UNCONFIRMED
    told = {f"{WARNING_LABEL}celery": warning, f"{NOTE_LABEL}celery": note}
    return {label: text for label, text in told.items() if text is not None}


def transport_of(celery_app: Celery) -> str:
    """Its name; made, but not connected: a broker that is away now may come. `SettingsError` where nobody knows it."""
    try:
        connection = celery_app.connection_for_write()
        connection.transport  # noqa: B018 - the class is looked for when it is asked for
    except _WRONG as error:
        said = error.args[0] if error.args else type(error).__name__
        raise SettingsError(f"broker_url {_named(celery_app)}: {said}; write it like redis://host:6379/0") from None
    return str(connection.transport_cls)


def broker_of(celery_app: Celery) -> str:
    """What people call it, without its password."""
    try:
        return f"the broker {celery_app.connection_for_write().as_uri()}"
    except _WRONG:
        return f"the broker {_named(celery_app)}"


def _named(celery_app: Celery) -> str:
    return mask_url(str(celery_app.conf.broker_write_url or celery_app.conf.broker_url))
