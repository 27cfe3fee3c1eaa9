"""The sheet on which a flow is drawn: its steps, one by one, until they are a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from onthedot.app.arguments import Signature, to_json
from onthedot.app.flows.references import (
    Reference,
    has_reference,
    is_whole,
    item,
    of_step,
    step_of,
    written,
)
from onthedot.app.flows.step_options import OF_STEPS, StepOptions, step_options
from onthedot.app.names import name_problem
from onthedot.errors import ArgumentsError, SettingsError
from onthedot.model.graph import MOST_ITEMS, PARALLEL, Graph, Step
from onthedot.model.references import ARG, ITEM, RESULT, references_in, results_in
from onthedot.storable import brief


class Called(Protocol):
    """What a step may call: a task, or another flow."""

    @property
    def name(self) -> str:
        """How people call it."""

    @property
    def run_name(self) -> str:
        """The task of its runs."""

    @property
    def signature(self) -> Signature:
        """What it takes."""

    @property
    def policies(self) -> Mapping[str, Any]:
        """What was said of how its runs are treated."""

    @property
    def is_declared(self) -> bool:
        """Whether it is a command, a call or a mail, which take whatever they are given."""

    @property
    def graphs(self) -> Sequence[Graph]:
        """Of a flow its own graph, then those of the flows in it."""


Callee = Called | str
"""By its name where this process does not have it."""

_sheet: ContextVar[Drawing | None] = ContextVar("onthedot_drawing", default=None)


class Drawing:
    """The steps of one flow, as they are drawn. Not thread-safe: a flow is drawn by one thread."""

    def __init__(self, flow: str) -> None:
        self.flow = flow
        self.steps: dict[str, Step] = {}
        self.callees: dict[str, Callee] = {}
        """By the name of each step what it calls."""
        self.graphs: dict[str, Graph] = {}
        """Those of the flows that it calls, as they were then, by their hashes."""

    def step(self, callee: Callee, args: Sequence[Any], kwargs: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
        """A step that is one run; what it will return."""
        said, where = self._said(callee, options)
        if said.parallel is not None:
            raise SettingsError(f"{where}: parallel= is for maps; write {task_name(callee)}.options(parallel=…).map(…)")
        values = self._values(callee, args, kwargs, where)
        return self._add(callee, said, values, None)

    def map(self, callee: Callee, over: Any, kwargs: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
        """A step that is one run for each item; the list of what they will return."""
        said, where = self._said(callee, options)
        source = self._over(over, where)
        given = dict(kwargs)
        if not any(ITEM in each for each in references_in(_written_all(given, where))):
            given = {self._first_free(callee, given, where): item, **given}
        return self._add(callee, said, self._values(callee, (), given, where, mapped=True), source)

    # what is said of it

    def _said(self, callee: Callee, options: Mapping[str, Any]) -> tuple[StepOptions, str]:
        name = options.get("name")
        name = task_name(callee) if name is None else name
        problem = name_problem(name)
        if problem is not None:
            raise SettingsError(f"flow {self.flow!r}: step: {problem}")
        where = self._where(name)
        said = step_options({**options, "name": name}, where)
        if not isinstance(callee, str) and callee.graphs:
            _refuse_of_tasks(options, callee.name, where)
        return said, where

    def _where(self, name: str) -> str:
        return f"flow {self.flow!r}: {name}"

    def _over(self, over: Any, where: str) -> Any:
        """What it is mapped over: a whole result, an argument of the flow, or a list."""
        if isinstance(over, Reference):
            if over is item:
                raise SettingsError(
                    f"{where}: map over what a step returns, not over item; for a map in a map call a flow"
                )
            if step_of(over) is not None and not is_whole(over):
                raise SettingsError(
                    f"{where}: a map goes over all that a step returns, not {brief(over)}; let a step return that list"
                )
            self._refuse_flow_source(over, where)
            return written(over, f"{where}: map")
        if not isinstance(over, list | tuple):
            kind = "a dict" if isinstance(over, dict) else brief(over)
            remedy = (
                "; write list(d.items()) or list(d)" if isinstance(over, dict) else ": what a step returns, or a list"
            )
            raise SettingsError(f"{where}: a map goes over a list, not over {kind}{remedy}")
        if len(over) > MOST_ITEMS:
            raise SettingsError(
                f"{where}: {len(over):,} items; a map has at most {MOST_ITEMS:,}: give it batches of them"
            )
        if has_reference(over):
            raise SettingsError(f"{where}: this list has results of steps in it; let a step return the whole list")
        return [to_json(each, f"{where}: map[{number}]") for number, each in enumerate(over)]

    def _refuse_flow_source(self, over: Reference, where: str) -> None:
        step = step_of(over)
        if step is not None and step in self.steps and self.steps[step].graph is not None:
            raise SettingsError(f"{where}: {step} is a flow, which returns nothing; map over what a task returns")

    def _first_free(self, callee: Callee, given: Mapping[str, Any], where: str) -> str:
        """The parameter that gets the item: the first that nothing else was given for."""
        signature = signature_of(callee)
        free = [] if signature is None else [each.name for each in signature.parameters if each.name not in given]
        if free:
            return free[0]
        if signature is None:
            raise SettingsError(f"{where}: say which argument gets the item: args={{'path': item}}")
        raise SettingsError(f"{where}: it has no parameter left for the item of a map")

    def _values(
        self, callee: Callee, args: Sequence[Any], kwargs: Mapping[str, Any], where: str, *, mapped: bool = False
    ) -> dict[str, Any]:
        """The arguments as the graph keeps them; `ArgumentsError`."""
        name, signature = task_name(callee), signature_of(callee)
        given = _by_name(name, signature, args, kwargs, where)
        if signature is not None:
            _check(signature, name, given, where)
        values = _written_all(given, where)
        if not mapped and any(ITEM in each for each in references_in(values)):
            raise SettingsError(f"{where}: item is only known in a map: write {name}.map(…)")
        self._refuse_results_of_flows(values, where)
        return values

    def _refuse_results_of_flows(self, values: Any, where: str) -> None:
        for step in results_in(values):
            if step in self.steps and self.steps[step].graph is not None:
                raise SettingsError(
                    f"{where}: {step} is a flow, which returns nothing;"
                    f" to begin after it write {where.rpartition(': ')[2]}.options(after=[{step}])"
                )

    # putting it down

    def _add(self, callee: Callee, said: StepOptions, values: Mapping[str, Any], over: Any) -> Reference:
        assert said.name is not None
        name, where = said.name, self._where(said.name)
        if name in self.steps:
            raise SettingsError(
                f"{where}: two steps have this name; give one another: task.options(name='{name}-2')(…)"
            )
        used = results_in([values, said.when, over if isinstance(over, dict) else None])
        after = tuple(dict.fromkeys([*(said.after or ()), *used]))
        if said.after is not None and not said.after:
            after = tuple(used)
        closing = said.on in ("failure", "end") and not after
        self._refuse_any_alone(said, after, where)
        _refuse_unknown_lists(callee, values, where)
        self.steps[name] = Step(
            name=name,
            task=run_name(callee),
            args=values,
            after=after,
            on=said.on,
            when=said.when,
            may_fail=said.may_fail,
            closing=closing,
            over=over,
            parallel=PARALLEL if said.parallel is None else said.parallel,
            policy=said.policy,
            graph=graph_hash(callee),
        )
        self.callees[name] = callee
        if not isinstance(callee, str):
            self.graphs |= {each.hash: each for each in callee.graphs}
        return of_step(name)

    @staticmethod
    def _refuse_any_alone(said: StepOptions, after: Sequence[str], where: str) -> None:
        if said.on == "any" and not after:
            raise SettingsError(f"{where}: on='any' joins branches; say which: after=[a, b]")

    def graph(self, defaults: Mapping[str, Any], required: Sequence[str]) -> Graph:
        """What was drawn; `SettingsError` if that is no graph."""
        if not self.steps:
            raise SettingsError(f"flow {self.flow!r} has no step; call a task in it")
        return Graph(self.flow, tuple(self._in_order()), dict(defaults), tuple(required))

    def _in_order(self) -> Iterator[Step]:
        """Each after what it waits for, else as they were drawn."""
        self._refuse_wrong_after()
        left, done = dict(self.steps), set[str]()
        while left:
            ready = next((step for step in left.values() if done.issuperset(step.after)), None)
            if ready is None:
                raise SettingsError(f"flow {self.flow!r}: {_cycle(left)} wait for each other; take one after= out")
            done.add(ready.name)
            yield left.pop(ready.name)

    def _refuse_wrong_after(self) -> None:
        for step in self.steps.values():
            for name in step.after:
                if name not in self.steps:
                    raise SettingsError(f"{self._where(step.name)}: after: there is no step {name!r} in this flow")
                if self.steps[name].closing:
                    raise SettingsError(
                        f"{self._where(step.name)}: {name} is a closing step, which begins when all others have ended;"
                        " do both in one task"
                    )


def _refuse_of_tasks(options: Mapping[str, Any], flow: str, where: str) -> None:
    """A flow in a flow begins without a worker: nobody judges data for it, and nobody executes it."""
    if options.get("when") is not None:
        raise SettingsError(
            f"{where}: when= is judged by the task of a step, and {flow} is a flow; let a task before it raise Skip:"
            f" {flow}.options(after=[check()])(…)"
        )
    for name in OF_STEPS:
        if options.get(name) is not None:
            raise SettingsError(f"{where}: {name} is for tasks, and {flow} is a flow; give it to the steps of {flow}")


def _refuse_unknown_lists(callee: Callee, values: Mapping[str, Any], where: str) -> None:
    """How many items a map in a flow has is counted before any of its steps runs, where it goes over an argument."""
    steps = () if isinstance(callee, str) or not callee.graphs else callee.graphs[0].steps
    for step in steps:
        name = step.over.get(ARG) if isinstance(step.over, Mapping) else None
        if name is not None and any(True for _ in references_in(values.get(name))):
            raise SettingsError(
                f"{where}: {task_name(callee)} maps over its argument {name}, which must be a list that is known now;"
                f" let a step of {task_name(callee)} return the list"
            )


def _written_all(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    return {name: written(value, f"{where}: {name}") for name, value in given.items()}


def _by_name(
    name: str, signature: Signature | None, args: Sequence[Any], kwargs: Mapping[str, Any], where: str
) -> dict[str, Any]:
    """Arguments by the names of their parameters, as they are kept."""
    if signature is None and args:
        raise ArgumentsError(f"{where}: what {name} takes is not known here: name its arguments")
    places = [] if signature is None else [each.name for each in signature.parameters]
    if len(args) > len(places):
        raise ArgumentsError(f"{where}: {len(args)} arguments; it takes: {', '.join(places) or 'none'}")
    given = dict(zip(places, args, strict=False))
    twice = next((each for each in kwargs if each in given), None)
    if twice is not None:
        raise ArgumentsError(f"{where}: {twice} is given twice")
    return {**given, **kwargs}


def _check(signature: Signature, name: str, given: Mapping[str, Any], where: str) -> None:
    try:
        signature.check_names(name, given)
        for each, value in given.items():
            if not has_reference(value):
                signature.check_value(name, each, value)
    except ArgumentsError as error:
        raise ArgumentsError(f"{where}: {error}") from None


def _cycle(left: Mapping[str, Step]) -> str:
    """Some that wait for each other."""
    seen: list[str] = []
    name = next(iter(left))
    while name not in seen:
        seen.append(name)
        name = next(each for each in left[name].after if each in left)
    return " and ".join(seen[seen.index(name) :])


# what is called


def run_name(callee: Callee) -> str:
    """The task of the step's runs."""
    return callee if isinstance(callee, str) else callee.run_name


def task_name(callee: Callee) -> str:
    """How people call it."""
    return callee if isinstance(callee, str) else callee.name


def signature_of(callee: Callee) -> Signature | None:
    """What it takes; None where nobody here can tell."""
    return None if isinstance(callee, str) or callee.is_declared else callee.signature


def graph_hash(callee: Callee) -> str | None:
    """Of a flow its graph."""
    return None if isinstance(callee, str) or not callee.graphs else callee.graphs[0].hash


# drawing


def current() -> Drawing | None:
    """The flow that is being drawn here, if one is."""
    return _sheet.get()


@contextmanager
def drawing(sheet: Drawing) -> Iterator[None]:
    """Inside, a task that is called becomes a step."""
    if _sheet.get() is not None:
        raise SettingsError(f"flow {sheet.flow!r} is declared inside another; declare it beside, and call it there")
    token = _sheet.set(sheet)
    try:
        yield
    finally:
        _sheet.reset(token)


def steps_mapped_over(graph: Graph) -> frozenset[str]:
    """The steps whose results are mapped over: each must return a list."""
    return frozenset(
        step.over[RESULT] for step in graph.steps if isinstance(step.over, Mapping) and RESULT in step.over
    )
