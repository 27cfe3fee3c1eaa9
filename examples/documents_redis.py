"""Documents in Redis, worked as a queue: REDIS_URL=redis://… python examples/documents_redis.py"""

import os
from datetime import UTC, datetime

from redis import Redis

from onthedot.documents import Documents
from onthedot.documents.redis import RedisJobStore

client = Redis.from_url(os.environ["REDIS_URL"])
mails = RedisJobStore(client, "onthedot-example-mails")
queue = Documents(mails)


@queue.on_document
def send(mail: dict) -> None:
    print("to", mail["to"])


if __name__ == "__main__":
    now = datetime.now(UTC)
    mails.put({"id": 1, "to": "ada@example.org", "sleep_until": now, "auto_remove": True})
    mails.put({"id": 2, "to": "bob@example.org", "sleep_until": now, "interval": "15m"})
    print(queue.run_once(), "worked")
    again = mails.get(2)
    print("gone" if mails.get(1) is None else "kept", "and again at", again and again["sleep_until"].isoformat())
    mails.delete(2)
    client.close()
