"""The description of a registered version, in Markdown: data, figures, use, limits and verdict."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from dial2vec.evaluation import NOTHING_TO_SCORE, TASKS
from dial2vec.evaluation.intervals import Gain, Interval
from dial2vec.registry.promotion import Contender, Scores, Verdict
from dial2vec.registry.records import TrainingRecord

VERDICT = "\n\n## Verdict\n\n"
TITLES = {"purity": "purity", "spearman": "Spearman", "map": "MAP"}
INTENDED = (
    "To group, search and compare whole dialogues like those it was trained on, by the cosine of their vectors. Not "
    "for dialogues of another kind or language without measuring first, and not for decisions about single people."
)


def model_card(record: TrainingRecord) -> str:
    """Return the card of a trained version (after Mitchell et al. 2019): data, figures with intervals, use, limits."""
    method = record.params.get("train.method", "")
    sizes = ", ".join(f"{split} {size:,}" for split, size in record.split_sizes.items())
    languages = ", ".join(f"{name} {100 * share:.0f} %" for name, share in list(record.languages.items())[:5])
    parts = [
        f"One vector of {record.dimension} numbers per dialogue of the corpus '{record.corpus}', trained from "
        f"{record.start_name}" + (f" by method {method}" if method else "") + f" on {time.strftime('%Y-%m-%d')}.",
        "## Data\n",
        f"- version {record.data_hash} (DVC), code {record.git_commit}",
        f"- dialogues: {sizes}" + (f"; languages: {languages}" if languages else ""),
        "",
        "## Figures\n",
        *(_figures(record, split) for split in ("dev", "test")),
        f"Choice: {record.choice}",
        "",
        "In brackets: 95 % intervals over the dialogues (bootstrap). They show how far a figure would move with other "
        "dialogues of the same kind, not with other seeds. The gate reads dev only.",
        "",
        f"## Intended use\n\n{INTENDED}",
        "",
        "## Limits\n",
        f"- It reads {record.max_length} tokens at a time and encodes longer dialogues in windows, cut between turns. "
        "Training saw at most that many tokens of a dialogue.",
        "- The figures hold for dialogues like those of this corpus, with its labels.",
        "- It was compared with the encoder it started from and, if there is a verdict below, with the champion then.",
    ]
    return "\n".join(parts)


def start_card(record: TrainingRecord) -> str:
    """Return the card of the starting encoder, the first champion."""
    lines = [f"The starting encoder {record.start_name}, untrained.", "", "## Figures\n"]
    for split, scores in (("dev", record.dev_scores.get("start")), ("test", record.scores.get("start"))):
        intervals = record.intervals.get(split, {}).get("start", {})
        listed = f"no figures: {NOTHING_TO_SCORE}"
        if scores is not None:
            listed = ", ".join(_figure(metric, scores, intervals) for metric in TASKS if metric in scores)
        lines.append(f"- {split}: {listed}")
    return "\n".join(lines)


def verdict_text(contenders: Sequence[Contender], verdict: Verdict) -> str:
    """Return the verdict of the gate in Markdown, for readers who know neither code nor method.

    :param contenders: candidate, start and champion.
    """
    candidate, start, champion = contenders
    if verdict.promoted:
        headline = f"**Promoted**: version {candidate.version} is champion in place of version {champion.version}."
    else:
        headline = f"**Refused**: version {champion.version} stays champion. Version {candidate.version} fell short:"
    lines = [headline, ""]
    lines += [f"- {reason}" for reason in verdict.reasons] or [f"It was let through because {verdict.ground}."]
    if candidate.scores is None:
        return "\n".join(lines)
    rivals = {"champion": champion} if start.version == champion.version else {"champion": champion, "start": start}
    head = [f"| on dev | candidate (version {candidate.version}) |", "|---|---|"]
    for who, rival in rivals.items():
        head[0] += f" {who} (version {rival.version}) | gain |"
        head[1] += "---|---|"
    lines += ["", *head]
    for metric in TASKS:
        row = f"| {TITLES[metric]} | {_or_nothing(candidate.scores, metric)} |"
        for who, rival in rivals.items():
            gain = verdict.gains.get(who, {}).get(metric)
            row += f" {_or_nothing(rival.scores, metric)} | {gain or 'not compared'} |"
        lines.append(row)
    return "\n".join([*lines, "", "In brackets: the interval of the gain, by bootstrap over the dialogues of dev."])


def with_verdict(description: str, text: str) -> str:
    """Return a version's description with its latest verdict at the end, instead of an earlier one."""
    return description.split(VERDICT)[0] + VERDICT + text


def _figures(record: TrainingRecord, split: str) -> str:
    scores = {"dev": record.dev_scores, "test": record.scores}[split]
    start, trained = scores.get("start"), scores.get("trained")
    if start is None or trained is None:
        return f"No figures on {split}: {NOTHING_TO_SCORE}.\n"
    intervals, gains = record.intervals.get(split, {}), record.gains.get(split, {})
    lines = [f"| {split} | start | trained | gain |", "|---|---|---|---|"]
    for metric in TASKS:
        if metric in trained and metric in start:
            figures = [
                _with_interval(metric, scores[which] or {}, intervals.get(which, {})) for which in ("start", "trained")
            ]
            gain: Gain | str = gains.get(metric, f"{trained[metric] - start[metric]:+.2f}")
            lines.append(f"| {TITLES[metric]} | {figures[0]} | {figures[1]} | {gain} |")
    return "\n".join([*lines, ""])


def _figure(metric: str, scores: Scores, intervals: Mapping[str, Interval]) -> str:
    return f"{TITLES[metric]} {_with_interval(metric, scores, intervals)}"


def _with_interval(metric: str, scores: Scores, intervals: Mapping[str, Interval]) -> str:
    if metric not in intervals:
        return f"{scores[metric]:.2f}"
    low, high = intervals[metric]
    return f"{scores[metric]:.2f} [{low:.2f}, {high:.2f}]"


def _or_nothing(scores: Scores | None, metric: str) -> str:
    return f"{scores[metric]:.2f}" if scores is not None and metric in scores else "none"
