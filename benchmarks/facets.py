"""`dial2vec facet` judged by labels: sentences of intents, and dialogues of sgd and self_dialogue.

    .venv/bin/dial2vec run            # with corpora: [sgd, self_dialogue] in params.yaml
    .venv/bin/python benchmarks/facets.py --intents intents.zip

Each set is asked about 4, 12 and all of its labels (three draws), whose descriptions are the names of intents, or a
sentence per topic. "part" keeps the other labels as "none", "whole" leaves their dialogues out, and "absent" asks about
labels of another set. The level of "none" is fitted on all sets but the one that is judged, ours and the plain
nearest turn's alike; `--fit` prints the level fitted on all of them, which the package holds. With `--sgd`, sgd's
dialogues are also asked how they ended: the annotators marked each booking that succeeded or failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from groups import dialogues_of
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.metrics import roc_auc_score
from tqdm.auto import tqdm

from dial2vec.collection.facets.facets import described
from dial2vec.collection.facets.likeness import FITTED, Level, Likeness, likeness, probabilities, scores_of
from dial2vec.encoder.loading import Encoder, load_encoder
from dial2vec.encoder.nearest import unit_rows
from dial2vec_papers.tasks.intents import read_intents

ENCODER = "all-MiniLM-L6-v2"
INTENTS = ("clinc150", "bank77", "hwu64")
SENTENCES, COUNTS, DRAWS = 2_500, (4, 12), 3
# Rows of a case that the fit reads.
FIT_ROWS = 500
ABSENT = (
    ("sgd", "self_dialogue"),
    ("self_dialogue", "sgd"),
    ("hwu64", "bank77"),
    ("self_dialogue", "clinc150"),
    ("self_dialogue", "hwu64"),
    ("bank77", "sgd"),
    ("bank77", "self_dialogue"),
)
EXAMPLES = (1, 3, 10)
ENDS = ("your reservation is confirmed", "the booking has failed")
# Sentences of the topics, and the labels that belong to them.
TOPICS: dict[str, dict[str, tuple[str, ...]]] = {
    "sgd": {
        "they book a table in a restaurant": ("Restaurants_2",),
        "they look for a dentist or a doctor": ("Services_4",),
        "they book a hotel room": ("Hotels_1", "Hotels_2", "Hotels_4"),
        "they book a flight": ("Flights_3", "Flights_4"),
        "they buy a bus ticket": ("Buses_1", "Buses_3"),
        "they ask for the weather forecast": ("Weather_1",),
        "they look for an apartment or a house": ("Homes_1", "Homes_2"),
        "they buy a train ticket": ("Trains_1",),
        "they make an appointment with a hair stylist": ("Services_1",),
        "they look for a film to watch at home": ("Media_2", "Media_3"),
        "they look for a film in the cinema": ("Movies_1", "Movies_2", "Movies_3"),
        "they set an alarm": ("Alarm_1",),
        "they buy tickets for a concert or a game": ("Events_1", "Events_3"),
        "they look for sights to visit": ("Travel_1",),
        "they rent a car": ("RentalCars_1", "RentalCars_3"),
        "they order a taxi ride": ("RideSharing_1", "RideSharing_2"),
        "they check the balance of a bank account": ("Banks_2",),
        "they send money to a friend": ("Payment_1",),
        "they look for a song to play": ("Music_1", "Music_3"),
    },
    "self_dialogue": {
        "they talk about music": ("music",),
        "they talk about films": ("movies",),
        "they talk about American football": ("nfl_football",),
        "they talk about Disney films": ("disney",),
        "they talk about Star Wars": ("star_wars",),
        "they talk about pop music": ("pop",),
        "they talk about thrillers": ("thriller",),
        "they talk about rap and hip-hop": ("rap_hiphop",),
        "they talk about rock music": ("rock",),
        "they talk about the Beatles": ("beatles",),
        "they talk about superhero films": ("superhero",),
        "they talk about baseball": ("baseball",),
        "they talk about comedies": ("comedy",),
        "they talk about basketball": ("basketball",),
        "they talk about Lady Gaga": ("lady_gaga",),
        "they talk about horror films": ("horror",),
        "they talk about Harry Potter": ("harry_potter",),
        "they talk about The Fast and the Furious": ("fast_furious",),
        "they talk about action films": ("action",),
        "they talk about fashion": ("fashion",),
        "they talk about ice hockey": ("icehockey",),
    },
}
Kind = Literal["part", "whole", "absent"]


@dataclass(frozen=True)
class Labelled:
    """A labelled set.

    :param units: vectors of length 1 of all turns, float32 [turns, d].
    :param starts: first turn of each dialogue, and the number of turns, int64 [n + 1].
    :param descriptions: vectors of length 1, float32 [labels, d].
    :param gold: number of each dialogue's label; -1 for another label, int64 [n].
    """

    name: str
    units: NDArray[np.float32]
    starts: NDArray[np.int64]
    descriptions: NDArray[np.float32]
    gold: NDArray[np.int64]

    def where(self, rows: NDArray[np.int64]) -> Labelled:
        """Return the set with these dialogues only."""
        turns = np.concatenate([np.arange(self.starts[row], self.starts[row + 1]) for row in rows])
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[rows])])
        return Labelled(self.name, self.units[turns], starts, self.descriptions, self.gold[rows])

    def asked(self, labels: NDArray[np.int64]) -> Labelled:
        """Return the set with these descriptions only; dialogues with other labels have none."""
        places = np.full(len(self.descriptions) + 1, -1)
        places[labels] = np.arange(len(labels))
        return Labelled(self.name, self.units, self.starts, self.descriptions[labels], places[self.gold])


@dataclass(frozen=True)
class Case:
    """A question about a set: likeness to the descriptions that are asked about, and the true ones, -1 for none."""

    name: str
    kind: Kind
    alike: Likeness
    gold: NDArray[np.int64]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--artifacts", type=Path, default=Path("artifacts"), help="folder with the splits of corpora")
    parser.add_argument("--intents", type=Path, required=True, help="folder or zip of the intent sets")
    parser.add_argument("--vectors", type=Path, help="folder that keeps the vectors for the next run")
    parser.add_argument("--sgd", type=Path, help="zip of sgd as downloaded, for how dialogues ended")
    parser.add_argument("--fit", action="store_true", help="print the level fitted on all sets")
    options = parser.parse_args()
    sets = {name: read(name, options) for name in (*INTENTS, *TOPICS)}
    cases = [case for labelled in sets.values() for case in cases_of(labelled)]
    cases += [absent(sets[asked], sets[name]) for asked, name in ABSENT]
    if options.fit:
        say(f"{fitted(cases)}")
        return
    judge(sets, cases)
    say("\n| set | examples per label | accuracy with a label | false none |\n|---|---|---|---|")
    for name in TOPICS:
        for count in (0, *EXAMPLES):
            say(f"| {name} | {count} | {shown([with_examples(sets[name], count, seed) for seed in range(DRAWS)])} |")
    if options.sgd:
        say("\n| examples of each end | accuracy with an end | false none | AUROC of failed |\n|---|---|---|---|")
        for count, cells in ends(sets["sgd"], options):
            say(f"| {count} | {cells} |")


def judge(sets: Iterable[str], cases: Sequence[Case]) -> None:
    """Print the figures of every kind of question, set by set, and their means."""
    every: dict[tuple[Kind, str], list[NDArray[np.float64]]] = defaultdict(list)
    say(
        "| set | labels asked | way | accuracy with a label | with none | false none | false claims | AUROC of none "
        "| ECE |\n|---|---|---|---|---|---|---|---|---|"
    )
    for name in tqdm(sets, disable=None, leave=False):
        others = [case for case in cases if case.name != name]
        level, limit = fitted(others), limit_of(others)
        rows: dict[tuple[Kind, int, str], list[list[float]]] = defaultdict(list)
        for case in cases:
            if case.name == name:
                key = case.kind, case.alike.values.shape[1]
                rows[*key, "ours"].append(figures(probabilities(case.alike, level), case.gold))
                rows[*key, "nearest turn"].append(figures(nearest(case.alike.cosines, limit), case.gold))
        for (kind, count, way), found in rows.items():
            every[kind, way].append(np.mean(np.array(found), axis=0))
            say(f"| {name} | {kind} {count} | {way} | {shown(found)} |")
    for (kind, way), means in every.items():
        say(f"| mean | {kind} | {way} | {shown(means)} |")


def read(name: str, options: argparse.Namespace) -> Labelled:
    """Read a set, from the folder of vectors if it is there."""
    path = options.vectors and options.vectors / f"{name}.npz"
    if path and path.exists():
        return Labelled(name, **np.load(path))
    encoder = load_encoder(ENCODER)
    if name in INTENTS:
        data = read_intents(name, options.intents)
        names = sorted(set(data.train.labels))
        texts, labels = [*data.test.texts, *data.out_of_scope], [*data.test.labels, *[""] * len(data.out_of_scope)]
        kept = np.random.default_rng(1).permutation(len(texts))[:SENTENCES]
        turns, gold = [[texts[row]] for row in kept], [labels[row] for row in kept]
        asked = [intent.replace("_", " ") for intent in names]
        places = {intent: at for at, intent in enumerate(names)}
    else:
        dialogues = dialogues_of(name, options.artifacts)
        turns, gold = [[turn.text for turn in one.turns] for one in dialogues], [one.labels[0] for one in dialogues]
        asked = list(TOPICS[name])
        places = {label: at for at, labels in enumerate(TOPICS[name].values()) for label in labels}
    arrays = {
        "units": encoded(encoder, [text for texts in turns for text in texts]),
        "starts": np.cumsum([0, *map(len, turns)]),
        "descriptions": encoded(encoder, asked),
        "gold": np.array([places.get(label, -1) for label in gold]),
    }
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, **arrays)
    return Labelled(name, **arrays)


def encoded(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return a vector of length 1 per text."""
    return unit_rows(encoder.encode_utterances(list(texts), batch_size=64)).astype(np.float32)


def case_of(kind: Kind, labelled: Labelled) -> Case:
    """Return a question about all descriptions of a set."""
    alike = likeness(labelled.units.__getitem__, labelled.starts, labelled.descriptions)
    return Case(labelled.name, kind, alike, labelled.gold)


def cases_of(labelled: Labelled) -> Iterator[Case]:
    """Yield questions about some of the labels, with and without the dialogues of other labels, and about all."""
    most = len(labelled.descriptions)
    for count in (count for count in COUNTS if count < most):
        for seed in range(DRAWS):
            some = labelled.asked(np.random.default_rng(seed).permutation(most)[:count])
            yield case_of("part", some)
            yield case_of("whole", some.where(np.flatnonzero(some.gold >= 0)))
    yield case_of("whole", labelled.where(np.flatnonzero(labelled.gold >= 0)))


def absent(asked: Labelled, of: Labelled) -> Case:
    """Return a question about four labels of another set, which no dialogue has."""
    labels = np.random.default_rng(1).permutation(len(asked.descriptions))[:4]
    other = Labelled(of.name, of.units, of.starts, asked.descriptions[labels], np.full(len(of.gold), -1))
    return case_of("absent", other)


def fitted(cases: Sequence[Case]) -> Level:
    """Fit the level: dialogues with and without a label weigh the same, and so does each question."""
    parts = []
    for case in cases:
        rows = np.random.default_rng(1).permutation(len(case.gold))[:FIT_ROWS]
        alike = Likeness(case.alike.values[rows], case.alike.cosines[rows], case.alike.turns[rows])
        parts.append((alike, case.gold[rows]))

    def loss(point: NDArray[np.float64]) -> float:
        level = Level(point[0], point[1], point[2], float(np.exp(point[3])))
        lost: dict[bool, list[float]] = {True: [], False: []}
        for alike, gold in parts:
            chances = log_softmax(scores_of(alike, level), axis=1)
            own = chances[np.arange(len(gold)), gold]
            for has, chosen in ((True, gold >= 0), (False, gold < 0)):
                if chosen.any():
                    lost[has].append(float(-own[chosen].mean()))
        return float(np.mean(lost[True]) + np.mean(lost[False]))

    start = [FITTED.none, FITTED.per_log, FITTED.cosine, np.log(FITTED.scale)]
    best = minimize(loss, start, method="Nelder-Mead", options={"maxiter": 250, "xatol": 1e-3, "fatol": 1e-4}).x
    return Level(*(round(float(value), 3) for value in (*best[:3], np.exp(best[3]))))


def limit_of(cases: Sequence[Case]) -> float:
    """Return the cosine of the nearest turn at which false "none" are as frequent as false claims."""
    limits = np.linspace(0, 1, 201)
    errors = np.zeros((2, len(limits)))
    for has in (0, 1):
        best = [case.alike.cosines.max(1)[(case.gold >= 0) == has] for case in cases if ((case.gold >= 0) == has).any()]
        below = np.mean([(values[:, None] < limits).mean(0) for values in best], axis=0)
        errors[has] = below if has else 1 - below
    return float(limits[np.abs(errors[0] - errors[1]).argmin()])


def nearest(cosines: NDArray[np.float64], limit: float) -> NDArray[np.float64]:
    """Return cosines as they are, with "none" at its limit."""
    return np.concatenate([cosines, np.full((len(cosines), 1), limit)], axis=1)


def figures(chances: NDArray[np.float64], gold: NDArray[np.int64]) -> list[float]:
    """Return the figures of a question; NaN if nothing can be counted.

    :param chances: probability, or another score, of each label and, last, of none.
    """
    k, has = chances.shape[1] - 1, gold >= 0
    true = np.where(has, gold, k)
    chosen = chances.argmax(1)
    own = chances[:, k] - (chances[:, :k].max(1) if not np.allclose(chances.sum(1), 1) else 0)
    return [
        share(chances[:, :k].argmax(1) == gold, has),
        share(chosen == true, np.ones(len(gold), dtype=bool)),
        share(chosen == k, has),
        share(chosen < k, ~has),
        100 * float(roc_auc_score(~has, own)) if 0 < has.sum() < len(has) else float("nan"),
        calibration_error(chances.max(1), chosen == true) if np.allclose(chances.sum(1), 1) else float("nan"),
    ]


def share(hits: NDArray[np.bool_], chosen: NDArray[np.bool_]) -> float:
    """Return the share of hits, in percent."""
    return 100 * float(hits[chosen].mean()) if chosen.any() else float("nan")


def calibration_error(confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Return the expected calibration error over ten bins with equally many dialogues, in percent."""
    bins = np.array_split(np.argsort(confidence, kind="stable"), 10)
    gaps = [abs(confidence[rows].mean() - right[rows].mean()) * len(rows) for rows in bins if len(rows)]
    return 100 * float(sum(gaps)) / max(1, len(right))


def with_examples(labelled: Labelled, count: int, seed: int) -> list[float]:
    """Return accuracy and false "none" of the dialogues that are no examples."""
    case = case_with_examples(labelled.where(np.flatnonzero(labelled.gold >= 0)), count, seed)
    found = figures(probabilities(case.alike), case.gold)
    return [found[0], found[2]]


def case_with_examples(labelled: Labelled, count: int, seed: int) -> Case:
    """Return a question with examples about the other dialogues, the same ones whatever the number of examples."""
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(np.flatnonzero(labelled.gold == label)) for label in range(len(labelled.descriptions))]
    given = [own[:count] for own in rows]
    units = described(labelled.descriptions, labelled.units.__getitem__, labelled.starts, given)
    taken = np.concatenate([own[: max(EXAMPLES)] for own in rows])
    judged = labelled.where(np.setdiff1d(np.arange(len(labelled.gold)), taken))
    kind: Kind = "part" if (judged.gold < 0).any() else "whole"
    return case_of(kind, Labelled(judged.name, judged.units, judged.starts, units, judged.gold))


def ends(labelled: Labelled, options: argparse.Namespace) -> Iterator[tuple[int, str]]:
    """Yield, for each number of examples, the figures of how bookings ended; dialogues with both ends are left out."""
    known = {"NOTIFY_SUCCESS": 0, "NOTIFY_FAILURE": 1}
    acts: dict[str, set[int]] = {}
    with zipfile.ZipFile(options.sgd) as archive:
        for path in (Path(name) for name in archive.namelist()):
            if path.parent.name in ("dev", "test") and path.name.startswith("dialogues_"):
                for record in json.loads(archive.read(str(path))):
                    frames = [frame for turn in record["turns"] for frame in turn["frames"]]
                    marked = [known.get(action["act"]) for frame in frames for action in frame.get("actions", ())]
                    acts[f"{path.parent.name}/{record['dialogue_id']}"] = {act for act in marked if act is not None}
    marks = [acts[dialogue.dialogue_id] for dialogue in dialogues_of("sgd", options.artifacts)]
    rows = np.array([row for row, found in enumerate(marks) if len(found) < 2])
    gold = np.array([next(iter(marks[row]), -1) for row in rows])
    some = labelled.where(rows)
    asked = Labelled("sgd", some.units, some.starts, encoded(load_encoder(ENCODER), ENDS), gold)
    for count in (0, *EXAMPLES):
        yield count, shown([end_figures(asked, count, seed) for seed in range(DRAWS)])


def end_figures(labelled: Labelled, count: int, seed: int) -> list[float]:
    """Return accuracy, false "none", and how well failed bookings are told from others, without the examples."""
    case = case_with_examples(labelled, count, seed)
    found = figures(probabilities(case.alike), case.gold)
    has = case.gold >= 0
    lead = case.alike.values[has, 1] - case.alike.values[has, 0]
    return [found[0], found[2], 100 * float(roc_auc_score(case.gold[has] == 1, lead))]


def shown(rows: Sequence[Sequence[float] | NDArray[np.float64]]) -> str:
    """Return the cells of the means, over the rows that have a figure."""
    columns = [[value for value in column if not np.isnan(value)] for column in np.array(rows).T]
    return " | ".join(f"{np.mean(column):.1f}" if column else "-" for column in columns)


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
