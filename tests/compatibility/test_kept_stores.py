"""A store of each version that was released: today's code reads it, upgrades it, plans and ends what was left in it.

What an older version left is in `kept`; `scripts/keep-stores` makes a new one.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.compatibility.keep import KEPT
from tests.compatibility.places import KINDS, Kind, programs_are_here
from tests.compatibility.shop import Facts, facts, shop
from tests.patience import LONGEST_S
from tests.servers.base import unavailable

from onthedot import App, __version__, every

VERSIONS = sorted(path.name for path in KEPT.iterdir())
STORES = [
    pytest.param((version, kind), id=f"{version}-{kind.name}")
    for version in VERSIONS
    for kind in KINDS
    if (KEPT / version / f"{kind.name}.gz").exists()
]


def _kept(version: str, name: str) -> bytes:
    return gzip.decompress((KEPT / version / f"{name}.gz").read_bytes())


@pytest.fixture
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[App, Facts]]:
    """The shop of today on the store of then, and what was read of it then."""
    version, kind = request.param
    assert isinstance(kind, Kind)
    if not programs_are_here(kind):
        unavailable(f"no client of {kind.name} here, which brings its kept stores back")
    url = f"sqlite:///{tmp_path}/jobs.db" if kind.fixture is None else str(request.getfixturevalue(kind.fixture))
    kind.load(url, _kept(version, kind.name))
    app = shop(url)
    app.open_store(create=False, upgrade=True)
    yield app, json.loads(_kept(version, f"{kind.name}.said"))
    app.close()


def is_as_it_was(today: Any, then: Any) -> bool:
    """What was said then is said today; there may be more."""
    if isinstance(then, dict):
        return isinstance(today, dict) and all(is_as_it_was(today.get(name), value) for name, value in then.items())
    return bool(today == then)


@pytest.mark.parametrize("kept", STORES, indirect=True)
def test_what_was_said_then_is_said_today(kept: tuple[App, Facts]) -> None:
    app, then = kept
    today = json.loads(json.dumps(facts(app)))
    for name in then.keys() - {"token"}:
        assert is_as_it_was(today[name], then[name]), name
    found = app.tokens.check(then["token"])
    assert found is not None
    assert found.name == "bot"
    tick = next(run for run in then["runs"].values() if run["schedule"] == "ticking")
    assert tick["id"] in str(app.schedules.explain("ticking", tick["scheduled_at"]))
    assert str(app.status())


@pytest.mark.parametrize("kept", STORES, indirect=True)
def test_a_node_of_today_plans_goes_on_and_ends_what_was_left(kept: tuple[App, Facts]) -> None:
    app, then = kept
    all_left = [run for run in then["runs"].values() if run["state"] in ("waiting", "running")]
    left = [run for run in all_left if run["schedule"] != "ticking"]  # those give way to a newer tick
    assert {run["task"] for run in left} >= {"report", "@interrupted", "die"}
    ticks = {name for name, run in then["runs"].items() if run["schedule"] == "ticking"}
    with app.running():
        for run in left:
            ended = app.runs.wait(run["id"], timeout=f"{LONGEST_S}s")
            assert ended.state == "succeeded", (ended.task, ended.state, ended.error)
        again = app.enqueue("report", args={"to": "bob"}, key="waits")
        assert again.id in {run["id"] for run in left}  # a key is known for 30 days after the end
        made = app.enqueue("@sums")
        assert app.runs.wait(made.id, timeout=f"{LONGEST_S}s").state == "succeeded"
        new = app.schedules.trigger("nightly")
        assert app.runs.wait(new.id, timeout=f"{LONGEST_S}s").result == "sent to cy"
        later = next(run for run in app.runs.list(schedule="ticking") if run.id not in ticks)
        assert app.runs.wait(later.id, timeout=f"{LONGEST_S}s").state == "succeeded"
    assert app.schedules.put("gone", "report", every("1h")).revision > 1  # its name and watermark were kept


def test_every_kind_of_store_of_this_version_is_kept() -> None:
    assert __version__ in VERSIONS
    assert {path.name for path in (KEPT / __version__).iterdir()} == {
        f"{kind.name}{part}.gz" for kind in KINDS for part in ("", ".said")
    }
