"""What holds for nodes on one SQLite file holds for nodes on one MongoDB."""

from __future__ import annotations

import pytest
from tests.cluster.test_nodes_on_one_file import *  # noqa: F403  (the tests themselves)


@pytest.fixture  # type: ignore[no-redef]
def url(mongodb_new_url: str) -> str:
    return mongodb_new_url
