"""What is printed for programs: JSON."""

from __future__ import annotations

import json

import click

from onthedot.app.json_documents import finite


def show_json(document: object) -> None:
    """One JSON document."""
    click.echo(json_text(document, indent=2))


def json_text(document: object, *, indent: int | None = None) -> str:
    """Strict JSON: numbers that it does not have, which a row written by others may hold, are null."""
    try:
        return json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(finite(document), indent=indent, ensure_ascii=False, allow_nan=False)
