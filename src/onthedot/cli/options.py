"""Options and arguments that several commands share, so that one thing has one name and one help text."""

from __future__ import annotations

import click

from onthedot.cli.commands import argument
from onthedot.cli.completion import schedule_names

trigger_text = argument("text", metavar="TEXT", help='A cron text, "@every 90s" or "every 15m".')
zone = click.option("--tz", metavar="ZONE", help="The time zone, such as Europe/Berlin.", show_default="UTC")
gap_rule = click.option("--gap", metavar="shift|skip", help="What a time does on a day when the clock jumps over it.")
fold_rule = click.option(
    "--fold", metavar="first|last|both", help="What a time does on a day when the clock shows it twice."
)
key_option = click.option("--key", metavar="NAME", help="The schedule's name, which settles H.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
store_url = click.option("--store", metavar="URL", help="The store, such as sqlite:///jobs.db; else ONTHEDOT_STORE.")
schedule_name = argument("name", metavar="NAME", help="The schedule's name.", shell_complete=schedule_names)
run_id = argument("run_id", metavar="ID", help="The run's id, or at least 6 characters of its beginning or end.")
task_args = click.option("--arg", multiple=True, metavar="NAME=JSON", help="An argument for the task; may be repeated.")
policies = click.option(
    "--option", multiple=True, metavar="NAME=VALUE", help="A policy, such as overlap=discard; may be repeated."
)
wait_for_end = click.option(
    "--wait", is_flag=True, help="Show what the run says until it ends; exit code 1 unless it succeeds."
)
