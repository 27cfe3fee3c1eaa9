"""A SQL table of your own, worked as a queue in place: python examples/documents.py

There is no second copy of your data in a scheduler. Any number of processes share the work.
"""

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from onthedot.documents import Documents

metadata = sa.MetaData()
mails = sa.Table(
    "mails",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("to", sa.String(200)),
    sa.Column("send_at", sa.DateTime, index=True),
    sa.Column("interval", sa.String(100)),  # "15m", or "0 9 * * mon-fri"; none: once
    sa.Column("auto_remove", sa.Boolean),
    sa.Column("locked_by", sa.String(200)),
    sa.Column("locked_until", sa.DateTime),
    sa.Column("last_error", sa.String(2000)),
)
engine = sa.create_engine("sqlite:///mails.db")
queue = Documents(mails, engine=engine, sleep_until="send_at", workers=4)


@queue.on_document
def send(mail: dict) -> None:
    if "@" not in mail["to"]:
        raise ValueError(f"{mail['to']} is no address")
    print("to", mail["to"])


@queue.on_error
def complain(error: BaseException, mail: dict | None) -> None:
    print("not sent:", error)


if __name__ == "__main__":
    metadata.create_all(engine)
    now = datetime.now(UTC).replace(tzinfo=None)
    rows = [
        {"to": "ada@example.org", "send_at": now, "auto_remove": True},
        {"to": "bob@example.org", "send_at": now, "interval": "0 9 * * mon-fri"},
        {"to": "nobody", "send_at": now},
        {"to": "cy@example.org", "send_at": now + timedelta(days=1)},
    ]
    with engine.begin() as connection:
        connection.execute(sa.insert(mails), [{"interval": None, "auto_remove": False, **row} for row in rows])
    print(queue.run_once(), "worked")  # queue.run() works until SIGTERM or Ctrl-C
    with engine.connect() as connection:
        for row in connection.execute(sa.select(mails.c.to, mails.c.send_at, mails.c.last_error)):
            print(*row)
    engine.dispose()
