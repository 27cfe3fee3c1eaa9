"""What is printed for programs: JSON."""

from __future__ import annotations

import json
import sys

import click

from onthedot.app.json_documents import finite


def show_json(document: object) -> None:
    """One JSON document."""
    click.echo(json_text(document, indent=2))


def json_text(document: object, *, indent: int | None = None) -> str:
    """Strict JSON: numbers that it does not have, which a row written by others may hold, are null."""
    plain = not _speaks_utf8()
    try:
        return json.dumps(document, indent=indent, ensure_ascii=plain, allow_nan=False)
    except ValueError:
        return json.dumps(finite(document), indent=indent, ensure_ascii=plain, allow_nan=False)


def _speaks_utf8() -> bool:
    """Where it does not, a letter that it lacks is written as JSON writes it: a program must read the same again."""
    return (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
