"""Retries, giving up, and hearing of it: python examples/failures.py"""

from threading import Event

from onthedot import App, Context, GiveUp
from onthedot.events import RunEnded

app = App("memory://")
heard = Event()


@app.task(retries=3, backoff="10ms")
def fetch(ctx: Context) -> str:
    if ctx.attempt < 3:
        raise ConnectionError("the server is away")  # tried again, after a pause that grows
    return f"fetched at attempt {ctx.attempt}"


@app.task(retries=3)
def charge(card: str) -> None:
    raise GiveUp(f"card {card} is blocked")  # nothing that another attempt would change


@app.on("run_ended")
def alert(event: RunEnded) -> None:
    if event.outcome == "failed":
        print("somebody should know:", event.task, "failed")
        heard.set()


if __name__ == "__main__":
    with app.running():
        print(app.runs.wait(app.enqueue(fetch).id, timeout="30s").result)
        run = app.runs.wait(app.enqueue(charge, args={"card": "1234"}).id, timeout="30s")
        print(run.state, run.attempt, run.error)
        assert heard.wait(30)
