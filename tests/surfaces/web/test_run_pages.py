"""The pages of runs as plain HTML: who may do what, how large they are, and what they say of rows that are broken."""

from __future__ import annotations

import re

import httpx
import pytest
from tests.stores.vandals import vandal_of
from tests.surfaces.web.client import Callers, Client

from onthedot import App, every
from onthedot.model.log_line import LogLine
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.web.security import COOKIE, csrf_of

LARGEST = 60 * 1024
ACTS = ("/runs/{id}/cancel", "/runs/{id}/retry", "/runs/{id}/again", "/runs-bulk")


@pytest.fixture
def run(app: App, node: Node) -> Run:
    """One that runs."""
    made = app.enqueue("report", args={"to": "ann"})
    (begun,) = app.open_store().start_due(node.id, ["report"], 10).runs
    assert begun.id == made.id
    return begun


def page(client: Client, path: str, status: int = 200) -> str:
    answer = client.ask("GET", path)
    assert answer.status_code == status, answer.text
    assert len(answer.content) <= LARGEST
    return answer.text


def post(app: App, callers: Callers, role: str, path: str, *, csrf: bool = True, **fields: str) -> httpx.Response:
    """As a browser that has signed in."""
    token = next(each for each in app.tokens.list() if each.name == f"the-{role}")
    cookie, _ = app.tokens.sign_in(token)
    body = {**fields, **({"csrf": csrf_of(cookie)} if csrf else {})}
    return callers.nobody.ask("POST", path, data=body, headers={"Cookie": f"{COOKIE}={cookie}"})


@pytest.mark.parametrize("path", ACTS)
def test_only_operators_act_and_only_from_our_own_pages(app: App, callers: Callers, run: Run, path: str) -> None:
    path = path.format(id=run.id)
    assert callers.nobody.ask("POST", path).headers["location"].startswith("/sign-in")
    assert post(app, callers, "viewer", path).status_code == 403
    assert post(app, callers, "operator", path, csrf=False).status_code == 403
    assert post(app, callers, "operator", path, act="cancel", id=run.id).status_code == 303
    if path.endswith("retry"):
        assert app.runs.get(run.id).state == "running"  # it has not ended


@pytest.mark.parametrize("path", [*ACTS[1:3], "/runs-bulk?act=cancel&id={id}"])
def test_a_viewer_is_not_asked(callers: Callers, run: Run, path: str) -> None:
    assert page(callers.viewer, path.format(id=run.id), 403)


def test_a_retry_of_what_somebody_else_began_meanwhile_is_refused(app: App, callers: Callers, run: Run) -> None:
    store = app.open_store()
    store.finish(run.owner or "", [Outcome(run.id, run.claim_no, "failed", error="boom")])
    assert f"You see claim {run.claim_no}" in page(callers.operator, f"/runs/{run.id}/retry")
    app.runs.retry(run.id)
    app.runs.cancel(run.id)
    post(app, callers, "operator", f"/runs/{run.id}/retry", claim_no=str(run.claim_no))
    assert app.runs.get(run.id).state == "cancelled"


def test_a_page_of_a_loud_run_shows_its_last_lines_and_stays_small(
    app: App, callers: Callers, node: Node, run: Run
) -> None:
    store = app.open_store()
    said = [LogLine(run.id, run.claim_no, store.now_ms(), "WARNING", f"{n} {'<&>' * 15}") for n in range(450)]
    store.log(node.id, said)
    text = page(callers.viewer, f"/runs/{run.id}")
    older = re.search(r'href="([^"]+before=\d+)[^"]*"', text)
    assert older is not None
    assert ">449 " in text
    assert page(callers.viewer, older[1].replace("&amp;", "&"))
    raw = callers.viewer.ask("GET", f"/runs/{run.id}/log").text.splitlines()
    assert (len(raw), raw[0].endswith("0 " + "<&>" * 15)) == (450, True)


def test_a_page_stays_small_whatever_a_run_was_given_said_and_failed_with(
    app: App, callers: Callers, node: Node
) -> None:
    app.enqueue("report", args={"to": "<&>" * 5000})
    (run,) = app.open_store().start_due(node.id, ["report"], 10).runs
    said = [LogLine(run.id, run.claim_no, 1, "ERROR", "'" * 4000) for _ in range(300)]
    app.open_store().log(node.id, said)
    error = "\n".join(["Traceback"] * 500 + ["<&>" * 5000])
    app.open_store().finish(node.id, [Outcome(run.id, run.claim_no, "failed", error=error)])
    assert "failed" in page(callers.operator, f"/runs/{run.id}")
    assert run.id in page(callers.operator, "/runs")


def test_a_page_of_many_runs_stays_small_and_leads_on(app: App, callers: Callers, node: Node) -> None:
    for number in range(90):
        app.enqueue("report", args={"to": f"n{number}"})
    for run in app.open_store().start_due(node.id, ["report"], 100).runs:
        app.open_store().finish(node.id, [Outcome(run.id, run.claim_no, "failed", error=f"ValueError: {'x' * 500}")])
    seen: list[str] = []
    path: str | None = "/runs?state=failed"
    while path is not None:
        text = page(callers.operator, path)
        seen += re.findall(r'data-id="([^"]+)"', text)
        onward = re.search(r'rel="next" href="([^"]+)"', text)
        path = None if onward is None else onward[1].replace("&amp;", "&")
    assert len(seen) == len(set(seen)) == 90


@pytest.fixture
def broken(app: App, run: Run) -> Run:
    """Its row says what nobody understands."""
    vandal_of(app.open_store()).spoil_run(run.id, "all")
    return run


def test_a_run_that_cannot_be_read_is_shown_with_the_reason_and_cannot_be_acted_on(
    callers: Callers, broken: Run
) -> None:
    told = page(callers.operator, f"/runs/{broken.id}")
    assert "The row of this run cannot be read" in told
    assert "Retry…" not in told
    assert broken.id in page(callers.operator, "/runs")


@pytest.mark.parametrize(
    "path",
    [
        "/runs/..%2F..%2Fetc",
        "/runs/%00",
        f"/runs/{'x' * 5000}",
        "/runs/%F0%9F%95%B0",
        "/runs/1'--",
        "/runs?schedule=%00&task=%F0%9F%95%B0",
        "/runs?cursor=%00",
        "/runs?cursor=nonsense",
        "/runs?node=%00",
        "/runs?from=%00&to=-1",
        "/runs-bulk?act=cancel&id=%00",
        "/runs-bulk?act=explode",
    ],
)
def test_bad_addresses_are_answered_and_nothing_breaks(callers: Callers, path: str) -> None:
    answer = callers.operator.ask("GET", path, headers={"Accept": "text/html"})
    assert answer.status_code < 500
    assert "<h1" in answer.text


def test_bad_numbers_in_the_address_of_a_run_count_for_nothing(callers: Callers, run: Run) -> None:
    assert page(callers.viewer, f"/runs/{run.id}?before=-1&attempt=x&log=%00&zone=%00")
    assert page(callers.viewer, f"/runs/{run.id}?before=99999999999&attempt=1")


@pytest.fixture
def broadcast(app: App) -> tuple[Run, list[Run]]:
    """One to two nodes, of which the second has failed."""
    store = app.open_store()
    nodes = [store.join(Node(f"id-{name}", name, tasks=("report",)), app.tasks.infos()) for name in ("ber-1", "nyc-2")]
    app.schedules.put("everywhere", "report", every("1h"), route="broadcast")
    whole = app.schedules.trigger("everywhere")
    shards = [run for each in nodes for run in store.start_due(each.id, ["report"], 10).runs]
    store.finish(nodes[1].id, [Outcome(shards[1].id, 1, "failed", error="Traceback\nOSError: disk full")])
    return whole, shards


def test_a_broadcast_lists_its_shards_with_node_state_and_link_the_failed_first(
    callers: Callers, broadcast: tuple[Run, list[Run]]
) -> None:
    whole, (first, second) = broadcast
    text = page(callers.viewer, f"/runs/{whole.id}")
    card = text[text.index('id="shards"') :]
    assert "1 running, 1 failed" in card
    for run, node in ((first, "ber-1"), (second, "nyc-2")):
        assert f'href="/runs/{run.id}"' in card
        assert f"<td>{node}</td>" in card
    assert "OSError: disk full" in card
    listed = page(callers.viewer, f"/runs?parent={whole.id}")
    assert "2 runs were made" in listed
    assert f'href="/runs/{first.id}"' in listed
    assert f'href="/runs/{whole.id}"' in page(callers.viewer, f"/runs/{first.id}")
    assert 'id="shards"' not in page(callers.viewer, f"/runs/{first.id}")


def test_a_broadcast_to_hundreds_stays_a_small_page(app: App, callers: Callers) -> None:
    store = app.open_store()
    nodes = [store.join(Node(f"id-{n}", f"node-{n}", tasks=("report",)), app.tasks.infos()) for n in range(200)]
    app.schedules.put("everywhere", "report", every("1h"), route="broadcast")
    whole = app.schedules.trigger("everywhere")
    store.start_due(nodes[0].id, ["report"], 10)
    assert "The first 40 of 200" in page(callers.viewer, f"/runs/{whole.id}")


def test_runs_are_asked_for_by_their_parent(app: App, admin: Client, broadcast: tuple[Run, list[Run]]) -> None:
    whole, shards = broadcast
    newest = sorted((run.id for run in shards), reverse=True)
    assert [each["id"] for each in admin.get(f"/runs?parent={whole.id}").json()["runs"]] == newest
    assert [run.id for run in app.runs.list(parent=whole.id)] == newest
    assert [run.id for run in app.runs.list(parent=whole.id, state="failed")] == [shards[1].id]


def test_the_heading_counts_what_the_list_shows_and_a_facet_what_it_leads_to(
    app: App, callers: Callers, broadcast: tuple[Run, list[Run]]
) -> None:
    app.enqueue("report")
    whole, shards = broadcast
    text = page(callers.viewer, "/runs")
    assert "<h1>1 under way, 1 waits" in text
    assert (f'href="/runs/{whole.id}"' in text, f'href="/runs/{shards[0].id}"' in text) == (True, False)
    assert re.search(r"Running\s*<b>2</b>", text)
    listed = page(callers.viewer, "/runs?state=running")
    assert all(f'href="/runs/{run.id}"' in listed for run in (whole, shards[0]))
    told = callers.viewer.get("/status").json()
    assert [told[name] for name in ("waiting", "running", "waiting_steps", "running_steps")] == [1, 1, 0, 1]
