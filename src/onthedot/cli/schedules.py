"""`onthedot schedules`: look at schedules, and steer them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from onthedot.app.clock_notes import zone_of
from onthedot.app.json_documents import change_document, run_document, schedule_document, schedule_state
from onthedot.app.queries import ORDERS, STATES
from onthedot.cli.apps import open_app
from onthedot.cli.changes import change_text
from onthedot.cli.commands import Group, argument
from onthedot.cli.completion import schedule_names
from onthedot.cli.json_output import show_json
from onthedot.cli.log_lines import show_made
from onthedot.cli.notes import show_note, warnings_as_notes
from onthedot.cli.options import (
    as_json,
    fold_rule,
    gap_rule,
    policies,
    schedule_name,
    store_url,
    task_args,
    wait_for_end,
    zone,
)
from onthedot.cli.overrides import read_changes, read_options, read_pairs, read_schedule_trigger
from onthedot.cli.run_tables import runs_table
from onthedot.cli.texts import counted, local_moment, local_text, needs_seconds, span_text, visible
from onthedot.cli.unknown_tasks import is_unknown
from onthedot.errors import NotFound, OnthedotError, ScheduleNotFound
from onthedot.events import Paused
from onthedot.moments import from_ms, iso
from onthedot.triggers import decode
from onthedot.triggers.bounds import to_instant_ms

if TYPE_CHECKING:
    from onthedot.app.app import App
    from onthedot.model.schedule import Schedule

group = Group("schedules", help="Look at schedules, and steer them.")

cron_text = click.option("--cron", metavar="TEXT", help="A cron text.")
interval = click.option("--every", metavar="DURATION", help="An interval, such as 15m.")
moment_option = click.option(
    "--at", metavar="MOMENT", help="One moment; with --every a time of day, on the wall clock."
)
named_trigger = click.option("--trigger", "named", metavar="NAME", help="A named trigger.")
without_days = click.option(
    "--except",
    "without",
    multiple=True,
    metavar="WHAT",
    help="'calendar de' or 2026-12-24 is left out; may be repeated.",
)
tag_option = click.option("--tag", metavar="TAG", help="All schedules with this tag.")
maybe_name = argument(
    "name", required=False, metavar="[NAME]", help="The schedule's name.", shell_complete=schedule_names
)


# looking


@group.command("list")
@click.option("--q", default="", metavar="TEXT", help="Part of the name or of the task's.", show_default=False)
@click.option("--state", metavar="STATE", help=", ".join(STATES))
@tag_option
@click.option("--task", metavar="TASK", help="Only of this task.")
@click.option("--sort", default="name", metavar="|".join(ORDERS), help="By name, or by the next run.")
@click.option("-n", "--count", type=click.IntRange(min=1), default=100, metavar="N", help="How many at most.")
@click.option("--after", default="", metavar="CURSOR", help="Those after this name or cursor.", show_default=False)
@store_url
@as_json
def show_list(
    *,
    q: str,
    state: str | None,
    tag: str | None,
    task: str | None,
    sort: str,
    count: int,
    after: str,
    store: str | None,
    as_json: bool,
) -> None:
    """List schedules by name, or by their next run."""
    with closing(open_app(store)) as app:
        page = app.schedules.list(q=q, state=state, tag=tag, task=task, sort=sort, cursor=after, limit=count)
        now_ms = app.now_ms()
        if as_json:
            show_json({"schedules": [schedule_document(each, now_ms) for each in page], "cursor": page.cursor})
            return
        if not page.items:
            click.echo("no schedules")
            return
        own_tasks = any(each.task != each.name for each in page)
        from onthedot.cli.screen import Screen, plain_table

        table = plain_table()
        for heading in ("name", "state", "next run", "", "trigger", *(["task"] if own_tasks else [])):
            table.add_column(heading, no_wrap=heading in ("state", "next run", ""))
        for each in page:
            shown = schedule_state(each, now_ms)
            active = shown == "active"
            when = _local(each, each.next_run_ms)[4:] if active else ""
            coming = _coming(each, now_ms) if active else ""
            window = each.frozen_at(now_ms) if shown == "frozen" else None
            if window is not None:
                when, coming = f"until {_local(each, window.end_ms)[4:]}", visible(window.freeze)
            named = [visible(each.task)] if own_tasks else []
            table.add_row(visible(each.name), shown, when, coming, _described(each), *named)
        Screen().print(table)
        if page.cursor is not None:
            click.echo(f"there may be more: --after {visible(page.cursor)}")


@group.command("show")
@schedule_name
@store_url
@as_json
def show_one(name: str, *, store: str | None, as_json: bool) -> None:
    """Show all about one schedule, with its latest runs and changes."""
    with closing(open_app(store)) as app:
        schedule = app.schedules.get(name)
        runs = app.runs.list(schedule=name, limit=5)
        changes = app.schedules.changes(name, limit=5)
        if as_json:
            changed = [change_document(each) for each in changes]
            show_json(
                {
                    **schedule_document(schedule, app.now_ms()),
                    "runs": [run_document(run) for run in runs],
                    "changes": changed,
                }
            )
            return
        from onthedot.cli.screen import Screen

        screen = Screen()
        for label, text in _facts(schedule, app.now_ms()):
            screen.print(f"{label + ':':<10} {visible(text)}", soft_wrap=True)
        if runs.items:
            screen.print()
            screen.print(runs_table(runs))
        if changes:
            screen.print()
        for each in changes:
            screen.print(visible(change_text(each)), soft_wrap=True)


@group.command("next")
@schedule_name
@click.option("-n", "--count", type=click.IntRange(min=1, max=10000), default=5, metavar="N", help="How many.")
@store_url
@as_json
def show_next(name: str, *, count: int, store: str | None, as_json: bool) -> None:
    """Show when a schedule runs next."""
    with closing(open_app(store)) as app:
        schedule = app.schedules.get(name)
        moments = [int(each.timestamp() * 1000) for each in app.schedules.next(name, count)]
        zone, now_ms = _zone(schedule), app.now_ms()
        held = app.schedules.held(name) if moments else None
        if as_json:
            listed = [{"at": iso(ms), "local": local_moment(ms, zone).isoformat()} for ms in moments]
            told = {"name": name, "state": schedule_state(schedule, now_ms), "held": held}
            show_json({**told, "timezone": zone, "moments": listed})
            return
        if held is not None:
            click.echo(f"{visible(name)}: {visible(held)}; if it were not so:")
        seconds = needs_seconds(moments)
        for ms in moments:
            click.echo(f"{local_text(ms, zone, seconds=seconds)}  {_distance(ms, now_ms)}")
        if not moments:
            click.echo(f"{visible(name)} has no further run")


# defining


@group.command("put")
@schedule_name
@click.option("--task", required=True, metavar="TASK", help="The task's name.")
@cron_text
@interval
@moment_option
@named_trigger
@without_days
@zone
@gap_rule
@fold_rule
@task_args
@click.option(
    "--each", multiple=True, metavar="KEY=JSON", help="A schedule NAME[KEY] with these arguments; may be repeated."
)
@policies
@store_url
@as_json
def put(
    name: str,
    *,
    task: str,
    cron: str | None,
    every: str | None,
    at: str | None,
    named: str | None,
    without: tuple[str, ...],
    tz: str | None,
    gap: str | None,
    fold: str | None,
    arg: tuple[str, ...],
    each: tuple[str, ...],
    option: tuple[str, ...],
    store: str | None,
    as_json: bool,
) -> None:
    """Create a schedule, or replace its definition; with --each several that differ in their arguments."""
    trigger = read_schedule_trigger(
        cron_text=cron, interval=every, moment=at, name=named, without=without, tz=tz, gap=gap, fold=fold
    )
    if trigger is None:
        raise click.BadParameter("one of them is needed", param_hint="'--cron' / '--every' / '--at' / '--trigger'")
    args, options = read_pairs(arg, "--arg"), read_options(option, name)
    with closing(open_app(store)) as app, warnings_as_notes():
        unchecked = is_unknown(app, task)
        if _follows_unknown(app, options) and not unchecked:
            _, args = app.tasks.checked(task, args, unchecked=False)
            unchecked = True
        if each:
            keyed = read_pairs(each, "--each") or {}
            made = app.schedules.put(name, task, trigger, args=args, each=keyed, unchecked=unchecked, **options)
            _show_all_changed(app, made, as_json)
            return
        _show_changed(app, app.schedules.put(name, task, trigger, args=args, unchecked=unchecked, **options), as_json)


@group.command("update")
@schedule_name
@cron_text
@interval
@moment_option
@named_trigger
@without_days
@zone
@gap_rule
@fold_rule
@task_args
@policies
@store_url
@as_json
def update(
    name: str,
    *,
    cron: str | None,
    every: str | None,
    at: str | None,
    named: str | None,
    without: tuple[str, ...],
    tz: str | None,
    gap: str | None,
    fold: str | None,
    arg: tuple[str, ...],
    option: tuple[str, ...],
    store: str | None,
    as_json: bool,
) -> None:
    """Change what is named, and leave the rest; an option that is null follows the task again."""
    trigger = read_schedule_trigger(
        cron_text=cron, interval=every, moment=at, name=named, without=without, tz=tz, gap=gap, fold=fold
    )
    args, options = read_pairs(arg, "--arg"), read_changes(option, name)
    if trigger is None and args is None and not options:
        raise click.BadParameter("nothing is to be changed: give a trigger, --arg or --option")
    with closing(open_app(store)) as app, warnings_as_notes():
        task = app.schedules.get(name).task
        unchecked = args is not None and is_unknown(app, task)
        if _follows_unknown(app, options) and not unchecked:
            args = None if args is None else app.tasks.checked(task, args, unchecked=False)[1]
            unchecked = True
        _show_changed(
            app, app.schedules.update(name, trigger=trigger, args=args, unchecked=unchecked, **options), as_json
        )


@group.command("delete")
@schedule_name
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@store_url
@as_json
def delete(name: str, *, yes: bool, store: str | None, as_json: bool) -> None:
    """Delete a schedule, or all of such a name ('digest[*]'); their history stays."""
    with closing(open_app(store)) as app:
        names = app.schedules.matching(name)
        if names is None:
            app.schedules.get(name)
        if not yes:
            if not sys.stdin.isatty():
                raise click.BadParameter("nobody can be asked here; add it to delete", param_hint="'--yes'")
            what = visible(name) if names is None else f"{counted(len(names), 'schedule')} named {visible(name)}"
            click.confirm(f"Delete {what}?", abort=True, err=True)
        if not app.schedules.delete(name):
            raise ScheduleNotFound(name)
        if as_json:
            show_json({"name": name, "deleted": True})
        else:
            click.echo(f"{visible(name)} is deleted" if names is None else f"{counted(len(names), 'schedule')} deleted")


# steering


@group.command("pause")
@maybe_name
@tag_option
@click.option("--note", metavar="TEXT", help="Why.")
@store_url
@as_json
def pause(name: str | None, *, tag: str | None, note: str | None, store: str | None, as_json: bool) -> None:
    """Let a schedule, all of such a name ('digest[*]'), or all with a tag, start no more runs."""
    where = _where(name, tag)
    done: dict[str, Paused] = {}
    with closing(open_app(store)) as app:
        app.events.subscribe(Paused, lambda event: done.update({event.schedule: event}))
        changed = _some(app.schedules.pause(name, where=where, note=note), tag)
        if as_json:
            documents = [_paused_document(each, done[each.name], app.now_ms()) for each in _as_list(changed)]
            show_json({"schedules": documents} if isinstance(changed, list) else documents[0])
            return
        for each in _as_list(changed):
            click.echo(_summary(each, app.now_ms()) + _came_of_it(done[each.name]))
        if isinstance(changed, list):
            click.echo(counted(len(changed), "schedule"))


@group.command("resume")
@maybe_name
@tag_option
@store_url
@as_json
def resume(name: str | None, *, tag: str | None, store: str | None, as_json: bool) -> None:
    """Let a paused schedule, all of such a name ('digest[*]'), or all with a tag, go on from now."""
    where = _where(name, tag)
    with closing(open_app(store)) as app:
        _show_all_changed(app, _some(app.schedules.resume(name, where=where), tag), as_json)


@group.command("trigger")
@schedule_name
@task_args
@wait_for_end
@store_url
@as_json
def trigger(name: str, *, arg: tuple[str, ...], wait: bool, store: str | None, as_json: bool) -> None:
    """Run a schedule, or all of such a name ('digest[*]'), now, also while paused; the next run stays where it is."""
    args = read_pairs(arg, "--arg")
    with closing(open_app(store)) as app:
        if app.schedules.matching(name) is not None:
            if wait:
                raise click.BadParameter("one run is waited for: name one schedule", param_hint="'--wait'")
            _trigger_all(app, name, args, as_json)
            return
        unchecked = args is not None and is_unknown(app, app.schedules.get(name).task)
        run = app.schedules.trigger(name, args=args, unchecked=unchecked)
        line = f"run {run.id} of {visible(name)} is {run.state}"
        show_made(app, run, line, wait=wait, as_json=as_json)


def _trigger_all(app: App, pattern: str, args: Mapping[str, Any] | None, as_json: bool) -> None:
    if args is not None:
        raise click.BadParameter("arguments go with one schedule", param_hint="'--arg'")
    runs = app.schedules.trigger_all(pattern)
    if as_json:
        show_json({"runs": [run_document(each) for each in runs]})
    else:
        click.echo(f"{counted(len(runs), 'run')} of {visible(pattern)}")


@group.command("reschedule")
@schedule_name
@argument("moment", metavar="MOMENT", help="When to run next instead.")
@store_url
@as_json
def reschedule(name: str, moment: str, *, store: str | None, as_json: bool) -> None:
    """Move the next run to another moment; without an offset it is read in the schedule's zone."""
    with closing(open_app(store)) as app:
        at_ms = to_instant_ms(moment, _zone(app.schedules.get(name)), round_up=True)
        _show_changed(app, app.schedules.reschedule(name, from_ms(at_ms)), as_json)


@group.command("skip")
@schedule_name
@click.option("-n", "--count", type=int, default=1, metavar="N", help="How many; 0 takes a skip back.")
@store_url
@as_json
def skip(name: str, *, count: int, store: str | None, as_json: bool) -> None:
    """Leave out the next tick, or the next N, of a schedule or all of such a name; a repeat leaves out no more."""
    with closing(open_app(store)) as app:
        _show_all_changed(app, app.schedules.skip_next(name, count), as_json)


# what is shown


def _facts(schedule: Schedule, now_ms: int) -> Iterable[tuple[str, str]]:
    yield "name", schedule.name
    yield "state", schedule_state(schedule, now_ms) + (f" ({schedule.paused_note})" if schedule.paused_note else "")
    if schedule.error is not None:
        yield "error", schedule.error
    for window in schedule.frozen:
        yield "frozen", f"from {iso(window.start_ms)} to {iso(window.end_ms)} by {window.freeze}"
    if schedule.skips:
        yield "skips", counted(schedule.skips, "tick") + " before its next run"
    if schedule.template is not None:
        yield "template", schedule.template
    yield "task", schedule.task + "".join(f" {key}={value!r}" for key, value in schedule.args.items())
    yield "trigger", _described(schedule)
    if schedule.next_run_ms is not None:
        yield "next run", f"{_local(schedule, schedule.next_run_ms)} ({_coming(schedule, now_ms)})"
    if schedule.last_run_ms is not None:
        yield "last run", _local(schedule, schedule.last_run_ms)
    policy = schedule_document(schedule, now_ms)["policy"]
    named = [f"{each}={policy[each]}" for each in schedule.given if each in policy]
    if named:
        yield "policies", ", ".join(named)
    if schedule.tags:
        yield "tags", ", ".join(schedule.tags)
    yield "origin", f"{schedule.origin}, revision {schedule.revision}"


def _show_changed(app: App, schedule: Schedule, as_json: bool) -> None:
    if as_json:
        show_json(schedule_document(schedule, app.now_ms()))
    else:
        click.echo(_summary(schedule, app.now_ms()))


def _show_all_changed(app: App, changed: Any, as_json: bool) -> None:
    if not isinstance(changed, list):
        _show_changed(app, changed, as_json)
    elif as_json:
        show_json({"schedules": [schedule_document(each, app.now_ms()) for each in changed]})
    else:
        for each in changed:
            click.echo(_summary(each, app.now_ms()))
        click.echo(counted(len(changed), "schedule"))


def _as_list(changed: Any) -> list[Schedule]:
    return changed if isinstance(changed, list) else [changed]


def _paused_document(schedule: Schedule, done: Paused, now_ms: int) -> dict[str, Any]:
    return {**schedule_document(schedule, now_ms), "skipped_runs": done.skipped, "running_runs": done.running}


def _came_of_it(done: Paused) -> str:
    skipped = f", {counted(done.skipped, 'waiting run')} skipped" if done.skipped else ""
    return f"{skipped}, {done.running} still running" if done.running else skipped


def _summary(schedule: Schedule, now_ms: int) -> str:
    state = schedule_state(schedule, now_ms)
    note = f" ({visible(schedule.paused_note)})" if schedule.paused_note else ""
    coming = f"; next run {_local(schedule, schedule.next_run_ms)} ({_coming(schedule, now_ms)})"
    return f"{visible(schedule.name)} is {state}{note}{coming if state == 'active' else ''}"


def _coming(schedule: Schedule, now_ms: int) -> str:
    return "" if schedule.next_run_ms is None else _distance(schedule.next_run_ms, now_ms)


def _distance(ms: int, now_ms: int) -> str:
    return f"in {span_text(ms - now_ms)}" if ms >= now_ms else f"{span_text(now_ms - ms)} late"


def _local(schedule: Schedule, ms: int | None) -> str:
    return "" if ms is None else local_text(ms, _zone(schedule), seconds=needs_seconds([ms]))


def _zone(schedule: Schedule) -> str:
    try:
        return zone_of(decode(schedule.trigger)).name
    except OnthedotError:  # a trigger that cannot be read is shown all the same
        return "UTC"


def _described(schedule: Schedule) -> str:
    try:
        return visible(decode(schedule.trigger).describe())
    except OnthedotError as error:
        return visible(f"unreadable: {error}")


# what is given


def _where(name: str | None, tag: str | None) -> dict[str, str] | None:
    if (name is None) == (tag is None):
        raise click.BadParameter("give a name, or --tag", param_hint="'NAME'")
    return None if tag is None else {"tag": tag}


def _some(changed: Any, tag: str | None) -> Any:
    """What was changed, if there was anything: a tag that nobody has is most often mistyped."""
    if changed == []:
        raise NotFound(f"no schedule has the tag {tag!r}; nothing was changed")
    return changed


def _follows_unknown(app: App, options: Mapping[str, Any]) -> bool:
    """Whether a task that shall follow is one that no live node has published, which is said."""
    known = {each.name for each in app.tasks.list()}
    named = [(option, options[option]) for option in ("then", "on_failure") if option in options]
    tasks = [(option, task) for option, value in named for task in (value if isinstance(value, list) else [value])]
    tasks += [("alerts", each.get("task")) for each in options.get("alerts", ()) if isinstance(each, dict)]
    unknown = [(option, task) for option, task in tasks if isinstance(task, str) and task not in known]
    for option, task in unknown:
        show_note(f"{option}: no live node has a task {task!r} yet; it waits for one")
    return bool(unknown)
