"""Who may use the dashboard and the API. For admins."""

from __future__ import annotations

from fastapi import Request, Response
from starlette.responses import HTMLResponse

from onthedot.app.app import App
from onthedot.app.tokens import NewToken
from onthedot.errors import Conflict, DurationError, SettingsError
from onthedot.model.token import Role
from onthedot.web.dashboard.acts import done
from onthedot.web.dashboard.forms import Form, TheForm
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.page_route import new_pages, to_page
from onthedot.web.routes.router import ADMIN
from onthedot.web.security import TheApp, TheCaller

router = new_pages()

_ROLES = {
    Role.VIEWER: "look at everything but tokens",
    Role.OPERATOR: "pause, resume, trigger, cancel, retry, drain, forget nodes",
    Role.ADMIN: "define, change and delete schedules; make and revoke tokens",
}


@router.get("/tokens", **ADMIN)
def tokens_page(request: Request, app: TheApp) -> HTMLResponse:
    """All of them, by name."""
    return _page(request, app)


@router.post("/tokens", **ADMIN)
def create(request: Request, app: TheApp, form: TheForm) -> HTMLResponse:
    """A new one; its text is shown this once."""
    try:
        made = app.tokens.create(form["name"].strip(), form["role"], expires=form["expires"].strip() or None)
    except (SettingsError, Conflict, DurationError) as error:
        return _page(request, app, form=form, wrong=str(error), status=422)
    return _page(request, app, made=made)


@router.post("/tokens/{name}/revoke", **ADMIN)
def revoke(request: Request, app: TheApp, caller: TheCaller, name: str) -> Response:
    """From now on it opens nothing. Who revokes their own has to sign in with another."""
    app.tokens.revoke(name)
    if name == caller.name and caller.cookie is not None:
        return to_page(f"{request.scope.get('root_path') or ''}/sign-in")
    return done(request, f"Revoked {name}: it opens nothing any more", to="/tokens")


def _page(
    request: Request,
    app: App,
    *,
    made: NewToken | None = None,
    form: Form | None = None,
    wrong: str = "",
    status: int = 200,
) -> HTMLResponse:
    return render(
        request,
        "tokens.html",
        status,
        page="tokens",
        live="changes",
        tokens=app.tokens.list(),
        roles=_ROLES,
        made=made,
        form=form or Form(),
        wrong=wrong,
    )
