"""Which exception a traceback is of, read from its text: that is what a run keeps."""

from __future__ import annotations

import builtins
import re

from onthedot.model.tracebacks import telling_line

_RAISED = re.compile(r"([A-Za-z_][\w.]*)(?::|$)")


def class_path(text: str) -> str | None:
    """The whole name of the class that was raised last; None where the text names none."""
    raised = _RAISED.match(telling_line(text))
    if raised is None:
        return None
    name = raised[1]
    if "." in name:
        return name.replace("<locals>.", "")
    return f"builtins.{name}" if isinstance(getattr(builtins, name, None), type) else None
