"""Counting ends into hours: read in parts, kept by one script."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.model.hour import Hour
from onthedot.rules.counting import End
from onthedot.stores.redis import mapping
from onthedot.stores.redis.server import AT_ONCE, Server
from onthedot.stores.redis.tables import STAMP
from onthedot.stores.roll_up import Flows, Known


class RedisRolling:
    """Of one store. The hours of a place are a hash, by their beginnings."""

    def __init__(self, server: Server, flows: Flows) -> None:
        self.flows = flows
        self._server = server

    def rolled_through(self) -> int:
        return int(self._server.ask("GET", "rolled") or 0)

    def ends(self, after_ms: int, last_ms: int, most: int) -> list[End]:
        found: list[End] = []
        while not most or len(found) < most:
            wanted = min(AT_ONCE, most - len(found)) if most else AT_ONCE
            members, scores, rows = self._server.read_script("ends", after_ms, last_ms, len(found), wanted)
            texts = ((row or "")[STAMP:] for row in rows)
            found += map(mapping.end_from, members, scores, texts)
            if len(members) < wanted:
                break
        return found

    def hours_at(self, hour_ms: int, places: Sequence[tuple[str, str]]) -> list[Known]:
        found: list[Known] = []
        for start in range(0, len(places), AT_ONCE):
            page = places[start : start + AT_ONCE]
            texts = self._server.read_script("hours_at", hour_ms, *map("\n".join, page))
            found += [
                (mapping.hour_from(*place, hour_ms, text), None)
                for place, text in zip(page, texts, strict=True)
                if text
            ]
        return found

    def keep(self, before_ms: int, through_ms: int, new: Sequence[Hour], changed: Sequence[Known]) -> bool:
        hours = (*new, *(hour for hour, _ in changed))
        values: list[str | int] = [before_ms, through_ms]
        for each in hours:
            values += (each.hour_ms, f"{each.of}\n{each.step}", mapping.hour_text(each))
        return bool(self._server.write_script("keep_hours", values))

    def hours(self, of: str, step: str, first_ms: int, last_ms: int) -> list[Hour]:
        """See `Store.hours`. All that are kept are read: no more than a month of them."""
        texts = self._server.ask("HGETALL", f"hours:{of}\n{step}").items()
        chosen = sorted((int(hour_ms), text) for hour_ms, text in texts if first_ms <= int(hour_ms) <= last_ms)
        return [mapping.hour_from(of, step, hour_ms, text) for hour_ms, text in chosen]
