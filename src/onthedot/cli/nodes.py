"""`onthedot nodes`: who is alive, asking one to make way, and forgetting one that is gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import click

from onthedot.app.json_documents import node_document
from onthedot.cli.apps import open_app
from onthedot.cli.called import typed
from onthedot.cli.commands import Group, argument
from onthedot.cli.json_output import show_json
from onthedot.cli.options import as_json, store_url
from onthedot.cli.texts import span_text, visible

if TYPE_CHECKING:
    from onthedot.insight.pool_use import PoolUse
    from onthedot.model.node import Node

group = Group("nodes", help="Live nodes, and forgetting those that are gone.")


@group.command("list")
@store_url
@as_json
def list_nodes(*, store: str | None, as_json: bool) -> None:
    """List the nodes that are alive."""
    with closing(open_app(store)) as app:
        nodes, now_ms = app.nodes.list(), app.now_ms()
        if as_json:
            pools = app.nodes.pools()
            show_json({"nodes": [node_document(node, now_ms, pools.get(node.id, ())) for node in nodes]})
        elif not nodes:
            click.echo(typed("no nodes: start one with `onthedot run`"))
        else:
            _show(nodes, app.nodes.pools(), now_ms)


def _show(nodes: Sequence[Node], pools: Mapping[str, Sequence[PoolUse]], now_ms: int) -> None:
    from onthedot.cli.screen import Screen, plain_table
    from onthedot.insight.node_history import labels_of

    table, names = plain_table(), labels_of(nodes)
    for heading in ("node", "state", "group", "roles", "pools", "renewed"):
        table.add_column(heading)
    for node in nodes:
        table.add_row(
            visible(names[node.id]),
            "expired" if node.expired(now_ms) else str(node.state),
            visible(node.group or ""),
            ", ".join(node.roles),
            _pools_text(pools.get(node.id, ())),
            f"{span_text(max(now_ms - node.renewed_ms, 0))} ago",
        )
    Screen().print(table)


def _pools_text(pools: Sequence[PoolUse]) -> str:
    """ "fast 12/40, slow 0/20": those that anything goes to."""
    return ", ".join(f"{each.pool} {each.running:,}/{each.size:,}" for each in pools if each.is_needed)


@group.command("drain")
@argument("node", help="Its name or id.")
@store_url
@as_json
def drain_node(node: str, *, store: str | None, as_json: bool) -> None:
    """Ask a node to take no more runs, and to stop when it has none left."""
    with closing(open_app(store)) as app:
        draining = app.nodes.drain(node)
        if as_json:
            show_json(node_document(draining, app.now_ms()))
        else:
            click.echo(f"node {visible(draining.name)} drains: it takes no more runs, and stops when it has none left")


@group.command("forget")
@argument("node", help="Its id, or the name of all that were called so.")
@store_url
@as_json
def forget_node(node: str, *, store: str | None, as_json: bool) -> None:
    """Forget a node that has stopped or died and holds no runs; what it did stays in history, under its id."""
    with closing(open_app(store)) as app:
        app.nodes.forget(node)
        if as_json:
            show_json({"node": node, "forgotten": True})
        else:
            click.echo(f"node {visible(node)} is forgotten; what it did stays in history, under its id")
