"""What a node does with runs that an engine executes, pass by pass: an engine says what the test lets it say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pytest

from onthedot.clock import ManualClock
from onthedot.engines import Call, CannotSend, Done, EngineAway, Failed, Running, Status, Unknown, Waiting
from onthedot.execution.context import Context
from onthedot.execution.engines.away import UNKNOWN_MS, Away
from onthedot.execution.engines.outpost import POLL_MS, SOON_MS, Outpost
from onthedot.execution.engines.outposts import Outposts
from onthedot.loop import Loop
from onthedot.model.node import ENGINES_LABEL
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.remote import Sent
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.moments import from_ms
from onthedot.stores.answers import Finished

ID = "run.1"


class Desk:
    """An engine that says what it is told to say, and keeps what it is asked."""

    def __init__(self, *, dedupes: bool = True) -> None:
        self.dedupes = dedupes
        self.asked: list[tuple[str, str]] = []
        self.says: Status | BaseException = Waiting()
        self.on_submit: Callable[[Call], Done | None] = lambda call: None

    def submit(self, engine_id: str, call: Call) -> Done | None:
        self.asked.append(("submit", engine_id))
        return self.on_submit(call)

    def poll(self, ids: Collection[str]) -> Mapping[str, Status]:
        if isinstance(self.says, BaseException):
            raise self.says
        return {} if isinstance(self.says, Unknown) else dict.fromkeys(ids, self.says)

    def cancel(self, engine_id: str) -> None:
        self.asked.append(("cancel", engine_id))

    def forget(self, engine_id: str) -> None:
        self.asked.append(("forget", engine_id))

    def close(self) -> None: ...

    @property
    def submitted(self) -> int:
        return [what for what, _ in self.asked].count("submit")


class Post:
    """An outpost at a desk, driven by hand."""

    def __init__(self, *, dedupes: bool = True) -> None:
        self.clock = ManualClock(1_000_000)
        self.desk = Desk(dedupes=dedupes)
        self.outcomes: list[Outcome] = []
        self.notes: list[str] = []
        self.errors: list[BaseException] = []
        self.is_ours = True
        self.outpost = Outpost(
            "cluster", self.desk, self.clock, self.note, lambda stage, error: self.errors.append(error)
        )

    def note(self, owner: str, sent: Sequence[Sent]) -> list[str]:
        for each in sent:
            self.notes.append(each.remote)
            self.desk.asked.append(("note", each.remote))
        return [each.run_id for each in sent] if self.is_ours else []

    def put(self, *, remote: str | None = None, **policy: Any) -> Away:
        run = Run(
            "run", "job", "enqueue", 0, 0, State.RUNNING, owner="node", claim_no=1, attempt=1, remote=remote,
            started_ms=self.clock.now_ms(), policy=Policy(**policy),
        )  # fmt: skip
        call = Call("job", len, {}, run.id, run.attempt, None, from_ms(0))
        away = Away(Context(run), lambda: call, lambda: True, lambda: None, self.outcomes.append)
        self.outpost.put(away)
        return away

    def given(self, **fields: Any) -> Away:
        away = self.put(**fields)
        self.outpost.run_once()
        return away

    def pass_by(self, ms: int) -> None:
        self.clock.advance(ms)
        self.outpost.run_once()

    @property
    def endings(self) -> list[str]:
        return [each.ending for each in self.outcomes]


@pytest.fixture(autouse=True)
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Loop, "start", lambda self: None)


def test_the_store_knows_of_it_before_the_engine_is_given_it() -> None:
    post = Post()
    post.given()
    assert post.desk.asked[:2] == [("note", "sending cluster"), ("submit", ID)]
    assert post.notes == ["sending cluster", "at cluster"]


def test_what_is_no_longer_ours_is_not_given_to_the_engine() -> None:
    post = Post()
    post.is_ours = False
    post.given()
    assert (post.desk.submitted, post.outcomes) == (0, [])


def test_a_store_that_does_not_answer_keeps_it_from_the_engine() -> None:
    post = Post()

    def away(owner: str, sent: Sequence[Sent]) -> list[str]:
        raise ConnectionError("the store is away")

    post.outpost._note = away
    post.put()
    with pytest.raises(ConnectionError):
        post.outpost.run_once()
    assert post.desk.submitted == 0
    post.outpost._note = post.note
    post.outpost.run_once()
    assert post.desk.submitted == 1


@pytest.mark.parametrize(
    ("says", "ending", "told"),
    [
        (Done({"rows": 3}), "succeeded", {"rows": 3}),
        (Failed("ValueError: no"), "failed", "ValueError: no"),
        (Failed("it was revoked", cancelled=True), "failed", "it was revoked"),
        (Done({1, 2}), "failed", "its result is no JSON value: Object of type set is not JSON serializable"),
    ],
)
def test_what_the_engine_says_becomes_the_outcome(says: Status, ending: str, told: Any) -> None:
    post = Post()
    post.given()
    post.desk.says = says
    post.pass_by(POLL_MS)
    (outcome,) = post.outcomes
    assert (outcome.ending, outcome.claim_no) == (ending, 1)
    assert (outcome.result if ending == "succeeded" else outcome.error) == told


def test_where_nobody_will_tell_what_was_sent_has_ended() -> None:
    post = Post(dedupes=False)
    post.desk.on_submit = lambda call: Done({"task_id": ID})
    post.given()
    assert (post.endings, post.notes) == (["succeeded"], ["sending cluster"])


def test_what_the_engine_knows_nothing_of_for_a_minute_is_given_to_it_again_under_the_same_id() -> None:
    post = Post()
    post.desk.says = Unknown()
    post.given()
    post.pass_by(UNKNOWN_MS - 1)
    assert post.desk.submitted == 1
    post.pass_by(1)
    post.pass_by(SOON_MS)
    assert [each for each in post.desk.asked if each[0] == "submit"] == [("submit", ID)] * 2
    assert post.outcomes == []


def test_the_minute_begins_anew_when_the_engine_knew_of_it() -> None:
    post = Post()
    post.desk.says = Unknown()
    post.given()
    post.desk.says = Running()
    post.pass_by(UNKNOWN_MS - 1)
    post.desk.says = Unknown()
    post.pass_by(UNKNOWN_MS - 1)
    post.pass_by(UNKNOWN_MS - 1)
    assert post.desk.submitted == 1


def test_what_a_queue_has_taken_is_not_sent_again_however_long_it_waits() -> None:
    post = Post(dedupes=False)
    post.desk.says = Unknown()
    post.given()
    for _ in range(3):
        post.pass_by(UNKNOWN_MS)
    assert (post.desk.submitted, post.outcomes) == (1, [])


def test_where_the_answer_to_sending_was_lost_it_is_sent_again_after_a_minute() -> None:
    post = Post(dedupes=False)
    post.desk.says = Unknown()
    post.desk.on_submit = _raising(ConnectionResetError("gone"))
    post.given()
    assert post.notes == ["sending cluster"]
    post.desk.on_submit = lambda call: None
    post.pass_by(UNKNOWN_MS)
    post.pass_by(SOON_MS)
    assert (post.desk.submitted, post.notes) == (2, ["sending cluster", "at cluster"])


def test_where_the_answer_to_sending_was_lost_and_it_arrived_it_is_not_sent_again() -> None:
    post = Post(dedupes=False)
    post.desk.on_submit = _raising(ConnectionResetError("gone"))
    post.desk.says = Running()
    post.given()
    post.desk.says = Unknown()
    for _ in range(3):
        post.pass_by(UNKNOWN_MS)
    assert (post.desk.submitted, post.notes) == (1, ["sending cluster", "at cluster"])


def test_what_may_run_once_at_most_is_lost_where_the_engine_knows_nothing_of_it() -> None:
    post = Post()
    post.desk.says = Unknown()
    post.given(delivery="at_most_once")
    post.pass_by(UNKNOWN_MS)
    (outcome,) = post.outcomes
    assert (outcome.ending, outcome.entered, post.desk.submitted) == ("handed_back", True, 1)
    assert outcome.reason == "its engine knew nothing of it for 60 s"


def test_an_engine_that_is_away_is_tried_again_and_costs_no_run() -> None:
    post = Post()
    post.desk.on_submit = _raising(EngineAway("nobody is there"))
    post.given()
    for _ in range(3):
        post.pass_by(UNKNOWN_MS)
    assert (post.outcomes, len(post.errors), post.outpost.trouble) == ([], 1, "nobody is there")
    post.desk.on_submit = lambda call: None
    post.pass_by(10_000)
    assert (post.outpost.trouble, post.notes[-1]) == ("", "at cluster")


def test_an_engine_that_does_not_answer_ends_no_run_and_its_silence_is_no_unknown() -> None:
    post = Post()
    post.given()
    post.desk.says = TimeoutError("no answer")
    for _ in range(3):
        post.pass_by(UNKNOWN_MS)
    assert (post.outcomes, post.desk.submitted, post.outpost.trouble) == ([], 1, "no answer")
    post.desk.says = Done(1)
    post.pass_by(POLL_MS)
    assert (post.endings, post.outpost.trouble) == (["succeeded"], "")


def test_an_engine_of_which_nobody_wants_anything_any_more_is_not_told_to_be_silent() -> None:
    post = Post()
    post.given()
    post.desk.says = TimeoutError("no answer")
    post.pass_by(POLL_MS)
    assert post.outpost.trouble
    post.outpost.drop("run", 1)
    post.pass_by(POLL_MS)
    assert post.outpost.trouble == ""


def test_what_cannot_be_sent_fails_for_good_in_one_line() -> None:
    post = Post()
    post.desk.on_submit = _raising(CannotSend("job cannot be sent so: a lock"))
    post.given(retries=3)
    (outcome,) = post.outcomes
    assert (outcome.ending, outcome.final, outcome.error) == ("failed", True, "job cannot be sent so: a lock")


def test_who_is_asked_to_stop_before_it_was_given_never_is() -> None:
    post = Post()
    post.put().context.stop()
    post.outpost.run_once()
    assert (post.endings, post.desk.asked) == (["cancelled"], [])


def test_the_engine_is_asked_once_to_stop_it_and_says_what_came_of_it() -> None:
    post = Post()
    post.given().context.stop()
    for _ in range(3):
        post.pass_by(POLL_MS)
    assert (post.desk.asked.count(("cancel", ID)), post.outcomes) == (1, [])
    post.desk.says = Failed("it was revoked", cancelled=True)
    post.pass_by(POLL_MS)
    assert post.endings == ["cancelled"]


def test_what_could_not_be_stopped_any_more_has_succeeded() -> None:
    post = Post()
    post.given().context.stop()
    post.desk.says = Done(4)
    post.pass_by(POLL_MS)
    assert post.endings == ["succeeded"]


def test_what_was_stopped_and_is_forgotten_was_cancelled() -> None:
    post = Post()
    post.given().context.stop()
    post.desk.says = Unknown()
    post.pass_by(POLL_MS)
    assert post.endings == ["cancelled"]


def test_what_was_stopped_in_a_queue_that_nobody_can_ask_is_cancelled_after_a_minute() -> None:
    post = Post(dedupes=False)
    post.desk.says = Unknown()
    post.given().context.stop()
    post.pass_by(UNKNOWN_MS - 1)
    assert post.endings == []
    post.pass_by(1)
    assert post.endings == ["cancelled"]


@pytest.mark.parametrize("says", [Running(), TimeoutError("no answer")])
def test_a_run_that_takes_too_long_ends_also_while_its_engine_says_nothing(says: Status | BaseException) -> None:
    post = Post()
    post.given(timeout_ms=5000)
    post.desk.says = says
    post.pass_by(4999)
    assert post.endings == []
    post.pass_by(1)
    assert (post.endings, post.desk.asked[-1]) == (["timed_out"], ("cancel", ID))


def test_what_another_node_has_given_to_the_engine_is_only_watched() -> None:
    post = Post()
    post.given(remote="at cluster")
    post.desk.says = Done(9)
    post.pass_by(POLL_MS)
    assert (post.endings, post.desk.submitted, post.notes) == (["succeeded"], 0, [])


@pytest.mark.parametrize("dedupes", [True, False])
def test_what_another_node_was_about_to_give_is_given_when_nobody_knows_of_it(dedupes: bool) -> None:
    post = Post(dedupes=dedupes)
    post.desk.says = Unknown()
    post.given(remote="sending cluster")
    post.pass_by(UNKNOWN_MS - 1)
    assert post.desk.submitted == 0
    post.pass_by(1)
    post.pass_by(SOON_MS)
    assert post.desk.submitted == 1


def test_what_was_dropped_goes_on_at_the_engine_and_is_told_of_no_more() -> None:
    post = Post()
    post.given()
    post.outpost.drop("run", 1)
    post.desk.says = Done(1)
    post.pass_by(POLL_MS)
    assert (post.outcomes, ("cancel", ID) in post.desk.asked) == ([], False)


def test_an_engine_forgets_a_run_when_its_outcome_is_recorded_and_not_before() -> None:
    post = Post()
    posts = Outposts({"cluster": post.desk}, post.clock, post.note, lambda stage, error: None)
    away = post.put()
    posts.put("cluster", away)
    posts._by_name["cluster"].run_once()
    assert post.desk.submitted == 1
    posts.has_ended("cluster", away.run)
    posts.recorded([("run", 1)], Finished(again=("run",)))
    posts._by_name["cluster"].run_once()
    assert ("forget", ID) not in post.desk.asked
    posts.recorded([("run", 1)], Finished())
    posts._by_name["cluster"].run_once()
    assert post.desk.asked.count(("forget", ID)) == 1


def test_a_node_tells_which_engines_it_has_and_which_does_not_answer() -> None:
    post = Post()
    posts = Outposts({"cluster": post.desk, "b": Desk()}, post.clock, post.note, lambda stage, error: None)
    assert posts.labels() == {ENGINES_LABEL: "b\ncluster"}
    posts.put("cluster", post.put())
    post.desk.says = TimeoutError("no answer; none")
    posts._by_name["cluster"].run_once()
    (warning,) = [text for label, text in posts.labels().items() if label == "warns.engine cluster"]
    assert warning == "it does not answer: no answer, none; its runs wait, and go on when it answers"
    assert Outposts({}, post.clock, post.note, lambda stage, error: None).labels() == {}


def _raising(error: BaseException) -> Callable[[Call], Done | None]:
    def raises(call: Call) -> Done | None:
        raise error

    return raises
