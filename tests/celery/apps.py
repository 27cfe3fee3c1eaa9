"""Celery apps for the tests, each with a broker of its own."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import redis

from celery import Celery


def celery_app(broker: str = "memory://", **conf: Any) -> Celery:
    """An app that nobody else finds as the current one."""
    app = Celery("shop", broker=broker, set_as_current=False)
    app.conf.update({"result_expires": None, "onthedot_store": "memory://", **conf})
    return app


def sent(url: str, queue: str = "celery") -> list[dict[str, Any]]:
    """All messages in a queue of this Redis, the oldest first."""
    with closing(redis.Redis.from_url(url)) as client:
        return [json.loads(each) for each in reversed(client.lrange(queue, 0, -1))]
