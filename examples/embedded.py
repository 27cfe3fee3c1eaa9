"""Schedules inside a program of your own, kept in a file: python examples/embedded.py

Start it again, and it goes on where it was: what it missed meanwhile is in `onthedot runs list`, or explained.
"""

from onthedot import App, Context, cron, every

app = App("sqlite:///embedded.db")


@app.schedule(every("1s"))
def heartbeat(ctx: Context) -> None:
    ctx.log.info("the tick of %s", ctx.scheduled_at)


@app.schedule(cron("30 2 * * mon-fri", tz="Europe/Berlin"), misfire="skip")
def report() -> None:
    """Would run at half past two."""


@app.task(retries=3)
def resize(width: int) -> int:
    return width // 2


if __name__ == "__main__":
    with app.running():  # in threads of this program; app.run() would go on until Ctrl-C
        run = app.enqueue(resize, args={"width": 640})
        print("resized to", app.runs.wait(run.id, timeout="30s").result)
        first = app.schedules.trigger("heartbeat")  # now, without waiting for the clock
        print("heartbeat", app.runs.wait(first.id, timeout="30s").state)
        print("the next report:", app.schedules.next("report", 1)[0].isoformat())
