"""pytest, and a second try: of the tests that failed, if they are few, each is run once more, alone. See scripts/test.

A test that passes alone is named at the very end of the output, below what it said when it failed. The exit code is 0
only if all of them pass alone. Why: docs/decisions/0047-a-second-try.md.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

MOST = 3
"""More failures than these are no bad luck."""


class Listener:
    """A plugin of pytest that remembers what failed, and how pytest was asked."""

    def __init__(self) -> None:
        self.failed: dict[str, None] = {}
        self.options: list[str] = []
        self.whole = False
        self._unread = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed[report.nodeid] = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._unread = self._unread or report.failed

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        config = session.config
        asked = set(config.option.file_or_dir)
        self.options = [each for each in config.invocation_params.args if each not in asked]
        self.whole = not (self._unread or session.shouldstop or session.shouldfail)


def main(arguments: Sequence[str]) -> int:
    """The exit code of pytest, or 0 where all that failed has passed alone."""
    listener = Listener()
    code = int(pytest.main(list(arguments), plugins=[listener]))
    tests = list(listener.failed)
    if code != pytest.ExitCode.TESTS_FAILED or not listener.whole or not 0 < len(tests) <= MOST:
        return code
    passed = [_passes_alone(test, listener.options) for test in tests]
    for test, well in zip(tests, passed, strict=True):
        print(f"failed at first, {'passed' if well else 'and failed'} alone: {test}")
    return 0 if all(passed) else code


def _passes_alone(test: str, options: Sequence[str]) -> bool:
    print(f"\nOnce more, alone: {test}", flush=True)
    return subprocess.run([sys.executable, "-m", "pytest", *options, "-n", "0", test], check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
