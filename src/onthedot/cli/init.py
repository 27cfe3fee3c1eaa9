"""`onthedot init`: a first file of jobs; a unit for systemd, a file for compose."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from onthedot.cli.commands import argument, command
from onthedot.cli.texts import visible
from onthedot.errors import FileError, SettingsError

_JOBS_PY = '''\
"""What runs when. `onthedot run jobs:app` runs it, `onthedot status` says how it is."""

from onthedot import App, Context, cron

app = App("sqlite:///jobs.db")


@app.schedule(cron("0 3 * * *", tz="UTC"), retries=3)
def nightly(ctx: Context) -> str:
    """At three each night; tried again three times."""
    ctx.log.info("for the tick of %s", ctx.scheduled_at)
    return "done"
'''

_JOBS_TOML = """\
# What runs when. `onthedot run jobs.toml` runs it, `onthedot status` says how it is.
store = "sqlite:///jobs.db"
timezone = "UTC"

[schedules.nightly]
cron = "0 3 * * *"
command = ["echo", "good night"]
retries = 3
"""

_SYSTEMD = """\
# /etc/systemd/system/onthedot.service
[Unit]
Description=onthedot
After=network-online.target
Wants=network-online.target

[Service]
User=onthedot
WorkingDirectory=/srv/jobs
Environment=ONTHEDOT_STORE=sqlite:////srv/jobs/jobs.db
ExecStart=/srv/jobs/.venv/bin/onthedot run {what} --drain 30s
# it needs its drain, and a little more, to let what runs finish
TimeoutStopSec=45
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
"""

_COMPOSE = """\
# compose.yaml
services:
  database:
    image: postgres:16
    environment:
      POSTGRES_USER: onthedot
      POSTGRES_PASSWORD: ${{POSTGRES_PASSWORD:?set it}}
    volumes: ["database:/var/lib/postgresql/data"]
    healthcheck:
      test: ["CMD", "pg_isready", "-U", "onthedot"]
      interval: 2s
  node:
    image: python:3.13-slim
    working_dir: /srv/jobs
    volumes: ["./:/srv/jobs:ro"]
    environment:
      ONTHEDOT_STORE: postgresql://onthedot:${{POSTGRES_PASSWORD}}@database/onthedot
    command: sh -c "pip install --quiet 'onthedot[postgresql]' && exec onthedot run {what} --drain 30s"
    depends_on:
      database: {{condition: service_healthy}}
    stop_grace_period: 45s
    restart: unless-stopped
volumes:
  database:
"""


@command("init")
@argument(
    "file", required=False, metavar="[FILE]", help="jobs.py or jobs.toml, or another such name; without one, jobs.py."
)
@click.option("--systemd", is_flag=True, help="Print a unit for systemd, and write nothing.")
@click.option("--compose", is_flag=True, help="Print a compose.yaml, and write nothing.")
def init(file: str | None, *, systemd: bool, compose: bool) -> None:
    """Write a first file of jobs that runs as it is; a file that is there is left alone."""
    path = Path(file or "jobs.py")
    text = _text_of(path)
    if systemd and compose:
        raise click.BadParameter("one at a time", param_hint="'--systemd' / '--compose'")
    what = path.name if path.suffix == ".toml" else f"{path.stem}:app"
    if systemd or compose:
        sys.stdout.write((_SYSTEMD if systemd else _COMPOSE).format(what=what))
        return
    try:
        with path.open("x", encoding="utf-8") as made:
            made.write(text)
    except FileExistsError:
        raise SettingsError(f"{path} is there already, and was left as it is; name another file") from None
    except OSError as error:
        raise FileError(str(path), [(error.strerror or str(error)).lower()]) from None
    click.echo(f"{visible(str(path))} is written; onthedot run {visible(what)} runs it")


def _text_of(path: Path) -> str:
    if path.suffix == ".toml":
        return _JOBS_TOML
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise SettingsError(f"init: {path} is neither a module such as jobs.py nor a file such as jobs.toml")
    return _JOBS_PY
