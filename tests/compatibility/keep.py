"""Makes a store of each kind by the code of today, and keeps them for the tests of all later versions.

    scripts/keep-stores            # all kinds, in tests/compatibility/kept/VERSION
    scripts/keep-stores redis      # only these

Do it once for each release, and never again: what is kept is how that version left it.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.compatibility.places import KINDS, Kind
from tests.compatibility.shop import fill

from onthedot import __version__

KEPT = Path(__file__).parent / "kept"


def main(names: Sequence[str]) -> int:
    """Those kinds that are named, or all."""
    unknown = set(names) - {kind.name for kind in KINDS}
    if unknown:
        sys.stderr.write(
            f"no kind of store {', '.join(sorted(unknown))}; there are {', '.join(k.name for k in KINDS)}\n"
        )
        return 2
    for kind in KINDS:
        if not names or kind.name in names:
            _keep(kind, KEPT / __version__)
    return 0


def _keep(kind: Kind, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place, kind.emptied(Path(place)) as url:
        said = fill(url)
        data = kind.dump(url)
    for name, content in ((kind.name, data), (f"{kind.name}.said", json.dumps(said, indent=1).encode())):
        path = folder / f"{name}.gz"
        path.write_bytes(gzip.compress(content, mtime=0))
        sys.stderr.write(f"{path.relative_to(KEPT.parents[2])}: {path.stat().st_size} bytes\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
