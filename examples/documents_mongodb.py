"""A MongoDB collection of your own, worked as a queue in place.

    MONGODB_URL=mongodb://… python examples/documents_mongodb.py

A stand-alone server is enough, and so is a replica set.
"""

import os
from datetime import UTC, datetime
from threading import Event

from pymongo import MongoClient

from onthedot.documents import Documents

client: MongoClient = MongoClient(os.environ["MONGODB_URL"])
mails = client.onthedot_example.mails
queue = Documents(mails, sleep_until="delivery.at", condition={"approved": True}, idle_delay="100ms")
done = Event()
queue.on_idle(done.set)


@queue.on_document
async def send(mail: dict) -> None:  # plain or async
    print("to", mail["to"])


if __name__ == "__main__":
    mails.drop()
    mails.create_index("delivery.at")
    now = datetime.now(UTC)
    for to, approved in (("ada@example.org", True), ("bob@example.org", True), ("eve@example.org", False)):
        mails.insert_one({"to": to, "approved": approved, "delivery": {"at": now}, "auto_remove": True})
    with queue.running():
        done.wait(60)
    print("left:", [mail["to"] for mail in mails.find()])
    mails.drop()
    client.close()
