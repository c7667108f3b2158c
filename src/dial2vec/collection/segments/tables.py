"""Segments and topics of a collection as tables of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.segments.segments import read_segments, segments_folder

if TYPE_CHECKING:
    import pandas as pd


def segments_table(collection: CollectionFolder) -> pd.DataFrame:
    """Return one row per segment, in the order of the dialogues and their turns.

    :return: `dialogue_id`, `first_turn` and `last_turn` (numbers from 0), `topic` (id), `topic_name`, and `share`, the
        segment's share of the words of its dialogue.
    :raises ArtifactError: if there are no segments.
    """
    import pyarrow.parquet as pq

    read_segments(collection)
    return pq.read_table(segments_folder(collection) / "segments.parquet").to_pandas()


def topics_table(collection: CollectionFolder) -> pd.DataFrame:
    """Return one row per topic, indexed by `id`, the topic with most segments first.

    :return: `name`, `segments`, `dialogues` (with such a segment), `share` of all words, and `terms`.
    :raises ArtifactError: if there are no segments.
    """
    import pandas as pd

    rows = [
        {"id": topic.id, "name": topic.name, "segments": topic.segments, "dialogues": topic.dialogues}
        | {"share": topic.share, "terms": [term.text for term in topic.terms]}
        for topic in read_segments(collection).topics
    ]
    return pd.DataFrame(rows).set_index("id")


def dialogue_topics(collection: CollectionFolder) -> pd.DataFrame:
    """Return one row per dialogue and topic of it; the largest share of each dialogue comes first.

    :return: `dialogue_id`, `topic`, `topic_name`, `segments` (their number) and `share` of the dialogue's words; the
        shares of a dialogue sum to 1.
    :raises ArtifactError: if there are no segments.
    """
    table = segments_table(collection)
    keys = ["dialogue_id", "topic", "topic_name"]
    sums = table.groupby(keys, sort=False).agg(segments=("share", "size"), share=("share", "sum")).reset_index()
    order = {name: at for at, name in enumerate(dict.fromkeys(table["dialogue_id"]))}
    sums["order"] = sums["dialogue_id"].map(order)
    return sums.sort_values(["order", "share"], ascending=[True, False], kind="stable", ignore_index=True).drop(
        columns="order"
    )
