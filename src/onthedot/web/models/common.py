"""What all requests and answers have in common."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from onthedot.storable import can_be_kept

Json = dict[str, Any]


def _storable(text: str) -> str:
    if not can_be_kept(text):
        raise ValueError("no store can keep this text")
    return text


Name = Annotated[str, AfterValidator(_storable)]
"""A text that can be told again."""


class Given(BaseModel):
    """What is not known is refused: a slip in a name would else be taken for silence."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """What went wrong (RFC 9457); `type` says which other values there are."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["urn:onthedot:problem:stale-revision"])
    title: str
    status: int
    detail: str
