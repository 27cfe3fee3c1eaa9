"""Schedules and runs in Django's admin, asked of the store, whatever that is. Who may view them sees the pages; who may
change them has the buttons. Everything that is done there is kept with the name of the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from onthedot.app.acting import acting_as
from onthedot.django import models
from onthedot.errors import MomentError, OnthedotError, RunNotFound, ScheduleNotFound
from onthedot.triggers.codec import decode

_PAGE = 50
_RUNS = 20
_LINES = 500


class StorePages(admin.ModelAdmin):
    """What pages of schedules and of runs have in common: nothing is added, nothing is deleted, POST acts."""

    template = ""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Schedules are declared in code, or put by `app.schedules`."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Not from here."""
        return False

    def acts(self) -> Mapping[str, Callable[[str], Any]]:
        """What can be done with one of them, by its name on the button."""
        raise NotImplementedError

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """What the list shows."""
        raise NotImplementedError

    def one_context(self, request: HttpRequest, name: str) -> dict[str, Any]:
        """What the page of one shows; `Http404`."""
        raise NotImplementedError

    def get_urls(self) -> list[Any]:
        """Under the names that the admin's index goes to; names of schedules may have slashes in them."""
        prefix = f"{self.opts.app_label}_{self.opts.model_name}"
        wrap = self.admin_site.admin_view
        return [
            path("", wrap(self.changelist_view), name=f"{prefix}_changelist"),
            path("<path:name>/", wrap(self.one_view), name=f"{prefix}_change"),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The list; a POST does one thing to all that were chosen."""
        self._refuse_strangers(request)
        if request.method == "POST":
            return self._act(request, request.POST.getlist("chosen"), request.get_full_path())
        return self._page(
            request, f"{self.template}s", str(self.opts.verbose_name_plural).capitalize(), self.list_context
        )

    def one_view(self, request: HttpRequest, name: str) -> HttpResponse:
        """The page of one; a POST does something to it."""
        self._refuse_strangers(request)
        if request.method == "POST":
            return self._act(request, [name], request.get_full_path())
        return self._page(request, self.template, name, lambda asked: self.one_context(asked, name))

    def _refuse_strangers(self, request: HttpRequest) -> None:
        if not self.has_view_permission(request):
            raise PermissionDenied

    def _act(self, request: HttpRequest, names: list[str], back: str) -> HttpResponse:
        if not self.has_change_permission(request):
            raise PermissionDenied
        act = self.acts().get(request.POST.get("act", ""))
        if act is None or not names:
            self.message_user(request, "Choose what to do, and with which.", messages.WARNING)
            return HttpResponseRedirect(back)
        done = 0
        with acting_as(request.user.get_username(), "admin"):
            for name in names:
                try:
                    act(name)
                    done += 1
                except OnthedotError as error:
                    self.message_user(request, f"{name}: {error}", messages.ERROR)
        if done:
            self.message_user(request, f"{request.POST['act'].capitalize()}: done for {done}.", messages.SUCCESS)
        return HttpResponseRedirect(back)

    def _page(
        self, request: HttpRequest, template: str, title: str, context: Callable[[HttpRequest], dict[str, Any]]
    ) -> HttpResponse:
        from onthedot.django import app

        try:
            own = context(request)
        except OnthedotError as error:  # the store is away: a page that says so
            own = {"problem": str(error)}
        shared = {
            **self.admin_site.each_context(request),
            "title": title,
            "opts": self.opts,
            "may_change": self.has_change_permission(request),
            "dashboard": app.site.dashboard,
        }
        return TemplateResponse(request, f"onthedot/admin/{template}.html", {**shared, **own})


@admin.register(models.Schedule)
class SchedulePages(StorePages):
    """All schedules with their next and last runs; of one also why it ran, or did not, at a moment."""

    template = "schedule"

    def acts(self) -> Mapping[str, Callable[[str], Any]]:
        """They are as `app.schedules` does them."""
        from onthedot.django import app

        return {"pause": app.schedules.pause, "resume": app.schedules.resume, "trigger": app.schedules.trigger}

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """A page of them, by name."""
        from onthedot.django import app

        asked = {"q": request.GET.get("q", ""), "cursor": request.GET.get("cursor", "")}
        state = request.GET.get("state", "")
        page = app.schedules.list(**asked, state=state or None, limit=_PAGE)
        rows = [{"schedule": each, "url": _url("schedule", each.name)} for each in page]
        states = ("active", "paused", "parked", "ended")
        more = f"?q={quote(asked['q'])}&state={quote(state)}&cursor={quote(page.cursor)}" if page.cursor else ""
        return {"rows": rows, "more": more, "state": state, "states": states, "q": asked["q"]}

    def one_context(self, request: HttpRequest, name: str) -> dict[str, Any]:
        """With its coming moments, its runs, and the answer to "why?" """
        from onthedot.django import app

        try:
            schedule = app.schedules.get(name)
        except ScheduleNotFound as error:
            raise Http404(str(error)) from None
        at = request.GET.get("at", "")
        return {
            "schedule": schedule,
            "trigger": _described(schedule.trigger),
            "coming": app.schedules.next(name, 5) if schedule.enabled else [],
            "held": app.schedules.held(name),
            "runs": [_row(run) for run in app.runs.list(schedule=name, limit=_RUNS)],
            "at": at,
            "explanation": _explained(name, at) if at else "",
        }


@admin.register(models.Run)
class RunPages(StorePages):
    """Runs, newest first; of one its story, its log and its error."""

    template = "run"

    def acts(self) -> Mapping[str, Callable[[str], Any]]:
        """They are as `app.runs` does them."""
        from onthedot.django import app

        return {"retry": app.runs.retry, "cancel": app.runs.cancel}

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """A page of them."""
        from onthedot.django import app

        state, schedule = request.GET.get("state", ""), request.GET.get("schedule", "")
        cursor = request.GET.get("cursor") or None
        page = app.runs.list(state=state or None, schedule=schedule or None, cursor=cursor, limit=_PAGE)
        states = ("waiting", "running", "succeeded", "failed", "timed_out", "cancelled", "skipped", "lost")
        more = f"?state={quote(state)}&schedule={quote(schedule)}&cursor={quote(page.cursor)}" if page.cursor else ""
        return {"rows": [_row(run) for run in page], "more": more, "state": state, "states": states}

    def one_context(self, request: HttpRequest, name: str) -> dict[str, Any]:
        """With what it said."""
        from onthedot.django import app

        try:
            report = app.runs.report(name)
        except RunNotFound as error:
            raise Http404(str(error)) from None
        schedule = report.run.schedule
        return {
            **_row(report.run),
            "report": report,
            "lines": app.runs.log_page(name, limit=_LINES),
            "schedule_url": "" if schedule is None else _url("schedule", schedule),
        }


def _described(trigger: Any) -> str:
    try:
        return decode(trigger).describe()
    except OnthedotError as error:  # of a newer version
        return str(error)


def _row(run: Any) -> dict[str, Any]:
    return {"run": run, "url": _url("run", run.id)}


def _url(model: str, name: str) -> str:
    return str(reverse(f"admin:onthedot_{model}_change", args=[name]))


def _explained(name: str, at: str) -> str:
    from onthedot.django import app

    try:
        moment: datetime | None = parse_datetime(at)
        if moment is not None and timezone.is_naive(moment):
            moment = timezone.make_aware(moment)
    except (ValueError, OverflowError):  # in the first and the last year there is a day too few
        moment = None
    if moment is None:
        return f"{at!r} is no moment; write it like 2026-11-18 03:00"
    try:
        return str(app.schedules.explain(name, moment))
    except MomentError as error:
        return str(error)
