"""The command that keeps a collection up to date without a server, and tells what is new in it."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path

import click

from dial2vec.cli.group import examples
from dial2vec.errors import Dial2vecError

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# Seconds without a change after which an export counts as written to its end.
QUIET = 30.0


def _seconds(_: click.Context, __: click.Parameter, text: str) -> float:
    """Return the seconds of a time such as 30m."""
    match = re.fullmatch(r"(\d+)([smhd])", text)
    if match is None or not int(match[1]):
        raise Dial2vecError(f"found --every {text!r}; expected a number and s, m, h or d, such as --every 30m.")
    return float(match[1]) * UNITS[match[2]]


@click.command(epilog=examples("dial2vec watch calls.look", "dial2vec watch calls --source exports --once"))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--source", type=click.Path(path_type=Path), help="Export; default: the one that `look` has read.")
@click.option("--every", default="1h", show_default=True, callback=_seconds, help="Time between two looks at it.")
@click.option("--once", is_flag=True, help="Look at it once, now.")
@click.option("--notify", metavar="COMMAND|URL", help="Send the message there, too: JSON on standard input, or a POST.")
def watch(folder: Path, source: Path | None, every: float, once: bool, notify: str | None) -> None:
    """Add new conversations to a collection, and tell what is new.

    FOLDER is one of `look`, or with --source any collection. Whenever the export has changed, its new dialogues are
    added and join the topics, and a message says which topics are new, grew or shrank, or that nothing is new.
    The report is in FOLDER/report.html. Ctrl-C ends it.
    """
    from dial2vec.collection.look import OWN, last_look

    if source is None and not (folder / OWN).is_dir():
        raise Dial2vecError(f"{folder} was not made by `dial2vec look`; expected its export. Name it: --source EXPORT.")
    export, before = source or last_look(folder)[0], dict[str, list[float]]()
    with suppress(KeyboardInterrupt):
        while True:
            files = _files(export)
            changed = files != before or not files
            # What is being written is read later.
            late = not once and any(abs(time.time() - when) < QUIET for _, when in files.values())
            if once or (changed and not late):
                try:
                    _update(folder, source)
                    before = files
                except Dial2vecError as error:
                    if once:
                        raise
                    click.echo(f"Error: {error}", err=True)
            if not _tell(folder, notify) and once:
                click.echo(f"{folder}: no new conversations")
            if once:
                return
            time.sleep(min(every, QUIET) if changed and late else every)
    click.echo("Stopped: no new conversation is added until you run `dial2vec watch` again.")


def _files(source: Path) -> dict[str, list[float]]:
    """Return size and last change, in seconds since 1970, of the files of an export; none for an address."""
    paths = [path for path in source.rglob("*") if path.is_file()] if source.is_dir() else [source]
    return {str(path): [path.stat().st_size, path.stat().st_mtime] for path in paths if path.exists()}


def _update(folder: Path, source: Path | None) -> None:
    """Bring a collection up to date by its export."""
    from dial2vec.cli.options import transcripts_of
    from dial2vec.collection.look import OWN, last_look, look_into
    from dial2vec.collection.news.updating import update

    if (folder / OWN).is_dir():
        known, reading = last_look(folder)
        turns = (folder / "turns" / "turns.json").exists()
        look_into(folder, source or known, reading, say=click.echo, turns=turns)
        update(folder, None, say=click.echo)
    elif source is not None:
        with transcripts_of(source) as transcripts:
            update(folder, transcripts, say=click.echo)


def _tell(folder: Path, notify: str | None) -> bool:
    """Print the messages that nobody has got yet, and send them; one that cannot be sent goes with the next.

    :return: True if there was one.
    """
    from dial2vec.addresses import is_web_address
    from dial2vec.collection.news import mark_sent, unsent
    from dial2vec.config import Schedule
    from dial2vec.operation.notify import notify as send

    news = unsent(folder)
    if not news:
        return False
    text = "\n\n".join(record["text"] for record in news)
    click.echo(text)
    if notify:
        schedule = Schedule(notify=notify, notify_form="text" if is_web_address(notify) else "verdict")
        if problem := send(schedule, {"text": text, "news": news}, text=text, root=Path.cwd(), setting="--notify"):
            click.echo(f"Error: {problem}", err=True)
            return True
    for record in news:
        mark_sent(folder, record["id"])
    return True
