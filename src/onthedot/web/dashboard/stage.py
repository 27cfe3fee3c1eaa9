"""Only in an example: kill the processes of its nodes, and start them again."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Request, Response

from onthedot.errors import NodeNotFound
from onthedot.web.dashboard.acts import done
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.routes.router import OPERATOR
from onthedot.web.security import TheGate
from onthedot.web.settings import Stage

router = new_pages()


def stage_of(request: Request) -> Mapping[str, bool]:
    """Its processes by name, and whether each is there; none where this is no example."""
    stage: Stage | None = request.app.state.gate.settings.stage
    return {} if stage is None else stage.lives()


@router.post("/stage/{name}/kill", **OPERATOR)
def kill(request: Request, gate: TheGate, name: str) -> Response:
    """As a power cut would."""
    _known(gate.settings.stage, name).kill(name)
    return done(request, f"Killed {name}: when its lease is over, others go on with what it ran", to="/nodes")


@router.post("/stage/{name}/start", **OPERATOR)
def start(request: Request, gate: TheGate, name: str) -> Response:
    """Another incarnation of the same name."""
    _known(gate.settings.stage, name).start(name)
    return done(request, f"Started {name}", to="/nodes")


def _known(stage: Stage | None, name: str) -> Stage:
    if stage is None or name not in stage.lives():
        raise NodeNotFound(name, () if stage is None else stage.lives())
    return stage
