"""The command that lets agents ask collections."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import click

from dial2vec.cli.group import examples

TOKEN = "DIAL2VEC_MCP_TOKEN"


@click.command(epilog=examples("dial2vec mcp calls", "dial2vec mcp calls chats --http --port 4319"))
@click.argument("folders", nargs=-1, required=True, metavar="FOLDER...", type=click.Path(path_type=Path))
@click.option("--http", is_flag=True, help="Answer over HTTP on this machine, instead of standard input and output.")
@click.option("--port", type=click.IntRange(0, 65535), default=4319, show_default=True, help="0 takes any free one.")
def mcp(folders: tuple[Path, ...], http: bool, port: int) -> None:
    """Let agents ask collections, over the Model Context Protocol.

    An agent starts this command by itself (docs/agents.md). Its tools read; what it proposes waits for a person. Over
    HTTP it needs the token of the variable DIAL2VEC_MCP_TOKEN, or one that is made and shown.
    """
    from dial2vec.errors import require_module

    require_module("mcp")
    from dial2vec.operation.mcp.protocol import protocol_server, serve_over_http
    from dial2vec.operation.mcp.tools import CollectionTools

    tools = CollectionTools(folders)
    server = protocol_server(tools)
    names = ", ".join(f"{name} ({len(tools.opened(name)):,} conversations)" for name in tools.names)
    if not http:
        # Standard output belongs to the protocol.
        click.echo(f"Answering about {names} on standard input and output; Ctrl-C ends it.", err=True)
        with suppress(KeyboardInterrupt):
            server.run("stdio")
        return
    from conversations.by_recipe.known import folder_of_user
    from dial2vec.addresses import address_of, listen
    from dial2vec.operation.serving.tokens import AccessTokens, secret_file

    with listen("127.0.0.1", port) as listening:
        # Not in a collection, which is copied and shared.
        path = folder_of_user().parent / "mcp-token"
        tokens = AccessTokens(secret_file(path, os.environ.get(TOKEN, ""), say=click.echo))
        click.echo(f"Answering about {names} at {address_of(listening)}/mcp; Ctrl-C ends it.")
        serve_over_http(server, listening, tokens)
