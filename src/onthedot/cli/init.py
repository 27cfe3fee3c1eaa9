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

app = App()  # its store is ONTHEDOT_STORE, or the file onthedot.db here


@app.schedule(cron("0 3 * * *", tz="UTC"), retries=3)
def nightly(ctx: Context) -> str:
    """At three each night; tried again three times."""
    ctx.log.info("for the tick of %s", ctx.scheduled_at)
    return "done"
'''

_JOBS_TOML = """\
# What runs when. `onthedot run jobs.toml` runs it, `onthedot status` says how it is.
# Its store is ONTHEDOT_STORE, or the file onthedot.db here.
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
Environment=ONTHEDOT_STORE=sqlite:////srv/jobs/onthedot.db
EnvironmentFile=-/etc/onthedot.env
ExecStart=/srv/jobs/.venv/bin/onthedot run {what} --drain 30s
# only the node is told to stop: it lets the commands that it runs finish
KillMode=mixed
# longer than the drain
TimeoutStopSec=45
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
"""

_COMPOSE = """\
# compose.yaml: PostgreSQL, and two nodes that share the work. Put {file} beside it, and set POSTGRES_PASSWORD.
services:
  database:
    image: postgres:17
    environment:
      POSTGRES_USER: onthedot
      POSTGRES_DB: onthedot
      POSTGRES_PASSWORD: ${{POSTGRES_PASSWORD:?letters and digits, since it is a part of a URL}}
    volumes: ["database:/var/lib/postgresql/data"]
    healthcheck:
      # by TCP: while the image sets itself up, its server listens on a socket only
      test: ["CMD", "pg_isready", "--host=127.0.0.1", "--username=onthedot"]
      interval: 2s
      retries: 30
    restart: unless-stopped

  node:
    image: python:3.13-slim
    working_dir: /srv/jobs
    volumes: [".:/srv/jobs:ro"]
    environment:
      ONTHEDOT_STORE: postgresql://onthedot:${{POSTGRES_PASSWORD}}@database/onthedot
      ONTHEDOT_METRICS_PORT: "9108"
    # exec: the node itself is told to stop, and not a shell around it
    command: sh -c "pip install --quiet 'onthedot[postgresql,metrics]' && exec onthedot run {what} --drain 30s"
    healthcheck:
      test: ["CMD", "python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:9108/healthz', timeout=5)"]
      interval: 10s
      start_period: 60s
    depends_on:
      database:
        condition: service_healthy
    deploy:
      replicas: 2
    stop_grace_period: 45s # longer than the drain
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
    what = _as_run_takes_it(path)
    if systemd or compose:
        sys.stdout.write((_SYSTEMD if systemd else _COMPOSE).format(what=what, file=path.name))
        return
    try:
        with path.open("x", encoding="utf-8") as made:
            made.write(text)
    except FileExistsError:
        raise SettingsError(f"{path} is there already, and was left as it is; name another file") from None
    except OSError as error:
        raise FileError(str(path), [(error.strerror or str(error)).lower()]) from None
    where = "" if path.suffix == ".toml" or _is_importable(path) else f"in {visible(str(path.parent))} "
    click.echo(f"{visible(str(path))} is written; {where}onthedot run {visible(what)} runs it")


def _as_run_takes_it(path: Path) -> str:
    """The file; of a module its name, as it is imported from here."""
    if path.suffix == ".toml":
        return str(path)
    return f"{'.'.join(path.with_suffix('').parts) if _is_importable(path) else path.stem}:app"


def _is_importable(path: Path) -> bool:
    return all(part.isidentifier() for part in path.with_suffix("").parts)


def _text_of(path: Path) -> str:
    if path.suffix == ".toml":
        return _JOBS_TOML
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise SettingsError(f"init: {path} is neither a module such as jobs.py nor a file such as jobs.toml")
    return _JOBS_PY
