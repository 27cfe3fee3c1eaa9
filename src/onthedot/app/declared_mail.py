"""Mails as users declare them, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onthedot.app.remedies import did_you_mean
from onthedot.durations import to_duration_ms
from onthedot.errors import DurationError, SettingsError
from onthedot.execution.targets.mail import PORTS, Mail, Security
from onthedot.storable import brief

MAIL_KEYS = ("to", "sender", "host", "port", "security", "user", "password", "subject", "text", "timeout")
_TEXTS = ("user", "password", "subject", "text")
_HIGHEST_PORT = 65_535


def mail_of(name: str, to: Sequence[str] | str, **given: Any) -> Mail:
    """A mail; `SettingsError` in one line."""
    unknown = next((key for key in given if key not in MAIL_KEYS), None)
    if unknown is not None:
        raise SettingsError(f"{name!r}: mail has no {unknown!r}; {did_you_mean(unknown, MAIL_KEYS)}")
    addresses = (to,) if isinstance(to, str) else tuple(to)
    for address in addresses or ("",):
        _check_address(name, "to", address)
    _check_address(name, "sender", given.get("sender"))
    host = given.get("host")
    if not isinstance(host, str) or not host:
        raise SettingsError(f"{name!r}: host: name the server that takes mails, 'smtp.example.org', not {brief(host)}")
    security = _security(name, given.get("security", "starttls"))
    user, password, subject, text = _texts(name, given)
    return Mail(
        addresses,
        given["sender"],
        host,
        _port(name, given.get("port"), security),
        security,
        user,
        password,
        subject,
        text,
        _timeout_ms(name, given.get("timeout", "10s")),
    )


def _check_address(name: str, where: str, address: object) -> None:
    if not isinstance(address, str) or "@" not in address or not address.isprintable():
        raise SettingsError(f"{name!r}: {where}: {brief(address)} is no address; write 'ops@example.org'")


def _security(name: str, given: Any) -> Security:
    if given not in PORTS:
        raise SettingsError(f"{name!r}: security: {brief(given)} is not known; {did_you_mean(str(given), PORTS)}")
    known: Security = given
    return known


def _port(name: str, given: object, security: Security) -> int:
    if given is None:
        return PORTS[security]
    if isinstance(given, bool) or not isinstance(given, int) or not 0 < given <= _HIGHEST_PORT:
        raise SettingsError(f"{name!r}: port: {brief(given)} is none; leave it out for {PORTS[security]}")
    return given


def _texts(name: str, given: Mapping[str, Any]) -> list[str | None]:
    texts = [given.get(key) for key in _TEXTS]
    for key, value in zip(_TEXTS, texts, strict=True):
        if not isinstance(value, str | None):
            raise SettingsError(f"{name!r}: {key}: {brief(value)} is not text")
    user, password, subject, _ = texts
    if (user is None) != (password is None):
        raise SettingsError(f"{name!r}: user and password go together; give both, or none")
    if subject is not None and not subject.isprintable():
        raise SettingsError(f"{name!r}: subject: {brief(subject)} is not one line of text")
    return texts


def _timeout_ms(name: str, given: Any) -> int:
    try:
        return to_duration_ms(given)
    except DurationError as error:
        raise SettingsError(f"{name!r}: timeout: {error}") from None
