"""Tests of schedules, in virtual time: pytest examples/test_nightly.py

No server, no thread, no second of waiting; planning, overlap, retry and takeover are the code that runs in production.
"""

from onthedot import App, Context, cron
from onthedot.testing import context, inline, simulate

app = App("sqlite:///jobs.db")  # a simulation never opens it


@app.schedule(cron("30 2 * * *", tz="Europe/Berlin"), overlap="discard")
def nightly(ctx: Context) -> int:
    return ctx.attempt


@app.task(retries=3)
def send_mail(to: str) -> str:
    return f"sent to {to}"


def order(customer: str) -> None:
    app.enqueue(send_mail, args={"to": customer}, delay="10m")


def test_it_runs_once_in_the_night_in_which_the_clock_jumps() -> None:
    with simulate(app, start="2026-03-28T00:00Z", takes={"nightly": "10m"}) as world:
        world.advance("48h")
        moments = world.moments("nightly", tz="Europe/Berlin")
        assert [f"{moment:%d %H:%M}" for moment in moments] == ["28 02:30", "29 03:00"]


def test_another_machine_does_it_again_when_one_dies() -> None:
    with simulate(app, start="2026-06-01T00:00Z", nodes=3, takes={"nightly": "10m"}) as world:
        world.advance_to("2026-06-01T00:35Z")
        (run,) = world.runs("nightly", state="running")
        world.kill(world.node_of(run))
        world.advance("1h")
        (again,) = world.runs("nightly")
        assert (again.id, again.state, again.attempt) == (run.id, "succeeded", 2)


def test_an_order_sends_a_mail() -> None:
    with inline(app) as world:
        order("ada@example.org")
        assert [run.result for run in world.runs()] == ["sent to ada@example.org"]


def test_a_task_is_a_function() -> None:
    assert nightly(context(attempt=2)) == 2
