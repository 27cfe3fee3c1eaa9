"""What holds for nodes on one SQLite file holds for nodes on one MongoDB."""

from __future__ import annotations

import pytest
from tests.cluster.test_nodes_on_one_file import *  # noqa: F403  (the tests themselves)


@pytest.fixture
def url(mongodb_url: str) -> str:
    return mongodb_url
