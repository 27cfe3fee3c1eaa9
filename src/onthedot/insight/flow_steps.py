"""The run of a step, by its name: its id follows from the flow's."""

from __future__ import annotations

from onthedot.model.ledger import Ledger
from onthedot.model.run import Run
from onthedot.model.step_status import StepStatus
from onthedot.rules.flows.making import step_id


def run_of_step(flow: Run, step: StepStatus) -> str | None:
    """The id of its only run; None of a map, or where it never had one."""
    if step.mapped or step.total is None or not (step.ended or step.state == "running"):
        return None
    again = Ledger.from_json(flow.ledger).round if step.closing else None
    return step_id(flow, step.name, closing_round=again)
