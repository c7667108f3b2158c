"""Writing an import without losing other files of the corpus."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from conversations.dialogue import Dialogue, Origin, Quarantined, read_dialogues, write_dialogues, write_quarantine
from conversations.errors import CorpusError
from conversations.files import atomic_path, read_json, sha256_of, transcript_files, write_errors, write_json
from conversations.formats.addresses import as_address, shown_source, without_secrets
from conversations.formats.formats import stem
from conversations.progress import counted
from conversations.redaction import Redactor
from conversations.result import ImportResult

# File systems allow names of 255 bytes; the rest is for endings and the mark of a half-written file.
LONGEST_NAME = 180


@dataclass(frozen=True, slots=True)
class Places:
    """Paths of one import.

    :param root: Project folder; with `file` the folder that origins are relative to.
    :param corpus: Name of the corpus; "" with `file`.
    :param source: Imported file or folder.
    :param redacted: True if this import masks personal data.
    :param file: File outside a project to write the dialogues to; None writes into the corpus.
    """

    root: Path
    corpus: str
    source: Path
    redacted: bool = False
    file: Path | None = None

    @property
    def name(self) -> str:
        """Name of the export (or of `file`) without its endings, short enough for a file."""
        return stem(self.file or self.source).encode()[:LONGEST_NAME].decode(errors="ignore")

    @property
    def origin(self) -> str:
        """Absolute path of the export, or its address."""
        address = as_address(self.source)
        return without_secrets(address) if address else str(self.source.resolve())

    @property
    def output(self) -> Path:
        """File with the imported dialogues."""
        return self.file or self.root / "data" / self.corpus / f"{self.name}.jsonl"

    @property
    def folder(self) -> Path:
        """Folder of the import's other files."""
        return self.file.parent if self.file else self.root / "artifacts" / self.corpus / "import"

    @property
    def quarantine(self) -> Path:
        """File of the unusable dialogues."""
        return self.folder / f"{self.name}.quarantine.jsonl"

    @property
    def record(self) -> Path:
        """File by which an import recognises its own output."""
        return self.folder / (f".{self.name}.import.json" if self.file else f"{self.name}.json")

    @property
    def readings(self) -> Path:
        """File of the ways in which the corpus was read so far."""
        return self.folder / "readings.json"

    def replaced(self) -> Path:
        """Return a free path for the copy of a replaced file."""
        paths = (self.folder / "replaced" / f"{self.name}-{number}.jsonl" for number in count(1))
        return next(path for path in paths if not path.exists())


def foreign(places: Places) -> str:
    """Return the reason why the output must not be overwritten; "" if it is missing, or this import wrote it."""
    if not places.output.exists():
        return ""
    if not places.record.is_file():
        return "was not written by an import"
    record = read_json(places.record)
    if not isinstance(record, dict) or sha256_of(places.output).hex() not in record.get("sha256", ()):
        return "was changed after it was imported"
    if record.get("source") != places.origin:
        return f"was imported from {record.get('source')}"
    if record.get("redacted") and not places.redacted:
        return "was imported with --redact, and this import would put unmasked data in its place"
    return ""


def require_own(places: Places, *, replace: bool) -> None:
    """Raise if the import would overwrite another file.

    :param replace: True if the file may be replaced; a copy of it is kept.
    :raises CorpusError: if it may not be replaced.
    """
    reason = foreign(places)
    if reason and not replace:
        masked = "--redact" in reason
        rename = "Name another file" if places.file else f"Rename {places.source.name} to add it beside that file"
        remedy = "Give --redact again" if masked else rename
        raise CorpusError(
            f"{places.output} exists already and {reason}. {remedy}, or use --replace, which keeps that file in "
            f"{places.folder / 'replaced'}."
        )


def masked_files(places: Places) -> list[str]:
    """Return the names of the other files of a corpus that were imported with masks."""
    records = (path for path in sorted(places.folder.glob("*.json")) if path not in (places.record, places.readings))
    return [f"{path.stem}.jsonl" for path in records if read_json(path).get("redacted")]


def quarantine_known_ids(result: ImportResult, places: Places) -> None:
    """Quarantine dialogues whose id occurs earlier in this export or in another file of the corpus.

    :raises CorpusError: if another file of the corpus is damaged.
    """
    known: dict[str, str] = {}
    for path in () if places.file else transcript_files(places.output.parent):
        if path != places.output:
            dialogues = read_dialogues(path, quarantine=[], may_be_empty=True)
            known.update(dict.fromkeys((dialogue.dialogue_id for dialogue in dialogues), f"is in {path.name} already"))
    new: list[Dialogue] = []
    for dialogue in result.dialogues:
        origin = dialogue.origin or Origin(str(places.source), 0)
        if reason := known.get(dialogue.dialogue_id):
            result.quarantine.append(Quarantined(origin, dialogue.dialogue_id, f"the id {reason}"))
        else:
            known[dialogue.dialogue_id] = f"came before in {Path(origin.source).name}"
            new.append(dialogue)
    result.dialogues[:] = new


def nothing_usable(source: Path, quarantine: Sequence[Quarantined]) -> CorpusError:
    """Return the error for an export without a usable dialogue: the first reason, where it is, and what to do."""
    if not quarantine:
        return CorpusError(f"no dialogue of {shown_source(source)} can be used: it holds none. Export it again.")
    first = quarantine[0]
    line = f"line {first.origin.line}" if first.origin.line else ""
    where = line if first.origin.source == str(source) else str(first.origin).removeprefix(f"{source}/")
    # A reason with two clauses says itself what to do; a transcript has no columns.
    remedy = (
        "" if ";" in first.reason else " Mend the export, or name its columns by --id, --speaker, --text or --turns."
    )
    return CorpusError(
        f"no dialogue of {shown_source(source)} can be used: {first.reason}{where and f' ({where})'}.{remedy}"
    )


def write_import(result: ImportResult, places: Places, redactor: Redactor | None = None) -> Path | None:
    """Write dialogues and quarantine, and return the copy of a replaced foreign file; None without one.

    :param redactor: Redactor that masked the dialogues.
    :raises CorpusError: if there is no dialogue to write; nothing is written then.
    """
    if not result.dialogues:
        raise nothing_usable(places.source, result.quarantine)
    kept = places.replaced() if foreign(places) else None
    own = [sha256_of(places.output).hex()] if places.output.exists() and not kept else []
    with atomic_path(places.output) as temporary:
        write_dialogues(temporary, counted(result.dialogues, "dialogues written"))
        if kept:
            with write_errors(kept):
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(places.output, kept)
        # Written before the new output is in place, with the digests of the new and the old output: an import killed
        # between the two steps still recognises its file.
        record = {
            "source": places.origin,
            "redacted": places.redacted,
            "masked": redactor.counts_and_samples(result.dialogues) if redactor else {},
            "sha256": [sha256_of(temporary).hex(), *own],
        }
        write_json(places.record, record)
        relative = [replace(record, origin=record.origin.below(places.root)) for record in result.quarantine]
        write_quarantine(places.quarantine, relative)
    return kept
