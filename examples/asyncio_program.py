"""The same on an event loop: python examples/asyncio_program.py

`async def` tasks run on the loop of the program, so they may use its clients and pools.
"""

import asyncio

from onthedot import App

app = App("memory://")


@app.task
async def fetch(page: int) -> str:
    await asyncio.sleep(0.01)
    return f"page {page}"


async def main() -> None:
    async with app.running():
        runs = [await asyncio.to_thread(app.enqueue, fetch, args={"page": page}) for page in (1, 2, 3)]
        for run in runs:
            ended = await asyncio.to_thread(app.runs.wait, run.id, timeout="30s")
            print(ended.state, ended.result)


if __name__ == "__main__":
    asyncio.run(main())
