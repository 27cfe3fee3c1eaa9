"""Once: of a message that was sent twice, the one that began first is done, and the other is dropped."""

from __future__ import annotations

import os
from typing import Any

from celery.exceptions import Ignore
from celery.utils.log import get_logger

from celery import Celery, Task
from onthedot.celery.sending import ATTEMPT, GIVEN, RUN
from onthedot.celery.settings import settings_of
from onthedot.errors import StoreError
from onthedot.stores.base import Store
from onthedot.stores.open import open_store

_AGAIN_S = 5
_log = get_logger(__name__)

_stores: dict[tuple[int, str], Store] = {}
"""By process and URL: a worker's children open their own."""


class Once(Task):  # type: ignore[misc]  # Celery has no types
    """`@app.task(base=Once)`: a beat that died just after a send sends again, under the same id; only one of the two
    begins. What the broker delivers again, because a worker died or was too slow, does: it is the one that began.

    Workers need the setting `onthedot_store`. Messages of others than onthedot pass.
    """

    abstract = True

    def before_start(self, task_id: str, args: Any, kwargs: Any) -> None:
        """In the worker, before the task: claim the run for this attempt to send it."""
        run, sent = _header(self.request, RUN), str(_header(self.request, GIVEN) or _header(self.request, ATTEMPT))
        if run is not None and self._held(f"once {run} {task_id}", sent) != sent:
            raise Ignore
        super().before_start(task_id, args, kwargs)

    def _held(self, key: str, sent: str) -> str:
        """By whom; while the store is away the message is put back for some seconds, which is no retry."""
        try:
            return store_of(self.app).claim_key(key, sent)
        except StoreError as error:
            _log.error("onthedot: %s waits, and is tried again in %s s: %s", self.name, _AGAIN_S, error)
            later = self.signature_from_request(countdown=_AGAIN_S, retries=self.request.retries)
            later.apply_async()
            raise Ignore from None


def store_of(celery_app: Celery) -> Store:
    """The store of a Celery app, opened on first use in each process."""
    url = settings_of(celery_app).store
    where = os.getpid(), url
    if where not in _stores:
        _stores[where] = open_store(url, create=False)
    return _stores[where]


def _header(request: Any, name: str) -> Any:
    """Workers of all versions have it in one of two places; a retry of the task keeps it."""
    found = request.get(name)
    return found if found is not None else (request.headers or {}).get(name)
