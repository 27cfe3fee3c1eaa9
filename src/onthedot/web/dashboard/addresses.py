"""Addresses of our own pages, below whatever path they are served."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup
from starlette.requests import Request

from onthedot.moments import iso

_IN_PATHS = "/:@!$&'()*+,;=~"


@dataclass(frozen=True, slots=True)
class Addresses:
    """As one request sees them: `url("/runs", state="failed")`."""

    root: str
    path: str
    query: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, request: Request) -> Addresses:
        """Of this request."""
        root = request.scope.get("root_path") or ""
        return cls(root, path_of(request), tuple(request.query_params.multi_items()))

    def __call__(self, path: str, **query: Any) -> str:
        """A path of ours (which is quoted already), with these query values; those that are None are left out."""
        return self.root + path + _query((name, value) for name, value in query.items())

    def here(self, **query: Any) -> str:
        """This address with these values instead of those of the same name; None takes one out."""
        kept = [(name, value) for name, value in self.query if name not in query]
        return self.path + _query([*kept, *query.items()])

    @property
    def back(self) -> str:
        """This address, for a form that leads back to it."""
        return self.path + _query(self.query)

    def schedule(self, name: str, act: str = "", **query: Any) -> str:
        """The page of a schedule, or what is done there."""
        return self(f"/schedules/{quote(name, safe='')}{act and '/' + act}", **query)

    def tick(self, name: str, ms: int) -> str:
        """The answer to why a tick of a schedule became what it is."""
        return self.schedule(name, tick=iso(ms))

    def run(self, run_id: str, act: str = "", **query: Any) -> str:
        """The page of a run, or what is done there."""
        return self(f"/runs/{quote(run_id, safe='')}{act and '/' + act}", **query)

    def static(self, name: str) -> str:
        """A file that browsers keep."""
        from onthedot.web.dashboard.static_files import static_files

        return self(f"/static/{static_files().hash}/{name}")

    def style(self, page: str) -> Markup:
        """The style of all pages, and that of this one if it has its own."""
        from onthedot.web.dashboard.static_files import STYLE, static_files

        names = [STYLE, *(name for name in (f"{page}.css",) if page and name in static_files().by_name)]
        link = Markup('<link rel="stylesheet" href="{}">')
        return Markup("\n").join(link.format(self.static(name)) for name in names)

    def script(self, name: str) -> Markup:
        """A module of scripts that a page wants."""
        return Markup('<script type="module" src="{}"></script>').format(self.static(name))


def path_of(request: Request) -> str:
    """As the browser wrote it: in a name that is decoded `?`, `#` and `%` would mean something else."""
    raw = request.scope.get("raw_path")
    if raw is None:
        return quote(request.url.path, safe=_IN_PATHS)
    return quote(raw.partition(b"?")[0], safe=f"{_IN_PATHS}%")


def _query(values: Iterable[tuple[str, Any]]) -> str:
    pairs: list[tuple[str, str]] = []
    for name, value in values:
        if isinstance(value, list | tuple):
            pairs += [(name, str(each)) for each in value]
        elif value is not None:
            pairs.append((name, str(value)))
    return f"?{urlencode(pairs)}" if pairs else ""
