"""Who is champion: the gate carried out, a champion taken back, and the list of what was decided."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion

from dial2vec.config import Promote
from dial2vec.errors import BusyError, ModelError
from dial2vec.evaluation.selection.choice import MIN_DIALOGUES
from dial2vec.registry import promotion
from dial2vec.registry.decisions import ROLLED_BACK, decisions, notice, record, settle
from dial2vec.registry.model_card import verdict_text, with_verdict
from dial2vec.registry.promotion import Contender, Verdict
from dial2vec.registry.records import CHAMPION, PREVIOUS, Decision, Figures
from dial2vec.registry.store import (
    aliases_of,
    candidate_of,
    dev_scores,
    encoder_folder,
    experiment,
    model_name,
    newest_first,
    one_sentence,
    open_store,
    registry_lock,
    store_figures,
    store_uri,
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
    """Put the candidate through the gate; if it passes, it becomes `champion` and the old one `previous`.

    The verdict is written into the version's description and remembered as a run of the experiment; the same verdict
    on the same contenders is written once.

    :param margins: block `promote` of the settings.
    :param rescore: measures an encoder folder on the present dev split; its figures replace those that were stored.
        Without it the stored ones are compared, and a contender that was measured on another split is refused.
    :param compare: judges without labels, where dev has none: from a rival's folder and the candidate's it returns
        why the candidate is not better, or None when it is.
    :param dev_hash: identifies the present dev split; None means the candidate's.
    :param seed: of the bootstrap.
    :raises ModelError: when nothing is registered, or the store cannot be used.
    :raises BusyError: when another process has moved the champion meanwhile.
    """
    client, name = open_store(root), model_name(corpus)
    with one_sentence(store_uri(root)):
        with _at_work(client, root, corpus):
            aliases = aliases_of(client, name)
        candidate = candidate_of(client, name)
        number = str(candidate.version)
        start = candidate.tags.get("start_version", number)
        champion = aliases.get(CHAMPION, start)
        if number == aliases.get(CHAMPION):
            return Verdict(False, [promotion.already_champion(candidate.version)])
        if ROLLED_BACK in candidate.tags:
            return Verdict(False, [_rolled_back(corpus, candidate)])
        contenders = _contenders(client, name, [number, start, champion], dev_hash, rescore)
        verdict = _judge(client, name, contenders, compare, margins, seed)
        with _at_work(client, root, corpus) as experiment_id:
            if aliases_of(client, name).get(CHAMPION, start) != champion:
                raise BusyError(f"the champion of {name} has changed meanwhile; run `dial2vec promote {corpus}` again.")
            _carry_out(client, experiment_id, corpus, candidate, contenders, verdict)
    return verdict


def rollback(root: Path, corpus: str, *, to: str | None = None, because: str = "") -> Decision:
    """Make an earlier version champion again; the one that was is not promoted again by itself.

    :param to: the version; None means `previous`, the champion before this one.
    :param because: why, for those who read it later.
    :raises ModelError: when there is no such version or no previous one, or when it is the champion already.
    """
    client, name = open_store(root), model_name(corpus)
    with one_sentence(store_uri(root)), _at_work(client, root, corpus) as experiment_id:
        aliases = aliases_of(client, name)
        champion, wanted = aliases.get(CHAMPION, ""), to or aliases.get(PREVIOUS, "")
        known = {str(version.version): version for version in newest_first(client, name)}
        if not wanted:
            raise ModelError(f"{name} has no earlier champion. Name a version: dial2vec rollback {corpus} --to N.")
        if wanted not in known:
            raise ModelError(f"{name} has no version {wanted}. It has: {', '.join(sorted(known, key=int))}.")
        if wanted == champion:
            raise ModelError(f"version {wanted} of {name} is the champion already. `dial2vec history {corpus}` lists.")
        # Loaded by nobody if its files are gone: better said now.
        encoder_folder(client, known[wanted])
        now = time.time()
        reason = because or "By hand, without a reason given."
        if champion:
            said = f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(now))}: {reason}"
            client.set_model_version_tag(name, champion, ROLLED_BACK, said)
        if ROLLED_BACK in known[wanted].tags:
            client.delete_model_version_tag(name, wanted, ROLLED_BACK)
        decision = Decision("rolled back", champion or wanted, champion, wanted, reason, now)
        record(client, experiment_id, corpus, decision)
    return decision


def history(root: Path, corpus: str) -> list[Decision]:
    """Return every decision about the champion of a corpus, oldest first.

    :raises ModelError: when nothing is registered, or the store cannot be used.
    """
    client = open_store(root)
    with one_sentence(store_uri(root)), _at_work(client, root, corpus) as experiment_id:
        return decisions(client, experiment_id)


@contextmanager
def _at_work(client: MlflowClient, root: Path, corpus: str) -> Iterator[str]:
    """Hold the registry, settle what was left open or done by hand, and give the id of the experiment."""
    with registry_lock(root):
        # A mistyped name gets no experiment.
        aliases_of(client, model_name(corpus))
        experiment_id = experiment(client, root, corpus)
        settle(client, experiment_id, corpus)
        notice(client, experiment_id, corpus)
        yield experiment_id


def _contenders(
    client: MlflowClient, name: str, numbers: list[str], dev_hash: str | None, rescore: Rescore | None
) -> list[Contender]:
    """Return candidate, start and champion with their figures on the present dev split, or without any."""
    split = dev_hash or client.get_model_version(name, numbers[0]).tags.get("dev_hash", "")
    found = {}
    for number in dict.fromkeys(numbers):
        version = client.get_model_version(name, number)
        same = version.tags.get("dev_hash") == split
        figures = Figures(dev_scores(version) if same else None)
        if rescore is not None:
            figures = rescore(encoder_folder(client, version))
            if not same or figures.scores != dev_scores(version):
                store_figures(client, version, figures.scores, split)
        found[number] = Contender(number, figures.scores, figures.contributions, measured=same or rescore is not None)
    return [found[number] for number in numbers]


def _judge(
    client: MlflowClient,
    name: str,
    contenders: list[Contender],
    compare: Compare | None,
    margins: Promote,
    seed: int,
) -> Verdict:
    unmeasured = dict.fromkeys(one.version for one in contenders if not one.measured)
    if unmeasured:
        said = "version {} was measured on another dev split; measure it on the present one"
        return Verdict(False, [said.format(number) for number in unmeasured])
    few = _too_few_labelled(contenders, margins)
    if compare is None or (not few and any(one.scores is not None for one in contenders)):
        candidate, start, champion = contenders
        return promotion.judge(candidate, start, champion, margins=margins, seed=seed)
    numbers = dict.fromkeys(one.version for one in contenders)
    model, *rivals = (encoder_folder(client, client.get_model_version(name, number)) for number in numbers)
    against = {number: compare(rival, model) for number, rival in zip(list(numbers)[1:], rivals, strict=True)}
    why = f"with fewer than {MIN_DIALOGUES} labelled dialogues" if few else "without labels"
    reasons = [f"{why}, against version {number}: {reason}" for number, reason in against.items() if reason]
    ground = f"{why} on dev, the criteria of stage select find it clearly ahead of the start and of the champion"
    return Verdict(not reasons, reasons, ground=ground)


def _too_few_labelled(contenders: list[Contender], margins: Promote) -> bool:
    """Return whether figures on dev are of so few dialogues that the bootstrap's interval means nothing.

    Of two or three dialogues, all gains are above 0 by chance in every fourth or eighth case.
    """
    known = [one.contributions.map for one in contenders if one.contributions is not None]
    return margins.confidence > 0 and bool(known) and len(known[0]) < MIN_DIALOGUES


def _carry_out(
    client: MlflowClient,
    experiment_id: str,
    corpus: str,
    candidate: ModelVersion,
    contenders: list[Contender],
    verdict: Verdict,
) -> None:
    name, champion = model_name(corpus), contenders[2].version
    outcome = promotion.verdict_sentence(verdict)
    text = verdict_text(contenders, verdict)
    kind: Literal["promoted", "refused"] = "promoted" if verdict.promoted else "refused"
    # Before the alias moves: a champion is not judged again, so this would stay undone after a kill.
    said = "promoted" if verdict.promoted else outcome
    client.set_model_version_tag(name, candidate.version, "promotion", said)
    described = with_verdict(candidate.description or "", text)
    client.update_model_version(name, candidate.version, description=described)
    # Refused for the same reasons every night, a candidate would fill the page. A promotion always moves the alias.
    key = json.dumps([champion, outcome])
    if verdict.promoted or candidate.tags.get("promotion_key") != key:
        after = str(candidate.version) if verdict.promoted else champion
        decision = Decision(kind, str(candidate.version), champion, after, outcome, time.time())
        record(client, experiment_id, corpus, decision, text=text, metrics=_metrics(contenders, verdict))
        client.set_model_version_tag(name, candidate.version, "promotion_key", key)


def _metrics(contenders: list[Contender], verdict: Verdict) -> dict[str, float]:
    """Return what the run of a decision shows as metrics."""
    found = {f"dev_{key}": value for key, value in (contenders[0].scores or {}).items()}
    for who, by_metric in verdict.gains.items():
        for metric, gain in by_metric.items():
            ends = {"": gain.points, "_low": gain.low, "_high": gain.high}
            found |= {f"gain_over_{who}_{metric}{end}": value for end, value in ends.items()}
    return found


def _rolled_back(corpus: str, candidate: ModelVersion) -> str:
    return (
        f"version {candidate.version} was rolled back ({candidate.tags[ROLLED_BACK]}). A new training is judged anew; "
        f"to bring this one back: dial2vec rollback {corpus} --to {candidate.version}"
    )
