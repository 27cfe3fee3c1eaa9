"""The servers that other tests rely on are what they say."""

from __future__ import annotations

from contextlib import closing

import psycopg
from tests.servers import mariadb as mariadb_servers


def test_a_test_has_a_postgresql_of_version_15_and_a_database_of_its_own(postgresql_15: str) -> None:
    with psycopg.connect(postgresql_15) as connection:
        assert connection.info.server_version >= 150_000
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


def test_a_test_has_a_postgresql_of_version_18_and_a_database_of_its_own(postgresql_18: str) -> None:
    with psycopg.connect(postgresql_18) as connection:
        assert connection.info.server_version >= 180_000


def test_a_test_has_a_mariadb_and_a_database_of_its_own(mariadb: str) -> None:
    with closing(mariadb_servers.connect(mariadb)) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW TABLES")
        assert cursor.fetchall() == ()
