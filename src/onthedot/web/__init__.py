"""The HTTP API and the dashboard: thin surfaces over `app`. Needs the extra `web`: pip install 'onthedot[web]'.

app         all of it put together, as an ASGI app
settings    what may be chosen about it
security    who asks, and whether they may; every route passes through its guard
outside     who asks, where the app around this one knows it
limits      sizes of bodies, allowed hosts, attempts to sign in, headers of every answer
places      how many changes, and how many looks, wait for the store at the same time
problems    errors as RFC 9457 problems: one table
models/     what goes in and comes out, typed
repeating   the header Idempotency-Key: the same request again, or another
reading     what a request says, as values of `app`
watching    one watcher per process: what changes in the store, for pages and streams
snapshot    what it saw, and in what two looks differ
streams     who is told, and of what; a bounded number, with a bounded queue each
coming      an index of the runs to come, kept while somebody looks
following   a run's log as events
serving     a server for it, alone or beside a node
patience    how long that server waits for a client
sessions    browsers that sign in
routes/     the routes of the API, by what they are about
dashboard/  the pages
"""

from onthedot.errors import ExtraMissing

try:
    import fastapi as _fastapi  # noqa: F401
    import jinja2 as _jinja2  # noqa: F401
    import uvicorn as _uvicorn  # noqa: F401
except ImportError:
    raise ExtraMissing("the HTTP API", "fastapi", "web") from None

from onthedot.web.app import make_web
from onthedot.web.settings import WebSettings

__all__ = ["WebSettings", "make_web"]
