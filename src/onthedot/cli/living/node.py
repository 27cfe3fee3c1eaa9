"""One node of the living example, as a process: it ends when whoever started it does."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from threading import Thread

from onthedot.cli.living.jobs import demo_app


def main() -> None:
    """Run until SIGTERM, or until the other end of standard input is gone, as it is when the viewer was killed."""
    folder, name = sys.argv[1:]
    Thread(target=_leave_with_the_viewer, daemon=True).start()
    app = demo_app(Path(folder), name)
    try:
        app.run(log=False)
    finally:
        app.close()


def _leave_with_the_viewer() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
