"""Shows the living example: full screen in a terminal, as lines anywhere else."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.live import Live
from rich.text import Text

from onthedot.app.app import App
from onthedot.cli.living.crew import Crew
from onthedot.cli.living.facts import Facts, read
from onthedot.cli.living.jobs import demo_app
from onthedot.cli.living.keys import ending_on_signals, key_by_key, next_keys
from onthedot.cli.living.page import show_page
from onthedot.cli.living.view import STYLES, Looks, picture, too_small
from onthedot.cli.screen import Screen
from onthedot.errors import OnthedotError

NODES = 2
_FRAME_S = 0.1
_LEAST = 100, 30


def show_living(seconds: float | None, *, on_page: bool = False, port: int | None = None) -> None:
    """Run the example until q or Ctrl-C, or for so many seconds; then nothing of it is left.

    In the terminal, or on a page of the dashboard.
    """
    with ending_on_signals(), TemporaryDirectory(prefix="onthedot-demo-") as folder:
        app = demo_app(Path(folder))
        app.open_store(create=True)
        app.sync()
        end = None if seconds is None else time.monotonic() + seconds
        try:
            with Crew(Path(folder), NODES) as crew:
                if on_page:
                    show_page(app, crew, end, port)
                elif sys.stdin.isatty() and sys.stdout.isatty():
                    _show_screen(app, crew, end)
                else:
                    _show_lines(app, end)
        except KeyboardInterrupt:
            pass
        finally:
            app.close()
    Screen().print(Text("the demo is over: its nodes are stopped, its folder is removed", "dim"))


# full screen


def _show_screen(app: App, crew: Crew, end: float | None) -> None:
    screen, looks = Screen(), Looks()
    with key_by_key(), Live(console=screen, screen=True, auto_refresh=False) as live:
        while end is None or time.monotonic() < end:
            facts = read(app)
            looks = replace(looks, lives=tuple(crew.lives(number) for number in crew.numbers))
            width, height = screen.size
            fits = width >= _LEAST[0] and height >= _LEAST[1]
            live.update(picture(facts, looks, height) if fits else too_small(width, height), refresh=True)
            for key in next_keys(_FRAME_S):
                if key in ("q", "Q"):
                    return
                looks = _act(app, crew, facts, looks, key)


def _act(app: App, crew: Crew, facts: Facts, looks: Looks, key: str) -> Looks:
    """Do what the key means."""
    if not facts.schedules:
        return looks
    chosen = facts.schedules[min(looks.chosen, len(facts.schedules) - 1)]
    try:
        match key:
            case "up" | "k":
                return replace(looks, chosen=(looks.chosen - 1) % len(facts.schedules))
            case "down" | "j":
                return replace(looks, chosen=(looks.chosen + 1) % len(facts.schedules))
            case "p" if chosen.enabled:
                app.schedules.pause(chosen.name)
                return replace(looks, said=f"paused {chosen.name}: its ticks are recorded as such; p again resumes it")
            case "p":
                app.schedules.resume(chosen.name)
                return replace(looks, said=f"resumed {chosen.name}")
            case "t":
                app.schedules.trigger(chosen.name)
                return replace(looks, said=f"triggered {chosen.name}: one run now, whatever its schedule says")
            case _ if key.isdecimal() and int(key) in crew.numbers:
                return replace(looks, said=crew.toggle(int(key)))
            case _:
                return looks
    except OnthedotError as error:
        return replace(looks, said=str(error))


# lines


def _show_lines(app: App, end: float | None) -> None:
    """One line for each run that ends, and a summary."""
    screen, shown = Screen(), set[str]()
    screen.print(
        Text("onthedot demo: a dozen schedules on one SQLite file, two nodes; in a terminal it fills the screen")
    )
    while end is None or time.monotonic() < end:
        facts = read(app)
        for run in reversed(facts.ended):
            if run.id not in shown:
                shown.add(run.id)
                late = "" if run.lateness_ms is None else f"{run.lateness_ms} ms late"
                name = f"{run.title:<12}"
                screen.print(Text.assemble(name, (f"{run.state:<10}", STYLES.get(run.state, "")), (late, "dim")))
        time.sleep(_FRAME_S * 2)
    facts = read(app)
    names = ", ".join(each.name for each in facts.schedules)
    screen.print(
        Text(f"{len(facts.ended)} runs ended, {len(facts.running)} run, {facts.left_out} ticks left out: {names}")
    )
