"""A flow: tasks that follow each other, drawn by a function or step by step, and kept as a graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, ParamSpec

from onthedot.app.arguments import MISSING, Parameter, Signature, annotation_text, signature_of, to_json
from onthedot.app.callables import described, identity_of, is_async, place_of
from onthedot.app.flows.calling import StepCall
from onthedot.app.flows.checks import check_graph
from onthedot.app.flows.drawing import Callee, Drawing, current, drawing
from onthedot.app.flows.references import Reference, item, of_arg
from onthedot.app.options import policy_of
from onthedot.errors import ArgumentsError, SettingsError
from onthedot.model.graph import Graph
from onthedot.model.task_info import TaskInfo
from onthedot.storable import beginning

P = ParamSpec("P")
PREFIX = "@"
"""Of the task of a flow's runs: no task of a user is called so, and older nodes never see them."""


class Flow(Generic[P]):
    """What `@app.flow` makes of a function, and what `app.flow("name")` begins. Called in another flow it is a step."""

    def __init__(
        self,
        name: str,
        policies: Mapping[str, Any],
        function: Callable[P, Any] | None = None,
        find: Callable[[str], Callee | None] = lambda name: None,
    ) -> None:
        self.name = name
        self._find = find
        """What this process has under a name."""
        self.policies = policies
        """What was said of how its runs are treated."""
        self.function = function
        self._sheet = Drawing(name)
        self._parameters: dict[str, Parameter] = {}
        self._defaults: dict[str, Any] = {}
        self._graph: Graph | None = None
        if function is not None:
            self._draw(function)

    def _draw(self, function: Callable[..., Any]) -> None:
        if is_async(function) or inspect.isgeneratorfunction(function):
            raise SettingsError(f"flow {self.name!r}: write it as a plain def: it is called once, and only draws")
        for each in _parameters(self.name, function):
            self.arg(each.name, *_default(each), annotation=each.annotation)
        with drawing(self._sheet):
            returned = function(**{name: of_arg(name) for name in self._parameters})
        if returned is not None:
            raise SettingsError(
                f"flow {self.name!r}: it returns something, and a flow has no result of its own; leave out return,"
                " and read app.runs.get(id).steps"
            )
        self.graph  # noqa: B018  # refused where it is declared

    # drawing it step by step

    def arg(self, name: str, default: Any = MISSING, *, annotation: Any = MISSING) -> Reference:
        """An argument of the flow, to be passed on to steps."""
        if default is not MISSING:
            self._defaults[name] = to_json(default, f"flow {self.name!r}: {name}")
        self._parameters[name] = Parameter(name, default is MISSING, annotation)
        self._graph = None
        return of_arg(name)

    def step(self, task: Callee, *, args: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """A step: a task or a flow, also by its name; what it will return. Options as for `task.options`."""
        self._refuse_drawn()
        return self._sheet.step(self._callee(task), (), _args(args, self.name), options)

    def map(self, first: Any, over: Any = MISSING, /, *, args: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """A run of a task for each item of what a step returns, or of a list: `flow.map(load, files)`; the list of what
        they will return. Called while another flow is drawn, `flow.map(files)` is this flow for each item."""
        if over is MISSING:
            return (
                StepCall(self).map(first, **options)
                if args is None
                else StepCall(self).map(first, args=args, **options)
            )
        self._refuse_drawn()
        return self._sheet.map(self._callee(first), over, _args(args, self.name), options)

    @property
    def item(self) -> Reference:
        """The item of a map, for its `args`."""
        return item

    def _refuse_drawn(self) -> None:
        if self.function is not None:
            raise SettingsError(f"flow {self.name!r} is drawn by its function; add the step there")
        self._graph = None

    def _callee(self, task: Any) -> Callee:
        if task is self:
            raise SettingsError(f"flow {self.name!r}: a flow cannot be a step of itself")
        if isinstance(task, str) and task.startswith(PREFIX):
            raise SettingsError(f"flow {self.name!r}: give the flow {task[1:]!r} itself, not its name")
        if isinstance(task, str):
            return self._find(task) or task
        if hasattr(task, "run_name"):
            found: Callee = task
            return found
        raise SettingsError(
            f"flow {self.name!r}: {described(task)} is no task; give its name, or what @app.task has made of it"
        )

    # as a step of another

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Inside another flow: a step that is this flow."""
        if current() is None:
            raise SettingsError(f"a flow is not called: app.enqueue({self.name}, args=…) begins one")
        return StepCall(self)(*args, **kwargs)

    def options(self, **options: Any) -> StepCall:
        """Inside another flow: the same, with options of the step."""
        return StepCall(self, options)

    # what it is

    @property
    def run_name(self) -> str:
        """The task of its runs."""
        return f"{PREFIX}{self.name}"

    @property
    def signature(self) -> Signature:
        """What it takes."""
        return Signature(tuple(self._parameters.values()))

    @property
    def graph(self) -> Graph:
        """What was drawn; `SettingsError` if that cannot be a flow."""
        if self._graph is None:
            required = [each.name for each in self._parameters.values() if each.required]
            graph = self._sheet.graph(self._defaults, required)
            check_graph(self, graph)
            self._graph = graph
        return self._graph

    @property
    def graphs(self) -> Sequence[Graph]:
        """Its own, and those of all flows in it."""
        return [self.graph, *self._sheet.graphs.values()]

    @property
    def is_declared(self) -> bool:
        """No: it takes what its function names."""
        return False

    @property
    def drawn(self) -> Drawing:
        """Its steps so far, with what they call."""
        return self._sheet

    @property
    def place(self) -> str:
        """Where it is written."""
        return (None if self.function is None else place_of(self.function)) or f"flow {self.name}"

    @property
    def identity(self) -> tuple[str, ...]:
        """What it has in common with itself when it is declared again."""
        return ("flow", self.name) if self.function is None else identity_of(self.function)

    def info(self) -> TaskInfo:
        """What a node publishes of it."""
        parameters = tuple(
            {"name": each.name, "required": each.required, "annotation": annotation_text(each.annotation)}
            for each in self._parameters.values()
        )
        doc = inspect.getdoc(self.function) if self.function is not None else ""
        policy = {**policy_of(self.policies).as_json(), "graph": self.graph.hash}
        return TaskInfo(self.run_name, parameters, beginning(doc or ""), policy)

    def __repr__(self) -> str:
        return f"<flow {self.name}>"


def _parameters(flow: str, function: Callable[..., Any]) -> list[inspect.Parameter]:
    signature = signature_of(function)
    if signature.context is not None:
        raise SettingsError(f"flow {flow!r}: a flow has no context, its tasks have; leave out {signature.context}")
    annotations = {each.name: each.annotation for each in signature.parameters}
    found: list[inspect.Parameter] = []
    for each in inspect.signature(function).parameters.values():
        if each.name not in annotations or each.kind is inspect.Parameter.VAR_POSITIONAL or signature.open:
            raise SettingsError(f"flow {flow!r}: name each argument of a flow; *args and **kwargs cannot be drawn")
        found.append(each.replace(annotation=annotations[each.name]))
    return found


def _default(parameter: inspect.Parameter) -> tuple[Any, ...]:
    return () if parameter.default is MISSING else (parameter.default,)


def _args(args: Mapping[str, Any] | None, flow: str) -> Mapping[str, Any]:
    if args is not None and not isinstance(args, Mapping):
        raise ArgumentsError(f"flow {flow!r}: args map parameter names to values: args={{'day': …}}")
    return {} if args is None else args
