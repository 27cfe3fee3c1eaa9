"""Documents at work, on every kind of place."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from threading import Event, Semaphore
from typing import Any

import pytest
from tests.documents.places import Place, ago, mails
from tests.patience import LONGEST_S

from onthedot.documents import Documents, Job, JobStore
from onthedot.errors import Conflict, TriggerError


class Diary:
    """Notes what happened, and lets a test wait for it."""

    def __init__(self, documents: Documents) -> None:
        self.worked: list[Any] = []
        self.errors: list[tuple[BaseException, Any]] = []
        self.told: list[str] = []
        self.idle = Event()
        self._worked = Semaphore(0)
        documents.on_start(lambda: self.told.append("start"))
        documents.on_stop(lambda: self.told.append("stop"))
        documents.on_idle(self._note_idle)
        documents.on_error(lambda error, document: self.errors.append((error, document)))

    def note(self, document: Any) -> None:
        self.worked.append(document["id"])
        self._worked.release()

    def wait_worked(self, count: int = 1) -> None:
        for _ in range(count):
            assert self._worked.acquire(timeout=LONGEST_S)

    def wait_idle(self) -> None:
        assert self.idle.wait(LONGEST_S)

    def _note_idle(self) -> None:
        self.told.append("idle")
        self.idle.set()


@pytest.fixture
def quick() -> dict[str, Any]:
    """Options that let tests wait little."""
    return {"idle_delay": "20ms", "workers": 4}


def work_all(documents: Documents, diary: Diary) -> None:
    """Until nothing is due."""
    diary.idle.clear()
    with documents.running():
        diary.wait_idle()


def test_a_document_is_worked_once_and_kept(place: Place, quick: dict[str, Any]) -> None:
    place.put(*mails([1], to="Ada"), {"id": 2, "sleep_until": ago(-3600)})
    documents = place.documents(**quick)
    diary = Diary(documents)
    documents.on_document(diary.note)
    work_all(documents, diary)
    assert diary.worked == [1]
    assert "sleep_until" not in (place.get(1) or {})
    assert "sleep_until" in (place.get(2) or {})


def test_a_document_with_auto_remove_is_gone_afterwards(place: Place, quick: dict[str, Any]) -> None:
    place.put(*mails([1, 2], auto_remove=True), *mails([3], auto_remove=True, interval="1h"))
    documents = place.documents(**quick)
    diary = Diary(documents)
    documents.on_document(diary.note)
    work_all(documents, diary)
    assert sorted(diary.worked) == [1, 2, 3]
    assert (place.get(1), place.get(2)) == (None, None)
    assert "sleep_until" in (place.get(3) or {})


def test_a_late_interval_is_worked_once_and_goes_on_along_its_own_lattice(place: Place, quick: dict[str, Any]) -> None:
    due = ago(3600 * 10 + 123.456)
    place.put(*mails([1], sleep_until=due, interval="7m"), *mails([2], sleep_until=due, interval="*/5 * * * *"))
    before = ago(0)
    documents = place.documents(**quick)
    diary = Diary(documents)
    documents.on_document(diary.note)
    work_all(documents, diary)
    assert sorted(diary.worked) == [1, 2]
    by_duration, by_cron = (place.get(key) or {} for key in (1, 2))
    assert before < by_duration["sleep_until"] <= ago(0) + timedelta(minutes=7)
    assert (by_duration["sleep_until"] - due) % timedelta(minutes=7) == timedelta(0)
    assert before < by_cron["sleep_until"] <= ago(0) + timedelta(minutes=5)
    assert by_cron["sleep_until"].minute % 5 == by_cron["sleep_until"].second == 0


def test_an_interval_ends_with_repeat_until(place: Place, quick: dict[str, Any]) -> None:
    place.put(*mails([1], interval="1h", repeat_until=ago(-60)), *mails([2], interval="1h", repeat_until=ago(-7200)))
    documents = place.documents(**quick)
    diary = Diary(documents)
    documents.on_document(diary.note)
    work_all(documents, diary)
    assert "sleep_until" not in (place.get(1) or {})
    assert "sleep_until" in (place.get(2) or {})


def test_a_bad_interval_marks_its_document_and_the_rest_goes_on(place: Place, quick: dict[str, Any]) -> None:
    place.put(*mails([1], interval="every full moon", auto_remove=True), *mails([2, 3]))
    documents = place.documents(**quick)
    diary = Diary(documents)
    documents.on_document(diary.note)
    work_all(documents, diary)
    assert sorted(diary.worked) == [2, 3]
    ((error, blamed),) = diary.errors
    assert isinstance(error, TriggerError)
    assert blamed["id"] == 1
    marked = place.get(1) or {}
    assert marked["last_error"].startswith("TriggerError: 'every full moon' is neither a cron text nor")
    assert "sleep_until" not in marked


def test_a_marked_document_is_worked_when_it_was_put_right(place: Place, quick: dict[str, Any]) -> None:
    place.put(*mails([1], interval="every full moon"))
    documents = place.documents(**quick)
    diary = Diary(documents)
    documents.on_document(diary.note)
    work_all(documents, diary)
    place.set(1, interval="1h", sleep_until=ago(1))
    work_all(documents, diary)
    assert diary.worked == [1]
    assert "last_error" not in (place.get(1) or {})


def test_a_handler_that_raises_is_asked_again_when_the_lock_is_over(place: Place, quick: dict[str, Any]) -> None:
    place.put(*mails([1, 2]))
    documents = place.documents(**quick, lock_duration="300ms")
    diary = Diary(documents)
    tried: Counter[int] = Counter()

    @documents.on_document
    def work(document: Any) -> None:
        tried[document["id"]] += 1
        if document["id"] == 1 and tried[1] == 1:
            raise SystemExit("out of paper")
        diary.note(document)

    with documents.running():
        diary.wait_worked(2)
    assert tried == {1: 2, 2: 1}
    assert [(str(error), document["id"]) for error, document in diary.errors] == [("out of paper", 1)]
    assert "last_error" not in (place.get(1) or {})


def test_the_error_of_a_handler_is_kept_on_the_document(place: Place, quick: dict[str, Any]) -> None:
    due = ago(60)
    place.put(*mails([1], sleep_until=due, interval="1h"))
    documents = place.documents(**quick)
    diary = Diary(documents)

    @documents.on_document
    def work(document: Any) -> None:
        raise OSError("out\nof paper")

    work_all(documents, diary)
    marked = place.get(1) or {}
    assert marked["last_error"] == "OSError: out of paper"
    assert marked["sleep_until"] == due
    assert marked["locked_until"] <= due + timedelta(hours=1)


def test_a_hundred_workers_on_ten_thousand_documents_work_none_twice_and_miss_none(place: Place) -> None:
    place.put(*mails(range(10_000)))
    documents = place.documents(workers=100)
    diary = Diary(documents)
    documents.on_document(diary.note)
    work_all(documents, diary)
    assert diary.errors == []
    assert Counter(diary.worked) == Counter(range(10_000))
    assert place.store().lock_due(1, 1000) == []


def test_several_queues_share_one_collection(place: Place) -> None:
    place.put(*mails(range(1000)))
    shared = [place.documents(workers=2) for _ in range(10)]
    diaries = [Diary(documents) for documents in shared]
    for documents, diary in zip(shared, diaries, strict=True):
        documents.on_document(diary.note)
        documents.start()
    for diary in diaries:
        diary.wait_idle()
    for documents in shared:
        documents.stop()
    assert [diary.errors for diary in diaries] == [[]] * 10
    assert Counter(key for diary in diaries for key in diary.worked) == Counter(range(1000))


def test_a_lock_is_renewed_while_the_work_goes_on(place: Place, quick: dict[str, Any]) -> None:
    place.put(*mails([1]))
    documents = place.documents(**quick, lock_duration="3s")
    diary, entered, may_end = Diary(documents), Event(), Event()

    @documents.on_document
    def work(document: Any) -> None:
        entered.set()
        assert may_end.wait(LONGEST_S)
        diary.note(document)

    with documents.running():
        assert entered.wait(LONGEST_S)
        first = (place.get(1) or {})["locked_until"]
        until(lambda: (place.get(1) or {})["locked_until"] > first)
        assert place.store().lock_due(1, 1000) == []
        may_end.set()
        diary.wait_worked()
    assert (diary.worked, diary.errors) == ([1], [])
    assert "sleep_until" not in (place.get(1) or {})


def test_what_waits_in_one_pass_is_renewed_while_another_is_worked(place: Place) -> None:
    place.put(*mails([1, 2]))
    documents = place.documents(lock_duration="3s")
    worked: list[int] = []

    @documents.on_document
    def work(document: Any) -> None:
        worked.append(document["id"])
        if len(worked) == 1:
            other = 3 - document["id"]
            first = (place.get(other) or {})["locked_until"]
            until(lambda: (place.get(other) or {})["locked_until"] > first)

    assert documents.run_once() == 2
    assert sorted(worked) == [1, 2]


def take_away(place: Place, key: int) -> None:
    """As another would, that took a document over and is done with it: it is due again."""
    place.set(key, locked_by="another", locked_until=ago(1))


def test_work_whose_document_another_took_over_writes_nothing(place: Place, quick: dict[str, Any]) -> None:
    place.put(*mails([1], interval="1h"))
    slow, other = place.documents(workers=1), place.documents(**quick)
    zombie, holder = Diary(slow), Diary(other)
    entered, may_end = Event(), Event()

    @slow.on_document
    def dawdle(document: Any) -> None:
        entered.set()
        assert may_end.wait(LONGEST_S)

    other.on_document(holder.note)
    slow.start()
    assert entered.wait(LONGEST_S)
    take_away(place, 1)
    with other.running():
        holder.wait_worked()
    written = place.get(1)
    may_end.set()
    slow.stop()
    assert place.get(1) == written
    ((error, document),) = zombie.errors
    assert isinstance(error, Conflict)
    assert document["id"] == 1
    assert holder.errors == []


def test_a_process_never_locks_again_what_it_works_on(place: Place, quick: dict[str, Any]) -> None:
    place.put(*mails([1]))
    documents = place.documents(**quick)
    diary, entered, may_end = Diary(documents), Event(), Event()

    @documents.on_document
    def work(document: Any) -> None:
        diary.note(document)
        if document["id"] == 1:
            entered.set()
            assert may_end.wait(LONGEST_S)

    with documents.running():
        assert entered.wait(LONGEST_S)
        take_away(place, 1)
        place.put(*mails([2]))
        diary.wait_worked(2)
        until(lambda: "sleep_until" not in (place.get(2) or {}))  # it has looked since, more than once
        assert diary.worked == [1, 2]
        assert (place.get(1) or {})["locked_by"] == "another"
        may_end.set()
        diary.wait_worked()  # now that the first work has ended
    assert diary.worked == [1, 2, 1]


class LosesAnswers:
    """A store over a line that breaks, the first time, when documents have been locked and before we hear of it."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self.has_broken = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def lock_due(self, limit: int, lock_ms: int, **options: Any) -> Sequence[Job]:
        jobs = self._store.lock_due(limit, lock_ms, **options)
        if not self.has_broken:
            self.has_broken = True
            raise ConnectionResetError("the line broke")
        return jobs


def test_documents_that_were_locked_when_the_line_broke_are_found_again(place: Place, quick: dict[str, Any]) -> None:
    place.put(*mails(range(3)))
    documents = Documents(LosesAnswers(place.store()), **quick)
    diary = Diary(documents)
    documents.on_document(diary.note)
    with documents.running():
        diary.wait_worked(3)
    assert sorted(diary.worked) == [0, 1, 2]
    assert [str(error) for error, _ in diary.errors] == ["the line broke"]


def test_a_handler_may_reschedule_or_delete_its_own_document(place: Place, quick: dict[str, Any]) -> None:
    place.put(*mails([1, 2, 3], auto_remove=True))
    documents = place.documents(**quick)
    diary = Diary(documents)
    later = ago(-3600)

    @documents.on_document
    def work(document: Any) -> None:
        if document["id"] == 1:
            place.set(1, sleep_until=later)
        if document["id"] == 2:
            place.delete(2)

    work_all(documents, diary)
    assert diary.errors == []
    assert (place.get(1) or {})["sleep_until"] == later
    assert "locked_until" not in (place.get(1) or {})
    assert (place.get(2), place.get(3)) == (None, None)


def test_hooks_are_called_in_order_and_idle_once_per_idle_period(place: Place, quick: dict[str, Any]) -> None:
    documents = place.documents(**quick)
    diary = Diary(documents)
    documents.on_document(diary.note)
    assert (documents.is_running, documents.is_idle, documents.is_processing) == (False, False, False)
    with documents.running():
        diary.wait_idle()
        assert (documents.is_running, documents.is_idle) == (True, True)
        diary.idle.clear()
        place.put(*mails([1]))
        diary.wait_idle()
        assert diary.worked == [1]
    assert diary.told == ["start", "idle", "idle", "stop"]
    assert (documents.is_running, documents.is_idle, documents.is_processing) == (False, False, False)


def test_it_says_that_it_is_processing_while_a_handler_is_at_work(place: Place, quick: dict[str, Any]) -> None:
    place.put(*mails([1]))
    documents = place.documents(**quick)
    entered, may_end = Event(), Event()

    @documents.on_document
    def work(document: Any) -> None:
        entered.set()
        assert may_end.wait(LONGEST_S)

    with documents.running():
        assert entered.wait(LONGEST_S)
        assert documents.is_processing
        assert not documents.is_idle
        may_end.set()
    assert not documents.is_processing


def test_stop_waits_for_what_has_begun_and_frees_the_rest(place: Place) -> None:
    place.put(*mails(range(100)))
    documents = place.documents(workers=2)
    diary = Diary(documents)
    begun: set[int] = set()
    entered, may_end = Semaphore(0), Event()

    @documents.on_document
    def work(document: Any) -> None:
        begun.add(document["id"])
        if len(begun) > 20:  # quick ones first, so that more are locked ahead
            entered.release()
            assert may_end.wait(LONGEST_S)
        diary.note(document)

    documents.start()
    for _ in range(2):
        assert entered.acquire(timeout=LONGEST_S)
    others = set(range(100)) - begun
    until(lambda: any("locked_until" in (place.get(key) or {}) for key in others))
    assert not documents.stop(wait="10ms")
    assert {job.id for job in place.store().lock_due(100, 60_000)} == others
    may_end.set()
    diary.wait_worked(len(begun))


def until(answer: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST_S
    while not answer():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def test_a_queue_that_was_stopped_can_be_started_again(place: Place, quick: dict[str, Any]) -> None:
    documents = place.documents(**quick)
    diary = Diary(documents)
    documents.on_document(diary.note)
    for key in (1, 2):
        place.put(*mails([key]))
        work_all(documents, diary)
    assert diary.worked == [1, 2]


def test_a_hook_or_a_handler_may_stop_it(place: Place, quick: dict[str, Any]) -> None:
    place.put(*mails([1]))
    documents = place.documents(**quick)
    diary, stopped = Diary(documents), Event()
    documents.on_document(diary.note)
    documents.on_idle(documents.stop)
    documents.on_stop(stopped.set)
    documents.start()
    assert stopped.wait(LONGEST_S)
    assert documents.stop()
    assert not documents.is_running
    assert diary.worked == [1]
    assert "sleep_until" not in (place.get(1) or {})


def test_async_handlers_run_side_by_side_on_one_loop(place: Place, quick: dict[str, Any]) -> None:
    place.put(*mails(range(4)))
    documents = place.documents(**quick)
    diary = Diary(documents)
    loops, together = set(), []

    @documents.on_document
    async def work(document: Any) -> None:
        loops.add(asyncio.get_running_loop())
        together.append(document)
        while len(together) < 4:
            await asyncio.sleep(0.001)
        diary.note(document)

    work_all(documents, diary)
    assert sorted(diary.worked) == [0, 1, 2, 3]
    assert len(loops) == 1


def test_one_pass_in_this_thread_works_what_is_due_now(place: Place) -> None:
    place.put(*mails(range(5)))
    documents = place.documents()
    diary = Diary(documents)
    documents.on_document(diary.note)
    assert (documents.run_once(limit=3), documents.run_once(), documents.run_once()) == (3, 2, 0)
    assert sorted(diary.worked) == [0, 1, 2, 3, 4]


def test_a_hook_that_fails_stops_nothing(place: Place, quick: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    place.put(*mails([1], interval="every full moon"), *mails([2]))

    def broken(*_: object) -> None:
        raise RuntimeError("the hook")

    documents = place.documents(**quick, on_error=broken, on_start=broken)
    diary = Diary(documents)
    documents.on_document(diary.note)
    work_all(documents, diary)
    assert diary.worked == [2]
    assert "a hook for Failed failed" in caplog.text


@pytest.fixture(autouse=True)
def no_thread_is_left_over() -> Iterator[None]:
    yield
    left = [thread.name for thread in threading.enumerate() if thread.name.startswith("onthedot-documents")]
    for thread in threading.enumerate():
        if thread.name in left:
            thread.join(LONGEST_S)
    assert not [thread for thread in threading.enumerate() if thread.name in left]
