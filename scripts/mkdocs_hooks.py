"""What the documentation needs of mkdocs beyond its settings."""

from __future__ import annotations

import re
from typing import Any

_OUTWARD = re.compile(
    r"\[([^\]]+)\]\((?:\.\./)+(?:README|CHANGELOG|SECURITY|CONTRIBUTING|LICENSE|examples|scripts|src|tests)[^)]*\)"
)
_FOLDER = re.compile(r"\]\(((?:\.\./)*)decisions/?\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Files of the repository that are no pages are named, and not linked; a folder is its first page."""
    text = _FOLDER.sub(r"](\1decisions/README.md)", markdown)
    return _OUTWARD.sub(r"\1", text)
