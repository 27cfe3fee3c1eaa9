"""Engines: runs that are executed elsewhere, while everything else stays as it is.

Engine                      what an engine must be able to do
Call                        what it is given
Waiting, Running, Done, Failed, Unknown    how a run stands there
EngineAway, CannotSend      what it raises where it cannot take a run, for now or ever
"""

from __future__ import annotations

from onthedot.execution.engines.engine import (
    Call,
    CannotSend,
    Done,
    Engine,
    EngineAway,
    Failed,
    Running,
    Status,
    Unknown,
    Waiting,
)

__all__ = ["Call", "CannotSend", "Done", "Engine", "EngineAway", "Failed", "Running", "Status", "Unknown", "Waiting"]
