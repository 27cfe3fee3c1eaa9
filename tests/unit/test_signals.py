"""Signals that come at any time, in any number, are heard once and harm nothing."""

from __future__ import annotations

import os
import signal

from onthedot.signals import signals_heard


def test_a_signal_is_heard_and_the_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with signals_heard(signal.SIGTERM, signal.SIGINT) as was_heard:
        assert not was_heard(0)
        os.kill(os.getpid(), signal.SIGINT)
        assert was_heard(60_000)
    assert signal.getsignal(signal.SIGTERM) is before


def test_signals_that_interrupt_the_handler_of_the_one_before_are_heard_too() -> None:
    with signals_heard(signal.SIGTERM, signal.SIGINT) as was_heard:
        handler = signal.getsignal(signal.SIGTERM)
        assert callable(handler)
        for _ in range(200):
            os.kill(os.getpid(), signal.SIGTERM)
            handler(signal.SIGINT, None)
            os.kill(os.getpid(), signal.SIGINT)
        assert all(was_heard(60_000) for _ in range(200))
