"""The command that takes conversations over HTTP."""

from __future__ import annotations

import os
from pathlib import Path

import click

from dial2vec.cli.group import complete_corpus, examples
from dial2vec.config import JOIN, Schedule
from dial2vec.errors import Dial2vecError, require_module
from dial2vec.files import find_root, folder_lock

TOKEN, SECRET = "DIAL2VEC_RECEIVE_TOKEN", "DIAL2VEC_WEBHOOK_SECRET"


@click.command(epilog=examples("dial2vec receive --corpus calls", "dial2vec receive --inbox traces --quiet 60"))
@click.option("--corpus", shell_complete=complete_corpus, help="Corpus whose inbox is used; default: the first one.")
@click.option("--inbox", type=click.Path(file_okay=False, path_type=Path), help="Another folder for the files.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--allow-host", "hosts", multiple=True, help="Further name under which senders or a proxy may ask.")
@click.option("--port", type=click.IntRange(0, 65535), default=4318, show_default=True, help="0 takes any free one.")
@click.option("--quiet", default=300.0, show_default=True, help="Seconds of silence that end a conversation.")
@click.option("--redact", is_flag=True, help="Mask personal data before it is stored; also `redact` in operation.yaml.")
def receive(
    corpus: str | None, inbox: Path | None, host: str, port: int, hosts: tuple[str, ...], quiet: float, redact: bool
) -> None:
    """Take traces and chat messages over HTTP into the inbox.

    POST /v1/traces takes spans of OpenTelemetry, POST /webhook the JSON of a chat service. The token is that of the
    variable DIAL2VEC_RECEIVE_TOKEN, or one that is made and shown. Ctrl-C ends it (docs/receive.md).
    """
    require_module("opentelemetry.proto")
    from dial2vec.addresses import Hosts, listen, warning
    from dial2vec.operation.receiving.masking import Masking
    from dial2vec.operation.receiving.receiver import Receiver
    from dial2vec.operation.receiving.store import Store
    from dial2vec.operation.serving.tokens import AccessTokens, secret_file

    folder, schedule = _place(corpus, inbox)
    own = folder / ".receive"
    with folder_lock(own, "receives into"), listen(host, port) as listening:
        tokens = AccessTokens(secret_file(own / "token", os.environ.get(TOKEN, ""), say=click.echo))
        store = Store(folder, own / "received.db", quiet=quiet, min_free_gb=schedule.min_free_gb)
        masking = Masking(secret_file(own / "key").read_bytes())
        mask = masking if redact or schedule.redact else lambda content: content
        click.echo(warning(listening, password=True), err=True, nl=False)
        secret = os.environ.get(SECRET, "").encode()
        Receiver(store, Hosts.of(host, *hosts), tokens, mask, secret).run(listening, click.echo)


def _place(corpus: str | None, inbox: Path | None) -> tuple[Path, Schedule]:
    """Return the folder that gets the files, and the settings of the schedule: those of the project around, if any."""
    from dial2vec.params import load_operation, load_settings

    try:
        root = find_root()
    except Dial2vecError:
        if inbox:
            return inbox, Schedule()
        raise
    schedule = load_operation(root / "operation.yaml").schedule
    names = JOIN.join(load_settings(root / "params.yaml").corpora).split(JOIN)
    if inbox is None and corpus not in (None, *names):
        raise Dial2vecError(f"--corpus {corpus} is not in params.yaml; expected one of {', '.join(names)}.")
    return inbox or root / schedule.inbox / (corpus or names[0]), schedule
