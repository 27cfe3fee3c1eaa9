"""Functions of somebody who has APScheduler."""

from __future__ import annotations


def tick(shop: str, n: int = 1) -> str:
    return f"{shop} {n}"


def sweep() -> None: ...


class Box:
    @staticmethod
    def clean() -> None: ...

    def look(self) -> None: ...
