"""Freezes."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from onthedot.web.models.common import Given


class Where(Given):
    """Which schedules are meant; all that is given must hold, and something must be."""

    tag: str | None = None
    name: str | None = Field(default=None, description="A name in which * stands for any text: etl-*")


class NewFreeze(Given):
    """A window in which no tick becomes a run."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"start": "2026-12-24T12:00:00Z", "end": "2027-01-02T06:00:00Z", "where": {"tag": "prod"}},
            ]
        },
    )

    start: str
    end: str
    where: Where | None = Field(default=None, description="All schedules if left out.")


class Freeze(BaseModel):
    """A freeze, and where its window lies."""

    name: str
    state: Literal["coming", "active", "over"]
    start_at: str
    end_at: str
    where: dict[str, str] | None
    by: str
    created_at: str | None


class Freezes(BaseModel):
    """All freezes by name."""

    freezes: list[Freeze]
