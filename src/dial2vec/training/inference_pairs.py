"""Pairs of sentences from a file of natural language inference, in the form of Dialogue-NLI (Welleck et al. 2019)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conversations.dialogue import Dialogue, Turn
from dial2vec.errors import CorpusError, MissingDataError

# Dialogue-NLI's own label, and that of other sets of inference pairs.
ENTAILED = ("positive", "entailment")


def entailed_pairs(path: str | None) -> list[Dialogue]:
    """Return the different pairs of which one sentence entails the other, each as a dialogue of two turns.

    :param path: File of records with `sentence1`, `sentence2` and `label`: a JSON list, as Dialogue-NLI is published,
        or JSON Lines. None is an error.
    :raises MissingDataError: if there is no such file.
    :raises CorpusError: if the file has another form, or no entailed pair.
    """
    if path is None or not Path(path).is_file():
        reason = "dse.pairs_file is not set" if path is None else f"dse.pairs_file is {path}, which is not a file"
        raise MissingDataError(
            f"{reason}, but dse.pairs is dianli; expected the training file of Dialogue-NLI. Set dse.pairs_file "
            "to it, or choose other pairs."
        )
    pairs = dict.fromkeys(
        (record["sentence1"], record["sentence2"]) for record in _records(Path(path)) if record["label"] in ENTAILED
    )
    if not pairs:
        raise CorpusError(f"{path} has no record whose label is {' or '.join(ENTAILED)}; expected pairs of these.")
    return [
        Dialogue(f"pair {number}", (Turn("first", premise), Turn("second", entailed)))
        for number, (premise, entailed) in enumerate(pairs)
    ]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    try:
        records = json.loads(text) if text.lstrip().startswith("[") else map(json.loads, text.splitlines())
        for number, record in enumerate(records, start=1):
            if not isinstance(record, dict) or not all(
                isinstance(record.get(key), str) for key in ("sentence1", "sentence2", "label")
            ):
                raise CorpusError(
                    f"record {number} of {path} is no pair; expected sentence1, sentence2 and label, all texts."
                )
            yield record
    except json.JSONDecodeError as error:
        raise CorpusError(f"{path} is not JSON ({error}); expected Dialogue-NLI's file or JSON Lines.") from error
