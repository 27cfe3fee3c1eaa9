"""A table of MySQL 9, put to the promises of a JobStore that rest on how it locks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.documents.places import InSql
from tests.documents.test_job_stores import (
    test_a_document_is_removed_unless_it_was_moved_meanwhile,
    test_a_lost_lock_refuses_one_row_and_the_rest_of_the_batch_stands,
    test_sixteen_callers_at_once_get_each_document_once,
)

__all__ = [
    "test_a_document_is_removed_unless_it_was_moved_meanwhile",
    "test_a_lost_lock_refuses_one_row_and_the_rest_of_the_batch_stands",
    "test_sixteen_callers_at_once_get_each_document_once",
]


@pytest.fixture
def place(mysql_9: str) -> Iterator[InSql]:
    place = InSql(mysql_9.replace("mysql://", "mysql+pymysql://"))
    yield place
    place.close()
