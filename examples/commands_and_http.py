"""Shell commands and HTTP calls as tasks: python examples/commands_and_http.py"""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

from onthedot import App, cron


class Shop(BaseHTTPRequestHandler):
    """Somebody else's server, for the example."""

    def do_POST(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args: object) -> None: ...


server = HTTPServer(("127.0.0.1", 0), Shop)
app = App("memory://")
backup = app.command("backup", [sys.executable, "-c", "print('backed up')"], timeout="1h", kill_after="10s")
app.command("count", shell="ls | wc -l")  # only where a shell is asked for
ping = app.http("ping", "POST", f"http://127.0.0.1:{server.server_port}/ping", json={"from": "onthedot"}, expect=[204])

if __name__ == "__main__":
    Thread(target=server.serve_forever, daemon=True).start()
    with app.running():
        app.schedules.put("nightly", backup, cron("30 2 * * *", tz="Europe/Berlin"), overlap="discard")
        run = app.runs.wait(app.schedules.trigger("nightly").id, timeout="30s")
        print(run.result, [line.text for line in app.runs.logs(run.id)])
        print(app.runs.wait(app.enqueue(ping).id, timeout="30s").result)
    server.shutdown()
