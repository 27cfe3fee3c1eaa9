"""A Flask site whose views enqueue, and whose runs are inside its app context: python examples/flask_app.py

Serves on 127.0.0.1:$PORT (8000) until Ctrl-C. Then:
    curl -X POST 'http://127.0.0.1:8000/orders/7'
    curl 'http://127.0.0.1:8000/runs/RUN'
"""

import os

from flask import Flask, abort, current_app

from onthedot import RunNotFound, every
from onthedot.flask import Onthedot

site = Flask(__name__)
site.config["ONTHEDOT_STORE"] = "sqlite:///shop.db"
site.config["SENDER"] = "shop@example.org"
jobs = Onthedot(site)


@jobs.task(retries=3)
def send_invoice(order: int) -> str:
    return f"invoice of order {order} from {current_app.config['SENDER']}"


@jobs.schedule(every("15m"))
def tidy() -> None: ...


@site.post("/orders/<int:order>")
def place_order(order: int) -> tuple[dict[str, str], int]:
    return {"run": jobs.enqueue(send_invoice, args={"order": order}, key=f"invoice-{order}").id}, 202


@site.get("/runs/<run_id>")
def show_run(run_id: str) -> dict[str, object]:
    try:
        run = jobs.runs.get(run_id)
    except RunNotFound as error:
        abort(404, str(error))
    return {"state": run.state, "result": run.result}


if __name__ == "__main__":
    jobs.start()  # a node, for as long as this process serves
    site.run(host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
