"""A browser for each module: while it is open, nothing else in this process can run an event loop."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.site import Site, chromium, served, sqlite_in
from tests.patience import LONGEST_S

expect.set_options(timeout=LONGEST_S * 1000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """With a token of each role."""
    with served(sqlite_in(tmp_path)) as site:
        yield site


@pytest.fixture
def open_site(tmp_path: Path) -> Iterator[Site]:
    """Without any token: whoever is on this machine may do everything."""
    with served(sqlite_in(tmp_path), roles=False) as site:
        yield site
