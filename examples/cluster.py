"""Several processes on one URL: python examples/cluster.py

The store is $ONTHEDOT_STORE (postgresql://…, mysql://…, mongodb://…, redis://…), or a file here. Two nodes plan and
execute, there is no leader, and each tick has one run. In earnest each is a machine with `onthedot run cluster:app`.
"""

import os
import signal
import subprocess
import sys
import time

from onthedot import App, Context, every

app = App(os.environ.get("ONTHEDOT_STORE", "sqlite:///cluster.db"))


@app.schedule(every("1s"))
def tick(ctx: Context) -> int:
    return os.getpid()


def main(ticks: int = 2) -> None:
    app.open_store(create=True)
    nodes = [subprocess.Popen([sys.executable, __file__, "node"]) for _ in range(2)]
    try:
        while len(done := app.runs.list(schedule="tick", state="succeeded")) < ticks:
            time.sleep(0.1)
    finally:
        for node in nodes:
            node.send_signal(signal.SIGTERM)  # what runs is finished, the rest is handed back
        for node in nodes:
            node.wait()
    moments = [run.scheduled_at for run in done]
    assert len(set(moments)) == len(moments), "a tick has run twice"
    for run in done:
        print(run.scheduled_at, "in process", run.result)


if __name__ == "__main__":
    if sys.argv[1:] == ["node"]:
        app.run()
    else:
        main()
