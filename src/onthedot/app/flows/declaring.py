"""`app.flow`: a flow is registered like a task; with a trigger it is declared as a schedule too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from onthedot.app.callables import check_callable, described, name_of
from onthedot.app.enabled import DECLARED_PAUSE
from onthedot.app.flows.flow import Flow
from onthedot.app.flows.policies import checked_for_flow
from onthedot.app.options import OF_THE_SCHEDULE, checked_for_runs, trigger_of
from onthedot.app.pings import with_pings
from onthedot.app.schedules import Put
from onthedot.app.sync import Declarations, Declared
from onthedot.app.tasks import Task, Tasks
from onthedot.errors import SettingsError
from onthedot.triggers.base import Trigger


class FlowDeclaring:
    """Where one app keeps what it declares."""

    def __init__(self, tasks: Tasks, declared: Declarations) -> None:
        self._tasks = tasks
        self._declared = declared

    def declare(
        self,
        name: str | None,
        function: Callable[..., Any] | None,
        trigger: Trigger | None,
        args: Mapping[str, Any] | None,
        options: Mapping[str, Any],
    ) -> Flow[...]:
        """Draw it, register it, and declare its schedule if it has a trigger."""
        if isinstance(function, Task | Flow):
            raise SettingsError(
                f"{function.name!r} is a {'task' if isinstance(function, Task) else 'flow'} already;"
                " write @app.flow above a plain function that calls tasks"
            )
        if function is not None:
            check_callable(function, name or "@app.flow")
        called = name_of(function) if name is None else name
        if called is None:
            raise SettingsError(f'{described(function)} has no name of its own; give it one: app.flow(name="…")(…)')
        given = checked_for_flow(options, called)
        if trigger is None:
            if args is not None:
                raise SettingsError(
                    f"{called}: args belong to a schedule; give a trigger too, or give them to app.enqueue"
                )
            checked_for_runs(given, called)
        policies = {option: value for option, value in given.items() if option not in OF_THE_SCHEDULE}
        flow: Flow[...] = Flow(called, policies, function, self._tasks.find)
        self._tasks.add_flow(flow)
        if trigger is not None:
            trigger_of(trigger, called)
            given = with_pings(self._tasks, called, given, getattr(function, "__module__", ""))
            paused = f"{DECLARED_PAUSE}code" if given.pop("enabled", True) is False else None
            self._declared.add(Declared(Put(called, flow, trigger, args, given), paused=paused))
        return flow
