"""A node is killed while somebody looks at its run: the takeover comes in sight by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.site import Site, visiting
from tests.cluster.cluster import Cluster

from onthedot.web.serving import Place, WebServer

SLOW = """
@app.task
def slow(ctx: Context) -> str:
    ctx.progress(0.5, "half way")
    note(f"entered {ctx.attempt}")
    if ctx.attempt == 1:
        time.sleep(600)
    return "done"
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path, f"sqlite:///{tmp_path}/jobs.db", SLOW)
    yield made
    made.close()


def test_a_killed_node_and_who_took_over_appear_among_the_attempts(browser: Browser, cluster: Cluster) -> None:
    run = cluster.app.enqueue("slow", unchecked=True)
    server = WebServer(cluster.app, Place(port=0))
    with server.beside(), visiting(browser, Site(cluster.app, server.address, server._web.state.watcher)) as visit:
        page = visit.open(f"/runs/{run.id}")
        expect(page.locator("h1 .chip")).to_contain_text("waiting")
        doomed = cluster.start()
        expect(page.locator("h1 .chip")).to_contain_text("running")
        expect(page.locator(".progress")).to_contain_text("half way")
        cluster.until(lambda: len(cluster.notes()) == 1)
        doomed.kill()
        cluster.start()
        told = re.compile(r"attempt 1 on same name.*: the node died; attempt 2 on same name.*: succeeded")
        expect(page.locator("svg.attempts").first).to_have_attribute("aria-label", told)
        expect(page.locator(".story")).to_contain_text("Its first node died, and the second succeeded after")
        expect(page.locator("svg.attempts .lease")).to_have_count(2)  # one for each width of screen
        expect(page.locator(".log .sep")).to_have_text([re.compile("attempt 1 on"), re.compile("attempt 2 on")])
        visit.check()
