"""Corpora by name: those with a reader of their own, and your own transcripts under any other name."""

from __future__ import annotations

from pathlib import Path

from conversations.files import transcript_files
from dial2vec.config import JOIN, Read, parts_of
from dial2vec.data.corpora.corpus import Corpus, Fetchable, Fetched
from dial2vec.data.corpora.demo import DemoCorpus
from dial2vec.data.corpora.joint import Joint
from dial2vec.data.corpora.transcripts import Transcripts
from dial2vec.errors import CorpusError, did_you_mean
from dial2vec.extension import papers


def known_corpora() -> dict[str, type[Corpus]]:
    """Return the readers of the demo and of public corpora by name."""
    return {"demo": DemoCorpus, **papers("corpora")}


def require_name(name: str) -> None:
    """Raise if a corpus name is invalid.

    :raises CorpusError: if it is.
    """
    # A name is also a folder, a stage and a registry entry: no separators, no dots.
    if not name.isascii() or not name.replace("_", "").isalnum():
        raise CorpusError(f"{name!r} is no corpus name; use letters, digits and '_' only.")


def require_corpus(name: str) -> None:
    """Raise if a corpus of this name cannot hold transcripts.

    :raises CorpusError: if the name has other characters, or belongs to a corpus with its own reader.
    """
    require_name(name)
    if name in known_corpora():
        raise CorpusError(
            f"{name!r} (--name) is a corpus that comes with its own reader, which would not read your transcripts. "
            "Choose another name."
        )


def get_corpus(name: str, *, data: Path, options: Read | None = None) -> Corpus:
    """Return the reader of a corpus: one of `known_corpora()`, else `Transcripts` if `data/<name>` holds JSON Lines.

    A name such as `sgd+calls` joins several corpora.

    :param data: Folder with one folder per corpus.
    :param options: Options of the reader; None takes the defaults.
    :raises CorpusError: if the name is unknown; the error says how to add own transcripts.
    """
    options = options or Read()
    if JOIN in name:
        names = parts_of(name)
        if len(set(names)) < len(names):
            raise CorpusError(f"{name!r} joins a corpus with itself; expected different ones. Name each once.")
        return Joint(options, {part: get_corpus(part, data=data, options=options) for part in names})
    known = known_corpora()
    if name in known:
        return known[name](options)
    require_name(name)
    if transcript_files(data / name):
        return Transcripts(options)
    files = sorted(path.name for path in (data / name).iterdir()) if name and (data / name).is_dir() else []
    hint = f" {data / name} holds no JSON Lines, only {', '.join(files[:5])}." if files else ""
    raise CorpusError(
        f"unknown corpus {name!r}.{did_you_mean(name, known)}{hint} Known: {', '.join(known)}. To add an "
        f"export of your own, run `dial2vec import FILE --name {name or 'NAME'}`, or put JSON Lines (*.jsonl or "
        f"*.jsonl.gz) into {data}/<name>/, a name of letters, digits and '_'."
    )


def fetch_corpus(name: str, *, data: Path, mirror: Path | str | None) -> Fetched:
    """Get the files of a public corpus, or of the demo, into `data/<name>/`; an undamaged archive stays.

    :param data: Folder with one folder per corpus.
    :param mirror: Folder with `<name>/*.zip`, or URL (`http://` or `https://`) below which
        `<name>/<upstream's file name>` is downloaded; None downloads from upstream.
    :raises CorpusError: if the name is unknown or of own transcripts, the mirror is incomplete, the download fails, or
        the archive is damaged or differs from the recorded SHA-256.
    """
    corpus = get_corpus(name, data=data)
    if not isinstance(corpus, Fetchable):
        raise CorpusError(
            f"{name} is a corpus of your own in {data / name}; there is nothing to fetch. Run the pipeline."
        )
    return corpus.fetch(data / name, mirror=mirror)
