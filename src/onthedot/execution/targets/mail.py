"""Mails: one message over SMTP, in a thread, with a time-out for every step of it."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import TYPE_CHECKING, Any, Literal

from onthedot.execution.context import Context, WorkFailed
from onthedot.execution.targets.secrets import Secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

Security = Literal["starttls", "tls", "none"]
PORTS: Mapping[Security, int] = {"starttls": 587, "tls": 465, "none": 25}
_MOST_OF_A_SUBJECT = 150


@dataclass(frozen=True, slots=True)
class Mail:
    """What to send, and through whom. Declared in code or a file, never read from a store."""

    to: tuple[str, ...]
    sender: str
    host: str
    port: int
    security: Security = "starttls"
    user: str | None = None
    password: str | None = None
    """Or `env:NAME`, which is read when the mail is sent, and never shown."""
    subject: str | None = None
    """None: what the run is about, as an alert says it."""
    text: str | None = None
    timeout_ms: int = 10_000

    def __str__(self) -> str:
        return f"mail to {', '.join(self.to)} through {self.host}:{self.port}"

    def __call__(self, context: Context) -> dict[str, Any]:
        """Send it once. Whom the server refuses is told in the result; if that is everybody, the run fails."""
        secrets = Secrets()
        message = self._message(context)
        try:
            with self._server(secrets) as server:
                refused = server.send_message(message)
        except (OSError, smtplib.SMTPException, ValueError) as error:  # ValueError: an address with a line break
            raise WorkFailed(secrets.masked(f"{self} failed: {_said(error)}")) from None
        context.keep("INFO", f"{self} was taken")
        return {"message_id": message["Message-ID"], "refused": sorted(refused)}

    @contextmanager
    def _server(self, secrets: Secrets) -> Iterator[smtplib.SMTP]:
        timeout_s = self.timeout_ms / 1000
        trusted = None if self.security == "none" else ssl.create_default_context()
        if self.security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(self.host, self.port, timeout=timeout_s, context=trusted)
        else:
            server = smtplib.SMTP(self.host, self.port, timeout=timeout_s)
        with server:
            if self.security == "starttls":
                server.starttls(context=trusted)
            if self.user is not None:
                where = f"the password of {self}"
                server.login(secrets.read(self.user, where), secrets.read(self.password or "", where))
            yield server

    def _message(self, context: Context) -> EmailMessage:
        args = context.run.args
        message = EmailMessage()
        message["From"], message["To"] = self.sender, ", ".join(self.to)
        message["Subject"] = self.subject or _subject(args, context.run.task)
        message["Date"] = formatdate((context.run.started_ms or 0) / 1000)
        message["Message-ID"] = make_msgid(idstring=context.run.id, domain="onthedot")
        message["Onthedot-Run-Id"] = context.run.id
        message.set_content(self.text or _text(args))
        return message


def _subject(args: Mapping[str, Any], otherwise: str) -> str:
    first = str(args.get("text") or otherwise).partition("\n")[0]
    printable = "".join(letter if letter.isprintable() else " " for letter in first)
    return f"[onthedot] {printable}"[:_MOST_OF_A_SUBJECT]


def _text(args: Mapping[str, Any]) -> str:
    """What the run is about: a sentence, and then all that is known."""
    lines = [f"{name}: {value}" for name, value in args.items() if name != "text" and value not in (None, "")]
    return "\n".join([str(args.get("text", "")), "", *lines]).strip() + "\n"


def _said(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return "the server refuses " + ", ".join(sorted(error.recipients))
    if isinstance(error, smtplib.SMTPResponseException):
        words = error.smtp_error.decode("utf-8", "replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
        return f"{error.smtp_code} {words}"
    return f"{error}" or type(error).__name__
