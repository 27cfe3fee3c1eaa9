"""A web application whose endpoints enqueue, and whose processes do the work: python examples/fastapi_app.py

Serves on 127.0.0.1:$PORT (8000) until Ctrl-C. Then:
    curl -X POST 'http://127.0.0.1:8000/orders/7'
    curl 'http://127.0.0.1:8000/runs/RUN'
"""

import os

import uvicorn
from fastapi import FastAPI, HTTPException

from onthedot import RunNotFound, every
from onthedot.fastapi import Onthedot

jobs = Onthedot("sqlite:///shop.db")
api = FastAPI(lifespan=jobs.lifespan)  # a node, for as long as this process serves


@jobs.task(retries=3)
async def send_invoice(order: int) -> str:
    return f"invoice of order {order}"


@jobs.schedule(every("15m"))
def tidy() -> None: ...


@api.post("/orders/{order}", status_code=202)
def place_order(order: int) -> dict[str, str]:
    return {"run": jobs.enqueue(send_invoice, args={"order": order}, key=f"invoice-{order}").id}


@api.get("/runs/{run_id}")
def show_run(run_id: str) -> dict[str, object]:
    try:
        run = jobs.runs.get(run_id)
    except RunNotFound as error:
        raise HTTPException(404, str(error)) from None
    return {"state": run.state, "result": run.result}


if __name__ == "__main__":
    uvicorn.run(api, host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
