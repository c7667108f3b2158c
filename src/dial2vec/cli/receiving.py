"""The command that takes conversations over HTTP."""

from __future__ import annotations

import os
import secrets
from functools import partial
from pathlib import Path

import click

from dial2vec.cli.group import complete_corpus, examples
from dial2vec.errors import Dial2vecError, require_module
from dial2vec.files import find_root, folder_lock

TOKEN, SECRET = "DIAL2VEC_RECEIVE_TOKEN", "DIAL2VEC_WEBHOOK_SECRET"


@click.command(epilog=examples("dial2vec receive --corpus calls", "dial2vec receive --inbox traces --quiet 60"))
@click.option("--corpus", shell_complete=complete_corpus, help="Corpus of the project whose inbox gets the files.")
@click.option("--inbox", type=click.Path(file_okay=False, path_type=Path), help="Another folder for the files.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=4318, show_default=True, help="0 takes any free one.")
@click.option(
    "--quiet", default=300.0, show_default=True, help="Seconds of silence after which a conversation is whole."
)
@click.option("--redact", is_flag=True, help="Mask personal data before it is stored; also `redact` in operation.yaml.")
def receive(corpus: str | None, inbox: Path | None, host: str, port: int, quiet: float, redact: bool) -> None:
    """Take traces of OpenTelemetry and webhooks of chat services into the inbox; Ctrl-C ends it.

    POST /v1/traces takes OTLP over HTTP, POST /webhook the JSON of a chat service. The token is that of the variable
    DIAL2VEC_RECEIVE_TOKEN, or one that is made and shown (docs/receive.md).
    """
    require_module("opentelemetry.proto")
    from dial2vec.addresses import Hosts, listen, warning
    from dial2vec.config import Schedule
    from dial2vec.operation.receiving.masking import masked
    from dial2vec.operation.receiving.receiver import Receiver
    from dial2vec.operation.receiving.store import Store
    from dial2vec.operation.serving.tokens import AccessTokens
    from dial2vec.params import load_operation

    root = _root(needed=inbox is None)
    schedule = load_operation(root / "operation.yaml").schedule if root else Schedule()
    folder = inbox or _inbox_of(corpus, root, schedule.inbox)
    own = folder / ".receive"
    with folder_lock(own, "receives into"), listen(host, port) as listening:
        tokens = AccessTokens(_secret_file(own / "token", os.environ.get(TOKEN, "")))
        store = Store(folder, own / "received.db", quiet=quiet, min_free_gb=schedule.min_free_gb)
        key = _secret_file(own / "key").read_bytes()
        mask = partial(masked, secret=key) if redact or schedule.redact else lambda content: content
        click.echo(warning(listening, password=True), err=True, nl=False)
        Receiver(store, tokens, mask, os.environ.get(SECRET, "").encode()).run(listening, Hosts.of(host), click.echo)


def _root(*, needed: bool) -> Path | None:
    try:
        return find_root()
    except Dial2vecError:
        if needed:
            raise
        return None


def _inbox_of(corpus: str | None, root: Path | None, inbox: str) -> Path:
    """Return the folder of a corpus in the inbox of the project."""
    from dial2vec.config import parts_of
    from dial2vec.params import load_settings

    assert root
    names = sorted({part for name in load_settings(root / "params.yaml").corpora for part in parts_of(name)})
    if corpus not in names:
        raise Dial2vecError(f"--corpus is {corpus or 'missing'}; expected one of params.yaml: {', '.join(names)}.")
    return root / inbox / corpus


def _secret_file(path: Path, given: str = "") -> Path:
    """Return a file that only this user reads, with a secret: a given one, or one that the first call makes."""
    if given or not path.exists():
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(given or (made := secrets.token_urlsafe(32)))
        if not given and path.name == "token":
            click.echo(f"Token, also in {path}: {made}")
    return path
