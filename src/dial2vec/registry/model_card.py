"""The description of a registered version, in Markdown: data, figures, use, limits and verdict."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from dial2vec.evaluation import NO_LABELS, TASKS
from dial2vec.evaluation.intervals import Gain, Interval
from dial2vec.registry import corpus_of
from dial2vec.registry.promotion import Contender, Scores, Verdict
from dial2vec.registry.records import TrainingRecord, size_of

VERDICT = "\n\n## Verdict\n\n"
TITLES = {"purity": "purity", "spearman": "Spearman", "map": "MAP"}
BRACKETS = (
    "In brackets: 95 % intervals over the dialogues (bootstrap). They show how far a figure would move with other "
    "dialogues of the same kind, not with other seeds. The gate reads dev only."
)
INTENDED = (
    "To group, search and compare whole dialogues like those it was trained on, by the cosine of their vectors. Not "
    "for dialogues of another kind or language without measuring first, and not for decisions about single people."
)


def model_card(record: TrainingRecord) -> str:
    """Return the card of a version (after Mitchell et al. 2019): origin, data, figures with intervals, use, limits."""
    sizes = ", ".join(f"{split} {size:,}" for split, size in record.split_sizes.items())
    languages = ", ".join(f"{name} {100 * share:.0f} %" for name, share in list(record.languages.items())[:5])
    figures = [_figures(record, split) for split in ("dev", "test")]
    none = not any("|" in table for table in figures)
    parts = [
        f"One vector of {record.dimension} numbers per dialogue of the corpus '{corpus_of(record.corpus)}', "
        f"{_origin(record)}",
        "## Data\n",
        f"- version {record.data_hash} (DVC), code {record.git_commit}",
        f"- dialogues: {sizes}" + (f"; languages: {languages}" if languages else ""),
        "",
        "## Figures\n",
        *([f"There are none: {NO_LABELS}.\n"] if none else figures),
        f"Choice: {record.choice}",
        "",
        *([f"{BRACKETS}\n"] if "[" in "".join(figures) else []),
        f"## Intended use\n\n{INTENDED}",
        "",
        "## Limits\n",
        f"- {_reading(record)}",
        *(["- The figures hold for dialogues like those of this corpus, with its labels."] if not none else []),
        "- It was compared with the encoder it started from and, if there is a verdict below, with the champion then.",
    ]
    return "\n".join(parts)


def _origin(record: TrainingRecord) -> str:
    day = time.strftime("%Y-%m-%d")
    if record.kind == "student":
        teacher = "another encoder"
        if record.teacher_version:
            teacher = f"version {record.teacher_version} of dial2vec-{corpus_of(record.corpus)}"
        return (
            f"by a student of {teacher}, trained on {day}.\n\nThe student is a table with a vector per token, "
            f"{size_of([record.model]) / 1e6:.1f} MB on disk. It adds the vectors of a dialogue's tokens, so splitting "
            "texts into tokens takes most of its time. It needs no transformer, no torch and no GPU."
        )
    method = record.params.get("train.method", "")
    by = f" by method {method}" if method else ""
    if ", " in str(method):
        by = f" by several methods ({method}), whose candidates were compared without labels,"
    return f"trained from {record.start_name}{by} on {day}."


def _reading(record: TrainingRecord) -> str:
    if record.max_length is None:
        return "It reads dialogues of any length. It knows which words a speaker uses, but not their order."
    return (
        f"It reads {record.max_length} tokens at a time and encodes longer dialogues in windows, cut between turns. "
        "Training saw at most that many tokens of a dialogue."
    )


def start_card(record: TrainingRecord) -> str:
    """Return the card of the base encoder, the first champion."""
    lines = [f"The base encoder {record.start_name}, untrained.", "", "## Figures\n"]
    for split, scores in (("dev", record.dev_scores.get("start")), ("test", record.scores.get("start"))):
        intervals = record.intervals.get(split, {}).get("start", {})
        listed = f"no figures: {NO_LABELS}"
        if scores is not None:
            figures = {metric: _with_interval(metric, scores, intervals) for metric in TASKS if metric in scores}
            listed = ", ".join(f"{TITLES[metric]} {figure}" for metric, figure in figures.items())
        lines.append(f"- {split}: {listed}")
    return "\n".join(lines)


def verdict_text(contenders: Sequence[Contender], verdict: Verdict) -> str:
    """Return the verdict of the gate in Markdown, for readers who know neither code nor method.

    :param contenders: candidate, start, champion and, for a student, its teacher.
    """
    candidate, start, champion, *teacher = contenders
    if verdict.promoted:
        headline = f"**Promoted**: version {candidate.version} is champion in place of version {champion.version}."
    else:
        headline = f"**Refused**: version {champion.version} stays champion. Version {candidate.version} fell short:"
    lines = [headline, ""]
    lines += [f"- {reason}" for reason in verdict.reasons] or [f"It was let through because {verdict.ground}."]
    if candidate.scores is None:
        return "\n".join(lines)
    rivals = {"champion": champion} if start.version == champion.version else {"champion": champion, "start": start}
    if teacher:
        rivals["teacher"] = teacher[0]
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
    if "[" in "".join(lines):
        lines += ["", "In brackets: the interval of the gain, by bootstrap over the dialogues of dev."]
    return "\n".join(lines)


def with_verdict(description: str, text: str) -> str:
    """Return a version's description with its latest verdict at the end, instead of an earlier one."""
    return description.split(VERDICT)[0] + VERDICT + text


def _figures(record: TrainingRecord, split: str) -> str:
    scores = {"dev": record.dev_scores, "test": record.scores}[split]
    start, own = scores.get("start"), scores.get(record.kind)
    if start is None or own is None:
        return f"No figures on {split}: {NO_LABELS}.\n"
    intervals, gains = record.intervals.get(split, {}), record.gains.get(split, {})
    titles = {"start": "start", "trained": "teacher" if record.teacher_version else "trained"}
    titles |= {record.kind: record.kind}
    lines = [f"| {split} | {' | '.join(titles.values())} | gain |", f"|---|{'---|' * len(titles)}---|"]
    for metric in TASKS:
        if metric in own and metric in start:
            figures = [_with_interval(metric, scores[name] or {}, intervals.get(name, {})) for name in titles]
            gain: Gain | str = gains.get(metric, f"{own[metric] - start[metric]:+.2f}")
            lines.append(f"| {TITLES[metric]} | {' | '.join(figures)} | {gain} |")
    return "\n".join([*lines, ""])


def _with_interval(metric: str, scores: Scores, intervals: Mapping[str, Interval]) -> str:
    if metric not in intervals:
        return f"{scores[metric]:.2f}"
    low, high = intervals[metric]
    return f"{scores[metric]:.2f} [{low:.2f}, {high:.2f}]"


def _or_nothing(scores: Scores | None, metric: str) -> str:
    return f"{scores[metric]:.2f}" if scores is not None and metric in scores else "none"
