"""Lenses of a collection in MLflow: a version whenever one has learnt something else, and which is the champion."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dial2vec.collection.collection_folder import LENSES, CollectionFolder
from dial2vec.collection.lenses.lens import lens_names, read_record
from dial2vec.encoder.checksums import md5_of
from dial2vec.pipeline.dvc_records import data_hash
from dial2vec.registry.records import CHAMPION
from dial2vec.registry.store import LENS_MODELS, PREFIX, model_of, opened, registry_lock, versions_of
from dial2vec.registry.tracking import log_run


def log_lenses(root: Path, collection: CollectionFolder) -> list[str]:
    """Register each lens that has learnt something else as the next version of `dial2vec-<collection>-lens-<name>`.

    Its run has what was learnt and its figures by label, but no dialogue and no id of one. The version becomes the
    champion unless one of its labels is told clearly worse than by the champion: the whole interval of its AUROC lies
    below the champion's AUROC. Calling it again registers nothing twice.

    :return: a sentence for each new version.
    :raises Dial2vecError: if the store cannot be used, or a lens is damaged.
    """
    records = [read_record(collection.folder / LENSES / f"{name}.json") for name in lens_names(collection)]
    return [
        sentence
        for record in records
        if record["quality"] and (sentence := _registered(root, collection.folder, record))
    ]


def _registered(root: Path, folder: Path, record: Mapping[str, Any]) -> str:
    """Register a lens, and return what was decided; "" if it is registered already."""
    name, area = record["name"], re.sub("[^A-Za-z0-9]", "_", folder.resolve().name)
    model, digest = f"{PREFIX}{area}{LENS_MODELS}{name}", md5_of(folder / LENSES / f"{name}.safetensors")
    quality: dict[str, Any] = record["quality"]
    run_id = log_run(
        root,
        area=f"lenses_{area}",
        name=f"{name} {digest[:8]}",
        params={"examples": record["examples"], "labels": ", ".join(quality)},
        metrics={
            f"{re.sub('[^A-Za-z0-9_ -]', '_', label)}.{key}": figures[key]
            for label, figures in quality.items()
            for key in ("auroc", "precision", "error", "examples")
        },
        tags={"lens": digest},
        record=record,
        once="lens",
        data=(folder, data_hash(root)),
        file=folder / LENSES / f"{name}.safetensors",
    )
    with opened(root) as client, registry_lock(root):
        known = model_of(client, model) or client.create_registered_model(model)
        versions = versions_of(client, model)
        if any(version.run_id == run_id for version in versions.values()):
            return ""
        champion = versions.get(str(known.aliases.get(CHAMPION, "")))
        source = client.get_run(run_id).info.artifact_uri
        tags = {"quality": json.dumps(quality)}
        version = client.create_model_version(model, source, run_id=run_id, tags=tags)
        if champion and (worse := _worse(quality, json.loads(champion.tags["quality"]))):
            stays = f"version {champion.version} stays the champion"
            return f"{model} version {version.version} tells {', '.join(worse)} clearly worse, so that {stays}."
        client.set_registered_model_alias(model, CHAMPION, version.version)
    return f"{model} version {version.version} is the champion."


def _worse(quality: Mapping[str, Any], champion: Mapping[str, Any]) -> list[str]:
    """Return the labels whose interval lies below the champion's AUROC, or that are gone."""
    return [
        label
        for label, figures in champion.items()
        if label not in quality or quality[label]["interval"][1] < figures["auroc"]
    ]
