"""The frame of every page. For whoever writes one:

A page is a file here with a router, and a template.

    from onthedot.web.dashboard.frame import render
    from onthedot.web.dashboard.page_route import new_pages
    from onthedot.web.routes.router import VIEWER
    from onthedot.web.security import TheApp

    router = new_pages()

    @router.get("/nodes", **VIEWER)
    def nodes_page(request: Request, app: TheApp) -> HTMLResponse:
        return render(request, "nodes.html", page="nodes", nodes=app.nodes.list())

`__init__.PAGES` lists the modules. Templates begin with `{% extends "base.html" %}` and fill the blocks `title`,
`heading` (an h1: a sentence that is the finding, and a p.sub), `acts` (buttons beside it) and `body`; `scripts` adds
modules: `{{ script("ring.js") }}`. `page=` is the word of the navigation, `live=` the topics at which the heading
changes.

Values that every template has:

    url(path, **query)      an address of ours, with the root path; url.here(**query) is this one with other values
                            in its query (None takes one out); url.back is this one, for forms;
                            url.schedule(name), url.run(id), url.tick(name, ms)
    caller, may_operate, may_admin
    version                 of the last news before the page was read: its stream goes on from there
    now_ms                  the store's time; zone (see `zones`); counts (see `counts`); store_url (masked)
    csrf_field()            inside every form of method post
    away                    set when the store is away and this is the last truth: acts are off (see `kept_pages`)
    toast                   what the last act said

Filters: `ms|moment`, `ms|moment("exact")`, `ms|moment(own=zone_name)`, `ms|until`, `ms|ago`, `ms|since`, `ms|duration`,
`n|many`, `n|counted("run")`. Macros, without an import: `mark(state)` draws the sign of a state
(`mark(state, named=false)` where the word stands beside it), `chip(state)`, `bar(part)`; `act(path, word, …)` is a form
of one button; `ask(path, word)` a link to the page that asks before it acts, which scripts show as a dialog. Charts are
SVG text from `charts/`, as `Markup`.

No `style=` anywhere: the content policy forbids it. Widths of bars are attributes of SVG. Style goes into a part of
your own, `static/css/50-<page>.css`, which only pages of that word load. What changes by itself carries an id and
`data-live="<topics>"`: when one of the topics (schedules, runs, nodes, changes, minute) has news, live.js fetches the
page anew and makes those elements like it, nothing else; siblings that may change their order carry an id or `data-id`.
What a script draws has `data-keep`.

Rows that keys move over have `data-row`; a link or button with `data-key="p"` is what the letter does, first in the row
at hand, then on the page. A form of rows to pick has `data-select`, boxes named `name`, and a `.bulk` bar; its buttons
are `<button name="act" value="pause" formaction="/bulk" data-dialog data-key="p">`, method get.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from onthedot.model.token import Role
from onthedot.stores.open import mask_url
from onthedot.texts import counted
from onthedot.web.dashboard import toast as toasts
from onthedot.web.dashboard.addresses import Addresses
from onthedot.web.dashboard.counts import counts_of
from onthedot.web.dashboard.forms import CSRF_FIELD
from onthedot.web.dashboard.kept_pages import KeptPage
from onthedot.web.dashboard.moments import FILTERS
from onthedot.web.dashboard.zones import KINDS, keep_zone, zone_of
from onthedot.web.security import Caller, Gate, csrf_of
from onthedot.web.watching import Watcher

if TYPE_CHECKING:
    from onthedot.web.dashboard.state import Dashboard

FRAGMENT_HEADER = "x-fragment"
"""live.js sends it: this is no new look at the page, so what is shown once is not shown here."""


@cache
def environment() -> Environment:
    """Of all pages: everything is escaped, and what is missing is an error."""
    made = Environment(
        loader=PackageLoader("onthedot.web.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(FILTERS, counted=counted)
    made.globals["csrf_field"] = _csrf_field
    parts = made.get_template("parts.html").module
    made.globals.update({name: getattr(parts, name) for name in ("mark", "chip", "bar")})
    return made


@pass_context
def _csrf_field(context: Context) -> Markup:
    csrf = context["csrf"]
    if csrf is None:
        return Markup("")
    return Markup('<input type="hidden" name="{}" value="{}">').format(CSRF_FIELD, csrf)


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """The page. It is kept in case that the store goes away."""
    dashboard: Dashboard = request.app.state.dashboard
    all_values = {**frame_values(request), **values}
    shown_once = request.headers.get(FRAGMENT_HEADER) is None
    toast = toasts.read(request) if shown_once else None
    response = respond(request, template, status, {**all_values, "toast": toast})
    if request.method == "GET" and status == 200:
        dashboard.kept.keep(request, KeptPage(template, all_values, request.state.caller))
    if shown_once:
        toasts.forget(request, response)
    keep_zone(request, response)
    return response


def respond(request: Request, template: str, status: int, values: Mapping[str, Any]) -> HTMLResponse:
    """The template with these values and no others."""
    text = environment().get_template(template).render({"page": "", "live": "", "away": None, "toast": None, **values})
    return HTMLResponse(text.encode("utf-8", "backslashreplace"), status)  # names of JSON may hold what UTF-8 does not


def frame_values(request: Request) -> dict[str, Any]:
    """What every template has, as the watcher saw it last: the store is not asked."""
    gate: Gate = request.app.state.gate
    watcher: Watcher = request.app.state.watcher
    seen = watcher.snapshot()
    caller: Caller = request.state.caller
    dashboard = request.app.state.dashboard
    return {
        **plain_values(request),
        "caller": caller,
        "may_operate": caller.may(Role.OPERATOR),
        "may_admin": caller.may(Role.ADMIN),
        "csrf": None if caller.cookie is None else csrf_of(caller.cookie),
        "now_ms": watcher.now_ms(),
        "version": getattr(request.state, "version", None) or watcher.streams.id_of(),
        "counts": replace(counts_of(seen), needs=len(dashboard.needs.read(gate.app.open_store()))),
        "store_url": mask_url(gate.app.url),
    }


def plain_values(request: Request) -> dict[str, Any]:
    """What a template has even where nobody is known and no store answers."""
    addresses = Addresses.of(request)
    return {
        "url": addresses,
        "script": addresses.script,
        "zone": zone_of(request),
        "zones": KINDS,
        "csrf": None,
    }
