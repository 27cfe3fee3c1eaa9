"""What an update says about a schedule, and the definition that it makes of the one that is there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from onthedot.app.flows.policies import checked_for_flow
from onthedot.app.options import OF_THE_SCHEDULE, Options, field_names, of_the_schedule, policy_of
from onthedot.model.alert import Alert
from onthedot.model.definition_json import DEFAULTS
from onthedot.model.policy import Policy
from onthedot.model.schedule import Definition, Json, Schedule
from onthedot.rules import edits
from onthedot.triggers.base import Trigger


@dataclass(frozen=True, slots=True)
class Said:
    """What shall change; None stays as it is."""

    trigger: Trigger | None
    args: Json | None
    given: Options
    taken_back: frozenset[str]
    """Options of which the schedule itself says nothing any more."""
    otherwise: Policy
    """What then counts: that of its task and the app."""
    alerts: tuple[Alert, ...] = ()
    """The same of alerts."""

    def of(self, schedule: Schedule) -> Definition[Trigger]:
        """The definition after it."""
        old = edits.definition_of(schedule)
        if old.graph is not None:
            checked_for_flow(self.given, schedule.name)
        return replace(
            old,
            args=old.args if self.args is None else self.args,
            trigger=old.trigger if self.trigger is None else self.trigger,
            policy=replace(old.policy, **_some(policy_of(self.given), self.given), **self._followed()),
            given=tuple(sorted({*old.given, *self.given} - self.taken_back)),
            **of_the_schedule(self.given),
            **{name: {**DEFAULTS, "alerts": self.alerts}[name] for name in self.taken_back & OF_THE_SCHEDULE},
        )

    def _followed(self) -> dict[str, Any]:
        return _some(self.otherwise, self.taken_back)


def _some(policy: Policy, options: Options | frozenset[str]) -> dict[str, Any]:
    return {name: getattr(policy, name) for name in field_names(options)}
