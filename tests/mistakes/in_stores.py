"""Mistakes in the URL of a store, and stores that cannot be used."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.mistakes.mistake import Mistake, Section

from onthedot.stores.open import open_store


def _newer(folder: Path) -> None:
    open_store(f"sqlite:///{folder}/newer.db", create=True).close()
    with closing(sqlite3.connect(folder / "newer.db")) as connection, connection:
        connection.execute("UPDATE onthedot_meta SET version_num = '9999'")


def _others(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "shop.db")) as connection, connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")


def _missing_driver(url: str, package: str, module: str, extra: str) -> Mistake:
    scheme = url.partition(":")[0]
    return Mistake(
        f"onthedot status --store {url}",
        f"{scheme}:// needs {package}, which is not installed: pip install 'onthedot[{extra}]'",
        given=f"{package} is not installed",
        without=module,
    )


STORES = Section(
    "Stores",
    "A password in a URL is never shown.",
    (
        Mistake(
            "onthedot status --store sqlit:///jobs.db",
            "no store is called sqlit:// (sqlit:///jobs.db); there is sqlite:// or mysql://",
        ),
        Mistake(
            "onthedot status --store jobs.db",
            "jobs.db is no URL of a store; write it like sqlite:///jobs.db (a file), sqlite:////var/lib/jobs.db"
            " (with its whole path), postgresql://user:password@host/database, mysql://user:password@host/database,"
            " mongodb://host:27017/database, redis://host:6379/0 or memory://",
        ),
        Mistake(
            "onthedot status --store sqlite://jobs.db",
            "sqlite://jobs.db names no file; three slashes, as in sqlite:///jobs.db",
        ),
        Mistake(
            "onthedot status --store sqlite:///:memory:",
            "sqlite:///:memory: names no file; for a store that forgets, write memory://",
        ),
        Mistake(
            "onthedot status --store 'sqlite:///jobs.db?timeout=5'",
            "sqlite:///jobs.db?timeout=5: a sqlite:// URL takes no options; leave out what follows the question mark",
        ),
        Mistake(
            "onthedot status --store sqlite:///none.db",
            "no onthedot store at sqlite:////srv/none.db: run `onthedot migrate` or start a node",
            code=1,
        ),
        Mistake(
            "onthedot status --store sqlite:///no/such/jobs.db",
            "the folder /srv/no/such of the store does not exist; create it, or choose another",
            code=1,
        ),
        Mistake(
            "onthedot status --store sqlite:///data",
            "/srv/data is a folder; name a file in it, like sqlite:////srv/data/jobs.db",
            given="data is a folder",
            prepare=lambda folder: (folder / "data").mkdir(),
            code=1,
        ),
        Mistake(
            "onthedot status --store sqlite:///diary.db",
            "sqlite:////srv/diary.db is no database, or a damaged one: file is not a database",
            files={"diary.db": "dear diary, " * 100},
            code=1,
        ),
        Mistake(
            "onthedot status",
            "/srv/jobs.db cannot be written by this user, and SQLite writes both a file and beside it",
            given="jobs.db may not be written",
            read_only="jobs.db",
            code=1,
        ),
        Mistake(
            "onthedot status --store sqlite:///shop.db",
            "no onthedot store at sqlite:////srv/shop.db: run `onthedot migrate` or start a node",
            given="a database of somebody else",
            prepare=_others,
            code=1,
        ),
        Mistake(
            "onthedot status --store sqlite:///newer.db",
            "sqlite:////srv/newer.db has the tables of a newer onthedot (schema 9999, known here: 0001);"
            " upgrade onthedot here",
            given="a newer onthedot has made the tables",
            prepare=_newer,
            code=1,
        ),
        Mistake(
            "onthedot status --store postgresql://me:secret@db:5432",
            "postgresql://me:***@db:5432 names no database; write it like postgresql://user:password@host/database",
        ),
        Mistake(
            "onthedot status --store postgresql://me:secret@db1:5432,/shop",
            "postgresql://me:***@db1:5432,/shop: '' is no host; write several like host1:port1,host2:port2",
        ),
        Mistake(
            "onthedot status --store 'postgresql://db1,db2/shop?target_session_attrs=any'",
            "postgresql://db1,db2/shop?target_session_attrs=any: a store is written, so target_session_attrs= takes"
            " read-write or primary",
        ),
        Mistake(
            "onthedot status --store 'postgresql://db/shop?pgbouncer=yes'",
            "postgresql://db/shop?pgbouncer=yes: pgbouncer= takes transaction, which does for its session mode, too",
        ),
        Mistake(
            "onthedot status --store mariadb://db1:3306,db2:x/shop",
            "mariadb://db1:3306,db2:x/shop: 'db2:x' is no host; write several like host1:port1,host2:port2",
        ),
        Mistake(
            "onthedot status --store redis://localhost/shop",
            "redis://localhost/shop: a database of Redis is a number, like redis://host:6379/0; not 'shop'",
        ),
        Mistake(
            "onthedot status --store redis://cache1,cache2/0",
            "redis://cache1,cache2/0: redis:// names one server; of several write the sentinels that watch them, like"
            " redis+sentinel://user:password@host1:26379,host2:26379/service/0, or the nodes of a cluster, like"
            " redis+cluster://user:password@host1:6379,host2:6379",
        ),
        Mistake(
            "onthedot status --store redis+sentinel://s1,s2",
            "redis+sentinel://s1,s2: it names no service; write the one that the sentinels watch, like"
            " redis+sentinel://user:password@host1:26379,host2:26379/service/0",
        ),
        Mistake(
            "onthedot status --store redis+cluster://h1,h2/1",
            "redis+cluster://h1,h2/1: a cluster has the database 0 alone; for a store of its own write ?namespace=",
        ),
        Mistake(
            "onthedot status --store 'redis+cluster://h1,h2?replicas=none'",
            "redis+cluster://h1,h2?replicas=none: replicas= takes how many must have what is written, like replicas=1;"
            " not 'none'",
        ),
        _missing_driver("postgresql://db/shop", "psycopg", "psycopg", "postgresql"),
        _missing_driver("mysql://db/shop", "PyMySQL", "pymysql", "mysql"),
        _missing_driver("mongodb://db/shop", "pymongo", "pymongo", "mongodb"),
        _missing_driver("redis://db/0", "redis", "redis", "redis"),
    ),
)
