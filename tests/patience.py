"""How long tests wait for what must come: longer than the load of any machine delays it.

No test is quicker or slower by it, unless something never comes.
"""

from __future__ import annotations

LONGEST_S = 240
"""Less than the time limit of pytest, so that the test itself can say what it waited for."""
LONGEST = f"{LONGEST_S}s"
"""The same as a duration."""
