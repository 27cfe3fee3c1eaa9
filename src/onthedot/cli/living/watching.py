"""The view of a store that is not ours alone: read once a second through what programs call, so over HTTP too."""

from __future__ import annotations

import time
from dataclasses import replace

from rich.live import Live

from onthedot.app.app import App
from onthedot.cli.living.facts import NEWEST, Facts, coming_moments, part_done
from onthedot.cli.living.keys import ending_on_signals, key_by_key, next_keys
from onthedot.cli.living.view import Looks, picture, too_small
from onthedot.cli.overrides import past_moment_ms
from onthedot.cli.screen import Screen
from onthedot.errors import OnthedotError
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.moments import from_ms
from onthedot.stores.open import mask_url
from onthedot.triggers.codec import decode

_READ_S, _FRAME_S = 1.0, 0.2
_LEAST = 100, 30
_MOST_SCHEDULES, _MOST_FOLLOWED = 1000, 12
_KEYS = (("↑↓", "choose"), ("e", "explain"), ("p", "pause"), ("t", "trigger"), ("q", "quit"))


def watch_store(app: App, seconds: float | None) -> None:
    """Until q or Ctrl-C, or so long."""
    end = None if seconds is None else time.monotonic() + seconds
    screen, looks = Screen(), Looks(where=mask_url(app.url), keys=_KEYS)
    facts = read_facts(app)
    read_at = time.monotonic()
    with ending_on_signals(), key_by_key(), Live(console=screen, screen=True, auto_refresh=False) as live:
        while end is None or time.monotonic() < end:
            if time.monotonic() - read_at >= _READ_S:
                facts, looks = _read_again(app, facts, looks)
                read_at = time.monotonic()
            width, height = screen.size
            fits = width >= _LEAST[0] and height >= _LEAST[1]
            shown, seen = in_window(facts, looks, height // 2)
            live.update(picture(shown, seen, height) if fits else too_small(width, height), refresh=True)
            for key in next_keys(_FRAME_S):
                if key in ("q", "Q"):
                    return
                looks = act(app, facts, looks, key)


def read_facts(app: App) -> Facts:
    """What there is now; the schedules that come next first."""
    now_ms = app.now_ms()
    schedules = tuple(app.schedules.list(sort="next", limit=_MOST_SCHEDULES))
    runs = tuple(app.runs.list(limit=NEWEST))
    running = [run for run in runs if run.state is State.RUNNING and not run.is_broadcast]
    return Facts(
        now_ms,
        schedules,
        runs,
        tuple(moment for each in schedules for moment in coming_moments(each, now_ms)),
        tuple(app.nodes.list()),
        tuple((run.id, part_done(app.runs.logs(run.id))) for run in running[:_MOST_FOLLOWED]),
    )


def _read_again(app: App, before: Facts, looks: Looks) -> tuple[Facts, Looks]:
    """A store that does not answer is said, and the last picture stays."""
    try:
        facts = read_facts(app)
    except OnthedotError as error:
        return before, replace(looks, said=str(error))
    return facts, _same_choice(before, facts, looks)


def _same_choice(before: Facts, facts: Facts, looks: Looks) -> Looks:
    """The order changes as time goes on; what was chosen stays chosen."""
    chosen = chosen_of(before, looks)
    names = [each.name for each in facts.schedules]
    return replace(looks, chosen=names.index(chosen.name)) if chosen is not None and chosen.name in names else looks


def chosen_of(facts: Facts, looks: Looks) -> Schedule | None:
    """The chosen schedule, if there is any."""
    return facts.schedules[min(looks.chosen, len(facts.schedules) - 1)] if facts.schedules else None


def in_window(facts: Facts, looks: Looks, lines: int) -> tuple[Facts, Looks]:
    """As many schedules as fit, with the chosen one among them."""
    lines = max(lines, 1)
    first = max(0, min(looks.chosen - lines // 2, len(facts.schedules) - lines))
    shown = facts.schedules[first : first + lines]
    more = len(facts.schedules) - len(shown)
    return replace(facts, schedules=shown, hidden=more), replace(looks, chosen=looks.chosen - first)


def act(app: App, facts: Facts, looks: Looks, key: str) -> Looks:
    """Do what the key means."""
    chosen = chosen_of(facts, looks)
    if chosen is None:
        return looks
    try:
        match key:
            case "up" | "k":
                return replace(looks, chosen=(looks.chosen - 1) % len(facts.schedules))
            case "down" | "j":
                return replace(looks, chosen=(looks.chosen + 1) % len(facts.schedules))
            case "e":
                return replace(looks, said=_explained(app, chosen, facts.now_ms))
            case "p" if chosen.enabled:
                app.schedules.pause(chosen.name)
                return replace(looks, said=f"paused {chosen.name}")
            case "p":
                app.schedules.resume(chosen.name)
                return replace(looks, said=f"resumed {chosen.name}")
            case "t":
                run = app.schedules.trigger(chosen.name)
                return replace(looks, said=f"triggered {chosen.name}: run {run.id}")
            case _:
                return looks
    except OnthedotError as error:
        return replace(looks, said=str(error))


def _explained(app: App, schedule: Schedule, now_ms: int) -> str:
    at_ms = past_moment_ms(None, decode(schedule.trigger), now_ms)
    return app.schedules.explain(schedule.name, from_ms(at_ms)).text
