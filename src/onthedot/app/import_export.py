"""Schedules as a document: out of one store, into another, with what differs told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from onthedot.app.arguments import Signature, check_size
from onthedot.app.enabled import and_pause
from onthedot.app.flows.document import exported_graphs, read_graphs
from onthedot.app.freezes_document import exported_freezes, new_freezes, read_freezes
from onthedot.app.names import name_problem
from onthedot.app.options import OF_THE_SCHEDULE, checked, policy_of
from onthedot.app.pinning import pinned_definitions, with_the_latest
from onthedot.app.remedies import did_you_mean
from onthedot.app.values_document import Wanted, exported_values, new_values, put_values, read_values
from onthedot.durations import format_duration
from onthedot.errors import FileError, OnthedotError, TriggerError
from onthedot.model.change import Author
from onthedot.model.definition_json import DEFAULTS, LISTS, from_json, json_value
from onthedot.model.policy import Policy
from onthedot.model.schedule import DEFINITION, Kind, Origin, Schedule
from onthedot.rules import edits
from onthedot.storable import MOST_BYTES, text_problem
from onthedot.stores.base import Store
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import decode, encode, without_pins
from onthedot.triggers.combine import uses_of

VERSION = 1
_BATCH = 500

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Changed:
    """A schedule that is not as the document says, and how: each field with what it was and what it shall be."""

    name: str
    fields: Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, or would do."""

    created: tuple[str, ...]
    changed: tuple[Changed, ...]
    unchanged: tuple[str, ...]
    only_here: tuple[str, ...]
    """In the store, and not in the document: they stay."""
    written: bool
    freezes: tuple[str, ...] = ()
    """Freezes that are not here, or are others under that name."""
    values: tuple[str, ...] = ()
    """Calendars and triggers that are not here, or say something else: "calendar de"."""


def exported(store: Store) -> Document:
    """Every schedule's definition and pause, the graphs of flows, the freezes that are not over, calendars and named
    triggers; no runs, no history."""
    schedules = [_document(each) for each in _all(store)]
    graphs = exported_graphs(store, {item["graph"] for item in schedules})
    others = {"graphs": graphs, "freezes": exported_freezes(store), **exported_values(store)}
    return {"onthedot": VERSION, "schedules": schedules, **{name: each for name, each in others.items() if each}}


@with_the_latest
def imported(store: Store, document: object, by: Author, *, path: str, dry_run: bool, max_args_bytes: int) -> Imported:
    """Compare, and unless it is a dry run write what differs, in batches."""
    wanted = _read(document, path, max_args_bytes)
    graphs = read_graphs(store, document, wanted, path)
    freezes = new_freezes(store, read_freezes(document, path))
    shared = read_values(document, path)
    values = new_values(store, shared)
    _check_uses(store, wanted, shared, path)
    held = {each.name: each for each in _all(store)}
    created = [name for name in wanted if name not in held]
    changed = [
        Changed(name, fields)
        for name, item in wanted.items()
        if name in held and (fields := _differences(_document(held[name]), item))
    ]
    if not dry_run:
        store.save_graphs(graphs)
        put_values(store, shared, values, by)
        for freeze in freezes:  # first, so that what is created has them
            store.put_freeze(freeze, by)
        _write(store, [*created, *(each.name for each in changed)], wanted, by)
        while freezes and store.carry_out_freezes():
            pass
    differ = {*created, *(each.name for each in changed)}
    unchanged = tuple(name for name in wanted if name not in differ)
    only_here = tuple(name for name in held if name not in wanted)
    frozen = tuple(each.name for each in freezes)
    told = tuple(use.told for use in values)
    return Imported(tuple(created), tuple(changed), unchanged, only_here, not dry_run, frozen, told)


def _check_uses(store: Store, wanted: Mapping[str, Document], shared: Wanted, path: str) -> None:
    """What a trigger names must be in the document, or here."""
    known = {*shared, *(each.use for each in store.values())}
    problems = [
        f"{name}: there is no {use.told}, neither in the document nor in the store"
        for name, item in wanted.items()
        for use in uses_of(decode(item["trigger"]))
        if use not in known
    ]
    if problems:
        raise FileError(path, problems)


def _write(store: Store, names: Sequence[str], wanted: Mapping[str, Document], by: Author) -> None:
    defined = pinned_definitions(store, {name: _definition(wanted[name]) for name in names})
    writes = {name: and_pause(edits.put(defined[name]), _pause(wanted[name])) for name in names}
    for first in range(0, len(names), _BATCH):
        batch = list(names[first : first + _BATCH])
        store.change(batch, lambda before, now_ms: writes[before.name](before, now_ms), by)


def _document(schedule: Schedule) -> Document:
    said = {name: json_value(getattr(schedule, name)) for name in DEFINITION if name not in ("policy", "uses")}
    return {
        "name": schedule.name,
        **said,
        "trigger": {key: value for key, value in without_pins(schedule.trigger).items() if key != "key"},
        "options": _options(schedule.policy),
        "enabled": schedule.enabled,
        "paused_note": schedule.paused_note,
    }


_DEFAULTS: Document = {
    **{name: json_value(value) for name, value in DEFAULTS.items() if name not in ("policy", "given", "uses")},
    "options": {},
    "enabled": True,
    "paused_note": None,
}
_KEYS = ("name", "task", "trigger", "given", *_DEFAULTS)
_KNOWN = {"origin": get_args(Origin), "kind": get_args(Kind)}


def _options(policy: Policy) -> Document:
    """The policies that are not the default, as users write them."""
    shown: Document = {}
    for name, value in policy.as_json().items():
        if name.endswith("_ms") and value is not None:
            shown[name.removesuffix("_ms")] = format_duration(value)
        else:
            shown[name.removesuffix("_ms")] = list(value) if isinstance(value, tuple) else value
    return shown


def _read(document: object, path: str, max_args_bytes: int) -> dict[str, Document]:
    if not isinstance(document, dict) or not isinstance(document.get("schedules"), list):
        raise FileError(path, ["this is no export of schedules; onthedot export makes one"])
    version = document.get("onthedot")
    if not isinstance(version, int):
        raise FileError(path, ["this is no export of schedules; onthedot export makes one"])
    if version != VERSION:
        raise FileError(path, [f"it is of version {version!r}, and this onthedot reads {VERSION}; upgrade onthedot"])
    problems: list[str] = []
    wanted: dict[str, Document] = {}
    for number, item in enumerate(document["schedules"], 1):
        found = [*_problems(item), *_wrong_args(item, max_args_bytes)]
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str) and name in wanted:
            found.append("it stands there twice")
        place = f"schedule {number}" + (f" ({name})" if isinstance(name, str) else "")
        problems += [f"{place}: {' '.join(problem.split())}" for problem in found]
        if not found:
            filled = {**_DEFAULTS, "given": sorted(item.get("options", {})), **item}
            wanted[str(name)] = {**filled, "trigger": _plain_trigger(item["trigger"])}
    if problems:
        raise FileError(path, problems)
    return wanted


def _problems(item: object) -> Iterator[str]:
    if not isinstance(item, dict):
        yield f"{item!r} is no JSON object"
        return
    yield from (f"{key}: unknown key; {did_you_mean(str(key), _KEYS)}" for key in item if key not in _KEYS)
    problem = name_problem(item["task"]) if isinstance(item.get("task"), str) else "it is missing"
    if problem:
        yield f"task: {problem}"
    problem = name_problem(item["name"]) if isinstance(item.get("name"), str) else "name: it is missing"
    if problem:
        yield problem
    for key in ("args", "options"):
        if not isinstance(item.get(key, {}), dict):
            yield f"{key}: {item[key]!r} is no JSON object"
            return
    for key in sorted(LISTS - {"alerts"}):
        if not isinstance(item.get(key, []), list) or not all(isinstance(each, str) for each in item.get(key, [])):
            yield f"{key}: {item[key]!r} is no list of texts"
            return
    yield from _wrong_values(item)
    try:
        decode(item.get("trigger"))
    except TriggerError as error:
        yield f"trigger: {error.line}"


def _wrong_values(item: Document) -> Iterator[str]:
    for key, default in _DEFAULTS.items():
        if key in item and item[key] is None and default is not None:
            yield f"{key}: it is missing; leave it out to have its default"
    given = {key: item[key] for key in OF_THE_SCHEDULE if item.get(key) is not None and (key not in LISTS or item[key])}
    for options in (item.get("options", {}), given):
        try:
            checked(options, "options" if options is not given else "schedule")
        except OnthedotError as error:
            yield str(error)
    for key, known in _KNOWN.items():
        if key in item and item[key] not in known:
            yield f"{key}: {item[key]!r} is not known; there are {', '.join(known[:-1])} and {known[-1]}"
    for key, most_bytes in (
        ("declared_hash", 100),
        ("graph", 100),
        ("template", 200),
        ("paused_note", MOST_BYTES),
    ):
        problem = None if item.get(key) is None else text_problem(item[key], most_bytes)
        if problem:
            yield f"{key}: {problem}"


def _wrong_args(item: object, max_args_bytes: int) -> Iterator[str]:
    args = item.get("args") if isinstance(item, dict) else None
    if isinstance(args, dict):
        try:
            check_size("the task", Signature((), open=True).check("the task", args), max_args_bytes)
        except OnthedotError as error:
            yield f"args: {error}"


def _plain_trigger(value: Mapping[str, Any]) -> Document:
    return {key: item for key, item in without_pins(encode(decode(value))).items() if key != "key"}


def _differences(old: Document, new: Document) -> dict[str, tuple[Any, Any]]:
    """What differs; options one by one."""
    found: dict[str, tuple[Any, Any]] = {}
    for key in (key for key in new if key not in ("options", "given")):
        if old[key] != new[key]:
            found[key] = (old[key], new[key])
    was, shall = _options(_policy(old)), _options(_policy(new))
    for key in sorted({*was, *shall}):
        if was.get(key) != shall.get(key):
            found[key] = (was.get(key), shall.get(key))
    if sorted(old["given"]) != sorted(new["given"]) and not found:
        found["given"] = (old["given"], new["given"])
    return found


def _policy(item: Document) -> Policy:
    return policy_of(item["options"])


def _pause(item: Document) -> str | None:
    return None if item["enabled"] else item["paused_note"] or ""


def _definition(item: Document) -> edits.Definition[Trigger]:
    of_its_own = {"trigger": decode(item["trigger"]), "policy": _policy(item), "given": tuple(sorted(item["given"]))}
    return edits.Definition(**{**from_json(item), **of_its_own})


def _all(store: Store) -> Iterator[Schedule]:
    page = store.schedules(limit=_BATCH)
    while page:
        yield from page
        page = store.schedules(after=page[-1].name, limit=_BATCH)
