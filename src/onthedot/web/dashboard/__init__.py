"""The pages: HTML that is made here, on the server, and works without scripts. See `frame` for how a page is written.

frame        what all pages have: the environment, `render`, the values of every template
page_route   the way to a page: who asks, and what is wrong told as a page
state        what pages hold between requests; kept_pages: the last truth, for when the store is away
zones, moments, addresses, counts, toast, forms    parts of the frame
acts         every form that changes something; asks: the pages that ask before
charts/      figures as SVG, pure: values in, text out
templates/, static/
"""

from fastapi.routing import APIRoute

from onthedot.web.dashboard import (
    acts,
    alerts,
    asks,
    backfill,
    calendars,
    changes,
    edit,
    freezes,
    import_page,
    nodes,
    overview,
    run,
    run_acts,
    runs,
    schedule,
    schedules,
    sign_in,
    stage,
    static_files,
    statistics,
    tasks,
    timeline,
    tokens,
)
from onthedot.web.dashboard.state import Dashboard, is_for_people

_MODULES = (
    static_files,
    sign_in,
    overview,
    timeline,
    asks,  # before the pages of one schedule or run, whose addresses take any name
    acts,
    freezes,
    backfill,
    edit,
    import_page,
    run_acts,
    schedules,
    schedule,
    runs,
    run,
    nodes,
    stage,
    statistics,
    tasks,
    alerts,
    calendars,
    changes,
    tokens,
)
PAGES: tuple[APIRoute, ...] = tuple(
    route for module in _MODULES for route in module.router.routes if isinstance(route, APIRoute)
)
"""Every page. A new one is a file, and a line above."""

__all__ = ["PAGES", "Dashboard", "is_for_people"]
