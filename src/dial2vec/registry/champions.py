"""Promote a candidate, roll a champion back, and list all decisions about the champion of a corpus."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion

from dial2vec.config import Promote
from dial2vec.errors import BusyError, ModelError
from dial2vec.evaluation import MIN_DIALOGUES
from dial2vec.registry import corpus_of, promotion
from dial2vec.registry.by_hand import noticed, settled
from dial2vec.registry.decisions import ROLLED_BACK_TAG, decisions, record, verdict_key
from dial2vec.registry.model_card import verdict_text
from dial2vec.registry.promotion import Contender, Verdict
from dial2vec.registry.records import CHAMPION, PREVIOUS, ROLLED_BACK, Decision, Figures
from dial2vec.registry.store import (
    aliases_of,
    candidate_of,
    dev_scores,
    encoder_folder,
    has_files,
    has_whole_files,
    model_name,
    opened,
    registry_lock,
    store_figures,
    versions_of,
)

Rescore = Callable[[Path], Figures]
Compare = Callable[[Path, Path], str | None]


def promote(
    root: Path,
    corpus: str,
    margins: Promote,
    *,
    rescore: Rescore | None = None,
    compare: Compare | None = None,
    dev_hash: str | None = None,
    seed: int = 0,
) -> Verdict:
    """Judge the candidate; if it passes, it becomes `champion` and the old champion becomes `previous`.

    The verdict stands in the version's description and in a run of the experiment. The same verdict on the same
    contenders is recorded once. A student is judged against its teacher as well.

    :param corpus: name of a corpus; with `SMALL` at its end for its student.
    :param margins: block `promote` of the settings.
    :param rescore: function that measures an encoder folder on the present dev split; its figures replace the stored
        ones. None compares stored figures and refuses contenders that were measured on another split.
    :param compare: function for dev without labels; from a rival's and the candidate's folder it returns why the
        candidate is not better, or None if it is.
    :param dev_hash: hash of the present dev split; None means the candidate's.
    :raises ModelError: if nothing is registered, or the store cannot be used.
    :raises BusyError: if another process has moved the champion meanwhile.
    """
    name = model_name(corpus)
    with opened(root) as client:
        with _held(client, root, corpus):
            aliases = aliases_of(client, name)
        candidate = candidate_of(client, name)
        number = str(candidate.version)
        start = candidate.tags.get("start_version", number)
        champion = aliases.get(CHAMPION, start)
        if number == aliases.get(CHAMPION):
            return Verdict(False, [promotion.already_champion(candidate.version)])
        if ROLLED_BACK_TAG in candidate.tags:
            return Verdict(False, [_rolled_back(corpus, candidate)])
        versions = [client.get_model_version(name, version) for version in (number, start, champion)]
        if teacher := candidate.tags.get("teacher_version"):
            versions.append(_teacher(client, corpus_of(corpus), teacher))
        for version in versions:
            # Figures of a damaged version are not its figures any more.
            if has_files(client, version) and not has_whole_files(client, version):
                encoder_folder(client, version)
        contenders = _contenders(client, name, versions, dev_hash, rescore)
        verdict = _verdict(client, name, contenders, compare, margins, seed)
        with _held(client, root, corpus) as experiment_id:
            if aliases_of(client, name).get(CHAMPION, start) != champion:
                raise BusyError(f"the champion of {name} has changed meanwhile; run `dial2vec promote {corpus}` again.")
            _carry_out(client, experiment_id, corpus, candidate, contenders, verdict)
    return verdict


def rollback(root: Path, corpus: str, *, to: str | None = None, because: str = "") -> Decision:
    """Make an earlier version champion again; the gate does not promote the present champion again.

    :param to: number of the version; None means `previous`, the champion before this one.
    :param because: reason, for the history.
    :raises ModelError: if the version is missing or is the champion already, or if there is no previous champion.
    """
    name = model_name(corpus)
    with opened(root) as client, _held(client, root, corpus) as experiment_id:
        aliases = aliases_of(client, name)
        champion, wanted = aliases.get(CHAMPION, ""), to or aliases.get(PREVIOUS, "")
        versions = versions_of(client, name)
        if not wanted:
            raise ModelError(f"{name} has no earlier champion. Name a version: dial2vec rollback {corpus} --to N.")
        if wanted not in versions:
            raise ModelError(f"{name} has no version {wanted}. It has: {', '.join(sorted(versions, key=int))}.")
        if wanted == champion:
            raise ModelError(f"version {wanted} of {name} is the champion already. See `dial2vec history {corpus}`.")
        # Raises now if its files are gone, not when somebody loads it.
        encoder_folder(client, versions[wanted])
        reason = because or "By hand, without a reason given."
        decision = Decision(ROLLED_BACK, champion or wanted, champion, wanted, reason, time.time())
        record(client, experiment_id, corpus, decision)
    return decision


def history(root: Path, corpus: str) -> list[Decision]:
    """Return every decision about the champion of a corpus, oldest first.

    The history outlives a model that somebody has deleted.

    :raises ModelError: if nothing was ever registered, or the store cannot be used.
    """
    noticed(root, corpus)
    name = model_name(corpus)
    with opened(root) as client:
        existing = client.get_experiment_by_name(name)
        done = decisions(client, existing.experiment_id) if existing else []
        if not done:
            # Says what is registered.
            aliases_of(client, name)
        return done


@contextmanager
def _held(client: MlflowClient, root: Path, corpus: str) -> Iterator[str]:
    """Lock the registry, settle its decisions, and yield the id of the experiment."""
    with registry_lock(root):
        # A mistyped name gets no experiment.
        aliases_of(client, model_name(corpus))
        yield settled(client, root, corpus)


def _teacher(client: MlflowClient, corpus: str, number: str) -> ModelVersion:
    """Return the version that a student imitates.

    :raises ModelError: if somebody has deleted it.
    """
    versions = versions_of(client, model_name(corpus))
    if number not in versions:
        raise ModelError(
            f"the student's teacher, version {number} of {model_name(corpus)}, is no longer in the registry. Run "
            "`dial2vec run` to register it again."
        )
    return versions[number]


def _contenders(
    client: MlflowClient, name: str, versions: list[ModelVersion], dev_hash: str | None, rescore: Rescore | None
) -> list[Contender]:
    """Return candidate, start, champion and teacher, with figures if they were measured on the present dev split."""
    split = dev_hash or versions[0].tags.get("dev_hash", "")
    names = [str(v.version) if v.name == name else f"{v.version} of {v.name}" for v in versions]
    contenders = {}
    for number, version in dict(zip(names, versions, strict=True)).items():
        same = version.tags.get("dev_hash") == split
        figures = Figures(dev_scores(version) if same else None)
        if rescore is not None:
            figures = rescore(encoder_folder(client, version))
            if not same or figures.scores != dev_scores(version):
                store_figures(client, version, figures.scores, split)
        measured = same or rescore is not None
        contenders[number] = Contender(number, figures.scores, figures.contributions, measured=measured)
    return [contenders[number] for number in names]


def _verdict(
    client: MlflowClient,
    name: str,
    contenders: list[Contender],
    compare: Compare | None,
    margins: Promote,
    seed: int,
) -> Verdict:
    unmeasured = dict.fromkeys(contender.version for contender in contenders if not contender.measured)
    if unmeasured:
        reason = "version {} was measured on another dev split; measure it on the present one"
        return Verdict(False, [reason.format(number) for number in unmeasured])
    few = _too_few_labelled(contenders, margins)
    if compare is None or (not few and any(contender.scores is not None for contender in contenders)):
        return promotion.judge(*contenders, margins=margins, seed=seed)
    # Without labels there are no points to lose, so a student's teacher is not compared.
    numbers = dict.fromkeys(contender.version for contender in contenders[:3])
    model, *rivals = (encoder_folder(client, client.get_model_version(name, number)) for number in numbers)
    objections = {number: compare(rival, model) for number, rival in zip(list(numbers)[1:], rivals, strict=True)}
    why = f"with fewer than {MIN_DIALOGUES} labelled dialogues" if few else "without labels"
    reasons = [f"{why}, against version {number}: {reason}" for number, reason in objections.items() if reason]
    ground = f"{why} on dev, the criteria of stage select find it clearly ahead of the base encoder and of the champion"
    return Verdict(not reasons, reasons, ground=ground)


def _too_few_labelled(contenders: list[Contender], margins: Promote) -> bool:
    """Return True if dev has too few labelled dialogues for a bootstrap interval.

    With 2 or 3 dialogues all gains are above 0 by chance in every fourth or eighth case.
    """
    known = [contender.contributions for contender in contenders if contender.contributions is not None]
    return margins.confidence > 0 and bool(known) and len(known[0].map) < MIN_DIALOGUES


def _carry_out(
    client: MlflowClient,
    experiment_id: str,
    corpus: str,
    candidate: ModelVersion,
    contenders: list[Contender],
    verdict: Verdict,
) -> None:
    champion, outcome = contenders[2].version, promotion.verdict_sentence(verdict)
    kind: Literal["promoted", "refused"] = "promoted" if verdict.promoted else "refused"
    after = str(candidate.version) if verdict.promoted else champion
    decision = Decision(kind, str(candidate.version), champion, after, outcome, time.time())
    # The same refusal by every scheduled run would fill the page. A promotion always moves the alias.
    if verdict.promoted or candidate.tags.get("promotion_key") != verdict_key(decision):
        text, metrics = verdict_text(contenders, verdict), _metrics(contenders, verdict)
        record(client, experiment_id, corpus, decision, text=text, metrics=metrics)


def _metrics(contenders: list[Contender], verdict: Verdict) -> dict[str, float]:
    """Return the metrics for the run of a decision."""
    metrics = {f"dev_{key}": value for key, value in (contenders[0].scores or {}).items()}
    for who, by_metric in verdict.gains.items():
        for metric, gain in by_metric.items():
            ends = {"": gain.points, "_low": gain.low, "_high": gain.high}
            metrics |= {f"gain_over_{who}_{metric}{end}": value for end, value in ends.items()}
    return metrics


def _rolled_back(corpus: str, candidate: ModelVersion) -> str:
    number, reason = candidate.version, candidate.tags[ROLLED_BACK_TAG]
    return (
        f"version {number} was rolled back ({reason}). Train a new candidate, or make this version champion again: "
        f"dial2vec rollback {corpus} --to {number}"
    )
