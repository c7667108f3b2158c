"""Where an import is written, and what it must not overwrite."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from dial2vec.data.corpora import CORPORA, require_name
from dial2vec.data.corpora.transcripts import transcript_files
from dial2vec.data.importing.assembling import ImportResult
from dial2vec.data.importing.formats import stem
from dial2vec.dialogue import Dialogue, Origin, Quarantined, read_dialogues, write_dialogues, write_quarantine
from dial2vec.errors import CorpusError
from dial2vec.files import atomic_path, read_json, write_errors, write_json

# File systems take names of 255 bytes; the rest is for endings and the mark of a half-written file.
LONGEST_NAME = 180


@dataclass(frozen=True, slots=True)
class Places:
    """Where the import of one export lies.

    :param root: of the project.
    :param corpus: its name.
    :param source: the imported file or folder.
    :param redacted: whether this import masks personal data.
    """

    root: Path
    corpus: str
    source: Path
    redacted: bool = False

    @property
    def name(self) -> str:
        """Name of the export without its endings, short enough for a file."""
        return stem(self.source).encode()[:LONGEST_NAME].decode(errors="ignore")

    @property
    def output(self) -> Path:
        """The dialogues, a file of the corpus."""
        return self.root / "data" / self.corpus / f"{self.name}.jsonl"

    @property
    def folder(self) -> Path:
        """What an import keeps beside the corpus."""
        return self.root / "artifacts" / self.corpus / "import"

    @property
    def quarantine(self) -> Path:
        """What could not be used."""
        return self.folder / f"{self.name}.quarantine.jsonl"

    @property
    def record(self) -> Path:
        """By which an import knows its own output again."""
        return self.folder / f"{self.name}.json"

    def before(self) -> Path:
        """Return a free path for a file that is replaced."""
        paths = (self.folder / "replaced" / f"{self.name}-{number}.jsonl" for number in count(1))
        return next(path for path in paths if not path.exists())


def require_corpus(name: str) -> None:
    """Make sure that transcripts can be put into a corpus of this name.

    :raises CorpusError: for a name with other characters, or one of a corpus with a reader of its own.
    """
    require_name(name)
    if name in CORPORA:
        raise CorpusError(
            f"{name!r} (--name) is a corpus that comes with its own reader, which would not read your transcripts. "
            "Choose another name."
        )


def foreign(places: Places) -> str:
    """Say why the output must not be overwritten; empty when there is none, or this export's import wrote it."""
    if not places.output.exists():
        return ""
    if not places.record.is_file():
        return "was not written by an import"
    record = read_json(places.record)
    if not isinstance(record, dict) or _digest(places.output) not in record.get("sha256", ()):
        return "was changed after it was imported"
    if record.get("source") != str(places.source.resolve()):
        return f"was imported from {record.get('source')}"
    if record.get("redacted") and not places.redacted:
        return "was imported with --redact, and this import would put unmasked data in its place"
    return ""


def require_own(places: Places, *, replace: bool) -> None:
    """Make sure that nothing is lost by writing.

    :param replace: allows it: the file that is there is kept elsewhere.
    :raises CorpusError: saying whose file it is.
    """
    why = foreign(places)
    if why and not replace:
        masked = "--redact" in why
        way = "Give --redact again" if masked else f"Rename {places.source.name} to add it beside that file"
        raise CorpusError(
            f"{places.output} is there already and {why}. {way}, or use --replace, which keeps that file in "
            f"{places.folder / 'replaced'}."
        )


def set_known_aside(result: ImportResult, places: Places) -> None:
    """Quarantine dialogues whose id came before in this export or stands in another file of the corpus.

    :raises CorpusError: when another file of the corpus is damaged.
    """
    known: dict[str, str] = {}
    for path in transcript_files(places.output.parent):
        if path != places.output:
            found = read_dialogues(path, quarantine=[], may_be_empty=True)
            known.update(dict.fromkeys((dialogue.dialogue_id for dialogue in found), f"is in {path.name} already"))
    new: list[Dialogue] = []
    for dialogue in result.dialogues:
        origin = dialogue.origin or Origin(str(places.source), 0)
        if reason := known.get(dialogue.dialogue_id):
            result.quarantine.append(Quarantined(origin, dialogue.dialogue_id, f"the id {reason}"))
        else:
            known[dialogue.dialogue_id] = f"came before in {Path(origin.source).name}"
            new.append(dialogue)
    result.dialogues[:] = new


def write_import(result: ImportResult, places: Places) -> Path | None:
    """Write dialogues and quarantine, and return where a file that is not this export's was kept, if there was one.

    :raises CorpusError: when there is no dialogue to write; nothing is written then.
    """
    if not result.dialogues:
        first = f"; the first problem is {result.quarantine[0]}" if result.quarantine else ""
        raise CorpusError(
            f"no dialogue of {places.source} can be used{first}. Expected at least one. Mend the export, or say what "
            "its columns mean by --id, --speaker, --text or --turns."
        )
    kept = places.before() if foreign(places) else None
    own = [_digest(places.output)] if places.output.exists() and not kept else []
    with atomic_path(places.output) as temporary:
        write_dialogues(temporary, result.dialogues)
        if kept:
            with write_errors(kept):
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(places.output, kept)
        # Written before the output is put in place, and with the digest of the one before: an import that is killed
        # between the two still knows its file.
        record = {
            "source": str(places.source.resolve()),
            "redacted": places.redacted,
            "sha256": [_digest(temporary), *own],
        }
        write_json(places.record, record)
        aside = [replace(one, origin=one.origin.below(places.root)) for one in result.quarantine]
        write_quarantine(places.quarantine, aside)
    return kept


def _digest(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
