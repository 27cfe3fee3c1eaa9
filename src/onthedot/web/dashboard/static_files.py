"""Style, scripts and the icon: read once, under an address that changes with them, so that browsers may keep them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import Request, Response
from starlette.exceptions import HTTPException

from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.routes.router import ANYBODY

STYLE = "style.css"
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_OF_PAGES = "50"
"""From here on a part is of one page, and named after it."""
_FOR_A_YEAR = "public, max-age=31536000, immutable"

router = new_pages()


@dataclass(frozen=True, slots=True)
class StaticFiles:
    """Their bytes by name, and one hash of all."""

    by_name: dict[str, bytes]
    hash: str


@cache
def static_files() -> StaticFiles:
    """The parts of the style that all pages share joined into one, those of single pages by their name."""
    folder = files("onthedot.web.dashboard").joinpath("static")
    parts = sorted((part for part in folder.joinpath("css").iterdir() if part.name.endswith(".css")), key=_by_name)
    named = {STYLE: b"\n".join(part.read_bytes() for part in parts if part.name < _OF_PAGES)}
    named |= {part.name.partition("-")[2]: part.read_bytes() for part in parts if part.name >= _OF_PAGES}
    for file in sorted(folder.joinpath("js").iterdir(), key=_by_name):
        if file.name.endswith(".js"):
            named[file.name] = file.read_bytes()
    named["favicon.svg"] = folder.joinpath("favicon.svg").read_bytes()
    digest = sha256()
    for name, content in named.items():
        digest.update(name.encode() + b"\0" + content + b"\0")
    return StaticFiles(named, digest.hexdigest()[:12])


def _by_name(file: Traversable) -> str:
    return file.name


@router.get("/static/{digest}/{name}", **ANYBODY)
async def static_file(digest: str, name: str) -> Response:
    """One of them; asked for by another hash (of a version that is being replaced) it is not kept.

    Needs no thread: it comes also while all of them wait for the store.
    """
    held = static_files()
    if name not in held.by_name:
        raise HTTPException(404)
    kept = _FOR_A_YEAR if digest == held.hash else "no-cache"
    media_type = _TYPES[name.rpartition(".")[2]]
    return Response(held.by_name[name], media_type=media_type, headers={"Cache-Control": kept})


@router.get("/favicon.ico", **ANYBODY)
async def favicon(request: Request) -> Response:
    """Where browsers look for it by themselves."""
    return await static_file(static_files().hash, "favicon.svg")
