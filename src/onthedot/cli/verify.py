"""`onthedot verify`: has the store kept what is promised? And what of that cannot be judged?"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onthedot.cli.apps import open_app
from onthedot.cli.commands import command
from onthedot.cli.json_output import show_json
from onthedot.cli.options import as_json, store_url
from onthedot.cli.overrides import some_moment
from onthedot.cli.texts import visible
from onthedot.errors import SettingsError
from onthedot.moments import ceil_ms, iso

if TYPE_CHECKING:
    from onthedot.app.app import App
    from onthedot.testing.history import Broken, Verdict


@command("verify")
@click.option("--since", default="24h", metavar="WHEN", help='A moment, or how long ago: "24h" or "7d".')
@click.option("--journal", type=click.Path(path_type=Path), metavar="FOLDER", help="Where tasks wrote their journals.")
@click.option("--task", multiple=True, metavar="NAME", help="A task that writes the journal; may be repeated.")
@click.option(
    "--explain",
    "explained",
    type=click.IntRange(min=0),
    default=50,
    metavar="N",
    help="Of how many ticks of each schedule `explain` is checked.",
)
@store_url
@as_json
def show_verdict(
    *, since: str, journal: Path | None, task: tuple[str, ...], explained: int, store: str | None, as_json: bool
) -> None:
    """Judge what the store holds against what is promised. Exit code 1 if a promise was broken."""
    from onthedot.stores.open import mask_url
    from onthedot.testing.history import verify

    if journal is not None and not journal.is_dir():
        raise SettingsError(f"--journal: {journal} is no folder; name the one that tasks were told to write into")
    if task and journal is None:
        raise SettingsError("--task goes with --journal: what a task did is read there; add --journal FOLDER")
    with closing(open_app(store)) as app:
        if app.connection is not None:
            raise SettingsError("verify reads the store itself: give its own URL, such as postgresql://db/jobs")
        since_ms, note = _since(app, since)
        verdict = verify(
            app.open_store(), since_ms=since_ms, journal=journal, journalled=task or (), explained=explained
        )
        verdict.unjudged += note
        if as_json:
            show_json({"store": mask_url(app.url), "since": iso(since_ms), **_document(verdict)})
        else:
            for line in f"since {iso(since_ms)}: {verdict}".splitlines():
                click.echo(f"{'  ' if line.startswith('  ') else ''}{visible(line)}")
        if not verdict.holds:
            raise click.exceptions.Exit(1)


def _since(app: App, text: str) -> tuple[int, list[str]]:
    """From when on; what is older than history is kept cannot be judged."""
    from onthedot.durations import format_duration
    from onthedot.node.settings import NodeSettings
    from onthedot.settings import load_settings

    now_ms = app.now_ms()
    moment = some_moment(text, now_ms)
    assert moment is not None
    if ceil_ms(moment) > now_ms:
        raise SettingsError(f"--since: {iso(ceil_ms(moment))} is in the future; say how long ago, as in 24h")
    kept_ms = NodeSettings.of(load_settings({})).retention.history_ms
    wanted_ms, oldest_ms = max(ceil_ms(moment), 0), now_ms - kept_ms
    if wanted_ms >= oldest_ms:
        return wanted_ms, []
    return oldest_ms, [f"what is older than {format_duration(kept_ms)}: history is kept for so long"]


def _document(verdict: Verdict) -> dict[str, Any]:
    return {
        "schedules": verdict.schedules,
        "runs": verdict.runs,
        "flows": verdict.flows,
        "explanations": verdict.explained,
        "journal_lines": verdict.entries,
        "broken_count": verdict.count,
        "broken": [_broken_document(each) for each in verdict.broken],
        "not_judged": verdict.unjudged,
    }


def _broken_document(broken: Broken) -> dict[str, Any]:
    evidence = [{"at": iso(at_ms) if at_ms >= 0 else None, "text": text} for at_ms, text in broken.evidence]
    return {"promise": broken.promise, "schedule": broken.schedule, "what": broken.what, "evidence": evidence}
