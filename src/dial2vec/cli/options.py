"""The options that several commands share: the encoder, and which dialogues count."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings

import click

from dial2vec.encoder.folder import is_student
from dial2vec.encoder.names import resolve, untrained
from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec.files import find_root

if TYPE_CHECKING:
    from dial2vec.encoder.protocol import Encoder

UNTRAINED = untrained()
SMALL = "small"
SMALL_CHAMPION = re.compile(r"models:/dial2vec-(.+)-small@champion")
KINDS = "Folder, registry address, Hugging Face name, or small (the corpus's small model)."


NO_ADAPT = click.option(
    "--no-adapt", is_flag=True, help="Leave the vectors as they are; else groups and map use adapted ones."
)


def model_option(help: str = KINDS, **options: Any) -> Callable[[Any], Any]:
    """Return the option --model of a command. Other arguments: `click.option`."""
    return click.option("--model", help=help, callback=or_small, **options)


def or_small(ctx: click.Context, option: click.Parameter, model: str | None) -> str | None:
    """Return the address of the small champion for `small`, any other name as it is; say if that is no student yet.

    With --corpus it is that corpus's champion, else that of the only corpus of params.yaml. A model in a folder `small`
    of the working directory is that model.
    """
    address = model
    if model == SMALL and not (Path(SMALL) / "config.json").is_file():
        address = f"models:/dial2vec-{ctx.params.get('corpus') or _only_corpus(option.opts[0])}-small@champion"
    champion = SMALL_CHAMPION.fullmatch(address or "")
    if address and champion and not is_student(resolve(address)):
        click.echo(
            f"No student of {champion[1]} is champion yet, so {SMALL} is the base encoder. `dial2vec promote "
            f"{champion[1]}-small` judges the student.",
            err=True,
        )
    return address


def _only_corpus(option: str) -> str:
    from dial2vec.params import load_settings

    try:
        root = find_root()
    except Dial2vecError as error:
        raise Dial2vecError(
            f"{option} {SMALL} is the small model of a project's corpus, and there is {error}"
        ) from None
    corpora = load_settings(root / "params.yaml").corpora
    if len(corpora) > 1:
        raise Dial2vecError(
            f"{option} {SMALL} is the small model of one corpus, and params.yaml names {len(corpora)} "
            f"({', '.join(corpora)}). Give the address of one: {option} models:/dial2vec-{corpora[0]}-small@champion."
        )
    return corpora[0]


def say_advice(transcripts: Path, encoder: Encoder) -> None:
    """Say if an encoder does not know the language, or many tokens, of a file or folder of dialogues."""
    from conversations.dialogue import read_dialogues
    from dial2vec.collection.embedding.shards import files_of
    from dial2vec.encoder.advice import encoder_advice

    files = (read_dialogues(path, quarantine=[], may_be_empty=True) for path in files_of(transcripts))
    if advice := encoder_advice(chain.from_iterable(files), encoder):
        click.echo(advice, err=True)


@contextmanager
def transcripts_of(source: Path) -> Iterator[Path]:
    """Yield JSON Lines of dialogues: the source, or for any other export a temporary file that its import writes.

    :raises CorpusError: if nothing can be read, or no dialogue can be used.
    """
    from conversations.dialogue import write_dialogues
    from conversations.formats.formats import stem
    from conversations.reading import holds_dialogues, read
    from dial2vec.collection.embedding.shards import files_of, passed_over

    if any(map(holds_dialogues, files_of(source))):
        if others := passed_over(source):
            skipped = f"{len(others)} files are not JSON Lines and were skipped, such as {others[0]}"
            click.echo(f"{skipped}; `dial2vec import` converts exports", err=True)
        yield source
        return
    with TemporaryDirectory(prefix=".dial2vec-import-") as folder:
        file = Path(folder) / f"{stem(source)}.jsonl"
        try:
            with catch_warnings(record=True, action="always") as notices:
                write_dialogues(file, read(source))
        except CorpusError as error:
            advice = " `dial2vec import` takes these options, and writes JSON Lines." if "--" in str(error) else ""
            raise CorpusError(f"{error}{advice}") from error
        for notice in notices:
            click.echo(notice.message, err=True)
        yield file


WHERE = click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help='Count only dialogues with this metadata, such as "channel == phone"; may be repeated.',
)


def filter_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options by which dialogues are found to a command, which gets `filters`."""

    @click.option("--label", "labels", multiple=True, help="Find only dialogues with this label; may be repeated.")
    @click.option(
        "--speaker", "speakers", multiple=True, help="Find only dialogues with this speaker; may be repeated."
    )
    @click.option("--after", metavar="DATE", help="Find only dialogues from this day on, such as 2026-03-04.")
    @click.option("--before", metavar="DATE", help="Find only dialogues before this day.")
    @click.option(
        "--where",
        multiple=True,
        metavar="CONDITION",
        help='Find only dialogues with this metadata, such as "channel == phone", "csat <= 2 or note ~ angry", "agent '
        'in ann, bob" or "csat is missing"; may be repeated.',
    )
    @wraps(command)
    def with_filters(
        *,
        labels: tuple[str, ...],
        speakers: tuple[str, ...],
        after: str | None,
        before: str | None,
        where: tuple[str, ...],
        **arguments: Any,
    ) -> None:
        from dial2vec.collection.search import Filters

        command(filters=Filters(labels, speakers, after, before, where), **arguments)

    return with_filters
