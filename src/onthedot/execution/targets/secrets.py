"""Secrets are named where a task is declared (`env:NAME`), read when it runs, and never shown."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from urllib.parse import quote, quote_plus

from onthedot.execution.context import WorkFailed

_REFERENCE = re.compile(r"(?<![A-Za-z0-9_])env:([A-Za-z_][A-Za-z0-9_]*)")
_HIDDEN = "***"
_SHORTEST = 4
"""A piece of a secret that is shorter than this would hide half of what is said."""


class Secrets:
    """The secrets that one run has read. Not shared between runs."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._shown_as: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def read(self, text: str, where: str, *, in_url: bool = False) -> str:
        """The text with each `env:NAME` replaced by the variable's value; fails the run if there is none."""

        def value(found: re.Match[str]) -> str:
            name = found[1]
            secret = self._environment.get(name)
            if secret is None:
                raise WorkFailed(f"{where} refers to env:{name}, but this node's environment has no {name}; set it")
            self._hide(secret)
            return quote(secret, safe="") if in_url else secret

        return _REFERENCE.sub(value, text)

    def masked(self, text: str) -> str:
        """The text without any secret that was read."""
        return text if self._pattern is None else self._pattern.sub(_HIDDEN, text)

    def _hide(self, secret: str) -> None:
        """In every form in which it is likely to be said: as it is, line by line, in a URL, in JSON."""
        pieces = {secret, *(line for line in secret.splitlines() if len(line) >= _SHORTEST)} - {""}
        for piece in pieces:
            self._shown_as |= {piece, quote(piece, safe=""), quote_plus(piece), json.dumps(piece)[1:-1]}
        longest_first = sorted(self._shown_as, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


def literal_secrets_masked(url: str) -> str:
    """The URL as it may be shown: without a password that somebody wrote into it."""
    return re.sub(r"(://[^:@/?#]*:)[^@/?#]*@", rf"\1{_HIDDEN}@", url)
