"""Pause, trigger, look, explain, as `onthedot schedules …` and `onthedot explain` do: python examples/operating.py"""

import time
from datetime import UTC, datetime, timedelta

from onthedot import App, every

app = App("memory://")


@app.schedule(every("1s"), args={"audience": "all"})
def digest(audience: str) -> str:
    return f"digest for {audience}"


if __name__ == "__main__":
    with app.running():
        app.schedules.pause("digest", note="the mail server is being moved")
        left_out = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1)
        by_hand = app.schedules.trigger("digest", args={"audience": "eu"})  # a pause does not concern what you ask for
        print(app.runs.wait(by_hand.id, timeout="30s").result)
        time.sleep(1.5)  # a tick comes, and does not run
        app.schedules.resume("digest")
        print(app.schedules.explain("digest", left_out))
        print("next:", app.schedules.next("digest", 1)[0].isoformat())
