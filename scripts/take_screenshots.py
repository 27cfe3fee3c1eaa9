"""Runs the example for a while, kills one of its nodes, and takes pictures of its pages. See scripts/screenshots."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--hide-scrollbars"]
ALIVE_S, AFTER_DEATH_S = 75, 9
SIZE: ViewportSize = {"width": 1280, "height": 900}
PICTURES = {"overview": "/", "schedule": "/schedules/serial", "nodes": "/nodes"}


def main() -> None:
    """Some pages in light, the first one in dark too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("docs/pictures"))
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-u", "-m", "onthedot", "demo", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as demo:
        assert demo.stdout is not None
        try:
            _take(demo.stdout.readline().split()[-1], folder)
        finally:
            demo.terminate()


def _take(address: str, folder: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        print(f"letting the example at {address} run for {ALIVE_S} s", file=sys.stderr)  # noqa: T201
        time.sleep(ALIVE_S)
        page = browser.new_page(base_url=address)
        page.goto("/nodes")
        page.get_by_role("button", name="Kill").first.click()
        time.sleep(AFTER_DEATH_S)
        for name, path in PICTURES.items():
            _shoot(browser, address, path, folder / f"{name}.png")
        _shoot(browser, address, "/", folder / "overview-dark.png", dark=True)
        _shoot(browser, address, _run_with_attempts(page), folder / "run.png")
        browser.close()


def _run_with_attempts(page: Page) -> str:
    """One that its first node could not end."""
    page.goto("/runs?schedule=flaky&state=succeeded")
    return page.locator("a[href^='/runs/0']").first.get_attribute("href") or "/runs"


def _shoot(browser: Browser, address: str, path: str, file: Path, *, dark: bool = False) -> None:
    context = browser.new_context(base_url=address, viewport=SIZE, color_scheme="dark" if dark else "light")
    page = context.new_page()
    page.goto(path)
    page.wait_for_timeout(1500)
    page.screenshot(path=file, full_page=True)
    context.close()


if __name__ == "__main__":
    main()
