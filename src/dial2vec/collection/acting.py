"""The dialogues of a topic in the forms of other tools: data for evaluation, rows for annotators, labels and tags."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conversations.dialogue import Dialogue
from conversations.files import atomic_path, write_text
from conversations.vocabulary import word_set
from dial2vec.collection.clustering.clusters import read_assigned, stored_clusters
from dial2vec.collection.collection_folder import CollectionFolder, sampled
from dial2vec.collection.formulas import write_table
from dial2vec.collection.search.filters import Filters
from dial2vec.data.corpora.transcripts import LABEL_COLUMNS
from dial2vec.errors import CorpusError, did_you_mean

# Columns of `assignment.parquet`, and what they are called here.
COLUMNS = {"dialogue_id": "dialogue_id", "cluster": "topic_id", "name": "topic", "area": "area", "similarity": "cosine"}
ASKERS, ANSWERERS = word_set("speakers", "askers"), word_set("speakers", "answerers")
# A value of the metadata, as JSON, that is an address of the web.
LINK = re.compile(r'"(https?://[^\s"\\]+)"', re.IGNORECASE)
# Label Studio's labeling configuration: a dialogue, and a choice among all topics.
CONFIG = """<View><Paragraphs name="dialogue" value="$dialogue" layout="dialogue" nameKey="author" textKey="text"/>
<Choices name="topic" toName="dialogue" choice="single" layout="select">%s</Choices></View>
"""


def members_of(
    collection: CollectionFolder, topics: Sequence[str] = (), *, area: bool = False, filters: Filters | None = None,
    sample: int | None = None, seed: int = 1,
) -> pa.Table:  # fmt: skip
    """Return the dialogues of some topics, the most typical first; not those that are hidden or belong to nothing.

    :param topics: ids or names of topics, or of areas if `area` is true; () takes all.
    :param sample: number of dialogues to draw at random.
    :return: `dialogue_id`, `topic_id`, `topic`, `area`, `cosine` to the topic's centre, `link` to the source or null.
    :raises ArtifactError: if the collection has no clusters, or they are damaged.
    :raises CorpusError: if there is no such topic, or no dialogue is left.
    """
    clusters, table = stored_clusters(collection).clusters, read_assigned(collection, [*COLUMNS, "belongs"])
    keep = pc.and_(table["name"].is_valid(), table["belongs"])
    parts = {str(part.id): part.name for part in (clusters.areas if area else clusters.shown)}
    known = {name.casefold(): name for name in parts.values()} | parts
    if unknown := [topic for topic in topics if topic.casefold() not in known]:
        hint = did_you_mean(unknown[0], parts.values())
        raise CorpusError(f"no topic is called {unknown[0]!r}; expected an id or name of `dial2vec cluster`.{hint}")
    if topics:
        wanted = pa.array([known[topic.casefold()] for topic in topics])
        keep = pc.and_(keep, pc.is_in(table["area" if area else "name"], value_set=wanted))
    rows, passing = np.flatnonzero(keep), None if filters is None else filters.rows(collection)
    rows = rows if passing is None else np.intersect1d(rows, passing)
    if not len(rows):
        raise CorpusError(f"{collection.folder} has no such conversation; expected some. Leave out a topic or filter.")
    rows = rows[sampled(len(rows), sample or len(rows), seed)]
    rows = pa.array(rows[np.argsort(-table["similarity"].to_numpy()[rows], kind="stable")])
    metadata = collection.rows["metadata"].take(rows).to_pylist()
    links = [next((link[1] for _, value in facts or () if (link := LINK.fullmatch(value))), None) for facts in metadata]
    members = table.select(list(COLUMNS)).rename_columns(COLUMNS).take(rows)
    return members.append_column("link", pa.array(links, pa.string()))


def messages_of(dialogue: Dialogue) -> list[dict[str, str]]:
    """Return a dialogue as chat messages: users are found by words in the speakers' names, else the first is one."""
    names = {turn.speaker: set(re.findall(r"[^\W\d_]+", turn.speaker.lower())) for turn in dialogue.turns}
    others = {name for name, words in names.items() if not words & ANSWERERS}
    users = {name for name, words in names.items() if words & ASKERS} or others
    users = users if len(users) < len(names) else {dialogue.turns[0].speaker}
    return [{"role": "user" if turn.speaker in users else "assistant", "content": turn.text} for turn in dialogue.turns]


def member_records(collection: CollectionFolder, members: pa.Table, form: str) -> Iterator[dict[str, Any]]:
    """Yield what "openai", "mlflow", "label-studio" or "argilla" reads of each dialogue of `members_of`.

    Data for evaluation ends before the last answer of the assistant, which stands beside it.
    """
    facts = [{key: value for key, value in row.items() if value is not None} for row in members.to_pylist()]
    dialogues = collection.dialogues([collection.row(about["dialogue_id"]) for about in facts])
    for dialogue, about in zip(dialogues, facts, strict=True):
        if form == "label-studio":
            turns = [{"author": turn.speaker, "text": turn.text} for turn in dialogue.turns]
            choice = {"from_name": "topic", "to_name": "dialogue", "type": "choices"}
            result = [choice | {"value": {"choices": [about["topic"]]}}]
            predictions = [{"model_version": "dial2vec", "score": about["cosine"], "result": result}]
            yield {"data": {"dialogue": turns} | about, "predictions": predictions}
        elif form == "argilla":
            topic = {"value": about["topic"], "score": max(0.0, about["cosine"]), "agent": "dial2vec"}
            record = {"fields": {"dialogue": messages_of(dialogue)}, "suggestions": {"topic": topic}}
            yield {"id": about["dialogue_id"], "metadata": about} | record
        else:
            messages = messages_of(dialogue.merged())
            last = max((at for at, message in enumerate(messages) if message["role"] == "assistant"), default=0)
            asked, answer = messages[: last or None], messages[last]["content"] if last else None
            tags = {key: str(value) for key, value in about.items()}
            of_mlflow = {"inputs": {"messages": asked}, "outputs": answer, "tags": tags}
            yield of_mlflow if form == "mlflow" else {"item": {"messages": asked, "answer": answer} | about}


def write_members(collection: CollectionFolder, members: pa.Table, form: str, path: Path) -> None:
    """Write `member_records`, or a table of "labels" or "tags"; atomic. For Label Studio its configuration as .xml."""
    with atomic_path(path) as temporary:
        if form == "labels":
            write_table(members.select(["dialogue_id", "topic"]).rename_columns(LABEL_COLUMNS), temporary)
        elif form == "tags":
            write_table(members, temporary)
        else:
            lines = [json.dumps(record, ensure_ascii=False) for record in member_records(collection, members, form)]
            text = "\n".join(lines) if form in ("openai", "mlflow") else f"[{', '.join(lines)}]"
            temporary.write_text(f"{text}\n", encoding="utf-8")
    if form == "label-studio":
        names = [*(cluster.name for cluster in stored_clusters(collection).clusters.shown), "none of these"]
        choices = "".join(f'<Choice value="{escape(name)}"/>' for name in names)
        write_text(path.with_suffix(".xml"), CONFIG % choices)
