"""`app.schedules` over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, overload

from onthedot.app.backfill import Backfill, FilledTick, asked, one_name
from onthedot.app.bulk import MOST_NAMES
from onthedot.app.import_export import Changed, Imported
from onthedot.app.names import name_problem
from onthedot.app.options import checked, count_of, key_of, skips_of, taken_back, text_of, trigger_of
from onthedot.app.page import Page
from onthedot.app.remote.connection import Connection, Document
from onthedot.app.remote.problems import error_of
from onthedot.app.remote.values import arguments, change_of, decision_of, plain, run_of, schedule_of
from onthedot.app.schedules import Affected, Put, Schedules
from onthedot.app.templates import Each, items_of, refuse_revision
from onthedot.errors import ScheduleNotFound, SettingsError
from onthedot.events import Event, Paused
from onthedot.insight.explain import Explanation
from onthedot.model.change import Change
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.moments import ceil_ms, iso, read_moment
from onthedot.patterns import is_pattern
from onthedot.rules.backfill import Which
from onthedot.storable import can_be_kept
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import decode, encode, without_pins

if TYPE_CHECKING:
    from onthedot.app.flows.flow import Flow
    from onthedot.app.tasks import Task

_PAGE = 200
Many = list[Schedule]  # inside the class `list` is a method
Lines = list[Change]
Documents = list[Document]


class RemoteSchedules(Schedules):
    """Each call is one request. The server checks tasks, arguments and options; its zone and defaults count there."""

    def __init__(self, connection: Connection, timezone: str, emit: Callable[[Event], None]) -> None:
        self._connection = connection
        self._timezone = timezone
        self._emit = emit
        self._open_store = connection.no_store  # for whatever cannot be asked over HTTP

    # defining

    @overload
    def put(
        self,
        name: str,
        task: str | Task[..., Any] | Flow[...],
        trigger: Trigger,
        *,
        args: Mapping[str, Any] | None = None,
        each: None = None,
        unchecked: bool = False,
        revision: int | None = None,
        **options: Any,
    ) -> Schedule: ...

    @overload
    def put(
        self,
        name: str,
        task: str | Task[..., Any] | Flow[...],
        trigger: Trigger,
        *,
        each: Each,
        args: Mapping[str, Any] | None = None,
        unchecked: bool = False,
        revision: int | None = None,
        **options: Any,
    ) -> Many: ...

    def put(
        self,
        name: str,
        task: str | Task[..., Any] | Flow[...],
        trigger: Trigger,
        *,
        args: Mapping[str, Any] | None = None,
        each: Each | None = None,
        unchecked: bool = False,
        revision: int | None = None,
        **options: Any,
    ) -> Schedule | Many:
        _refuse_unchecked(unchecked, "put")
        problem = name_problem(name)
        if problem is not None:
            raise SettingsError(f"schedule: {problem}")
        body = {
            "task": plain(task),
            "trigger": self._encoded(trigger, name),
            "args": arguments(task, args),
            "options": plain(checked(options, name)),
        }
        if each is not None:
            refuse_revision(revision, name)
            own = {key: arguments(task, values) for key, values in _each_of(name, each)}
            made = self._connection.put("templates", name, body={**body, "each": own})
            return [schedule_of(one) for one in made.all("schedules")]
        return schedule_of(self._connection.put("schedules", name, body=body, headers=_expecting(revision)))

    def put_many(self, puts: Iterable[Put], *, unchecked: bool = False) -> Many:
        _refuse_unchecked(unchecked, "put_many")
        return [self.put(each.name, each.task, each.trigger, args=each.args, **each.options) for each in puts]

    def update(
        self,
        name: str,
        *,
        trigger: Trigger | None = None,
        args: Mapping[str, Any] | None = None,
        unchecked: bool = False,
        revision: int | None = None,
        **options: Any,
    ) -> Schedule:
        _refuse_unchecked(unchecked, "update")
        said = {**checked(options, name), **dict.fromkeys(taken_back(options, name))}
        body: Document = {"options": plain(said)}
        if trigger is not None:
            body["trigger"] = self._encoded(trigger, name)
        if args is not None:
            body["args"] = arguments(name, args)
        return schedule_of(self._connection.patch("schedules", name, body=body, headers=_expecting(revision)))

    def _encoded(self, trigger: Trigger, name: str) -> Document:
        return dict(without_pins(encode(trigger_of(trigger, name).with_default_zone(self._timezone))))

    # steering

    def pause(self, name: str | None = None, *, where: Mapping[str, str] | None = None, note: str | None = None) -> Any:
        matched = None if name is None or where is not None else self.matching(name)
        if matched is not None:
            return [self._paused(each).schedule for each in self._each_of(matched, "pause", note)]
        if name is not None and where is None:
            return self.pause_counted(name, note=note).schedule
        done = self._where("pause", name, where, note)
        return [self._paused(each).schedule for each in done]

    def resume(self, name: str | None = None, *, where: Mapping[str, str] | None = None) -> Any:
        matched = None if name is None or where is not None else self.matching(name)
        if matched is not None:
            return [each.schedule for each in self._each_of(matched, "resume", None)]
        if name is not None and where is None:
            return self.resume_counted(name).schedule
        return [each.schedule for each in self._where("resume", name, where, None)]

    def _each_of(self, names: Sequence[str], act: str, note: str | None) -> Sequence[Affected]:
        """So many at once as the server takes."""
        done: Documents = []
        for first in range(0, len(names), MOST_NAMES):
            done += self._bulk({"act": act, "names": list(names[first : first + MOST_NAMES]), "note": note})
        return [_affected(each) for each in done]

    def _delete_all(self, names: Sequence[str]) -> None:
        self._each_of(names, "delete", None)

    def _paused(self, affected: Affected) -> Affected:
        self._emit(Paused(affected.schedule.name, affected.skipped, affected.running))
        return affected

    def _where(
        self, act: str, name: str | None, where: Mapping[str, str] | None, note: str | None
    ) -> Sequence[Affected]:
        if name is not None or where is None:
            raise SettingsError(f"{act}: give a name, or where={{'tag': …}}")
        if set(where) != {"tag"}:
            raise SettingsError(f"{act}: where knows only 'tag', not {', '.join(where)}")
        return [_affected(each) for each in self._bulk({"act": act, "tag": where["tag"], "note": note})]

    def _bulk(self, body: Document) -> Documents:
        """What was done to each; the first that could not be done is raised, after all that could."""
        results: Documents = self._connection.post("bulk", body=body)["results"]
        for each in results:
            if each["problem"] is not None:
                raise error_of(each["problem"], each["problem"]["status"])
        return results

    def reschedule(self, name: str, at: datetime | str) -> Schedule:
        body = {"at": iso(ceil_ms(at))}
        return schedule_of(self._connection.post("schedules", name, "reschedule", body=body))

    def skip_next(self, name: str, n: int = 1) -> Any:
        body, names = {"n": skips_of(n)}, self.matching(name)
        if names is None:
            return schedule_of(self._connection.post("schedules", name, "skip", body=body))
        return [schedule_of(self._connection.post("schedules", each, "skip", body=body)) for each in names]

    def trigger(
        self, name: str, *, args: Mapping[str, Any] | None = None, token: str | None = None, unchecked: bool = False
    ) -> Run:
        _refuse_unchecked(unchecked, "trigger")
        given = None if args is None else arguments(name, args)
        body = {"args": given, "token": None if token is None else key_of(token, "trigger: token")}
        return run_of(self._connection.post("schedules", name, "trigger", body=body))

    def backfill(
        self,
        name: str,
        start: datetime | str,
        end: datetime | str,
        *,
        which: Which = "missing",
        limit: int = 1,
        order: Literal["oldest", "newest"] = "oldest",
        beside: bool = False,
        dry_run: bool = False,
    ) -> Backfill:
        one_name(self.matching(name), name)
        what = asked(start, end, which, limit, order, beside)
        body = {
            "start": iso(what.first_ms),
            "end": iso(what.last_ms + 1),
            "which": which,
            "limit": limit,
            "order": order,
            "beside": beside,
            "dry_run": dry_run,
        }
        answer = self._connection.post("schedules", name, "backfill", body=body)
        ticks = tuple(FilledTick(read_moment(each["at"]), each["why"]) for each in answer.all("ticks"))
        return Backfill(name, ticks, None if answer["run"] is None else run_of(answer["run"]))

    def delete(self, name: str, *, revision: int | None = None) -> bool:
        if isinstance(name, str) and is_pattern(name):
            try:
                names = self.matching(name)
            except ScheduleNotFound:
                return False
            if names is not None:
                refuse_revision(revision, name)
                self._delete_all(names)
                return True
        try:
            self._connection.delete("schedules", name, headers=_expecting(revision))
        except ScheduleNotFound:
            return False
        return True

    def pause_counted(self, name: str, *, note: str | None = None, dry_run: bool = False) -> Affected:
        if dry_run:
            return self._tried_over_there("pause", name)
        return self._paused(_affected(self._connection.post("schedules", name, "pause", body={"note": note})))

    def resume_counted(self, name: str, *, dry_run: bool = False) -> Affected:
        if dry_run:
            return self._tried_over_there("resume", name)
        return _affected(self._connection.post("schedules", name, "resume"))

    def delete_counted(self, name: str, *, dry_run: bool = False) -> Affected:
        body = {"act": "delete", "names": [name], "dry_run": dry_run}
        return _affected(self._bulk(body)[0])

    def _tried_over_there(self, act: str, name: str) -> Affected:
        return _affected(self._bulk({"act": act, "names": [name], "dry_run": True})[0])

    # asking

    def get(self, name: str) -> Schedule:
        return schedule_of(self._connection.get("schedules", name))

    def remembered(self, name: str) -> Schedule:
        return self.get(name)

    def list(
        self,
        *,
        q: str = "",
        state: str | None = None,
        tag: str | None = None,
        task: str | None = None,
        sort: str = "name",
        cursor: str = "",
        limit: int = 100,
    ) -> Page[Schedule]:
        count_of(limit, "limit")
        if not all(text is None or can_be_kept(text) for text in (q, tag, task)):
            return Page([], None)
        wanted = {"q": q, "state": state, "tag": tag, "task": task, "sort": sort}
        found: Many = []
        at: str | None = text_of(cursor, "cursor")
        while at is not None and len(found) < limit:
            most = min(limit - len(found), _PAGE)
            page = self._connection.get("schedules", cursor=at, limit=most, **wanted)
            found += [schedule_of(each) for each in page.all("schedules")]
            before, at = at, page["cursor"]
            if at == before:  # or it would never end
                break
        return Page(found, at)

    def _now_ms(self, name: str) -> int:
        coming = self._connection.get("schedules", name, "next", n=1)["moments"]
        return ceil_ms(coming[0]["at"]) - 1 if coming else 0

    def held(self, name: str) -> str | None:
        found: str | None = self._connection.get("schedules", name, "next", n=1)["held"]
        return found

    def explain(self, name: str, moment: datetime | str) -> Explanation:
        told = self._connection.get("schedules", name, "explain", at=iso(ceil_ms(moment)))
        decisions = tuple(decision_of(each) for each in told["decisions"])
        return Explanation(told["text"], tuple(run_of(each) for each in told.all("runs")), decisions)

    def changes(self, name: str | None = None, *, cursor: str | None = None, limit: int = 100) -> Page[Change]:
        count_of(limit, "limit")
        try:
            return self._changes(("changes",) if name is None else ("schedules", name, "changes"), cursor, limit)
        except ScheduleNotFound:  # as where the store is asked, which does not look whether it ever was
            return Page([], None)

    def _changes(self, path: tuple[str, ...], cursor: str | None, limit: int) -> Page[Change]:
        found: Lines = []
        at, more = cursor, True
        while more and len(found) < limit:
            told = self._connection.get(*path, cursor=at, limit=min(limit - len(found), _PAGE))
            found += [change_of(each) for each in told.all("changes")]
            before, at = at, told["cursor"]
            more = at is not None and at != before  # or it would never end
        return Page(found, at)

    def preview(self, trigger: Trigger, count: int = 5, *, name: str | None = None) -> tuple[Trigger, Sequence[int]]:
        body = {"trigger": self._encoded(trigger, name or "preview"), "n": count, "name": name}
        told = self._connection.post("preview", body=body)
        return decode(told["trigger"]), [ceil_ms(each["at"]) for each in told["moments"]]

    # from one store to another

    def export(self) -> dict[str, Any]:
        return dict(self._connection.get("export"))

    def import_document(self, document: object, *, dry_run: bool = False, path: str = "the document") -> Imported:
        told = self._connection.post("import", body=document, dry_run=dry_run)
        changed = tuple(
            Changed(each["name"], {key: (both["from"], both["to"]) for key, both in each["fields"].items()})
            for each in told["changed"]
        )
        names = (tuple(told[kind]) for kind in ("created", "unchanged", "only_here"))
        created, unchanged, only_here = names
        return Imported(
            created,
            changed,
            unchanged,
            only_here,
            told["written"],
            tuple(told.get("freezes", ())),
            tuple(told.get("values", ())),
        )


def _each_of(name: str, each: Each) -> list[tuple[str, Mapping[str, Any]]]:
    """By key the arguments of its own; `SettingsError` as where the store is asked."""
    list(items_of(name, each, None))
    return [*each.items()]


def _affected(told: Document) -> Affected:
    return Affected(schedule_of(told["schedule"]), told["skipped"], told["running"])


def _expecting(revision: int | None) -> dict[str, str]:
    if revision is None:
        return {}
    return {"If-None-Match": "*"} if revision == 0 else {"If-Match": f'"{revision}"'}


def _refuse_unchecked(unchecked: bool, where: str) -> None:
    if unchecked:
        raise SettingsError(f"{where}: over HTTP only tasks that a node has declared can be named; leave out unchecked")
