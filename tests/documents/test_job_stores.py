"""What every JobStore promises."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier

from tests.documents.places import Place, ago, mails
from tests.patience import LONGEST_S

from onthedot.documents import Change, Job, JobStore

MINUTE = 60_000


def ids(jobs: Sequence[Job]) -> list[int]:
    return [job.id for job in jobs]


def eventually(answer: Callable[[], Sequence[Job]]) -> Sequence[Job]:
    """The first answer that is not empty."""
    end = time.monotonic() + LONGEST_S
    while not (found := answer()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)
    return found


def lock_one(store: JobStore, lock_ms: int = MINUTE) -> Job:
    (job,) = eventually(lambda: store.lock_due(1, lock_ms))
    return job


def taken_over(store: JobStore) -> tuple[Job, Job]:
    """A job whose lock ran out, and the same document as its new holder has it."""
    return lock_one(store, lock_ms=1), lock_one(store)


def test_what_is_due_is_locked_and_the_rest_is_left_alone(place: Place) -> None:
    place.put(*mails([1, 2]), {"id": 3, "sleep_until": ago(-3600)}, {"id": 4, "sleep_until": None}, {"id": 5})
    assert sorted(ids(place.store().lock_due(10, MINUTE))) == [1, 2]


def test_the_longest_due_come_first(place: Place) -> None:
    place.put({"id": 1, "sleep_until": ago(10)}, {"id": 2, "sleep_until": ago(30)}, {"id": 3, "sleep_until": ago(20)})
    store = place.store()
    assert ids(store.lock_due(2, MINUTE)) == [2, 3]
    assert ids(store.lock_due(2, MINUTE)) == [1]


def test_a_job_says_what_its_document_says_and_how_long_it_is_ours(place: Place) -> None:
    due, until = ago(60), ago(-3600)
    place.put(*mails([7], sleep_until=due, interval="5m", repeat_until=until, auto_remove=True, to="Ada"))
    job = lock_one(place.store())
    assert (job.id, job.sleep_until, job.interval, job.auto_remove) == (7, due, "5m", True)
    assert job.document["to"] == "Ada"
    assert job.locked_until - job.locked_at == timedelta(minutes=1)
    assert due < job.locked_at < until


def test_what_is_locked_is_given_to_nobody_else_until_its_lock_is_over(place: Place) -> None:
    place.put(*mails([1]))
    store = place.store()
    first = lock_one(store, lock_ms=100)
    second = lock_one(store)
    assert second.locked_at >= first.locked_until
    assert second.token != first.token
    assert store.lock_due(1, MINUTE) == []


def test_sixteen_callers_at_once_get_each_document_once(place: Place) -> None:
    place.put(*mails(range(1000)))
    together = Barrier(16)

    def lock_all(_: int) -> list[int]:
        store = place.store()
        together.wait()
        found: list[int] = []
        while jobs := store.lock_due(7, MINUTE):
            found += ids(jobs)
        return found

    with ThreadPoolExecutor(16) as pool:
        found = Counter(key for keys in pool.map(lock_all, range(16)) for key in keys)
    assert found == Counter(range(1000))


def test_the_holder_writes_and_the_document_is_free_again(place: Place) -> None:
    place.put(*mails([1]))
    store = place.store()
    following = ago(-3600)
    assert store.update([Change(lock_one(store), following)]) == []
    document = place.get(1)
    assert document is not None
    assert document["sleep_until"] == following
    assert "locked_until" not in document
    place.set(1, sleep_until=ago(1))
    assert lock_one(store).id == 1


def test_a_document_that_is_not_to_be_due_again_is_kept(place: Place) -> None:
    place.put(*mails([1], to="Ada"))
    store = place.store()
    store.update([Change(lock_one(store), None)])
    document = place.get(1)
    assert document is not None
    assert document["to"] == "Ada"
    assert "sleep_until" not in document
    assert store.lock_due(1, MINUTE) == []


def test_who_outlived_his_lock_cannot_write_over_the_new_holder(place: Place) -> None:
    place.put(*mails([1]))
    store = place.store()
    zombie, holder = taken_over(store)
    before = place.get(1)
    assert ids(store.update([Change(zombie, ago(-1), last_error="too late")])) == [1]
    assert place.get(1) == before
    assert store.update([Change(holder, None)]) == []


def test_who_outlived_his_lock_cannot_write_when_the_new_holder_has_finished(place: Place) -> None:
    place.put(*mails([1]))
    store = place.store()
    zombie, holder = taken_over(store)
    store.update([Change(holder, None)])
    before = place.get(1)
    assert ids(store.update([Change(zombie, ago(-1), last_error="too late")])) == [1]
    assert ids(store.remove([zombie])) == [1]
    assert place.get(1) == before


def test_a_lost_lock_refuses_one_row_and_the_rest_of_the_batch_stands(place: Place) -> None:
    place.put(*mails([1]))
    store = place.store()
    zombie, _ = taken_over(store)
    place.put(*mails([2, 3]))
    mine = store.lock_due(2, MINUTE)
    assert ids(store.update([Change(job, None) for job in (mine[0], zombie, mine[1])])) == [1]
    assert all("sleep_until" not in (place.get(key) or {}) for key in (2, 3))


def test_writing_twice_is_writing_once(place: Place) -> None:
    place.put(*mails([1]))
    store = place.store()
    change = Change(lock_one(store), ago(-3600))
    store.update([change])
    before = place.get(1)
    assert store.update([change]) == []
    assert place.get(1) == before


def test_an_error_is_kept_and_rests_the_document_and_success_clears_it(place: Place) -> None:
    place.put(*mails([1]))
    store = place.store()
    job = lock_one(store)
    text = '$OSError: no "paper" {in} tray\'s end'
    rests_until = job.locked_at + timedelta(milliseconds=100)
    store.update([Change(job, job.sleep_until, rests_until, text)])
    document = place.get(1)
    assert document is not None
    assert (document["last_error"], document["sleep_until"]) == (text, job.sleep_until)
    again = lock_one(store)
    assert again.locked_at >= rests_until - timedelta(milliseconds=1)  # a store may keep whole milliseconds
    store.update([Change(again, None)])
    assert "last_error" not in (place.get(1) or {})


def test_a_moment_that_was_moved_meanwhile_stays(place: Place) -> None:
    place.put(*mails([1, 2]))
    store = place.store()
    jobs = store.lock_due(2, MINUTE)
    token, moved = jobs[0].token, ago(-3600)
    place.set(1, sleep_until=moved, locked_by=token)
    place.set(2, sleep_until=None, locked_by=token)
    assert store.update([Change(job, ago(-60)) for job in jobs]) == []
    assert (place.get(1) or {})["sleep_until"] == moved
    assert "sleep_until" not in (place.get(2) or {})
    assert "locked_until" not in (place.get(1) or {})


def test_a_document_is_removed_unless_it_was_moved_meanwhile(place: Place) -> None:
    place.put(*mails([1, 2]))
    store = place.store()
    jobs = store.lock_due(2, MINUTE)
    moved = ago(-3600)
    place.set(2, sleep_until=moved, locked_by=jobs[0].token)
    assert store.remove(jobs) == []
    assert place.get(1) is None
    document = place.get(2) or {}
    assert document["sleep_until"] == moved
    assert "locked_until" not in document


def test_a_document_that_is_gone_is_no_loss(place: Place) -> None:
    place.put(*mails([1, 2]))
    store = place.store()
    jobs = store.lock_due(2, MINUTE)
    place.delete(1)
    assert store.update([Change(job, None) for job in jobs]) == []
    assert store.remove([replace(job) for job in jobs if job.id == 1]) == []
    assert place.get(1) is None


def test_what_the_caller_works_on_is_not_locked_again_whatever_became_of_its_lock(place: Place) -> None:
    place.put(*mails([1, 2, 3]))
    store = place.store()
    (mine,) = store.lock_due(1, 1)
    others = [key for key in (1, 2, 3) if key != mine.id]
    eventually(lambda: [mine] if (place.get(mine.id) or {})["locked_until"] < ago(0) else [])
    assert sorted(ids(store.lock_due(10, MINUTE, skip=[mine.id]))) == others
    assert store.lock_due(10, MINUTE, skip=[mine.id]) == []
    assert ids(store.lock_due(10, MINUTE)) == [mine.id]


def test_a_lock_whose_answer_was_lost_is_found_again_by_its_token(place: Place) -> None:
    place.put(*mails([1, 2, 3]))
    store = place.store()
    lost = store.lock_due(2, MINUTE, token="mine")
    assert {job.token for job in lost} == {"mine"}
    found = place.store().lock_again("mine", 2 * MINUTE)
    assert ids(found) == ids(lost)
    assert all(job.locked_until - job.locked_at == timedelta(minutes=2) for job in found)
    assert ids(store.lock_due(10, MINUTE)) == [key for key in (1, 2, 3) if key not in ids(lost)]
    assert store.update([Change(job, None) for job in found]) == []


def test_a_token_with_which_nothing_was_taken_finds_nothing(place: Place) -> None:
    place.put(*mails([1]))
    store = place.store()
    assert store.lock_again("mine", MINUTE) == []
    store.update([Change(lock_one(store), ago(-3600))])
    assert store.lock_again("mine", MINUTE) == []


def test_a_lock_that_another_has_taken_over_is_not_found_again(place: Place) -> None:
    place.put(*mails([1]))
    store = place.store()
    store.lock_due(1, 1, token="mine")
    lock_one(store)
    assert store.lock_again("mine", MINUTE) == []


def test_a_renewed_lock_begins_anew(place: Place) -> None:
    place.put(*mails([1, 2]))
    store = place.store()
    jobs = store.lock_due(2, MINUTE)
    assert store.renew(jobs, 60 * MINUTE) == []
    for job in jobs:
        assert (place.get(job.id) or {})["locked_until"] >= job.locked_at + timedelta(hours=1)
    assert store.lock_due(1, MINUTE) == []
    assert store.update([Change(job, None) for job in jobs]) == []


def test_a_lock_that_is_over_and_that_nobody_took_is_renewed(place: Place) -> None:
    place.put(*mails([1]))
    store = place.store()
    job = lock_one(store, lock_ms=1)
    assert store.renew([job], MINUTE) == []
    assert store.lock_due(1, MINUTE) == []


def test_a_renewal_says_what_is_another_s_and_leaves_it_alone(place: Place) -> None:
    place.put(*mails([1]))
    store = place.store()
    zombie, _ = taken_over(store)
    place.put(*mails([2]))
    mine = lock_one(store)
    before = place.get(1)
    assert ids(store.renew([zombie, mine], 60 * MINUTE)) == [1]
    assert place.get(1) == before
    assert (place.get(2) or {})["locked_until"] >= mine.locked_at + timedelta(hours=1)


def test_a_renewal_that_comes_after_the_outcome_locks_nothing(place: Place) -> None:
    place.put(*mails([1, 2]))
    store = place.store()
    jobs = store.lock_due(2, MINUTE)
    place.delete(2)
    store.update([Change(job, ago(1)) for job in jobs])
    assert store.renew(jobs, MINUTE) == []
    assert "locked_until" not in (place.get(1) or {})
