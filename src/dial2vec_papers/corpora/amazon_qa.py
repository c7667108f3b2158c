"""AmazonQA: questions about products with an answer each, 38 categories, no official splits."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from conversations.dialogue import Origin, Quarantined, RecordError
from dial2vec.data.corpora.corpus import Splitting
from dial2vec_papers.corpora.file_corpus import CorpusFiles, FileCorpus, Placed, expect
from dial2vec_papers.corpora.source_files import lines_of

# A line of this file is `text:...<tab>labels:...<tab>episode_done:True`, with "\n" for line ends in texts.
PARLAI = r"amazonqa\.txt"
CATEGORY = r"qa_(?P<category>[^/]+)\.json"


class AmazonQa(FileCorpus):
    """Reader of `qa_<category>.json.gz` (McAuley and Yang 2016), or of `amazonqa.txt`, which ParlAI makes of them.

    A question with its answer is a dialogue of two turns, by `asker` and `answerer`. The label is the category; the
    file of ParlAI has none. Lines are Python's dictionaries, or JSON. Ids are `<category>/<line>`. Upstream has no
    candidates: response selection draws them.
    """

    splitting: ClassVar[Splitting] = "shuffled"
    source = "http://jmcauley.ucsd.edu/data/amazon/qa/ (qa_<category>.json.gz)"
    expected: ClassVar[Mapping[str, str]] = {"qa_<category>.json.gz": rf"{CATEGORY}|{PARLAI}"}

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the lines of all files."""
        for file, groups in sources.matching(rf"{CATEGORY}|{PARLAI}"):
            for number, line in lines_of(file):
                if line.strip():
                    yield Origin(file.address, number), (groups["category"], number, line)

    def name(self, record: Any) -> str:
        """Return the id of a line."""
        return f"{record[0] or 'amazonqa'}/{record[1]}"

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a line."""
        category, _, line = record
        question, answer = _pair(line) if category is None else _texts(line)
        if not question.strip() or not answer.strip():
            raise RecordError("its question or its answer is blank")
        turns = [{"speaker": "asker", "text": question}, {"speaker": "answerer", "text": answer}]
        return {"dialogue_id": self.name(record), "turns": turns, "labels": [category] if category else []}


def _texts(line: str) -> tuple[str, str]:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        try:
            # Reads values only, so that no line can run code.
            content = ast.literal_eval(line)
        except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
            raise RecordError("neither a dictionary of Python nor JSON") from error
    content = expect(content, dict, "the line")
    return expect(content["question"], str, "'question'"), expect(content["answer"], str, "'answer'")


def _pair(line: str) -> tuple[str, str]:
    fields = dict(field.partition(":")[::2] for field in line.split("\t"))
    for key in ("text", "labels"):
        if key not in fields:
            raise KeyError(key)
    return fields["text"].replace("\\n", "\n"), fields["labels"].replace("\\n", "\n")
