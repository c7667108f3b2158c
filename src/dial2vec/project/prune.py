"""Pruning: old versions with their files, and what DVC's cache keeps for nobody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dial2vec.config import Prune
from dial2vec.errors import ModelError
from dial2vec.project.dvc_cache import YOUNG, cache_folder, remove_objects, unused_objects
from dial2vec.registry.old_versions import OldVersion, data_hashes, old_versions, remove


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What pruning removes.

    :param versions: all versions of the corpora; those without a reason to stay go.
    :param cache: folder of DVC's objects; None without one inside the project.
    :param objects: objects of DVC that go.
    """

    versions: list[OldVersion]
    cache: Path | None
    objects: list[Path]

    @property
    def going(self) -> list[OldVersion]:
        """Versions that go."""
        return [version for version in self.versions if not version.why]

    def lines(self) -> Iterator[str]:
        """Yield the plan for people."""
        corpus = ""
        for version in self.versions:
            if version.corpus != corpus:
                corpus = version.corpus
                yield f"dial2vec-{corpus}"
            yield f"  {version}"
        megabytes = sum(path.stat().st_size for path in self.objects) / 1e6
        yield f"DVC's cache: {len(self.objects)} objects that nothing refers to, {megabytes:.1f} MB"
        if self.cache is None:
            yield "  (no cache inside the project; a shared one is left alone)"


def plan_prune(
    root: Path, corpora: Sequence[str], rules: Prune, *, chosen: Sequence[str] = (), young: float = YOUNG
) -> PrunePlan:
    """Return what pruning would remove.

    :param corpora: corpora of the project; one of which nothing is registered has no versions.
    :param chosen: numbers of the only versions of the first corpus to remove; none means by `rules`.
    :param young: seconds; younger objects of DVC stay.
    :raises Dial2vecError: if a chosen version does not exist, or a record of DVC or the registry cannot be read.
    """
    versions: list[OldVersion] = []
    for corpus in corpora:
        try:
            versions += old_versions(root, corpus, rules, chosen=chosen)
        except ModelError:
            if chosen or len(corpora) == 1:
                raise
    cache = cache_folder(root)
    staying = data_hashes(root, [version for version in versions if not version.why])
    return PrunePlan(versions, cache, unused_objects(root, cache, staying, young=young) if cache else [])


def remove_planned(root: Path, plan: PrunePlan) -> list[str]:
    """Remove what a plan says, and return sentences about what stayed after all.

    Call it with the checkout locked.

    :raises Dial2vecError: if the registry cannot be used.
    """
    stayed = remove(root, plan.versions)
    if plan.cache:
        remove_objects(plan.cache, plan.objects)
    return stayed


def prune(root: Path, corpora: Sequence[str], rules: Prune) -> str:
    """Prune without questions, for the nights; return what was removed as a sentence, "" for nothing."""
    plan = plan_prune(root, corpora, rules)
    size = sum(version.size for version in plan.going) + sum(path.stat().st_size for path in plan.objects)
    remove_planned(root, plan)
    if not plan.going and not plan.objects:
        return ""
    removed = f"{len(plan.going)} old versions and {len(plan.objects)} objects of DVC's cache"
    return f"{removed} were removed, {size / 1e6:.0f} MB"
