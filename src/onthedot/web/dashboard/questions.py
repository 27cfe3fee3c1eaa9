"""What is asked before an act: a question as a value, shown as a page, or by scripts as a dialog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import HTMLResponse

from onthedot.web.dashboard.forms import own_path
from onthedot.web.dashboard.frame import render


@dataclass(frozen=True, slots=True)
class Input:
    """One field of the form."""

    name: str
    label: str
    value: str = ""
    kind: Literal["text", "area", "choice"] = "text"
    hint: str = ""
    choices: Sequence[tuple[str, str]] = ()
    """Of a choice: values, and their words."""
    mono: bool = False
    required: bool = False
    must_be: str | None = None
    """The only text that will do."""
    wrong: str = ""
    """What is wrong with the value."""


@dataclass(frozen=True, slots=True)
class Question:
    """Says beforehand what the act will do."""

    title: str
    said: str
    path: str
    """Where the answer goes, below the root."""
    word: str
    """On the button."""
    inputs: Sequence[Input] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Hidden; a list stands for one field that is there more than once."""
    leave: str = "Leave it"
    danger: bool = False
    page: str = ""
    """In the navigation."""


def ask(request: Request, question: Question, status: int = 200) -> HTMLResponse:
    """The page that asks. After the act one is back where one came from."""
    given = request.query_params.get("back") or request.state.form["back"]
    back = own_path(request, given) or f"{request.scope.get('root_path') or ''}/{question.page}"
    return render(request, "ask.html", status, question=question, page=question.page, back=back)
