"""`onthedot dashboard`: the pages and the HTTP API of a store, served alone; and the options that `run` shares."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from onthedot.cli.apps import open_app
from onthedot.cli.options import StoreUrl

if TYPE_CHECKING:
    from onthedot.web.serving import Place

Host = Annotated[
    str, typer.Option("--host", metavar="ADDRESS", help="Where to listen; others than this machine need a token.")
]
Port = Annotated[int, typer.Option("--port", metavar="PORT", min=0, max=65_535, help="0 for any that is free.")]
RootPath = Annotated[
    str, typer.Option("--root-path", metavar="PATH", help="What a proxy takes away from each path.", show_default=False)
]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option("--allowed-host", metavar="NAME", help="A name it is called by; may be repeated.", show_default=False),
]
TrustedProxies = Annotated[
    list[str] | None,
    typer.Option(
        "--trusted-proxy",
        metavar="ADDRESS",
        help="A proxy whose X-Forwarded-… headers are believed; may be repeated.",
        show_default=False,
    ),
]
HOST, PORT = "127.0.0.1", 8642


def serve(
    *,
    host: Host = HOST,
    port: Port = PORT,
    root_path: RootPath = "",
    allowed_host: AllowedHosts = None,
    trusted_proxy: TrustedProxies = None,
    store: StoreUrl = None,
) -> None:
    """Serve the dashboard and the HTTP API of a store until SIGTERM or Ctrl-C; it needs no node beside it."""
    from onthedot.web.serving import WebServer

    place = place_of(host, port, root_path, allowed_host, trusted_proxy)
    with closing(open_app(store)) as app:
        app.open_store(create=True)
        server = WebServer(app, place)
        typer.echo(f"{server.address}/   (the API: /api/v1)", err=True)
        server.run()


def place_of(host: str, port: int, root_path: str, hosts: list[str] | None, proxies: list[str] | None) -> Place:
    """Where and how it is served."""
    from onthedot.web.serving import Place

    path = f"/{root_path.strip('/')}" if root_path.strip("/") else ""
    return Place(host, port, path, tuple(hosts or ()), tuple(proxies or ()))
