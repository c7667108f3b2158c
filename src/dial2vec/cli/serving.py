"""The command that serves a registered model."""

from __future__ import annotations

import click

from dial2vec.cli.group import complete_corpus, examples


@click.command(epilog=examples("dial2vec serve calls"))
@click.argument("model", shell_complete=complete_corpus)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen at; the default is this machine."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port; 0 takes any free one. Default: serve.port of operation.yaml."
)
def serve(model: str, host: str, port: int | None) -> None:
    """Answer HTTP requests with vectors; Ctrl-C ends it.

    A new champion is gone over to without a lost request. MODEL is a corpus, whose champion is served, or an address
    such as models:/dial2vec-calls/3 (docs/serving.md).
    """
    from dial2vec.addresses import listen, warning
    from dial2vec.files import find_root
    from dial2vec.operation.serving.address import Address
    from dial2vec.operation.serving.keeper import Keeper
    from dial2vec.params import load_operation
    from dial2vec.registry.store import model_name

    root = find_root()
    settings = load_operation(root / "operation.yaml").serve
    address = model if model.startswith("models:/") else f"models:/{model_name(model)}@champion"
    found = Address.of(address, root=root)
    with listen(host, settings.port if port is None else port) as listening:
        if said := warning(listening):
            click.echo(said, err=True)
        click.echo(f"Loading {address}, which takes about 20 seconds", err=True)
        Keeper(found, root=root, listening=listening, settings=settings, say=click.echo).run()
