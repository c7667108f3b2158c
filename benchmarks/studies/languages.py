"""Encoders and names on dialogues in five languages, the figures of docs/languages.md.

    python benchmarks/studies/languages.py vectors all-MiniLM-L6-v2 general multilingual
    python benchmarks/studies/languages.py picture docs/languages-map.png
    python benchmarks/studies/languages.py names
    python benchmarks/studies/languages.py handbook usr/share/doc/debian-handbook/html
    python benchmarks/studies/languages.py recognised
    python benchmarks/studies/languages.py unknown artifacts/*/dialogues.jsonl

`languages.json` holds 40 dialogues of three turns in each language, five of each of eight topics, and turns of every
talk. They were written for this study and translated by hand, so that each dialogue has a twin in each language. The
handbook, natural text of a book, is that of Debian's package debian-handbook (`apt-get download`, `dpkg -x`).
"""

from __future__ import annotations

import html
import json
import random
import re
import sys
from pathlib import Path

import click
import numpy as np
from sklearn.cluster import KMeans
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from conversations.dialogue import Dialogue, Turn, read_dialogues
from dial2vec.data.function_words import Words
from dial2vec.data.languages import languages_of
from dial2vec.data.terms import Terms, names_of
from dial2vec.encoder.advice import drawn_texts, unknown_share
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.nearest import unit_rows
from dial2vec.evaluation.retrieval import retrieval_scores

TEXTS = json.loads(Path(__file__).with_name("languages.json").read_text(encoding="utf-8"))
TOPICS = [topic for topic in TEXTS["en"] if topic != "general"]
SEEDS = range(5)
PARAGRAPH = r'<div class="para">(.*?)</div>'


def dialogue(number: int, texts: list[str]) -> Dialogue:
    """Return a dialogue of two speakers who take turns."""
    return Dialogue(str(number), tuple(Turn("CA"[place % 2], text) for place, text in enumerate(texts)))


def groups(vectors: np.ndarray, labels: list[str]) -> str:
    """Return NMI / ARI of k-means at the number of topics, means of five seeds."""
    found = [KMeans(len(TOPICS), n_init=10, random_state=seed).fit_predict(vectors) for seed in SEEDS]
    scores = [
        np.mean([score(labels, one) for one in found]) for score in (normalized_mutual_info_score, adjusted_rand_score)
    ]
    return " / ".join(f"{100 * score:.1f}" for score in scores)


def row(vectors: np.ndarray, labels: list[str]) -> str:
    """Return MAP and agreement of groups with topics as cells."""
    return f"{100 * retrieval_scores(vectors, labels).map:.1f} | {groups(vectors, labels)}"


def compare_vectors(names: list[str]) -> None:
    """Print a table: MAP and groups by topic, and the share of dialogues and turns that are nearest to their twin."""
    click.echo("| encoder | language | MAP | NMI / ARI | dialogues, % | turns, % |\n|---|---|---|---|---|---|")
    for name in names:
        encoder, vectors, turns = load_encoder(name), {}, {}
        labels = [topic for topic in TOPICS for _ in TEXTS["en"][topic]]
        for language, texts in TEXTS.items():
            given = [
                dialogue(number, one) for number, one in enumerate(one for topic in TOPICS for one in texts[topic])
            ]
            vectors[language] = unit_rows(encoder.encode(given))
            turns[language] = unit_rows(encoder.encode_utterances([turn.text for one in given for turn in one.turns]))
            twins = [
                100 * np.mean(np.argmax(sides[language] @ sides["en"].T, axis=1) == np.arange(len(sides["en"])))
                for sides in (vectors, turns)
            ]
            click.echo(f"| {name} | {language} | {row(vectors[language], labels)} | {twins[0]:.0f} | {twins[1]:.0f} |")
        together = np.concatenate(list(vectors.values()))
        click.echo(f"| {name} | all five in one | {row(together, labels * len(TEXTS))} | | |")


def draw(path: Path) -> None:
    """Draw the dialogues of all languages by two encoders, by t-SNE, with a colour for each topic."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(12, 5.4), layout="constrained")
    for panel, name in zip(panels, ("all-MiniLM-L6-v2", "multilingual"), strict=True):
        encoder = load_encoder(name)
        for_all = [
            (language, colour, dialogue(colour, one))
            for language, texts in TEXTS.items()
            for colour, topic in enumerate(TOPICS)
            for one in texts[topic]
        ]
        vectors = unit_rows(encoder.encode([one for *_, one in for_all]))
        places = TSNE(perplexity=15, metric="cosine", random_state=0).fit_transform(vectors)
        panel.set(title=name, xticks=[], yticks=[], xlim=places_range(places[:, 0]), ylim=places_range(places[:, 1]))
        for (language, colour, _), (x, y) in zip(for_all, places, strict=True):
            panel.text(x, y, language, color=plt.cm.tab10(colour), fontsize=9, ha="center", va="center", weight="bold")
    lines = [plt.Line2D([], [], color=plt.cm.tab10(colour), lw=6, label=topic) for colour, topic in enumerate(TOPICS)]
    figure.legend(handles=lines, loc="outside lower center", ncols=len(TOPICS), frameon=False)
    figure.savefig(path, dpi=100)


def places_range(values: np.ndarray) -> tuple[float, float]:
    """Return the range of an axis, with a margin."""
    return float(values.min()) - 3, float(values.max()) + 3


def show_names() -> None:
    """Print the names of the eight topics of 320 dialogues of each language, drawn from the turns of its topics."""
    for language, texts in TEXTS.items():
        drawn = random.Random(0)
        dialogues = []
        for number in range(320):
            own = [turn for one in texts[TOPICS[number % len(TOPICS)]] for turn in one]
            said = [drawn.choice(texts["general"][:2]), *drawn.sample(own, 5)]
            said.insert(drawn.randrange(1, len(said)), drawn.choice(texts["general"][2:]))
            dialogues.append(dialogue(number, [*said, drawn.choice(texts["general"][2:])]))
        terms = Terms.read(dialogues).of([number % len(TOPICS) for number in range(320)], len(TOPICS))
        for topic, name in zip(TOPICS, names_of(terms, range(len(TOPICS))), strict=True):
            click.echo(f"| {language} | {topic} | {name} |")


def name_chapters(folder: Path) -> None:
    """Print the names of the chapters of a book in each language; its paragraphs are turns, six make a dialogue."""
    for language in ("en-US", "de-DE", "fr-FR", "es-ES", "zh-CN"):
        dialogues, chapters, seen = [], [], set()
        for page in sorted((folder / language).glob("*.html")):
            text = page.read_text(encoding="utf-8")
            chapter = re.search(r"<title[^>]*>\D{0,12}(\d+)\.", text)
            plain = (
                re.sub(r"\s+", " ", re.sub("<[^>]+>", "", part)).strip()
                for part in re.findall(PARAGRAPH, text, re.DOTALL)
            )
            paragraphs = [
                html.unescape(part) for part in plain if len(part) > 40 and not (part in seen or seen.add(part))
            ]
            for first in range(0, len(paragraphs) - 1 if chapter else 0, 6):
                dialogues.append(dialogue(len(dialogues), paragraphs[first : first + 6]))
                chapters.append(int(chapter[1]))
        numbers = sorted(set(chapters))
        terms = Terms.read(dialogues).of([numbers.index(chapter) for chapter in chapters], len(numbers))
        for number, name in zip(numbers, names_of(terms, numbers), strict=True):
            click.echo(f"| {language} | {number} | {name} |")


def recognise() -> None:
    """Print how many dialogues and single turns of each language are recognised."""
    for language, texts in TEXTS.items():
        parts = [one for topic in TOPICS for one in texts[topic]]
        for said in (parts, [[turn] for one in parts for turn in one] + [[turn] for turn in texts["general"]]):
            found = languages_of(Words.read(dialogue(number, one) for number, one in enumerate(said)))
            click.echo(f"| {language} | {found.count(language)} of {len(found)} |")


def count_unknown(files: list[str]) -> None:
    """Print the share of the tokens that encoders do not know, in files of dialogues or of texts between tabs."""
    encoders = [load_encoder(name) for name in ("general", "all-MiniLM-L6-v2")]
    click.echo("| file | general, % | all-MiniLM-L6-v2, % |\n|---|---|---|")
    for file in map(Path, files):
        if file.suffix == ".jsonl":
            texts = [turn.text for one in drawn_texts(list(read_dialogues(file))) for turn in one.turns]
        else:
            cells = re.findall(r"[^\t\n]+", file.read_text(encoding="utf-8"))
            texts = drawn_texts([cell for cell in cells if re.search(r"[^\W\d_]", cell)])
        shares = " | ".join(f"{100 * unknown_share(texts, encoder):.1f}" for encoder in encoders)
        click.echo(f"| {file.parent.name}/{file.name} | {shares} |")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["vectors", *names] if names:
            compare_vectors(names)
        case ["picture", path]:
            draw(Path(path))
        case ["names"]:
            show_names()
        case ["handbook", folder]:
            name_chapters(Path(folder))
        case ["recognised"]:
            recognise()
        case ["unknown", *files] if files:
            count_unknown(files)
        case _:
            sys.exit(__doc__)
