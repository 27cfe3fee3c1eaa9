"""What may be said of a flow as a whole, and what belongs to its steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onthedot.app.flows.checks import refuse_shared_limit
from onthedot.app.flows.flow import Flow
from onthedot.app.flows.step_options import OF_STEPS
from onthedot.app.options import checked
from onthedot.errors import SettingsError
from onthedot.model.policy import Policy


def checked_for_flow(options: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The options of a flow, or of a schedule of one; `SettingsError` for those that a flow cannot have."""
    given = checked(options, where)
    for name in given:
        if name in OF_STEPS:
            raise SettingsError(f"{where}: {name} belongs to the steps of a flow: task.options({name}=…)(…)")
    if given.get("mode") == "local":
        raise SettingsError(f"{where}: a flow needs the store: leave out mode='local'")
    return given


def check_flow(name: str, flow: object, given: Mapping[str, Any], policy: Policy) -> None:
    """`SettingsError` where a schedule, or one run, of a flow says what no flow can have."""
    checked_for_flow(given, name)
    if isinstance(flow, Flow):
        group = policy.group_limit
        refuse_shared_limit(flow, None if group is None else group[0])
