"""What a node may believe of itself and of its peers, decided without a store, a clock or a thread."""

from __future__ import annotations

from onthedot.model.node import Node, NodeState
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.node.lease import Ask, Claim, Here, Lease, Peers
from onthedot.stores.answers import Renewal

ME = Node("me", "me", lease_ms=30_000)
GIVE_UP_MS = 25_000


def lease() -> Lease:
    return Lease(ME, joined_ms=0, give_up_ms=GIVE_UP_MS)


def run(claim: Claim, **fields: object) -> Run:
    run_id, claim_no = claim
    held = Run(run_id, "job", "enqueue", 0, 0, state=State.RUNNING, owner="me", claim_no=claim_no)
    return replace(held, **fields)


def renewal(*own: Run, nodes: tuple[Node, ...] = (ME,), state: NodeState = NodeState.ALIVE) -> Renewal:
    return Renewal(replace(ME, state=state), own, nodes)


def here(executing: set[Claim] = frozenset(), reported: set[Claim] = frozenset(), **begun: int) -> Here:  # type: ignore[assignment]
    return Here(executing, reported, begun)


def test_it_is_over_before_the_store_says_so_counted_from_when_the_last_renewal_was_sent() -> None:
    mine = lease()
    mine.answered(Ask(10_000, frozenset()), renewal(), here(), 20_000, 0)  # the answer took ten seconds
    assert not mine.is_over(35_000)
    assert mine.is_over(35_001)
    assert mine.over_in_ms(35_000) == 1


def test_once_somebody_was_told_that_it_is_over_no_answer_makes_it_good_again() -> None:
    mine = lease()
    mine.answered(Ask(10_000, frozenset()), renewal(), here(), 10_000, 0)
    assert mine.is_over(35_001)
    mine.answered(Ask(34_000, frozenset()), renewal(), here(), 35_002, 0)
    assert mine.is_over(35_003)


def test_what_the_store_does_not_hold_is_stopped() -> None:
    orders = lease().answered(Ask(0, frozenset({("a", 1), ("b", 1)})), renewal(run(("b", 1))), here(), 0, 0)
    assert orders.stop == (("a", 1),)


def test_what_began_after_the_question_is_not_stopped() -> None:
    orders = lease().answered(Ask(0, frozenset()), renewal(), here({("a", 1)}, a=1), 0, 0)
    assert orders.stop == ()


def test_a_retry_that_began_here_while_the_answer_was_on_its_way_is_left_alone() -> None:
    """The old claim has ended and been reported; the new one runs: the comparison goes by claim, not by run."""
    orders = lease().answered(Ask(0, frozenset({("a", 1)})), renewal(run(("a", 3))), here({("a", 3)}, a=3), 0, 0)
    assert (orders.stop, orders.begin, orders.fail) == ((("a", 1),), (), ())


def test_what_never_began_is_begun_unless_the_node_takes_no_more() -> None:
    (begun,) = lease().answered(Ask(0, frozenset()), renewal(run(("a", 2))), here(a=1), 0, 0).begin
    assert (begun.id, begun.claim_no) == ("a", 2)
    draining = Here(frozenset(), frozenset(), {}, takes_more=False)
    assert lease().answered(Ask(0, frozenset()), renewal(run(("a", 2))), draining, 0, 0).begin == ()


def test_what_ended_without_an_outcome_fails_at_the_second_answer_and_not_at_the_first() -> None:
    mine = lease()
    held = renewal(run(("a", 1)))
    assert mine.answered(Ask(0, frozenset()), held, here(a=1), 0, 0).fail == ()
    assert mine.answered(Ask(0, frozenset()), held, here(a=1), 0, 0).fail == (("a", 1),)


def test_what_an_engine_has_and_nobody_watches_any_more_is_watched_again_and_does_not_fail() -> None:
    mine, held = lease(), run(("a", 1), remote="at cluster")
    first = mine.answered(Ask(0, frozenset()), renewal(held), here(a=1), 0, 0)
    assert (first.begin, first.fail) == ((), ())
    second = mine.answered(Ask(10, frozenset()), renewal(held), here(a=1), 10, 0)
    assert (second.begin, second.fail) == ((held,), ())


def test_an_outcome_on_its_way_is_neither_stopped_nor_failed() -> None:
    mine = lease()
    held = frozenset({("a", 1)})
    for own in ((), (run(("a", 1)),)):
        for _ in range(3):
            orders = mine.answered(Ask(0, held), renewal(*own), here(reported={("a", 1)}, a=1), 0, 0)
            assert (orders.stop, orders.begin, orders.fail) == ((), (), ())
    assert orders.remember == {"a"}


def test_a_cancellation_and_a_drain_are_heard() -> None:
    asked = run(("a", 1), cancel_requested_ms=5)
    orders = lease().answered(Ask(0, frozenset()), renewal(asked, state=NodeState.DRAINING), here(a=1), 0, 0)
    assert (orders.cancel, orders.is_drained, orders.is_alone) == ((("a", 1),), True, True)


def test_a_peer_is_dead_after_one_lease_of_our_own_time_and_of_the_store_s() -> None:
    peers, peer = Peers(), Node("peer", "peer", lease_ms=30_000, renewed_ms=1000, renewals=7)
    assert peers.dead([peer], "me", now_ms=0, store_ms=100_000) == [], "just seen for the first time"
    assert peers.dead([peer], "me", now_ms=29_999, store_ms=100_000) == []
    assert peers.dead([peer], "me", now_ms=30_000, store_ms=30_999) == [], "the store's clock says it lives"
    assert peers.dead([peer], "me", now_ms=30_000, store_ms=31_000) == [("peer", 7)]
    assert peers.dead([peer], "peer", now_ms=30_000, store_ms=31_000) == [], "never oneself"


def test_a_peer_that_renews_is_not_dead_whatever_the_clocks_say() -> None:
    peers = Peers()
    for renewals in range(10):
        peer = Node("peer", "peer", lease_ms=30_000, renewed_ms=0, renewals=renewals)
        assert peers.dead([peer], "me", now_ms=renewals * 29_000, store_ms=10**9) == []


def test_a_store_clock_that_was_set_back_delays_no_takeover() -> None:
    peers, peer = Peers(), Node("peer", "peer", lease_ms=30_000, renewed_ms=3_600_000)
    peers.dead([peer], "me", now_ms=0, store_ms=3_600_000)
    assert peers.dead([peer], "me", now_ms=30_000, store_ms=30_000) == [("peer", 0)]
