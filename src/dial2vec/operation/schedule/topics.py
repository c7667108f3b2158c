"""Topics of a collection in MLflow: a run after each update."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dial2vec.collection.clustering.clusters import read_clusters
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.pipeline.dvc_records import data_hash
from dial2vec.registry.tracking import log_run


def log_topics(
    root: Path, collection: CollectionFolder, news: Mapping[str, Any] | None, *, sheet: Path | None = None
) -> str:
    """Log a run with topics and news in `dial2vec-topics_<collection>`, and return its id; once for the same news.

    :param news: record of `dial2vec.collection.news.News`; None if nobody has looked for news.
    :param sheet: page of `dial2vec.collection.summary.write_summary`, which quotes dialogues.
    :raises Dial2vecError: if the store cannot be used, or the clusters are damaged.
    """
    name, grouped = collection.folder.name, read_clusters(collection)
    topics = grouped[0].shown if grouped else ()
    news = news or {"id": collection.manifest.additions[-1].added, "dialogues": 0, "changes": ()}
    changes = [change["sentence"] for change in news["changes"]]
    shares = [topic.size / len(collection) for topic in topics]
    return log_run(
        root,
        area=f"topics_{re.sub('[^A-Za-z0-9]', '_', name)}",
        name=f"{name} {news['id']}",
        params={},
        metrics={f"share.{topic.id}": share for topic, share in zip(topics, shares, strict=True)}
        | {"dialogues": len(collection), "new": news["dialogues"], "changes": len(changes)},
        tags={"news": news["id"], "mlflow.note.content": "\n\n".join(changes) or "Nothing is new."},
        record=news,
        once="news",
        data=(collection.folder, data_hash(root)),
        table={key: [getattr(topic, key) for topic in topics] for key in ("id", "name", "size")} | {"share": shares},
        file=sheet,
    )
