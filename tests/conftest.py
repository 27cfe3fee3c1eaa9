"""For every test: real servers as fixtures, and one Hypothesis profile (the same examples on every machine, no limits
by the wall clock)."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.order import in_shares

os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("nobody.pem"))
"""One authority, which nobody has a certificate of. To read those of the machine takes 50 ms for each connection to
MariaDB and each client of HTTP, whether it uses them or not; also in the processes that tests start."""

pytest_plugins = [
    "tests.servers.postgresql",
    "tests.servers.postgresql_pair",
    "tests.servers.patroni",
    "tests.servers.pgbouncer",
    "tests.servers.mariadb",
    "tests.servers.galera",
    "tests.servers.mysql",
    "tests.servers.mongodb",
    "tests.servers.mongodb_set",
    "tests.servers.redis",
    "tests.servers.redis_sentinel",
    "tests.servers.redis_cluster",
    "tests.servers.emptying",
]

settings.register_profile(
    "onthedot",
    deadline=None,
    derandomize=True,
    print_blob=True,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],  # a slow machine is no failure
)
settings.register_profile("thorough", settings.get_profile("onthedot"), max_examples=2000)  # scripts/test-slow
settings.load_profile("onthedot")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What tests of bad input make programs print must not end the run: workers can hand on no halves of characters."""
    report = yield
    report.sections = [(name, said.encode("utf-8", "backslashreplace").decode()) for name, said in report.sections]
    return report


@pytest.hookimpl(trylast=True)  # of those that are not deselected
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = in_shares(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
