"""The picture: facts in, something that rich can draw out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.layout import Layout
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from onthedot.cli.living.clock_face import RADIUS, clock_face
from onthedot.cli.living.crew import name_of
from onthedot.cli.living.facts import Facts
from onthedot.cli.texts import span_text
from onthedot.errors import OnthedotError
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.tracebacks import telling_line
from onthedot.triggers.codec import decode

STYLES = {
    "succeeded": "green",
    "running": "cyan",
    "waiting": "yellow",
    "failed": "red",
    "timed_out": "red",
    "lost": "red",
    "cancelled": "magenta",
    "skipped": "yellow",
}
_BAR = 16
_DEMO_KEYS = (("↑↓", "choose"), ("p", "pause"), ("t", "trigger"), ("1 2", "kill or start a node"), ("q", "quit"))
_LONGEST_NAME = 28
_SAID_LINES, _WIDTH = 4, 96


@dataclass(frozen=True, slots=True)
class Looks:
    """What is chosen, and what was said last."""

    chosen: int = 0
    said: str = ""
    lives: tuple[bool, ...] | None = None
    """For each node of the example, whether its process is there; None where nodes are not ours."""
    where: str = "one SQLite file"
    keys: tuple[tuple[str, str], ...] = _DEMO_KEYS


def picture(facts: Facts, looks: Looks, height: int) -> Layout:
    """The whole screen."""
    whole, said = Layout(), min(len(looks.said) // _WIDTH + 1, _SAID_LINES)
    whole.split_column(Layout(_title(facts, looks), size=1), Layout(name="body"), Layout(_legend(looks), size=said + 1))
    whole["body"].split_row(Layout(name="left", size=4 * RADIUS + 5), Layout(name="right"))
    whole["left"].split_column(
        Layout(_boxed("the next minute", clock_face(facts)), size=2 * RADIUS + 3),
        Layout(_boxed("nodes", nodes_table(facts, looks))),
    )
    schedules = len(facts.schedules) + 3
    rest = max(height - 2 - said - schedules, 8)
    whole["right"].split_column(
        Layout(_boxed("schedules", schedules_table(facts, looks)), size=schedules),
        Layout(name="below", size=rest),
    )
    whole["below"].split_row(
        Layout(_boxed("running", running_table(facts, rest - 2))),
        Layout(_boxed("last outcomes", outcomes_table(facts, rest - 2))),
    )
    return whole


def _boxed(title: str, content: RenderableType) -> Panel:
    return Panel(content, title=title, title_align="left", border_style="dim", padding=(0, 1))


def _grid(*widths: int | None) -> Table:
    """Columns of these widths, each a line high; None takes what is left."""
    table = Table.grid(padding=(0, 1), expand=True)
    for width in widths:
        table.add_column(width=width, ratio=1 if width is None else None, no_wrap=True, overflow="ellipsis")
    return table


def _title(facts: Facts, looks: Looks) -> Text:
    ended = Counter(str(run.state) for run in facts.ended)
    left_out = "" if facts.left_out is None else f", {facts.left_out} ticks left out"
    counts = f"{ended['succeeded']} succeeded, {ended['failed']} failed{left_out}"
    schedules = len(facts.schedules) + facts.hidden
    said = f"  {schedules} schedules on {looks.where}: {len(facts.running)} running, {counts}"
    return Text.assemble((" onthedot", "bold cyan"), (said, "dim"), overflow="ellipsis", no_wrap=True)


def _legend(looks: Looks) -> Text:
    line = Text(" ")
    for key, means in looks.keys:
        line.append(f" {key} ", "bold reverse")
        line.append(f" {means}   ")
    return Text("\n").join([Text(f" {looks.said}", "bold yellow"), line])


def nodes_table(facts: Facts, looks: Looks) -> Table:
    """Each place for a node, with what its process runs."""
    if looks.lives is None:
        return _live_nodes(facts)
    table = Table.grid(padding=(0, 1))
    for number, lives in enumerate(looks.lives, 1):
        own = [node for node in facts.nodes if node.name == name_of(number)]
        newest = max(own, key=lambda node: node.started_ms, default=None)
        running = sum(run.owner == newest.id for run in facts.running) if newest is not None else 0
        if not lives:
            state, style = "killed", "red"
        elif newest is None:
            state, style = "starting", "yellow"
        else:
            state, style = f"alive, {running} running", "green"
        table.add_row(Text("●" if lives else "✗", style), name_of(number), Text(state, style))
        older = [node for node in own if lives is False or node is not newest]
        for node in older:
            left_ms = max(node.renewed_ms + node.lease_ms - facts.now_ms, 0)
            table.add_row("", "", Text(f"its lease: {left_ms / 1000:.0f} s", "dim"))
    return table


def _live_nodes(facts: Facts) -> Table:
    """Nodes as the store knows them."""
    table = Table.grid(padding=(0, 1))
    for node in facts.nodes:
        expired = node.expired(facts.now_ms)
        running = sum(run.owner == node.id for run in facts.running)
        state = "expired" if expired else f"{node.state}, {running} running"
        style = "red" if expired else "green"
        table.add_row(Text("✗" if expired else "●", style), Text(node.name, overflow="ellipsis"), Text(state, style))
    return table if facts.nodes else _nobody()


def _nobody() -> Table:
    table = Table.grid()
    table.add_row(Text("no node is alive: onthedot run", "yellow"))
    return table


def schedules_table(facts: Facts, looks: Looks) -> Table:
    """All of them: when, how long until, how it ended last."""
    longest = max((len(each.name) for each in facts.schedules), default=10)
    table = _grid(1, min(max(longest, 10), _LONGEST_NAME), None, 9, 4, None)
    latest: dict[str | None, Run] = {}
    for run in facts.ended:
        latest.setdefault(run.schedule, run)
    live = Counter(run.schedule for run in facts.running)
    waits = Counter(run.schedule for run in facts.waiting)
    for number, schedule in enumerate(facts.schedules):
        chosen = number == looks.chosen
        table.add_row(
            Text("▶" if chosen else " ", "bold cyan"),
            Text(schedule.name, "bold reverse" if chosen else "bold" if schedule.enabled else "dim"),
            Text(_when(schedule), "dim"),
            _countdown(schedule, facts.now_ms),
            Text("▮" * live[schedule.name], "cyan") + Text("▯" * waits[schedule.name], "yellow"),
            _outcome(latest.get(schedule.name)),
        )
    return table


def _when(schedule: Schedule) -> str:
    policy = schedule.policy
    try:
        said = [decode(schedule.trigger).describe()]
    except OnthedotError:
        return "unreadable"
    said += [policy.overlap] if policy.overlap not in ("serial", schedule.name) else []
    said += [policy.route] if policy.route != "any" else []
    said += [f"after {', '.join(policy.depends_on)}"] if policy.depends_on else []
    return ", ".join(said)


def _countdown(schedule: Schedule, now_ms: int) -> Text:
    if not schedule.enabled:
        return Text("paused", "yellow")
    if schedule.next_run_ms is None:
        return Text("ended", "dim")
    left_s = max(schedule.next_run_ms - now_ms, 0) / 1000
    if left_s >= 100:
        return Text(span_text(int(left_s * 1000)))
    return Text(f"{left_s:4.1f} s", "bold green" if left_s < 1 else "")


def running_table(facts: Facts, lines: int) -> Table:
    """What runs, with how far it is."""
    table = Table.grid(padding=(0, 1))
    parts = dict(facts.parts)
    for run in facts.running[-max(lines, 1) :]:
        part = parts.get(run.id, 0.0)
        full = round(part * _BAR)
        bar = Text("█" * full, "cyan") + Text("░" * (_BAR - full), "grey35")
        again = Text(f"attempt {run.attempt}", "yellow") if run.attempt > 1 else Text("")
        table.add_row(Text(run.title, "bold"), bar, f"{part:4.0%}", Text(facts.node_name(run.owner), "dim"), again)
    return table


def outcomes_table(facts: Facts, lines: int) -> Table:
    """How the last ones ended."""
    table = _grid(10, 10, None)
    for run in facts.ended[: max(lines, 1)]:
        ago_s = (facts.now_ms - (run.finished_ms or 0)) / 1000
        table.add_row(Text(f"{ago_s:4.0f} s ago", "dim"), Text(run.title, "bold"), _outcome(run))
    return table


def _outcome(run: Run | None) -> Text:
    if run is None:
        return Text("")
    attempt = f" at attempt {run.attempt}" if run.attempt > 1 else ""
    why = f": {run.reason}" if run.reason and run.state not in (run.reason, "succeeded") else ""
    error = telling_line(run.error)
    why = f": {error.partition(': ')[2] or error}" if error and run.state == "failed" else why
    return Text(f"{run.state}{attempt}{why}", STYLES.get(run.state, ""))


def too_small(width: int, height: int) -> Group:
    """Instead of a picture that nobody could read."""
    needs = "this needs 100 and 30. Make it larger, or press q."
    return Group(Text(f"The terminal has {width} columns and {height} lines; {needs}"))
