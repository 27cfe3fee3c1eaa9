"""For tests: schedules in virtual time, tasks run at once, contexts for direct calls, and the suite for stores."""

import importlib
import typing

if typing.TYPE_CHECKING:
    from onthedot.testing.contexts import MadeContext, context
    from onthedot.testing.inlining import inline
    from onthedot.testing.world import World, simulate

__all__ = ["MadeContext", "World", "context", "inline", "simulate"]

# Later, when asked for: pytest loads the plugin beside this file in every project that has onthedot installed.
_LATER = {
    "MadeContext": "onthedot.testing.contexts",
    "World": "onthedot.testing.world",
    "context": "onthedot.testing.contexts",
    "inline": "onthedot.testing.inlining",
    "simulate": "onthedot.testing.world",
}


def __getattr__(name: str) -> typing.Any:
    if name not in _LATER:
        raise AttributeError(f"module 'onthedot.testing' has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)
