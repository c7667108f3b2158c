"""The command that serves a registered model."""

from __future__ import annotations

from pathlib import Path

import click

from dial2vec.cli.group import complete_registered, examples
from dial2vec.files import find_root


@click.command(epilog=examples("dial2vec serve calls", "dial2vec serve ./student --token-file tokens"))
@click.argument("model", shell_complete=complete_registered)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port, 0 for any free one; default: that of operation.yaml."
)
@click.option("--allow-host", "hosts", multiple=True, help="Further name under which clients or a proxy may ask.")
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File of bearer tokens, one per line; requests need one of them.",
)
def serve(model: str, host: str, port: int | None, hosts: tuple[str, ...], token_file: Path | None) -> None:
    """Answer HTTP requests with vectors; Ctrl-C ends it.

    MODEL is a corpus, whose champion is served, calls-small for the small model of the corpus calls, a registry
    address such as models:/dial2vec-calls/3, or a folder such as ./student, which needs neither registry nor project.
    A new champion takes over without a lost request (docs/serving.md).
    """
    from dial2vec.addresses import listen, warning
    from dial2vec.operation.serving.address import REGISTRY, Address
    from dial2vec.operation.serving.keeper import Keeper
    from dial2vec.operation.serving.tokens import AccessTokens
    from dial2vec.params import load_operation

    # A folder may be served anywhere.
    is_folder = "/" in model and not model.startswith(REGISTRY)
    root = Path.cwd() if is_folder else find_root()
    settings = load_operation(root / "operation.yaml").serve
    tokens = AccessTokens(token_file.resolve()) if token_file else None
    if "/" not in model:
        from dial2vec.registry.store import model_name

        model = f"{REGISTRY}{model_name(model)}@champion"
    address = Address.of(model, root=root)
    with listen(host, settings.port if port is None else port) as listening:
        if message := warning(listening, password=tokens is not None):
            click.echo(message, err=True)
        click.echo(f"Loading {model}, which takes up to 20 seconds", err=True)
        Keeper(
            address,
            root=root,
            listening=listening,
            settings=settings,
            say=click.echo,
            hosts=(host, *hosts),
            tokens=tokens,
        ).run()
