"""`app.schedules`: what people do with schedules. Every change is kept with who, when and what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from onthedot.app.alerting import TOLD, AppAlerts
from onthedot.app.backfill import Backfill, asked, backfill, one_name
from onthedot.app.dependencies import warn_of_missing
from onthedot.app.enabled import as_asked
from onthedot.app.ends import check_fires, refuse_ended, unless_past
from onthedot.app.flows.flow import Flow
from onthedot.app.flows.policies import check_flow
from onthedot.app.herds import warn_of_herds
from onthedot.app.keys import as_given, key_of_schedule
from onthedot.app.names import name_problem
from onthedot.app.options import (
    Options,
    checked,
    count_of,
    key_of,
    of_the_schedule,
    skips_of,
    taken_back,
    text_of,
    texts_of,
    trigger_of,
)
from onthedot.app.page import Page
from onthedot.app.pinning import names_nothing, pinned_definitions, pinned_triggers, with_the_latest
from onthedot.app.queries import order_of, state_of
from onthedot.app.tasks import Task, Tasks
from onthedot.app.telemetry.tracing import Asking, untraced
from onthedot.app.templates import (
    Each,
    items_of,
    keeping,
    names_like,
    of_template,
    refuse_revision,
    schedules_of,
)
from onthedot.app.updating import Said
from onthedot.errors import OnthedotError, ScheduleNotFound, SettingsError, StoreError
from onthedot.events import Event, Paused
from onthedot.insight.explain import Explanation, explain
from onthedot.insight.held import coming_ticks, why_held
from onthedot.insight.schedule_history import read_history
from onthedot.insight.ticks import MOST_TICKS, Tick, read_beads, read_ticks
from onthedot.model.alert import Alert
from onthedot.model.change import Author, Change
from onthedot.model.ids import new_id
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.schedule import Json, Origin, Schedule
from onthedot.model.values import replace as replace_run
from onthedot.moments import END_MS, FIRST_MS, ceil_ms, from_ms
from onthedot.patterns import is_pattern, longest_part
from onthedot.rules import edits
from onthedot.rules.backfill import Which
from onthedot.rules.effects import Before, Edit, Effects
from onthedot.storable import can_be_kept
from onthedot.stores.base import Store
from onthedot.stores.paging import place_of
from onthedot.triggers.base import Trigger

if TYPE_CHECKING:
    from onthedot.app.import_export import Imported
    from onthedot.app.moving.report import Report
    from onthedot.app.moving.taking import Taken

BATCH = 200
_TOLD_WELL = 5
"""Of so many names that there are not the nearest are looked for: that reads, and compares, a thousand names each."""

CountedAct = Literal["pause", "resume", "delete"]
T = TypeVar("T")
Many = list[Schedule]  # inside the class `list` is a method
Names = list[str]


@dataclass(frozen=True, slots=True)
class Put:
    """One schedule for `put_many`."""

    name: str
    task: str | Task[..., Any] | Flow[...]
    trigger: Trigger
    args: Mapping[str, Any] | None = None
    options: Options = field(default_factory=dict)
    template: str | None = None


@dataclass(frozen=True, slots=True)
class Affected:
    """A schedule as it is after an act, or would be, and what that did to its runs."""

    schedule: Schedule
    skipped: int = 0
    running: int = 0


class Schedules:
    """All of it may be called from any process that can reach the store; none of it starts a node."""

    def __init__(
        self,
        open_store: Callable[[], Store],
        tasks: Tasks,
        defaults: Options,
        timezone: str,
        by: Callable[[str], Author],
        *,
        emit: Callable[[Event], None],
        asking: Asking = untraced,
        alerts: AppAlerts | None = None,
    ) -> None:
        self._open_store = open_store
        self._tasks = tasks
        self._defaults = defaults
        self._timezone = timezone
        self._by = by
        self._emit = emit
        self._asking = asking
        self._alerts = alerts or AppAlerts()

    # defining

    @overload
    def put(
        self,
        /,
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
        /,
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

    @with_the_latest
    def put(
        self,
        /,
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
        """Create the schedule, or replace its definition. An operator's pause and its history stay.

        `enabled=False` puts it paused, `enabled=True` resumes it; left out, a pause stays as it is.
        `revision` is the one that is to be replaced, 0 for none: `StaleRevision` if it is another by now.
        `TriggerError` if it could never fire again; one that is here already and has come to its end stays as it is.

        `each={"eu": {…}, "us": {…}}` makes a template of it: a schedule `name[eu]`, `name[us]` with these arguments
        above those of all. Those that it had before and are not in there are deleted. Gives all of them.
        """
        if each is not None:
            refuse_revision(revision, name)
            puts = template_puts(Put(name, task, trigger, args, options), each)
            return self._put_template(name, puts, unchecked=unchecked)
        said = self.define(Put(name, task, trigger, args, options), unchecked=unchecked)
        definition = pinned_definitions(self._open_store(), {name: said})[name]
        refuse_ended(self._open_store(), {name: definition.trigger})
        warn_of_missing(self._open_store(), {name: definition})
        self._tasks.save_graphs(definition.task, unchecked=unchecked)
        edit = unless_past(as_asked(keeping(definition), options, "put"))
        return self._change_one(name, edits.expecting(revision, edit), "put")

    def _put_template(self, template: str, puts: Sequence[Put], *, unchecked: bool) -> Many:
        """All of its schedules in one change: created, updated, and those that it has no more deleted."""
        defined = self._defined(puts, unchecked=unchecked)
        wanted = {put.name: put.options for put in puts}
        gone = [each.name for each in schedules_of(self._open_store(), template) if each.name not in defined]

        def edit(before: Before, now_ms: int) -> Effects:
            put = None
            if before.name in defined:
                put = unless_past(as_asked(edits.put(defined[before.name]), wanted[before.name], "put"))
            return of_template(template, put)(before, now_ms)

        effects = self._open_store().change([*defined, *gone], edit, self._by("put"))
        return [self._answer(each) for each in effects[: len(defined)]]

    def _defined(self, puts: Iterable[Put], *, unchecked: bool) -> dict[str, edits.Definition[Trigger]]:
        """All of them, checked before the first is written."""
        said = {put.name: self.define(put, unchecked=unchecked) for put in puts}
        defined = pinned_definitions(self._open_store(), said)
        triggers = {name: definition.trigger for name, definition in defined.items()}
        refuse_ended(self._open_store(), triggers)
        warn_of_herds(self._open_store(), triggers)
        warn_of_missing(self._open_store(), defined)
        for task in {definition.task for definition in defined.values()}:
            self._tasks.save_graphs(task, unchecked=unchecked)
        return defined

    def put_many(self, puts: Iterable[Put], *, unchecked: bool = False) -> list[Schedule]:
        """Put many at once: all are checked before the first is written, then written in batches.

        Where hundreds of them would begin in one minute, a warning names it, and the `H` that spreads them.
        """
        return self._put_all({put.name: put for put in puts}, unchecked=unchecked)

    @with_the_latest
    def _put_all(self, wanted: Mapping[str, Put], *, unchecked: bool) -> Many:
        defined = self._defined(wanted.values(), unchecked=unchecked)

        def edit_of(name: str) -> Edit:
            return unless_past(as_asked(keeping(defined[name]), wanted[name].options, "put"))

        return self._change_many([*defined], edit_of, "put")

    @with_the_latest
    def update(
        self,
        /,
        name: str,
        *,
        trigger: Trigger | None = None,
        args: Mapping[str, Any] | None = None,
        unchecked: bool = False,
        revision: int | None = None,
        **options: Any,
    ) -> Schedule:
        """Change the named fields, and leave the rest; `enabled` pauses or resumes it. `revision`: see `put`.

        An option that is None is taken back: it follows the task and the app again.
        """
        given, back = self._given(name, options, unchecked=unchecked), taken_back(options, name)
        task = self.get(name).task if back or args is not None else ""
        said = Said(
            trigger=None if trigger is None else self._pinned(trigger, name),
            args=None if args is None else self._tasks.checked(task, args, unchecked=unchecked)[1],
            given=given,
            taken_back=back,
            otherwise=self._tasks.policy_of(task, self._defaults) if back else Policy(),
            alerts=self._default_alerts(name, unchecked=unchecked) if "alerts" in back else (),
        )
        if said.trigger is not None:
            refuse_ended(self._open_store(), {name: said.trigger})
        edit = unless_past(as_asked(edits.update(said.of), options, "update"))
        changed = self._change_one(name, edits.expecting(revision, edit), "update")
        if "depends_on" in given:
            warn_of_missing(self._open_store(), {name: edits.definition_of(changed)})
        return changed

    def define(
        self, put: Put, *, unchecked: bool = False, origin: Origin = "api", declared: str | None = None
    ) -> edits.Definition[Trigger]:
        """The definition that a put stands for, checked; touches the store only for tasks that are unknown here."""
        problem = name_problem(put.name)
        if problem is not None:
            raise SettingsError(f"schedule: {problem}")
        task, args = self._tasks.checked(put.task, put.args, unchecked=unchecked)
        given = self._given(put.name, put.options, unchecked=unchecked)
        given.setdefault("alerts", self._default_alerts(put.name, unchecked=unchecked))
        local = self._tasks.find(task)
        policy = self._tasks.policy_of(task, self._defaults, given, unchecked=unchecked)
        graph = self._tasks.graph_of(task)
        if graph is not None:
            check_flow(put.name, local, given, policy)
        return edits.Definition(
            task=task,
            trigger=self._trigger(put.trigger, put.name),
            args=args,
            policy=policy,
            given=tuple(sorted({*given} - ({"alerts"} - {*put.options}))),
            kind="task" if graph is None else "flow",
            graph=graph,
            origin=origin,
            declared_hash=declared,
            template=put.template,
            **of_the_schedule(given),
        )

    def _trigger(self, given: Trigger, name: str) -> Trigger:
        """The trigger as it is kept: in the app's zone where it names none; refused if it can never fire."""
        trigger = trigger_of(given, name).with_default_zone(self._timezone)
        if names_nothing(trigger):
            check_fires(name, trigger.with_key(name))
        return trigger

    def _pinned(self, given: Trigger, name: str) -> Trigger:
        """The same, going by the latest of what it names."""
        return pinned_triggers(self._open_store(), {name: self._trigger(given, name)})[name]

    def _given(self, name: str, options: Options, *, unchecked: bool) -> dict[str, Any]:
        """The options that are part of the definition, checked; whether it is paused is not."""
        given = {option: value for option, value in checked(options, name).items() if option != "enabled"}
        for option in ("then", "on_failure"):
            for task in texts_of(given.get(option, ())):
                self._tasks.check_known(task, f"{name}: {option}", unchecked=unchecked)
        if isinstance(given.get("ping"), Mapping):
            raise SettingsError(
                f"{name}: ping: urls are said in code or a file, @app.schedule(…, ping={{…}}), and not kept in a store;"
                " here write the kinds, ['success', 'fail']"
            )
        if "alerts" in given:
            given["alerts"] = self._alerts.resolved(given["alerts"], f"{name}: alerts")
            self._check_alerts(name, given["alerts"], unchecked=unchecked)
        return given

    def _default_alerts(self, name: str, *, unchecked: bool) -> tuple[Alert, ...]:
        """The app's, for a schedule that names none of its own."""
        self._check_alerts(name, self._alerts.defaults, unchecked=unchecked)
        return self._alerts.defaults

    def _check_alerts(self, name: str, alerts: Sequence[Alert], *, unchecked: bool) -> None:
        for each in alerts:
            self._tasks.check_known(each.task, f"{name}: alert {each.name}", unchecked=unchecked)
            self._tasks.check_takes(each.task, TOLD, f"{name}: alert {each.name}")

    # steering

    def pause(self, name: str | None = None, *, where: Mapping[str, str] | None = None, note: str | None = None) -> Any:
        """After it returns no tick run starts. One name gives the schedule; `where={"tag": …}`, or a name with `*` in
        it (`digest[*]`) that no schedule has itself, a list of them.

        How many waiting runs were skipped, and how many are still running, is in the event "paused" and in the audit.
        """
        kept = None if note is None else text_of(note, "pause: note")
        return self._each(name, where, edits.pause(kept), "pause")

    def resume(self, name: str | None = None, *, where: Mapping[str, str] | None = None) -> Any:
        """Go on from now; what was missed inside the pause is one decision."""
        return self._each(name, where, edits.resume(), "resume")

    def matching(self, pattern: str) -> Sequence[str] | None:
        """The names that a pattern stands for; None where it is a plain name, or a schedule has it itself.
        `ScheduleNotFound` where it stands for none."""
        if not isinstance(pattern, str) or not is_pattern(pattern) or not can_be_kept(pattern):
            return None
        names: Names = []
        cursor: str | None = ""
        while cursor is not None:
            page = self.list(q=longest_part(pattern), cursor=cursor, limit=1000)
            if any(each.name == pattern for each in page):
                return None
            names += names_like(pattern, page)
            cursor = page.cursor
        if not names:
            raise ScheduleNotFound(pattern)
        return names

    def reschedule(self, name: str, at: datetime | str) -> Schedule:
        """Run next at this moment instead; it must lie ahead."""
        return self._change_one(name, edits.reschedule(ceil_ms(at)), "reschedule")

    def skip_next(self, name: str, n: int = 1) -> Any:
        """Leave out the next `n` ticks, which are told as skipped; 0 takes that back. A repeat skips no more. Of a
        pattern of names a list."""
        return self._each(name, None, edits.skip_next(skips_of(n)), "skip")

    def trigger(
        self, name: str, *, args: Mapping[str, Any] | None = None, token: str | None = None, unchecked: bool = False
    ) -> Run:
        """A run now, also while paused; `next_run_at` is untouched. The same token gives the same run."""
        store = self._open_store()
        schedule = self.get(name)
        values: Json | None = None
        if args is not None:
            _, values = self._tasks.checked(schedule.task, args, unchecked=unchecked)
        key = None if token is None else key_of_schedule(schedule.id, key_of(token, "trigger: token"))
        with self._asking(schedule.task, name) as trace:
            run = edits.manual_run(schedule, new_id(store.now_ms()), key, values, store.now_ms())
            return as_given(store.enqueue([replace_run(run, trace=trace)], by=self._by("trigger"))[0])

    def trigger_all(self, pattern: str, *, token: str | None = None) -> Sequence[Run]:
        """A run now of each schedule that the pattern of names (`digest[*]`) stands for; see `trigger`."""
        names = self.matching(pattern)
        return [self.trigger(name, token=token) for name in ([pattern] if names is None else names)]

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
        """Do the ticks in [start, end) that did not run (`missing`), went wrong (`failed`), or all of them.

        At most `limit` at once, in the schedule's own slots unless `beside`. A dry run only says which.
        """
        one_name(self.matching(name), name)
        what = asked(start, end, which, limit, order, beside)
        return backfill(self._open_store(), self.get(name), what, self._by("backfill"), dry_run=dry_run)

    def delete(self, name: str, *, revision: int | None = None) -> bool:
        """Whether there was one. Its history stays, and a later put of the name goes on where it ended. A pattern of
        names (`digest[*]`) deletes all of them.

        `revision`: see `put`.
        """
        if not can_be_kept(name):
            return False
        try:
            names = self.matching(name)
        except ScheduleNotFound:
            return False
        if names is not None:
            refuse_revision(revision, name)
            self._delete_all(names)
            return True
        edit = edits.expecting(revision, edits.delete())
        effects = self._open_store().change([name], edit, self._by("delete"))
        return effects[0].schedule is not None

    def _delete_all(self, names: Sequence[str]) -> None:
        for batch in _batches(names):
            self._open_store().change(batch, edits.delete(), self._by("delete"))

    # the same, with what it does to runs; `dry_run` writes nothing

    def pause_counted(self, name: str, *, note: str | None = None, dry_run: bool = False) -> Affected:
        """Pause, and say how many waiting runs were skipped, and how many still run."""
        return self._counted("pause", name, note=note, dry_run=dry_run)

    def resume_counted(self, name: str, *, dry_run: bool = False) -> Affected:
        """Resume; nothing is skipped."""
        return self._counted("resume", name, dry_run=dry_run)

    def delete_counted(self, name: str, *, dry_run: bool = False) -> Affected:
        """Delete, and say the same; `ScheduleNotFound` if there is none."""
        return self._counted("delete", name, dry_run=dry_run)

    def _counted(self, act: CountedAct, name: str, *, note: str | None = None, dry_run: bool) -> Affected:
        told = self.each_counted(act, [name], note=note, dry_run=dry_run)[name]
        if isinstance(told, ScheduleNotFound):
            self.get(name)  # says the same, with the nearest names
        if isinstance(told, OnthedotError):
            raise told
        return told

    def each_counted(
        self, act: CountedAct, names: Sequence[str], *, note: str | None = None, dry_run: bool = False
    ) -> dict[str, Affected | OnthedotError]:
        """Pause, resume or delete each of these, and say what that did, or why it was not done: by name.

        They are written in batches; what one of them refuses stops no other. `dry_run` judges each under its lock.
        """
        edit = _each_alone(_counted_edit(act, note), dry_run=dry_run)
        wanted = dict.fromkeys(names)
        told: dict[str, Affected | OnthedotError] = {name: ScheduleNotFound(name) for name in wanted}
        for batch in _batches([name for name in wanted if can_be_kept(name)]):
            effects = self._open_store().change(batch, edit, self._by(act))
            told |= {name: self._affected(name, each) for name, each in zip(batch, effects, strict=True)}
        return told

    def _affected(self, name: str, effects: Effects) -> Affected | OnthedotError:
        if isinstance(effects.answer, OnthedotError):
            return effects.answer
        if isinstance(effects.answer, tuple):
            self._answer(effects)
        would = effects.answer if isinstance(effects.answer, Effects) else effects
        schedule = would.schedule or would.answer
        if not isinstance(schedule, Schedule):
            return ScheduleNotFound(name)
        noted = would.noted or {}
        return Affected(schedule, noted.get("skipped", 0), noted.get("running", 0))

    def trigger_each(self, schedules: Sequence[Schedule]) -> Sequence[Run]:
        """A run now of each of these, as `trigger` makes one; written in batches."""
        made: list[Run] = []
        for batch in _batches(schedules):
            now_ms = self._open_store().now_ms()
            runs = [self._triggered(each, now_ms) for each in batch]
            made += self._open_store().enqueue(runs, by=self._by("trigger"))
        return made

    def _triggered(self, schedule: Schedule, now_ms: int) -> Run:
        with self._asking(schedule.task, schedule.name) as trace:
            return replace_run(edits.manual_run(schedule, new_id(now_ms), None, None, now_ms), trace=trace)

    # asking

    def get(self, name: str) -> Schedule:
        """The schedule; `ScheduleNotFound` with the nearest names, or who deleted it."""
        found = self._open_store().schedules(names=[name]) if can_be_kept(name) else []
        if not found:
            raise self._missing(name)
        return found[0]

    def get_many(self, names: Sequence[str]) -> dict[str, Schedule | ScheduleNotFound]:
        """Each of these by name, found by one question; the first few that there are not are told as by `get`."""
        wanted = dict.fromkeys(names)
        kept = [name for name in wanted if can_be_kept(name)]
        found = {each.name: each for each in self._open_store().schedules(names=kept, limit=len(kept))} if kept else {}
        missing = [name for name in wanted if name not in found]
        told = {name: self._missing(name) for name in missing[:_TOLD_WELL]}
        return {name: found.get(name) or told.get(name) or ScheduleNotFound(name) for name in wanted}

    def _missing(self, name: str) -> ScheduleNotFound:
        return self._not_found(name, self._tombstone(name))

    def remembered(self, name: str) -> Schedule:
        """The schedule, or what is left of one that was deleted or removed itself: its history can be asked for."""
        found = self._open_store().schedules(names=[name]) if can_be_kept(name) else []
        tombstone = None if found else self._tombstone(name)
        if not found and tombstone is None:
            raise self._not_found(name)
        return found[0] if tombstone is None else tombstone

    def _tombstone(self, name: str) -> Schedule | None:
        if not can_be_kept(name):
            return None
        (effects,) = self._open_store().change([name], edits.look(), self._by("look"))
        return effects.answer if isinstance(effects.answer, Schedule) else None

    def _not_found(self, name: str, tombstone: Schedule | None = None) -> ScheduleNotFound:
        store = self._open_store()
        if tombstone is not None:
            gone = read_history(store, name).gap_at(store.now_ms() + 1, gone_ms=tombstone.settled_ms)
            return ScheduleNotFound(name, gone=str(gone))
        names = [each.name for each in store.schedules(limit=1000)]
        return ScheduleNotFound(name, tuple(get_close_matches(name, names, n=2)))

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
        """A page of schedules, by name or (`sort="next"`) by their next moment; all that is given must hold.

        `q` is part of the name or of the task's. States are active, paused, parked and ended; in any of these
        may be those that no live node declares any more (undeclared), and those that left out ticks within the last
        day, too late or behind an earlier run (leaving_out), and those in a freeze (frozen).
        """
        chosen, order, most = state_of(state), order_of(sort), count_of(limit, "limit")
        if not all(text is None or can_be_kept(text) for text in (q, tag, task)):
            return Page([], None)
        after = text_of(cursor, "cursor")
        found = self._open_store().schedules(
            tag=tag, task=task, state=chosen, search=q, order=order, after=after, limit=most
        )
        return Page(found, place_of(found[-1], order) if len(found) == limit else None)

    def ticks(
        self,
        name: str,
        first: datetime | str | None = None,
        last: datetime | str | None = None,
        limit: int = 100,
    ) -> Sequence[Tick]:
        """Its ticks from `first` to `last`, oldest first: runs, decisions, and those to come; also of one that was
        deleted. Where they are more than `limit`, those around now."""
        first_ms, last_ms = (None if each is None else ceil_ms(each) for each in (first, last))
        most = min(count_of(limit, "limit"), MOST_TICKS)
        return read_ticks(self._open_store(), self.remembered(name), first_ms, last_ms, most)

    def beads(self, names: Sequence[str]) -> Mapping[str, Sequence[Tick]]:
        """The last 24 ticks of each of these, oldest first, by name; those that there are not are left out."""
        wanted = [name for name in dict.fromkeys(names) if can_be_kept(name)]
        found = self._open_store().schedules(names=wanted, limit=len(wanted)) if wanted else []
        return read_beads(self._open_store(), found) if found else {}

    def next(self, name: str, count: int = 5) -> Sequence[datetime]:
        """The coming moments of its trigger, no more than it may still have; `held` says whether anything keeps it
        from running then."""
        wanted, schedule = count_of(count, "count"), self.get(name)
        ticks = coming_ticks(schedule, self._now_ms(name))
        return [from_ms(tick) for tick in islice(ticks, wanted)]

    def _now_ms(self, name: str) -> int:
        """Now by the store's clock; or any moment from which the same ticks follow, where that cannot be read."""
        return self._open_store().now_ms()

    def held(self, name: str) -> str | None:
        """Why no run begins at its coming moments, as things stand; None where one does."""
        store = self._open_store()
        return why_held(self.get(name), store.nodes(), store.now_ms())

    def explain(self, name: str, moment: datetime | str) -> Explanation:
        """Why it did, or did not, run at that moment; also of a schedule that was deleted."""
        found = explain(self._open_store(), self.remembered(name), ceil_ms(moment))
        return replace(found, runs=tuple(as_given(run) for run in found.runs))

    def changes(self, name: str | None = None, *, cursor: str | None = None, limit: int = 100) -> Page[Change]:
        """A page of the audit, of all or of one name, newest first."""
        most = count_of(limit, "limit")
        before = None if cursor is None else text_of(cursor, "cursor")
        if name is not None and not can_be_kept(name):
            return Page([], None)
        found = self._open_store().changes(name=name, before=before, limit=most)
        return Page(found, found[-1].id if len(found) == most else None)

    def preview(self, trigger: Trigger, count: int = 5, *, name: str | None = None) -> tuple[Trigger, Sequence[int]]:
        """The trigger as it would be kept under that name, and its coming ticks in milliseconds."""
        kept = self._pinned(trigger, name or "preview")
        keyed = kept if name is None else kept.with_key(name)
        after_ms = min(max(self._open_store().now_ms(), FIRST_MS - 1), END_MS - 1)
        return kept, [*islice(keyed.between_ms(after_ms + 1, END_MS), count_of(count, "count"))]

    # from one store to another

    def export(self) -> dict[str, Any]:
        """All definitions, with their pauses, as one JSON document that `import_document` takes."""
        from onthedot.app.import_export import exported

        return exported(self._open_store())

    def import_document(self, document: object, *, dry_run: bool = False, path: str = "the document") -> Imported:
        """Create and change schedules until they are as an export says, and tell how they differ; others stay.

        `FileError` with all that is wrong, and then nothing is written.
        """
        from onthedot.app.import_export import imported

        most_bytes = self._tasks.max_args_bytes
        return imported(
            self._open_store(), document, self._by("import"), path=path, dry_run=dry_run, max_args_bytes=most_bytes
        )

    def take(self, report: Report, *, dry_run: bool = False) -> Taken:
        """Create and change schedules until they are as another scheduler had them, going on where they were there.

        What cannot be one of ours is among `refused`; the rest is written.
        """
        from onthedot.app.moving.taking import take

        by = None if dry_run else self._by(f"import {report.source}")
        policies = report.policies
        return take(self._open_store(), report.moves, lambda move: self.define(move.put(policies), unchecked=True), by)

    # the way to the store

    def _each(self, name: str | None, where: Mapping[str, str] | None, edit: Edit, what: str) -> Any:
        if (name is None) == (where is None):
            raise SettingsError(f"{what}: give a name, or where={{'tag': …}}")
        if name is not None:
            matched = self.matching(name)
            return (
                self._change_one(name, edit, what)
                if matched is None
                else self._change_many(matched, lambda _: edit, what)
            )
        assert where is not None
        if set(where) != {"tag"}:
            raise SettingsError(f"{what}: where knows only 'tag', not {', '.join(where)}")
        names: list[str] = []
        page = self.list(tag=where["tag"], limit=1000)
        names += [schedule.name for schedule in page]
        while page.cursor is not None:
            page = self.list(tag=where["tag"], cursor=page.cursor, limit=1000)
            names += [schedule.name for schedule in page]
        return self._change_many(names, lambda _: edit, what)

    def _change_one(self, name: str, edit: Edit, what: str) -> Schedule:
        if not can_be_kept(name):
            raise ScheduleNotFound(name)
        try:
            return self._answer(self._open_store().change([name], edit, self._by(what))[0])
        except ScheduleNotFound:
            self.get(name)  # says the same, with the nearest names
            raise

    def _change_many(self, names: Sequence[str], edit_of: Callable[[str], Edit], what: str) -> Many:
        changed: Many = []
        for batch in _batches(names):
            effects = self._open_store().change(
                batch, lambda before, now_ms: edit_of(before.name)(before, now_ms), self._by(what)
            )
            changed += [self._answer(each) for each in effects]
        return changed

    def _answer(self, effects: Effects) -> Schedule:
        if not isinstance(effects.answer, tuple):
            assert isinstance(effects.answer, Schedule)
            return effects.answer
        schedule, done = effects.answer
        assert isinstance(schedule, Schedule)
        assert isinstance(done, edits.AffectedRuns)
        self._emit(Paused(schedule.name, done.skipped, done.running))
        return schedule


def template_puts(put: Put, each: Each) -> list[Put]:
    """One for each schedule of the template that is meant."""
    if put.options.get("mode") == "local":
        raise SettingsError(f"{put.name}: each: a local schedule is every node's own; write one put for each of them")
    return [replace(put, name=name, args=args, template=put.name) for name, args in items_of(put.name, each, put.args)]


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[first : first + BATCH] for first in range(0, len(items), BATCH))


def _counted_edit(act: CountedAct, note: str | None) -> Edit:
    match act:
        case "pause":
            return edits.pause(None if note is None else text_of(note, "pause: note"))
        case "resume":
            return edits.resume()
        case "delete":
            return edits.delete()


def _each_alone(edit: Edit, *, dry_run: bool) -> Edit:
    """What it refuses is an answer, and ends no transaction of many; of a dry run the effects are one too."""

    def judge(before: Before, now_ms: int) -> Effects:
        try:
            effects = edit(before, now_ms)
        except StoreError:
            raise
        except OnthedotError as error:
            return Effects(answer=error)
        return Effects(answer=effects) if dry_run else effects

    return judge
