"""The steps of a schedule in jobs.toml, [[schedules.NAME.steps]]: read, judged, and drawn as a flow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onthedot.app.files.declared_targets import WORK_KEYS, args_problem, read_work
from onthedot.app.files.entry import NamedTask, Steps, Work
from onthedot.app.files.step_values import StepValues, Unreadable, nearest
from onthedot.app.flows.drawing import Callee
from onthedot.app.flows.flow import PREFIX, Flow
from onthedot.app.flows.references import Reference, item, step_of
from onthedot.app.flows.step_options import OF_STEPS, OF_THE_FLOW, OF_THE_STEP
from onthedot.app.names import name_problem
from onthedot.app.policies import POLICIES
from onthedot.app.remedies import did_you_mean
from onthedot.errors import OnthedotError
from onthedot.storable import brief

Table = dict[str, Any]

_POLICIES = tuple(each for each in POLICIES if each not in OF_THE_FLOW)
STEP_KEYS = (*OF_THE_STEP, "map", *WORK_KEYS, *_POLICIES)
ITEM = "item"
"""The argument that gets the item of a map, where the step is a command or a call, which name none."""


@dataclass(frozen=True, slots=True)
class FileStep:
    """One step, read: what it runs, with which arguments, and what is said of it."""

    name: str
    work: Work
    args: Mapping[str, Any]
    options: Mapping[str, Any]
    over: Any = None
    """What it is mapped over; None for one run."""
    waits_for: tuple[str, ...] = ()

    @property
    def brings_task(self) -> bool:
        """Whether what it runs is said here, and no task that is named."""
        return not isinstance(self.work, NamedTask)

    def task_in(self, flow: str) -> str:
        """The name of its task: one that the file brings is called after the flow."""
        return self.work.name if isinstance(self.work, NamedTask) else f"{flow}.{self.name}"


def read_flow(name: str, table: Table, problems: list[str]) -> Steps | None:
    """The flow that a schedule with steps is; or None, and the problems are told."""
    found = _beside_problems(table)
    args = table.get("args", {})
    each = table.get("each", {})
    own = [key for item in each.values() if isinstance(item, dict) for key in item] if isinstance(each, dict) else []
    required = tuple(key for key in dict.fromkeys(own) if key not in args)
    steps = read_steps(table["steps"], [*args, *required] if isinstance(args, dict) else [], found)
    work = Steps(name, tuple(table["steps"]), args, required, args) if not found else None
    if work is not None and (problem := drawn_problem(work, steps)):
        found.append(problem)
    problems += found
    return None if found else work


def flow_of(work: Steps, find: Callable[[str], Callee]) -> Flow[...]:
    """The flow that was read; `OnthedotError` where it does not fit what its steps call."""
    return _draw(work, steps_of(work), find)


def steps_of(work: Steps) -> list[FileStep]:
    """Its steps, each after those that it waits for."""
    return read_steps([*work.tables], [*work.args, *work.required], [])


def _beside_problems(table: Table) -> list[str]:
    """What cannot stand beside steps."""
    kinds = [key for key in WORK_KEYS if key in table and key != "args"]
    found = [f"{kind} and steps: only one of them can stand here" for kind in kinds]
    found += [
        f"{key}: it belongs to the steps of a flow; write it below the one that it is about"
        for key in OF_STEPS
        if key in table
    ]
    wrong_args = args_problem("the flow", table.get("args", {}))
    return found if wrong_args is None else [*found, wrong_args]


def read_steps(said: object, args: Sequence[str], problems: list[str]) -> list[FileStep]:
    """The steps, each after those that it waits for; worthless where problems were told."""
    if not isinstance(said, list) or not said or not all(isinstance(each, dict) for each in said):
        problems.append("steps: write each as a table of its own, [[schedules.NAME.steps]]")
        return []
    names = [_name(each) for each in said]
    found: list[FileStep] = []
    for number, (name, table) in enumerate(zip(names, said, strict=True), 1):
        own: list[str] = [] if names.index(name) == number - 1 or name is None else ["two steps have this name"]
        step = _step(name, table, StepValues([each for each in names if each], args), own)
        problems += [f"step {number if name is None else name}: {' '.join(each.split())}" for each in own]
        found += [step] if step is not None else []
    if problems:
        return []
    _refuse_maps_over_declared(found, problems)
    return _in_order(found, problems)


def _draw(work: Steps, steps: Sequence[FileStep], find: Callable[[str], Callee]) -> Flow[...]:
    flow: Flow[...] = Flow(work.name, {})
    for name in (*work.args, *work.required):
        flow.arg(name, *([work.args[name]] if name in work.args else []))
    for step in steps:
        callee = find(step.task_in(work.name))
        options = {**step.options, "name": step.name}
        if step.over is None:
            flow.drawn.step(callee, (), step.args, options)
        else:
            flow.drawn.map(callee, step.over, step.args, options)
    flow.graph  # noqa: B018  # refused where it is said
    return flow


def drawn_problem(work: Steps, steps: Sequence[FileStep]) -> str | None:
    """What is wrong with the flow as a whole, as far as that can be told without its tasks."""
    try:
        _draw(work, steps, lambda task: task)
    except OnthedotError as error:
        said = without_flow(work.name, str(error))
        return f"step {said}" if any(said.startswith(f"{step.name}: ") for step in steps) else said
    return None


def without_flow(name: str, text: str) -> str:
    """The file has said already where it is."""
    return text.removeprefix(f"flow {name!r}: ")


def _name(table: Table) -> str | None:
    """What it is called: as its task, unless said."""
    name = table.get("name", table.get("task"))
    return name.removeprefix(PREFIX) if isinstance(name, str) else None


def _step(name: str | None, table: Table, values: StepValues, problems: list[str]) -> FileStep | None:
    problems += [*_wrong_keys(table), *_wrong_name(name, table)]
    work = read_work(table, problems, is_step=True)
    problems += _wrong_args(name, table, work)
    over = _told(problems, "map", lambda: values.over(table["map"])) if "map" in table else None
    args = _told(problems, "args", lambda: values.value(table["args"])) if "args" in table else {}
    when = _told(problems, "when", lambda: values.condition(table["when"])) if "when" in table else None
    after = list(_after(table.get("after", []), name, values, problems))
    if name in values.used:
        problems.append(f"result: {name} is the step itself, which has returned nothing yet")
    if problems or name is None or work is None:
        return None
    problems += _wrong_map(table, work, over)
    if over is not None and not isinstance(work, NamedTask) and "args" not in table:
        args = {ITEM: item}
    options = {key: table[key] for key in ("on", "may_fail", "parallel", *_POLICIES) if key in table}
    options |= {"after": after} if after else {}
    options |= {"when": when} if when is not None else {}
    return FileStep(name, work, args, options, over, tuple(dict.fromkeys([*after, *values.used])))


def _wrong_name(name: str | None, table: Table) -> Iterator[str]:
    if name is None:
        yield "name is missing" if "name" not in table else f"name: {brief(table['name'])} is not text"
    elif problem := name_problem(name):
        yield f"name: {problem}"


def _wrong_args(name: str | None, table: Table, work: Work | None) -> Iterator[str]:
    """Those of a command or a call; what a task takes is known when the flow is drawn."""
    if work is None or isinstance(work, NamedTask):
        return
    if wrong := args_problem(f"{name}", table.get("args", {})):
        yield wrong


def _wrong_map(table: Table, work: Work, over: Any) -> Iterator[str]:
    """A map gives its item to somebody, and nothing else has one."""
    if over is not None:
        if isinstance(work, NamedTask) and not _has_item(table.get("args", {})):
            yield "args: say which argument gets the item of the map: args = { file = { item = true } }"
        return
    if "parallel" in table:
        yield "parallel: it goes with map"
    if _has_item(table):
        yield "item: it is only known in a map; write map beside it"


def _wrong_keys(table: Table) -> Iterator[str]:
    for key, value in table.items():
        if key in OF_THE_FLOW:
            yield f"{key}: it belongs to the schedule, not to a step"
        elif key not in STEP_KEYS:
            yield f"{key}: unknown key; {did_you_mean(key, STEP_KEYS)}"
        elif key in _POLICIES and (wrong := POLICIES[key](value)):
            yield f"{key}: {wrong}"


def _told(problems: list[str], key: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except Unreadable as error:
        problems.append(f"{key}: {error}")
        return None


def _after(said: object, own: str | None, values: StepValues, problems: list[str]) -> Iterator[str]:
    for each in said if isinstance(said, list) else [said]:
        if not isinstance(each, str) or each not in values.steps:
            problems.append(f"after: there is no step {brief(each)}{nearest(each, values.steps)}")
        elif each == own:
            problems.append("after: a step cannot wait for itself")
        else:
            yield each


def _has_item(value: Any) -> bool:
    match value:
        case {"literal": _} if len(value) == 1:
            return False
        case {"item": True}:
            return True
        case dict():
            return any(_has_item(each) for each in value.values())
        case list():
            return any(_has_item(each) for each in value)
        case _:
            return False


def _refuse_maps_over_declared(steps: Sequence[FileStep], problems: list[str]) -> None:
    """What a command or a call returns is no list, ever."""
    brought = {step.name for step in steps if step.brings_task}
    for step in steps:
        source = step_of(step.over) if isinstance(step.over, Reference) else None
        if source in brought:
            problems.append(
                f"step {step.name}: map: {source} is no task that returns a list; map over what a task returns"
            )


def _in_order(steps: Sequence[FileStep], problems: list[str]) -> list[FileStep]:
    """Each after those that it waits for; else as they are written."""
    left, done = {step.name: step for step in steps}, list[FileStep]()
    names: set[str] = set()
    while left:
        ready = next((step for step in left.values() if names.issuperset(step.waits_for)), None)
        if ready is None:
            problems.append(f"steps: {_circle(left)} wait for each other; take one of their after or result out")
            return []
        names.add(ready.name)
        done.append(left.pop(ready.name))
    return done


def _circle(left: Mapping[str, FileStep]) -> str:
    seen: list[str] = []
    name = next(iter(left))
    while name not in seen:
        seen.append(name)
        name = next(each for each in left[name].waits_for if each in left)
    return " and ".join(seen[seen.index(name) :])
