"""A thousand schedules as a company might have them, made up for the demonstration; the same ones every time."""

from __future__ import annotations

from random import Random

from onthedot.triggers import Trigger, cron, every

_ZONES = ("Europe/Berlin", "Europe/Berlin", "America/New_York", "UTC")
_KINDS = (
    (2, "check", "*/5 * * * *"),
    (3, "sync", "*/15 8-18 * * *"),
    (5, "rollup", "0 * * * *"),
    (4, "cache", "H * * * *"),
    (22, "backup", "{minute} 1-3 * * *"),
    (14, "report", "0 {hour} * * *"),
    (14, "digest", "{minute} 7 * * *"),
    (14, "export", "H {hour} * * *"),
    (12, "cleanup", "H H * * *"),
    (6, "invoice", "30 {hour} 1,15,16 * *"),
)
_MINUTES = (0, 0, 0, 5, 10, 15, 30, 30, 45)
_INTERVALS = ("10m", "20m", "1h", "6h")


def sample_triggers(count: int) -> dict[str, Trigger]:
    """Names and triggers, crowded as in ordinary crontabs: on the full hour, at night, and in the morning."""
    random = Random(2026)
    weights = [*(weight for weight, _, _ in _KINDS), 4]
    triggers: dict[str, Trigger] = {}
    for number in range(count):
        place = random.choices(range(len(weights)), weights)[0]
        hour, minute, zone = random.randrange(24), random.choice(_MINUTES), random.choice(_ZONES)
        if place < len(_KINDS):
            _, kind, text = _KINDS[place]
            trigger: Trigger = cron(text.format(hour=hour, minute=minute), tz=zone)
        else:
            kind, trigger = "poll", every(random.choice(_INTERVALS), spread=True)
        name = f"{kind}-{number:04}"
        triggers[name] = trigger.with_key(name)
    return triggers
