"""Two rows of bars: how many begin in each minute as things are written, and how many would with `H`."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

_WIDE, _HIGH = 292.0, 44.0
_BASES = (60, 128)


def draw(before: Sequence[int], after: Sequence[int], first: str, last: str) -> Markup:
    """The SVG, both rows on one scale; `first` and `last` name the ends of the window."""
    most, least = max((*before, *after), default=0) or 1, max(after, default=0)
    rows = Markup("").join(
        Markup('<path class="{}" d="{}"/>').format(name, _bars(counts, base, most))
        for name, counts, base in (("before", before, _BASES[0]), ("after", after, _BASES[1]))
    )
    return Markup(
        '<svg class="spread" viewBox="0 0 292 142" role="img" '
        'aria-label="{} runs a minute at most as written, {} with H">'
        '{}<path class="base" d="M0 60.5H292M0 128.5H292"/>'
        '<text x="292" y="10" class="at-end lab">as written: <tspan>{}</tspan> at most</text>'
        '<text x="292" y="{}" class="at-end with-h">with H: <tspan>{}</tspan> at most</text>'
        '<text y="140">{}</text><text x="292" y="140" class="at-end">{}</text></svg>'
    ).format(max(before, default=0), least, rows, f"{max(before, default=0):,}", 78, f"{least:,}", first, last)


def _bars(counts: Sequence[int], base: int, most: int) -> str:
    step = _WIDE / max(len(counts), 1)
    return "".join(
        f"M{(place + 0.5) * step:.1f} {base}v-{max(count / most * _HIGH, 0.8):.1f}"
        for place, count in enumerate(counts)
        if count
    )
