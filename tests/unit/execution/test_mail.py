"""Mails, to a real SMTP server."""

from __future__ import annotations

import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any, cast

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope
from tests.unit.execution.places import app_in_memory, done, ended

from onthedot import App, SettingsError, alert, cron


class Postbox:
    """Takes every mail, but for those to nobody@."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.logins: list[tuple[str, str]] = []

    async def handle_RCPT(self, server: Any, session: Any, envelope: Envelope, address: str, _: Any) -> str:  # noqa: N802
        if address.startswith("nobody@"):
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:  # noqa: N802
        content = cast(bytes, envelope.content)
        self.mails.append(message_from_bytes(content, policy=policy.default))
        return "250 taken"

    def login(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        self.logins.append((data.login.decode(), data.password.decode()))
        return AuthResult(success=data.password == b"s3cret")


@contextmanager
def serving(box: Postbox, **options: Any) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(box, hostname="127.0.0.1", port=port, authenticator=box.login, **options)
    controller.start()
    try:
        yield port
    finally:
        controller.stop()


@pytest.fixture
def app() -> Iterator[App]:
    app = app_in_memory()
    with app.running():
        yield app


def mail(app: App, at: int, **options: Any) -> Any:
    given = {"sender": "jobs@example.org", "host": "127.0.0.1", "port": at, "security": "none", **options}
    return app.mail("post", given.pop("to", "ops@example.org"), **given)


def test_a_mail_is_sent_once_and_says_of_which_run(app: App) -> None:
    box = Postbox()
    with serving(box) as port:
        run = done(app, mail(app, port, subject="Grüße", text="Alles gut.\n"))
    (sent,) = box.mails
    assert (run.state, sent["To"], sent["From"], sent["Subject"]) == (
        "succeeded",
        "ops@example.org",
        "jobs@example.org",
        "Grüße",
    )
    assert (sent["Onthedot-Run-Id"], sent.get_content().strip()) == (run.id, "Alles gut.")


def test_an_alert_says_what_happened(app: App) -> None:
    box = Postbox()
    app.task(name="broken")(lambda: 1 / 0)
    with serving(box) as port:
        mail(app, port)
        app.schedules.put("nightly", "broken", cron("0 0 1 1 *"), alerts=[alert("ops", task="post")])
        ended(app, app.schedules.trigger("nightly"))
        (told,) = app.runs.list(task="post")
        assert ended(app, told).state == "succeeded"
    (sent,) = box.mails
    assert sent["Subject"].startswith("[onthedot] nightly of ")
    assert "failed: ZeroDivisionError" in sent["Subject"]
    assert "in_a_row: 1" in sent.get_content()


def test_whom_the_server_refuses_is_told_and_if_that_is_everybody_it_fails(app: App) -> None:
    box = Postbox()
    with serving(box) as port:
        some = done(app, mail(app, port, to=["nobody@example.org", "ops@example.org"]))
        app.tasks.replace(["post"], [])
        none = done(app, mail(app, port, to="nobody@example.org"))
    assert (some.state, some.result["refused"]) == ("succeeded", ["nobody@example.org"])
    assert none.state == "failed"
    assert none.error is not None
    assert none.error.endswith("failed: the server refuses nobody@example.org")


def test_a_server_that_is_not_there_fails_the_run_and_it_is_retried_as_any(app: App) -> None:
    with serving(Postbox()) as port:
        pass
    run = done(app, mail(app, port, retries=1, backoff="1ms", max_backoff="1ms"))
    assert (run.state, run.attempt) == ("failed", 2)
    assert "refused" in (run.error or "")


def test_a_password_is_read_from_the_environment_and_never_shown(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box, trusted = Postbox(), certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    monkeypatch.setenv("SMTP_PASSWORD", "wr0ng-secret")
    with serving(box, tls_context=trusted, require_starttls=True) as port:
        task = mail(app, port, host="localhost", security="starttls", user="jobs", password="env:SMTP_PASSWORD")
        wrong = done(app, task)
        monkeypatch.setenv("SMTP_PASSWORD", "s3cret")
        right = done(app, task)
    assert (wrong.state, right.state) == ("failed", "succeeded"), right.error
    assert "wr0ng-secret" not in (wrong.error or "")
    assert box.logins == [("jobs", "wr0ng-secret"), ("jobs", "s3cret")]
    assert len(box.mails) == 1


def test_a_server_that_nobody_vouches_for_gets_no_password(app: App, tmp_path: Path) -> None:
    box = Postbox()
    with serving(box, tls_context=certificate(tmp_path), require_starttls=True) as port:
        run = done(app, mail(app, port, host="localhost", security="starttls", user="jobs", password="s3cret"))
    assert (run.state, box.logins) == ("failed", [])
    assert "certificate" in (run.error or "").lower()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"to": "ops"}, "'post': to: 'ops' is no address; write 'ops@example.org'"),
        ({"sender": "a@b\nBcc: c@d"}, "'post': sender: 'a@b\\nBcc: c@d' is no address; write 'ops@example.org'"),
        ({"security": "ssl"}, "'post': security: 'ssl' is not known; there are starttls, tls and none"),
        ({"host": ""}, "'post': host: name the server that takes mails, 'smtp.example.org', not ''"),
        ({"user": "jobs"}, "'post': user and password go together; give both, or none"),
        ({"subject": "a\nb"}, "'post': subject: 'a\\nb' is not one line of text"),
        ({"port": "25"}, "'post': port: '25' is none; leave it out for 25"),
    ],
)
def test_what_cannot_be_a_mail_is_refused_when_it_is_declared(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        mail(app_in_memory(), 25, **options)
    assert str(caught.value) == problem


def certificate(folder: Path) -> ssl.SSLContext:
    """Of localhost, made for this test."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context
