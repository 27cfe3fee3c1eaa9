"""The tasks that this process knows: by name, never by module."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar, overload
from weakref import WeakKeyDictionary

from onthedot.app.arguments import Parameter, Signature, annotation_text, check_size, signature_of
from onthedot.app.callables import described, identity_of, is_async, place_of, underlying
from onthedot.app.flows import drawing
from onthedot.app.flows.calling import StepCall
from onthedot.app.flows.checks import named_tasks
from onthedot.app.flows.flow import PREFIX, Flow
from onthedot.app.names import name_problem
from onthedot.app.options import Options, policy_fields, policy_of
from onthedot.errors import ArgumentsError, Conflict, SettingsError, TaskNotFound
from onthedot.execution.around import Around, within_async, within_sync
from onthedot.execution.context import Context
from onthedot.execution.engines.engine import Call, Elsewhere
from onthedot.execution.pools import pool_by_rule
from onthedot.execution.targets.command import Command
from onthedot.execution.targets.http import HttpCall
from onthedot.execution.targets.mail import Mail
from onthedot.execution.targets.ping import Ping
from onthedot.model.alert import ping_task
from onthedot.model.graph import Graph
from onthedot.model.policy import Policy
from onthedot.model.task_info import TaskInfo
from onthedot.storable import beginning
from onthedot.stores.base import Store

_SAVED_MS = 3_600_000

OWN = ping_task("")
"""With this begin the names of tasks that users do not see: what sends pings."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(slots=True)
class Task(Generic[P, R]):
    """Something registered by its name: a function, which can still be called as it is, a command, a call, a mail."""

    name: str
    function: Callable[P, R]
    aliases: tuple[str, ...] = ()
    policies: Mapping[str, Any] = field(default_factory=dict)
    """What was said of how its runs are treated."""
    declared_in: str = ""
    """The module that declares a command or an HTTP call; a function knows its own."""
    arounds: Sequence[Around] = ()
    """What is done around every run of it: the app's."""
    engine: str | None = None
    """The engine that executes its runs; None: nodes do."""
    signature: Signature = field(init=False)
    is_async: bool = field(init=False)
    """Whether it runs on an event loop: an `async def`, or an HTTP call."""

    def __post_init__(self) -> None:
        self.signature = signature_of(self.function)
        self.is_async = is_async(self.function)

    # Any of an `async def`: in a flow nobody awaits it.
    @overload
    def __call__(self: Task[P, Coroutine[Any, Any, Any]], *args: P.args, **kwargs: P.kwargs) -> Any: ...

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @overload
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function as it is; while a flow is drawn, add a step to it, and give what stands for its result."""
        sheet = drawing.current()
        return self.function(*args, **kwargs) if sheet is None else sheet.step(self, args, kwargs, {})

    def options(self, **options: Any) -> StepCall:
        """In a flow: the task as a step of which more is said: policies of runs, `name`, `after`, `on`, `when`,
        `may_fail`, `parallel`."""
        return StepCall(self, options)

    def map(self, over: Any, /, **kwargs: Any) -> Any:
        """In a flow: a run for each item of what a step returns, or of a list; the list of what they will return."""
        return StepCall(self).map(over, **kwargs)

    @property
    def run_name(self) -> str:
        """The task of its runs."""
        return self.name

    @property
    def graphs(self) -> Sequence[Graph]:
        """None: it is no flow."""
        return ()

    @property
    def is_command(self) -> bool:
        """Whether it is a command."""
        return isinstance(self.function, Command)

    @property
    def is_http(self) -> bool:
        """Whether it is an HTTP call."""
        return isinstance(self.function, HttpCall)

    @property
    def is_declared(self) -> bool:
        """Whether it is a command, an HTTP call or a mail: something said, rather than a function."""
        return isinstance(self.function, Command | HttpCall | Mail | Ping | Elsewhere)

    @property
    def stops_itself(self) -> bool:
        """Whether it ends by itself when its run should stop: commands and HTTP calls do."""
        return self.is_command or self.is_http

    @property
    def pool(self) -> str | None:
        """The pool that was chosen for it."""
        return self.policies.get("pool")

    @property
    def place(self) -> str:
        """Where it is written."""
        place = None if self.is_declared else place_of(self.function)
        return place or f"{self.function} in {self.declared_in}"

    def call(self, context: Context, args: Mapping[str, Any]) -> Any | Awaitable[Any]:
        """Call it for a run: with its context if it asks for one, and arguments as objects."""
        values = self.signature.objects(self._taken(context, args))
        if self.signature.context is not None:
            values[self.signature.context] = context
        call: Callable[..., Any] = self.function
        if self.arounds:
            within = within_async if self.is_async else within_sync
            return within(self.arounds, context, lambda: call(**values))
        return call(**values)

    def _taken(self, context: Context, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Of what an alert tells, what the function asks for; a command or a call finds it with its run."""
        if self.is_declared and not isinstance(self.function, Elsewhere):
            return {}
        if context.run.cause != "alert" or self.signature.open:
            return args
        known = {parameter.name for parameter in self.signature.parameters}
        return {name: value for name, value in args.items() if name in known}

    def elsewhere(self, context: Context) -> Call:
        """What to give to its engine; what is done around runs is not done there."""
        run = context.run
        arguments = self.signature.objects(self._taken(context, run.args))
        function = None if isinstance(self.function, Elsewhere) else self.function
        return Call(self.name, function, arguments, run.id, run.attempt, run.schedule, run.scheduled_at)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by where it is written: the other process imports it from there."""
        inner, given = underlying(self.function), self.function
        beforehand = (given.args, given.keywords) if isinstance(given, partial) else ()
        return found_task, (inner.__module__, inner.__qualname__, self.name, *beforehand)

    def info(self) -> TaskInfo:
        """What a node publishes of it."""
        parameters = tuple(
            {"name": each.name, "required": each.required, "annotation": annotation_text(each.annotation)}
            for each in self.signature.parameters
        )
        doc = f"{self.function}" if self.is_declared else inspect.getdoc(underlying(self.function)) or ""
        policy = policy_of(self.policies).as_json()
        return TaskInfo(self.name, parameters, beginning(doc), policy, pool_by_rule(self))


def found_task(
    module: str, qualname: str, name: str, args: tuple[Any, ...] = (), keywords: Mapping[str, Any] | None = None
) -> Task[..., Any]:
    """The task that is written there, in a process that may not have imported it yet; a partial is made anew."""
    if "<" in qualname:
        raise SettingsError(f"{name!r}: pool='process' needs a function at the top of a module, not {qualname}")
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        if not hasattr(found, part):
            raise SettingsError(
                f"{name!r}: pool='process' imports {module} and finds no {qualname} there; put the task into a file"
            )
        found = getattr(found, part)
    task = found if isinstance(found, Task) else Task(name, found)
    if keywords is None:
        return task
    return replace(task, name=name, function=partial(task.function, *args, **keywords))


class Tasks:
    """The registry of one app; and, through the store, what live nodes have published."""

    def __init__(self, open_store: Callable[[], Store], max_args_bytes: int) -> None:
        self._open_store = open_store
        self.max_args_bytes = max_args_bytes
        self._by_name: dict[str, Task[..., Any]] = {}
        self._aliases: dict[str, str] = {}
        self._flows: dict[str, Flow[...]] = {}
        self._saved: WeakKeyDictionary[Store, dict[str, int]] = WeakKeyDictionary()
        """When graphs were kept last, by their hashes: not with every run."""
        self._infos: list[TaskInfo] | None = None

    def add(self, task: Task[..., Any]) -> None:
        """Register. The same function again (a reloaded module, a notebook cell) replaces itself."""
        for name in (task.name, *task.aliases):
            if not isinstance(task.function, Ping):
                check_name(name)
            self._refuse_flow(name, task.place)
        self._refuse_taken_alias(task)
        held = self._by_name.get(task.name)
        if held is not None and identity(held) != identity(task):
            raise Conflict(
                f"two tasks are named {task.name!r}: {held.place} and {task.place}; give one of them a name="
            )
        self._by_name[task.name] = task
        self._infos = None
        self._aliases.update(dict.fromkeys(task.aliases, task.name))

    def _refuse_taken_alias(self, task: Task[..., Any]) -> None:
        """Two tasks that answer to one name: nobody could tell which of them runs."""
        for name in (task.name, *task.aliases):
            held = self._by_name.get(self._aliases.get(name, name))
            if held is not None and held.name != task.name and identity(held) != identity(task):
                raise Conflict(f"{task.name!r} and {held.name!r} are both called {name!r}; give one another name")

    def add_flow(self, flow: Flow[...]) -> None:
        """Register a flow. The same function again replaces itself."""
        check_name(flow.name)
        held = self._flows.get(flow.name)
        if held is not None and (flow.function is None or held.identity != flow.identity):
            raise Conflict(f"two flows are named {flow.name!r}: {held.place} and {flow.place}; give one a name=")
        task = self.lookup(flow.name)
        if task is not None:
            raise Conflict(f"a task is named {flow.name!r} too: {task.place} and {flow.place}; give one a name=")
        self._flows[flow.name] = flow
        self._infos = None

    def _refuse_flow(self, name: str, place: str) -> None:
        flow = self._flows.get(name)
        if flow is not None:
            raise Conflict(f"a flow is named {name!r} too: {flow.place} and {place}; give one a name=")

    def flow(self, name: str) -> Flow[...] | None:
        """The flow of that name, as people or as its runs have it, if this process has it."""
        return self._flows.get(name.removeprefix(PREFIX))

    def flows(self) -> Sequence[Flow[...]]:
        """Those that this process has."""
        return tuple(self._flows.values())

    def find(self, name: str) -> Task[..., Any] | Flow[...] | None:
        """The task or flow of that name, if this process has it."""
        return self.lookup(name) or self.flow(name)

    def save_all_graphs(self) -> None:
        """Keep the graphs of all flows that this process has, before schedules and runs refer to them."""
        if self._flows:
            self._open_store().save_graphs([graph for flow in self._flows.values() for graph in flow.graphs])

    def save_graphs(self, name: str, *, unchecked: bool, connection: Any = None) -> None:
        """The same for the flow that runs of this task are, if this process has it: nodes keep what they publish.

        `TaskNotFound` if it names a task that nobody has, unless that is not asked.
        """
        flow = self.flow(name) if name.startswith(PREFIX) else None
        if flow is None:
            return
        for step, task in named_tasks(flow):
            self.check_known(task, f"flow {flow.name!r}: {step}", unchecked=unchecked)
        store = self._open_store()
        saved = self._saved.setdefault(store, {})
        if store.now_ms() - saved.get(flow.graph.hash, 0) > _SAVED_MS:
            store.save_graphs(flow.graphs, connection)
            if connection is None:  # else it may be rolled back
                saved[flow.graph.hash] = store.now_ms()

    def graph_of(self, name: str) -> str | None:
        """The graph of runs of this task, by its hash; None where it is no flow."""
        if not name.startswith(PREFIX):
            return None
        flow = self.flow(name)
        return self._published(name).graph if flow is None else flow.graph.hash

    def replace(self, names: Iterable[str], tasks: Iterable[Task[..., Any]]) -> None:
        """Forget the tasks of these names and register others, at once: what a file says now instead of before."""
        gone = set(names)
        kept = {name: task for name, task in self._by_name.items() if name not in gone}
        self._by_name = kept | {task.name: task for task in tasks}
        self._infos = None

    def replace_flows(self, names: Iterable[str], flows: Iterable[Flow[...]]) -> None:
        """The same for flows."""
        gone = set(names)
        kept = {name: flow for name, flow in self._flows.items() if name not in gone}
        self._flows = kept | {flow.name: flow for flow in flows}
        self._infos = None

    def lookup(self, name: str) -> Task[..., Any] | None:
        """The task of that name or alias, if this process has it."""
        return self._by_name.get(self._aliases.get(name, name))

    def own(self, prefix: str) -> list[Task[..., Any]]:
        """Those of this process whose names begin so."""
        return [task for name, task in self._by_name.items() if name.startswith(prefix)]

    def __len__(self) -> int:
        return len(self._by_name)

    def names(self) -> tuple[str, ...]:
        """All names and aliases that this process can run, and the flows that it can begin."""
        return tuple(sorted({*self._by_name, *self._aliases, *(flow.run_name for flow in self._flows.values())}))

    def infos(self) -> list[TaskInfo]:
        """What this process publishes. Kept until a task comes or goes: nodes ask with every pass."""
        if self._infos is None:
            known: list[Task[..., Any] | Flow[...]] = [*self._by_name.values(), *self._flows.values()]
            self._infos = sorted((each.info() for each in known), key=lambda info: info.name)
        return self._infos

    def list(self) -> tuple[TaskInfo, ...]:
        """All tasks that live nodes publish, and those of this process."""
        known = {info.name: info for info in (*self._open_store().tasks(), *self.infos())}
        return tuple(known[name] for name in sorted(known) if not name.startswith(OWN))

    def checked(
        self, task: str | Task[..., Any] | Flow[...], args: Mapping[str, Any] | None, *, unchecked: bool
    ) -> tuple[str, dict[str, Any]]:
        """The name of its runs' task and its arguments as JSON, checked against the function here, else the published
        one."""
        task = getattr(task, "onthedot_task", task)  # a function that stands for one, where decorators need functions
        if not isinstance(task, str | Task | Flow):
            raise SettingsError(
                f"{described(task)} is no task; give its name, or what @app.task has made of the function"
            )
        name = task if isinstance(task, str) else task.run_name
        local = self.find(name)
        if local is None:
            name = self._known_as(name, unchecked=unchecked)
        signature = self._published_signature(name, unchecked=unchecked) if local is None else local.signature
        values = signature.check(name, {} if args is None else args)
        check_size(name, values, self.max_args_bytes)
        return name if local is None else local.run_name, values

    def _known_as(self, name: str, *, unchecked: bool) -> str:
        """The name under which nodes publish it: a flow may be called as people call it."""
        if unchecked:
            return name
        published = {info.name for info in self._open_store().tasks()}
        return f"{PREFIX}{name}" if name not in published and f"{PREFIX}{name}" in published else name

    def _published_signature(self, name: str, *, unchecked: bool) -> Signature:
        if unchecked:
            check_name(name)
            return Signature((), open=True)
        published = self._published(name).parameters
        return Signature(tuple(Parameter(str(each["name"]), bool(each["required"])) for each in published))

    def policy_of(
        self, name: str, defaults: Options, given: Options | None = None, *, unchecked: bool = False
    ) -> Policy:
        """How runs of the task are treated: as is given; for the rest by the function here, else as nodes publish it,
        unless nobody shall be asked."""
        local, given = self.find(name), {} if given is None else given
        if local is not None or unchecked:
            return policy_of(defaults, {} if local is None else local.policies, given)
        published = next((info.policy for info in self._open_store().tasks() if info.name == name), {})
        inherited = Policy.from_json({**policy_of(defaults).as_json(), **published})
        return replace(inherited, **policy_fields(given))

    def check_known(self, name: str, where: str, *, unchecked: bool) -> None:
        """`TaskNotFound` if nobody has such a task, unless that is not asked; `SettingsError` if it is a flow."""
        if name.startswith(PREFIX) or (self.lookup(name) is None and self.flow(name) is not None):
            raise SettingsError(f"{where}: {name.removeprefix(PREFIX)} is a flow; name a task, which may enqueue it")
        if not unchecked and self.lookup(name) is None:
            self._published(name, where)

    def check_takes(self, name: str, told: Collection[str], where: str) -> None:
        """`ArgumentsError` if the function here needs what it is not told."""
        local = self.lookup(name)
        if local is None or local.is_declared:
            return
        needs = next(
            (each.name for each in local.signature.parameters if each.required and each.name not in told), None
        )
        if needs is not None:
            raise ArgumentsError(f"{where}: task {name!r} needs {needs}, and is told {', '.join(told)}")

    def _published(self, name: str, where: str = "") -> TaskInfo:
        published = {info.name: info for info in self._open_store().tasks()}
        if name not in published:
            raise TaskNotFound(name, tuple(sorted({*published, *self._by_name})), where)
        return published[name]


def check_name(name: str) -> None:
    """`SettingsError` if no task can be called so."""
    problem = name_problem(name)
    if problem is not None:
        raise SettingsError(f"task: {problem}")
    if name.startswith(PREFIX):
        raise SettingsError(f"task: the name {name!r} begins with {PREFIX!r}, as runs of flows do; write {name[1:]!r}")


def identity(task: Task[..., Any] | Flow[...]) -> tuple[str, ...]:
    """What it has in common with itself when it is declared again; no other has it."""
    if isinstance(task, Flow):
        return task.identity
    if task.is_declared:
        kind = type(task.function).__name__
        return ("" if task.declared_in == "__main__" else task.declared_in, f"{kind} {task.name}")
    return identity_of(task.function)
