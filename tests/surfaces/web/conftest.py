"""The real app on SQLite, with a token of each role."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.surfaces.web.client import Callers, Client

from onthedot import App
from onthedot.model.node import Node
from onthedot.model.token import Role


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = App(f"sqlite:///{tmp_path}/jobs.db")

    @app.task
    def report(to: str = "ann") -> str:
        return f"sent to {to}"

    app.open_store(create=True)
    yield app
    app.close()


@pytest.fixture
def callers(app: App) -> Callers:
    web = app.web()
    nobody = Client(web)
    texts = {role: app.tokens.create(f"the-{role}", role).text for role in Role}
    return Callers(web, nobody, *(nobody.with_token(texts[role]) for role in Role))


@pytest.fixture
def admin(callers: Callers) -> Client:
    return callers.admin


@pytest.fixture
def node(app: App) -> Node:
    """One that lives in the store only."""
    return app.open_store().join(Node("n1", "web"), app.tasks.infos())
