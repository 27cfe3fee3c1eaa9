"""Options and arguments that several commands share, so that one thing has one name and one help text."""

from __future__ import annotations

from typing import Annotated

import typer

TriggerText = Annotated[
    str, typer.Argument(metavar="TEXT", help='A cron text, "@every 90s" or "every 15m".', show_default=False)
]
Zone = Annotated[
    str | None, typer.Option("--tz", metavar="ZONE", help="The time zone, such as Europe/Berlin.", show_default="UTC")
]
GapRule = Annotated[
    str | None,
    typer.Option("--gap", metavar="shift|skip", help="What a time does on a day when the clock jumps over it."),
]
FoldRule = Annotated[
    str | None,
    typer.Option("--fold", metavar="first|last|both", help="What a time does on a day when the clock shows it twice."),
]
Key = Annotated[str | None, typer.Option("--key", metavar="NAME", help="The schedule's name, which settles H.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
StoreUrl = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="URL", help="The store, such as sqlite:///jobs.db; else ONTHEDOT_STORE.", show_default=False
    ),
]
ScheduleName = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.", show_default=False)]
RunId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The run's id, or at least 6 characters of its beginning or end.", show_default=False
    ),
]
Args = Annotated[
    list[str] | None,
    typer.Option("--arg", metavar="NAME=JSON", help="An argument for the task; may be repeated.", show_default=False),
]
