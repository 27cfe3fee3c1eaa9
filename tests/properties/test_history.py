"""Random histories of real nodes in virtual time, with people who act on them: the checker has nothing to say."""

from __future__ import annotations

import random
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from onthedot import App, Context, OnthedotError, cron, every
from onthedot.testing import World, simulate
from onthedot.testing.history import Journal, verify

SEEDS = 6
NAMES = [f"s{number}" for number in range(4)]
TRIGGERS = (every("7s"), every("13s"), every("1m"), cron("*/2 * * * *"))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_history_that_is_right_has_no_finding(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    journals: list[Journal] = []
    app = _app(dice, journals)
    with simulate(app, nodes=3, seed=seed, call=True, takes=dict.fromkeys(NAMES, _takes(dice))) as world:
        journals.append(Journal(tmp_path, world.clock))
        for _ in range(25):
            _act(world, dice)
        verdict = verify(
            world.store, journal=tmp_path, journalled=NAMES, slack_ms=0, clock=world.clock, explained=20, page=15
        )
        journals[0].close()
    assert verdict.holds, f"seed {seed}: {verdict}"
    assert verdict.runs
    assert verdict.entries


def _app(dice: random.Random, journals: list[Journal]) -> App:
    app = App("memory://")

    def work(ctx: Context) -> None:
        with journals[0].entry(ctx):
            if dice.random() < 0.2:
                raise OSError("boom")

    for name in NAMES:
        task = app.task(name=name)(work)
        app.schedule(
            dice.choice(TRIGGERS),
            name=name,
            overlap=dice.choice(["serial", "discard", "cover", "concurrent"]),
            misfire=dice.choice(["fire_once", "skip", "catch_up"]),
            retries=dice.choice([0, 2]),
            limit=dice.choice([None, "both:2"]),
            route=dice.choice(["any", "any", "any", "broadcast"]),
        )(task)
    return app


def _takes(dice: random.Random) -> object:
    return lambda run: f"{dice.randrange(40)}s"


def _act(world: World, dice: random.Random) -> None:
    """Time passes, or somebody does something, as far as it can be done."""
    schedules, name = world.app.schedules, dice.choice(NAMES)
    soon = world.now.replace(microsecond=0) + timedelta(seconds=dice.randrange(1, 60))
    with suppress(OnthedotError):
        match dice.choice(
            ["advance"] * 6
            + ["pause", "resume", "trigger", "move", "skip", "freeze", "edit", "kill", "start", "delete"]
        ):
            case "advance":
                world.advance(f"{dice.randrange(1, 60)}s")
            case "pause":
                schedules.pause(name)
            case "resume":
                schedules.resume(name)
            case "trigger":
                schedules.trigger(name)
            case "move":
                schedules.reschedule(name, soon)
            case "skip":
                schedules.skip_next(name, dice.randrange(4))
            case "freeze":
                world.app.freeze(f"for {name}", soon, soon + timedelta(seconds=30), where={"name": name})
            case "edit":
                schedules.update(name, trigger=dice.choice(TRIGGERS))
            case "kill":
                world.kill(dice.randrange(2, 4))  # one is left
            case "start":
                world.start(dice.randrange(2, 4))
            case "delete":
                schedules.delete(name)
