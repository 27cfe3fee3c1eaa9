"""Style, scripts and the icon: read once, under an address that changes with them, so that browsers may keep them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files

from fastapi import Request, Response
from starlette.exceptions import HTTPException

from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.routes.router import ANYBODY

STYLE = "style.css"
_OF_PAGES = "50"
"""Parts from this number on are each of one page: 50-nodes.css is nodes.css, for the pages whose word is `nodes`."""
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FOR_A_YEAR = "public, max-age=31536000, immutable"

router = new_pages()


@dataclass(frozen=True, slots=True)
class StaticFiles:
    """Their bytes by name, and one hash of all."""

    by_name: dict[str, bytes]
    hash: str


@cache
def static_files() -> StaticFiles:
    """The parts of the style that all pages have, joined; that of each page by its word; the others as they are."""
    folder = files("onthedot.web.dashboard").joinpath("static")
    parts = {part.name: part.read_bytes() for part in folder.joinpath("css").iterdir() if part.name.endswith(".css")}
    named = {STYLE: b"\n".join(parts[name] for name in sorted(parts) if name < _OF_PAGES)}
    named |= {name.partition("-")[2]: parts[name] for name in sorted(parts) if name >= _OF_PAGES}
    for file in sorted(folder.joinpath("js").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".js"):
            named[file.name] = file.read_bytes()
    named["favicon.svg"] = folder.joinpath("favicon.svg").read_bytes()
    digest = sha256()
    for name, content in named.items():
        digest.update(name.encode() + b"\0" + content + b"\0")
    return StaticFiles(named, digest.hexdigest()[:12])


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
