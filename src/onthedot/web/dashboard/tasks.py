"""What nodes can do, and having it done once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from fastapi import Request, Response
from starlette.responses import HTMLResponse

from onthedot.errors import ArgumentsError, DurationError, MomentError, TaskNotFound
from onthedot.model.node import Node
from onthedot.model.task_info import TaskInfo
from onthedot.web.dashboard.acts import done
from onthedot.web.dashboard.argument_fields import inputs_of, read_arguments, with_problem
from onthedot.web.dashboard.asks import published
from onthedot.web.dashboard.forms import TheForm
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.dashboard.questions import Input, Question, ask
from onthedot.web.dashboard.toast import Undo
from onthedot.web.routes.router import OPERATOR, VIEWER
from onthedot.web.security import TheApp

router = new_pages()

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class TaskView:
    """One task as the page shows it."""

    info: TaskInfo
    nodes: tuple[str, ...]
    """Who can run it now."""

    @property
    def first_line(self) -> str:
        """Of what it says of itself."""
        return self.info.doc.strip().partition("\n")[0]


@router.get("/tasks", **VIEWER)
def tasks_page(request: Request, app: TheApp, q: str = "") -> HTMLResponse:
    """All that live nodes publish, and those of the process that serves."""
    found = app.tasks.list()
    nodes = app.nodes.list()
    wanted = [each for each in found if q.lower() in f"{each.name}\n{each.doc}".lower()]
    views = [TaskView(each, who_has(each.name, nodes)) for each in wanted[:_SHOWN]]
    return render(
        request, "tasks.html", page="tasks", live="nodes", tasks=views, q=q, known=len(found), found=len(wanted)
    )


def who_has(task: str, nodes: Sequence[Node]) -> tuple[str, ...]:
    """The nodes that can run it."""
    return tuple(node.name for node in nodes if task in node.tasks and "execute" in node.roles)


@router.get("/tasks/{name}/enqueue", **OPERATOR)
def ask_enqueue(request: Request, app: TheApp, name: str) -> HTMLResponse:
    """With which arguments, and when?"""
    task = published(app, name)
    if task is None:
        raise TaskNotFound(name, tuple(each.name for each in app.tasks.list()))
    return ask(request, _question(task, inputs_of(task, {}), _when("", "")))


@router.post("/tasks/{name}/enqueue", **OPERATOR)
def enqueue(request: Request, app: TheApp, form: TheForm, name: str) -> Response:
    """A run of the task, now or later; what is wrong is said beside its field."""
    task = published(app, name)
    if task is None:
        raise TaskNotFound(name, tuple(each.name for each in app.tasks.list()))
    values, inputs = read_arguments(form, task)
    delay = form["delay"].strip()
    if any(each.wrong for each in inputs):
        return ask(request, _question(task, inputs, _when(delay, "")), 422)
    try:
        run = app.enqueue(name, args=values, delay=delay or None)
    except ArgumentsError as error:
        return ask(request, _question(task, with_problem(inputs, error), _when(delay, "")), 422)
    except (DurationError, MomentError) as error:
        return ask(request, _question(task, inputs, _when(delay, str(error))), 422)
    undo = Undo(f"/runs/{run.id}/cancel", {"reason": "enqueued by mistake"}, "Cancel it")
    return done(request, f"{name} is enqueued" + (f", to begin in {delay}" if delay else ""), undo, to="/tasks")


def _when(given: str, wrong: str) -> Input:
    return Input("delay", "Begin in", given, hint="90s, 15m, 2h30m; now if empty", mono=True, wrong=wrong)


def _question(task: TaskInfo, inputs: Sequence[Input], when: Input) -> Question:
    said = task.doc.strip().partition("\n")[0] or "It says nothing of itself."
    path = f"/tasks/{quote(task.name, safe='')}/enqueue"
    return Question(f"Run {task.name} once?", said, path, "Run it", [*inputs, when], leave="Cancel", page="tasks")
