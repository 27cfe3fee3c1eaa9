"""A dashboard that is really served, on a real SQLite store, and people who look at it with a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, sync_playwright
from tests.patience import LONGEST_S
from tests.servers.base import unavailable

from onthedot import App
from onthedot.model.node import Node
from onthedot.model.token import Role
from onthedot.web.security import COOKIE
from onthedot.web.serving import Place, WebServer
from onthedot.web.watching import Watcher

WIDE, NARROW = 1280, 390
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
LEASE_MS = 3_600_000
"""Nodes that live in the store only must outlast a test."""
POOLS = {"fast": 32, "slow": 16, "loop": 32, "process": 2}
NAUGHTY = "\"><script>alert('1')</script> 100% ☃ 🕰 {{ 7 * 7 }} DROP TABLE".replace("/", "")
"""A name that is shown as it is written, wherever it is shown."""

# Nothing leaves the machine, and root may run it.
_ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's browser; skips loudly where there is none. While it is open no event loop can be run in this thread."""
    program = shutil.which("chromium")
    if program is None:
        unavailable("no chromium here: apt-get install chromium (scripts/test does)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, headless=True, args=_ARGUMENTS)
        yield browser
        browser.close()


@dataclass(frozen=True, slots=True)
class Site:
    """What is served, and where."""

    app: App
    address: str
    watcher: Watcher

    def token(self, role: Role | str) -> str:
        """The text of a new token of that role."""
        return self.app.tokens.create(f"the-{role}", str(role)).text

    def session(self, role: Role | str) -> str:
        """The cookie of somebody who has signed in with a token of that role."""
        found = [each for each in self.app.tokens.list() if each.name == f"the-{role}"]
        token = found[0] if found else self.app.tokens.create(f"the-{role}", str(role)).token
        return self.app.tokens.sign_in(token)[0]

    def node(self, name: str = "ams-1", **fields: object) -> Node:
        """One that lives in the store only, and has the tasks of the app."""
        told: dict[str, object] = {"pools": POOLS, "capacity": 32, "lease_ms": LEASE_MS, **fields}
        node = Node(f"id-{name}", name, tasks=self.app.tasks.names(), **told)  # type: ignore[arg-type]
        return self.app.open_store().join(node, self.app.tasks.infos())


def sqlite_in(folder: Path) -> str:
    """The URL of a store there."""
    return f"sqlite:///{folder}/jobs.db"


@contextmanager
def served(url: str, *, roles: bool = True) -> Iterator[Site]:
    """With a token of each role, so that everybody has to sign in; without, whoever is here may do everything."""
    app = App(url)

    @app.task
    def report(to: str, copies: int = 1) -> str:
        """Sends a report."""
        return f"{copies} sent to {to}"

    app.open_store(create=True)
    server = WebServer(app, Place(port=0))
    with server.beside():
        site = Site(app, server.address, server._web.state.watcher)
        for role in Role if roles else ():
            site.token(role)
        yield site
    app.close()


@dataclass  # no slots: playwright writes into it
class Visit:
    """One browser window, and what went wrong in it."""

    site: Site
    context: BrowserContext
    page: Page
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """Go to a page of ours."""
        self.page.goto(self.site.address + path)
        return self.page

    def hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(f"{message.type}: {message.text}")

    def see(self, request: Request) -> None:
        if not request.url.startswith(("data:", f"{self.site.address}/")):
            self.foreign.append(request.url)

    def check(self, *, but: str | None = None) -> None:
        """Nothing was complained about (but for what is expected), and nothing asked of another host."""
        assert [each for each in self.errors if but is None or but not in each] == []
        assert self.foreign == []


@contextmanager
def visiting(
    browser: Browser,
    site: Site,
    role: Role | str | None = None,
    *,
    width: int = WIDE,
    theme: Theme = "light",
    scripts: bool = True,
    zone: str = "Europe/Berlin",
) -> Iterator[Visit]:
    """As somebody of that role who has signed in; None has not."""
    context = browser.new_context(
        viewport={"width": width, "height": 844},
        color_scheme=theme,
        java_script_enabled=scripts,
        timezone_id=zone,
    )
    context.set_default_timeout(LONGEST_S * 1000)
    if role is not None:
        host = urlsplit(site.address).hostname or ""
        context.add_cookies([{"name": COOKIE, "value": site.session(role), "domain": host, "path": "/"}])
    visit = Visit(site, context, context.new_page())
    visit.page.on("console", visit.hear)
    visit.page.on("pageerror", lambda error: visit.errors.append(str(error)))
    visit.page.on("request", visit.see)
    try:
        yield visit
    finally:
        context.close()


def each_look(page: Page) -> Iterator[str]:
    """The page light and dark, wide and narrow, one after the other."""
    for theme in THEMES:
        for width in (WIDE, NARROW):
            page.emulate_media(color_scheme=theme)
            page.set_viewport_size({"width": width, "height": 844})
            yield f"{theme}, {width}"


_HIDING = frozenset({"bgGradient", "bgImage", "pseudoContent"})


def is_wider_than_the_window(page: Page) -> bool:
    """Whether one would have to scroll sideways."""
    wide: bool = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return wide


def barriers(page: Page) -> str:
    """What axe finds in the way of people; empty if nothing is. A ground that hides contrasts from it counts too."""
    found = Axe().run(page)
    told = "" if found.violations_count == 0 else str(found.generate_report())
    unsure = [each for each in found.response["incomplete"] if each["id"] == "color-contrast"]
    nodes = [node for each in unsure for node in each["nodes"] if node["any"][0]["data"]["messageKey"] in _HIDING]
    return told + "".join(f"is the contrast enough? {node['html']}\n" for node in nodes)
