"""Tokens of the HTTP API and the sessions that are begun with them: found until they are revoked, and then no more."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from onthedot.errors import Conflict, TokenNotFound
from onthedot.model.token import Role, Session, Token
from onthedot.model.values import replace
from onthedot.testing.conformance.scene import BY, HOUR, Promises, Scene

DIGEST = "d" * 64


class TestTokens(Promises):
    def test_a_token_is_kept_as_it_was_given_and_made_now(self, scene: Scene) -> None:
        token = Token("deploy", Role.OPERATOR, DIGEST, 0, scene.now_ms + HOUR)
        made = scene.store.add_token(token, BY)
        assert made == replace(token, created_ms=scene.now_ms)
        assert scene.store.tokens() == scene.store.tokens("deploy") == [made]

    def test_tokens_come_by_name_also_those_that_have_expired(self, scene: Scene) -> None:
        for name in ("b", "a", "c"):
            scene.store.add_token(Token(name, Role.VIEWER, DIGEST, 0, scene.now_ms + 1), BY)
        scene.wait(HOUR)
        assert [each.name for each in scene.store.tokens()] == ["a", "b", "c"]
        assert scene.store.tokens("a")[0].expired(scene.now_ms)
        assert scene.store.tokens("d") == []

    def test_a_name_is_given_once_whoever_asks_at_the_same_time(self, scene: Scene) -> None:
        def add(number: int) -> bool:
            try:
                scene.store.add_token(Token("deploy", Role.ADMIN, f"{number:064}"), BY)
            except Conflict:
                return False
            return True

        with ThreadPoolExecutor(4) as threads:
            assert sorted(threads.map(add, range(4))) == [False, False, False, True]
        assert len(scene.store.tokens()) == 1

    def test_a_token_that_is_revoked_is_gone_with_its_sessions(self, scene: Scene) -> None:
        token, other = (scene.store.add_token(Token(name, Role.VIEWER, DIGEST), BY) for name in ("one", "two"))
        for session in (_session("s1", token, scene), _session("s2", token, scene), _session("s3", other, scene)):
            scene.store.add_session(session)
        assert scene.store.remove_token("one", BY) == token
        assert scene.store.tokens() == [other]
        assert [scene.store.session(each) is None for each in ("s1", "s2", "s3")] == [True, True, False]
        with pytest.raises(TokenNotFound):
            scene.store.remove_token("one", BY)

    def test_making_and_revoking_are_in_the_audit_without_the_digest(self, scene: Scene) -> None:
        scene.store.add_token(Token("deploy", Role.OPERATOR, DIGEST), BY)
        scene.store.remove_token("deploy", BY)
        revoked, made = scene.store.changes()
        assert (made.by, made.after) == (BY, {"token": "deploy", "role": "operator", "expires_ms": None})
        assert (revoked.by, revoked.after) == (BY, {"token": "deploy"})
        assert revoked.before == {"role": "operator", "expires_ms": None}
        assert DIGEST not in f"{made} {revoked}"


class TestSessions(Promises):
    def test_a_session_is_found_until_it_is_ended(self, scene: Scene) -> None:
        session = _session("s", scene.store.add_token(Token("ann", Role.ADMIN, DIGEST), BY), scene)
        scene.store.add_session(session)
        assert scene.store.session("s") == session
        scene.store.remove_session("s")
        scene.store.remove_session("s")
        assert scene.store.session("s") is None

    def test_sessions_that_are_over_go_when_another_of_their_token_begins(self, scene: Scene) -> None:
        ann = scene.store.add_token(Token("ann", Role.ADMIN, DIGEST), BY)
        scene.store.add_session(_session("old", ann, scene))
        scene.wait(HOUR)
        scene.store.add_session(_session("new", ann, scene))
        assert scene.store.session("old") is None
        assert scene.store.session("new") is not None

    def test_nobody_begins_a_session_with_a_token_that_is_gone_or_another(self, scene: Scene) -> None:
        ann = scene.store.add_token(Token("ann", Role.ADMIN, DIGEST), BY)
        scene.store.remove_token("ann", BY)
        scene.store.add_session(_session("s", ann, scene))
        assert scene.store.session("s") is None
        scene.store.add_token(Token("ann", Role.VIEWER, "e" * 64), BY)
        scene.store.add_session(_session("s", ann, scene))
        assert scene.store.session("s") is None


class TestAuditOfDrains(Promises):
    def test_who_asked_a_node_to_drain_is_in_the_audit_once(self, scene: Scene) -> None:
        node = scene.node("web")
        scene.store.drain(node, BY)
        scene.store.drain(node, BY)
        (line,) = scene.store.changes()
        assert (line.by, line.schedule, line.before) == (BY, "", {"state": "alive"})
        assert line.after == {"node": "web", "node_id": node, "state": "draining"}


def _session(session_id: str, token: Token, scene: Scene) -> Session:
    return Session(session_id, token.name, token.digest, scene.now_ms, scene.now_ms + HOUR)
