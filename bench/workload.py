"""What is measured: expressions and schedules such as people have."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from apscheduler.triggers.cron import CronTrigger

START = datetime(2026, 11, 16, 8, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)

EVERYDAY = (
    "* * * * *", "*/5 * * * *", "0 * * * *", "30 2 * * *", "0 9 * * mon-fri", "*/15 9-17 * * mon-fri",
    "0 0 * * *", "0 0 1 * *", "15 14 1 * *", "0 22 * * mon-fri", "23 0-20/2 * * *", "0 4 * * sun",
)  # fmt: skip
AWKWARD = ("0 0 29 2 *", "0 12 31 * *", "59 23 L * *", "0 9 * * 5#2")

TEN_ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Tokyo", "Australia/Sydney", "Europe/London",
    "America/Los_Angeles", "America/Sao_Paulo", "Africa/Nairobi",
)  # fmt: skip

_APSCHEDULER_DAYS = {"59 23 L * *": "last", "0 9 * * 5#2": "2nd fri"}


def apscheduler_trigger(text: str, tz: str) -> CronTrigger:
    """The same schedule for APScheduler, whose words for the last day and the second Friday are others."""
    minute, hour, day, month, weekday = text.split()
    if text in _APSCHEDULER_DAYS:
        return CronTrigger(minute=minute, hour=hour, day=_APSCHEDULER_DAYS[text], timezone=tz)
    return CronTrigger(minute=minute, hour=hour, day=day, month=month, day_of_week=weekday, timezone=tz)


def realistic(count: int, seed: int = 5) -> dict[str, str]:
    """Names and cron texts of a large installation: mostly hourly and daily, some every few minutes."""
    dice = random.Random(seed)
    names = [f"job-{number:06}" for number in range(count)]
    dice.shuffle(names)
    return {name: _text(dice) for name in names}


def _text(dice: random.Random) -> str:
    minute, hour = dice.randint(0, 59), dice.randint(0, 23)
    texts = {
        "* * * * *": 10,
        "*/5 * * * *": 10,
        f"*/{dice.choice([10, 15, 20, 30])} * * * *": 15,
        f"{minute} * * * *": 25,
        f"{minute} {hour} * * *": 25,
        f"{minute} {hour} * * mon-fri": 10,
        f"{minute} */{dice.choice([2, 3, 4, 6])} * * *": 5,
        "*/15 9-17 * * mon-fri": 5,
        f"{minute} {hour} 1 * *": 5,
    }
    return dice.choices(list(texts), list(texts.values()))[0]
