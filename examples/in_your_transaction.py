"""A run that exists if, and only if, your transaction commits: python examples/in_your_transaction.py

Your tables and the store are in one SQL database.
"""

import sqlalchemy as sa

from onthedot import App

app = App("sqlite:///orders.db")
engine = sa.create_engine("sqlite:///orders.db")
metadata = sa.MetaData()
orders = sa.Table("orders", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("item", sa.String(60)))


@app.task
def send_invoice(order: int) -> str:
    return f"invoice of order {order}"


def place_order(item: str) -> None:
    with engine.begin() as connection:
        order = connection.execute(sa.insert(orders).values(item=item).returning(orders.c.id)).scalar_one()
        app.enqueue(send_invoice, args={"order": order}, connection=connection)
        if item == "a unicorn":
            raise LookupError("sold out")  # neither the order nor its run will ever have been


if __name__ == "__main__":
    metadata.create_all(engine)
    app.open_store(create=True)
    place_order("a lamp")
    try:
        place_order("a unicorn")
    except LookupError as error:
        print(error)
    with app.running():
        for run in app.runs.list():
            print(app.runs.wait(run.id, timeout="30s").result)
    engine.dispose()
