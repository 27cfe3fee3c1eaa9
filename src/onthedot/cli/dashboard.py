"""`onthedot dashboard`: the pages and the HTTP API of a store, served alone; and the options that `run` shares."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from onthedot.cli.apps import open_app
from onthedot.cli.commands import command
from onthedot.cli.options import store_url

if TYPE_CHECKING:
    from onthedot.web.serving import Place

HOST, PORT = "127.0.0.1", 8642


@command("dashboard")
@click.option("--host", default=HOST, metavar="ADDRESS", help="Where to listen; others than this machine need a token.")
@click.option(
    "--port", type=click.IntRange(min=0, max=65535), default=PORT, metavar="PORT", help="0 for any that is free."
)
@click.option(
    "--root-path", default="", metavar="PATH", help="What a proxy takes away from each path.", show_default=False
)
@click.option("--allowed-host", multiple=True, metavar="NAME", help="A name it is called by; may be repeated.")
@click.option(
    "--trusted-proxy",
    multiple=True,
    metavar="ADDRESS",
    help="A proxy whose X-Forwarded-… headers are believed; may be repeated.",
)
@store_url
def serve(
    *,
    host: str,
    port: int,
    root_path: str,
    allowed_host: tuple[str, ...],
    trusted_proxy: tuple[str, ...],
    store: str | None,
) -> None:
    """Serve the dashboard and the HTTP API of a store until SIGTERM or Ctrl-C; it needs no node beside it."""
    from onthedot.web.serving import WebServer

    place = place_of(host, port, root_path, allowed_host, trusted_proxy)
    with closing(open_app(store)) as app:
        app.open_store(create=True)
        server = WebServer(app, place)
        click.echo(f"{server.address}/   (the API: /api/v1)", err=True)
        server.run()


def place_of(host: str, port: int, root_path: str, hosts: tuple[str, ...], proxies: tuple[str, ...]) -> Place:
    """Where and how it is served."""
    from onthedot.web.serving import Place

    path = f"/{root_path.strip('/')}" if root_path.strip("/") else ""
    return Place(host, port, path, hosts, proxies)
