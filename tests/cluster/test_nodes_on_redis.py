"""What holds for nodes on one SQLite file holds for nodes on one Redis."""

from __future__ import annotations

import pytest
from tests.cluster.test_nodes_on_one_file import *  # noqa: F403  (the tests themselves)
from tests.servers.redis import redis_server, redis_url

__all__ = ["redis_server", "redis_url"]


@pytest.fixture  # type: ignore[no-redef]
def url(redis_url: str) -> str:
    return redis_url
