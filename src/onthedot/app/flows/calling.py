"""A task or a flow as it is called inside a flow: with options of the step, once or for each item of a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onthedot.app.flows.drawing import Callee, Drawing, current, task_name
from onthedot.errors import SettingsError


@dataclass(frozen=True, slots=True)
class StepCall:
    """`task.options(…)`: to be called, or mapped, inside a flow. Says Any to type checkers: what comes of it is a
    reference, which goes wherever the value would."""

    callee: Callee
    said: Mapping[str, Any] = field(default_factory=dict)

    def options(self, **options: Any) -> StepCall:
        """The same with more said of it."""
        return StepCall(self.callee, {**self.said, **options})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A step; what it will return."""
        return self._sheet("(…)").step(self.callee, args, kwargs, self.said)

    def map(self, over: Any, /, **kwargs: Any) -> Any:
        """A run for each item; the list of what they will return. The item goes to the first parameter that is free."""
        return self._sheet(".map(…)").map(self.callee, over, kwargs, self.said)

    def _sheet(self, what: str) -> Drawing:
        sheet = current()
        if sheet is None:
            name = task_name(self.callee)
            raise SettingsError(
                f"{name}.options(…){what} draws a step, and no flow is drawn here; write it below @app.flow,"
                f" or call {name}(…), or app.enqueue({name})"
            )
        return sheet
