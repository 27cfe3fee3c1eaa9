"""`onthedot flows`: which flows there are, and what they look like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

import click

from onthedot.app.app import App
from onthedot.app.json_documents import graph_document, run_document
from onthedot.cli.apps import open_app
from onthedot.cli.commands import Group, argument
from onthedot.cli.json_output import show_json
from onthedot.cli.options import as_json, store_url
from onthedot.cli.runs import find_run
from onthedot.cli.texts import visible
from onthedot.errors import NotFound, RunNotFound, SettingsError
from onthedot.insight.flow_layout import nearest, said
from onthedot.model.run import Run
from onthedot.model.step_status import StepStatus, statuses

group = Group("flows", help="Look at flows.", default="list")

_MARKS = {
    "waiting": "○",
    "running": "◐",
    "succeeded": "●",
    "failed": "✗",
    "skipped": "–",
    "cancelled": "⊘",
}


@group.command("list")
@store_url
@as_json
def list_flows(*, store: str | None, as_json: bool) -> None:
    """List the flows that live nodes have published."""
    with closing(open_app(store)) as app:
        found = app.flows.list()
    if as_json:
        show_json({"flows": [graph_document(graph) for graph in found]})
        return
    if not found:
        click.echo("no flows: no live node has published one")
        return
    from onthedot.cli.screen import Screen, plain_table

    table = plain_table()
    for heading in ("flow", "steps", "arguments"):
        table.add_column(heading)
    for graph in found:
        given = [*graph.required, *(f"{name}={value!r}" for name, value in graph.defaults.items())]
        table.add_row(
            visible(graph.name), ", ".join(visible(each.name) for each in graph.steps), visible(", ".join(given))
        )
    Screen().print(table)


@group.command("show")
@argument("name", metavar="NAME|RUN_ID", help="A flow's name, or the id of a run of one.")
@store_url
@as_json
def show_flow(name: str, *, store: str | None, as_json: bool) -> None:
    """Draw a flow; of a run with how far each step is."""
    with closing(open_app(store)) as app:
        run = _run(app, name)
        graph = app.flows.get(name) if run is None else app.flows.of_run(run.id)
    if graph is None:
        raise SettingsError(f"run {name} is no flow; onthedot runs show {name} tells about it")
    if as_json:
        show_json(graph_document(graph) if run is None else {**graph_document(graph), "run": run_document(run)})
        return
    steps = statuses(graph, None) if run is None else run.steps
    click.echo(visible(graph.name) + ("" if run is None else f": run {run.id} is {run.state}"))
    for line in drawn(steps, live=run is not None):
        click.echo(line)


def _run(app: App, text: str) -> Run | None:
    """The run that is meant, if it is one: names of flows come first."""
    if any(graph.name == text.removeprefix("@") for graph in app.flows.list()):
        return None
    try:
        return find_run(app, text)
    except (RunNotFound, click.BadParameter):
        known = app.flows.list()
        hint = f"there is {', '.join(graph.name for graph in known[:5])}" if known else "no live node has published one"
        raise NotFound(f"no flow and no run is called {text!r}; {hint}") from None


def drawn(steps: Sequence[StepStatus], *, live: bool) -> Iterator[str]:
    """A tree: each step under the last of those that it comes after, closing ones at the end."""
    under: dict[str | None, list[StepStatus]] = {}
    above = nearest(steps)
    for step in steps:
        under.setdefault(None if step.closing and not step.after else above[step.name], []).append(step)
    roots = sorted(under.get(None, []), key=lambda step: step.closing)
    width = max((_width(step, above, 0) for step in steps), default=0)
    for step in roots:
        yield from _branch(step, under, "", "", width, live=live)


def _branch(
    step: StepStatus,
    under: Mapping[str | None, Sequence[StepStatus]],
    lead: str,
    indent: str,
    width: int,
    *,
    live: bool,
) -> Iterator[str]:
    label = f"{lead}{_MARKS[step.state] if live else '○'} {visible(step.name)}"
    yield f"{label:<{width + 2}}  {_note(step, live=live)}".rstrip()
    children = under.get(step.name, ())
    for number, child in enumerate(children):
        last = number == len(children) - 1
        joint, rest = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from _branch(child, under, indent + joint, indent + rest, width, live=live)


def _note(step: StepStatus, *, live: bool) -> str:
    """What is to be said of it beside its name."""
    parts = [said(step) or (step.state if live else "")]
    parts += ["for each item"] if step.mapped and step.total is None else []
    parts += [f"flow {step.task[1:]}"] if step.task.startswith("@") else []
    parts += [f"after {', '.join(map(visible, step.after))}"] if len(step.after) > 1 else []
    parts += ["closes the flow"] if step.closing else []
    return ", ".join(part for part in parts if part)


def _width(step: StepStatus, above: Mapping[str, str | None], least: int) -> int:
    """How wide its name stands in the tree."""
    depth, at = 0, above[step.name]
    while at is not None:
        depth, at = depth + 1, above.get(at)
    return max(least, 3 * depth + len(step.name))
