"""Descriptions of a collection's groups, in the folder `descriptions` of the collection.

Each answer is kept in `descriptions/answers` under a hash of address, model and question, as soon as it is there. So a
killed or failed run loses none, and a later run asks only about groups that changed.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.files import read_json, write_checked_json, write_json
from conversations.redaction import Masks, Redactor
from dial2vec.collection.clustering.clusters import Stored, stored_clusters
from dial2vec.collection.clustering.partition import Vectors
from dial2vec.collection.collection_folder import CollectionFolder, readable, sampled
from dial2vec.collection.describing.chat import AnswerError, ModelAnswer, RefusedError, ask
from dial2vec.collection.describing.naming import ANSWER_TOKENS, Naming, Question, question_text, read_naming, words_of
from dial2vec.config import LanguageModel
from dial2vec.data.terms import Term
from dial2vec.errors import ArtifactError, Dial2vecError
from dial2vec.files import folder_lock

FORMAT = 1
# Terms of a group in a question, and dialogues of a group that are compared to find typical ones.
N_TERMS, COMPARED = 10, 20_000
# About this many terms of other areas are in the question about an area, equally many of each.
N_OTHERS = 30
# Typical dialogues are chosen among the closest ones, this many times as many.
AMONG = 10
# After this many groups in a row without an answer, no further group is asked about.
IN_A_ROW = 3
# No further group is asked about once the answers cost this many times the estimate.
MOST_TIMES = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the questions without a kept answer will cost.

    :param questions: number of questions.
    :param dialogues: number of dialogues in them, a dialogue in two questions counted twice.
    :param tokens_in: estimated tokens of the questions.
    :param tokens_out: estimated tokens of the answers.
    :param cost: estimated cost in the currency of the prices; 0 without prices.
    """

    questions: int
    dialogues: int
    tokens_in: int
    tokens_out: int
    cost: float


@dataclass(frozen=True, slots=True)
class Described:
    """Result of `describe_groups`.

    :param record: content of `descriptions.json`.
    :param answered: number of groups in the model's words.
    :param asked: number of questions that the server answered in this run.
    :param cost: cost of these by the tokens that the server counted; 0 without prices.
    :param failures: reasons why groups kept their terms, one sentence each.
    """

    record: dict[str, Any]
    answered: int
    asked: int
    cost: float
    failures: tuple[str, ...]


def folder_of_descriptions(collection: CollectionFolder) -> Path:
    """Return the folder with the descriptions of a collection."""
    return collection.folder / "descriptions"


def read_descriptions(collection: CollectionFolder) -> dict[str, Any] | None:
    """Return the content of `descriptions.json`: `clusters` and `areas` with a record by id, as text.

    :return: None if there are no descriptions, or those of another encoder or format.
    :raises ArtifactError: if the file is damaged.
    """
    path = folder_of_descriptions(collection) / "descriptions.json"
    if not path.is_file():
        return None
    mend = f"Delete it, and run `dial2vec describe {collection.folder}`."
    with readable(path, f"; expected descriptions of groups. {mend}"):
        record: dict[str, Any] = read_json(path)
        fits = record["format"] == FORMAT and record["fingerprint"] == collection.manifest.fingerprint
    return record if fits else None


def questions_of(collection: CollectionFolder, settings: LanguageModel, *, masks: Masks | None) -> list[Question]:
    """Return the questions about all clusters and areas that hold dialogues; nothing is sent.

    A question holds typical dialogues of its group, and some of the closest other group. Ids, labels and metadata of
    dialogues are never part of it.

    :param settings: block `language_model`; `dialogues_per_group` is the number of typical dialogues.
    :param masks: options for masking; None leaves the texts unmasked.
    :raises ArtifactError: if the collection has no clusters.
    """
    questions = _Questions(collection, stored_clusters(collection), settings.dialogues_per_group, masks).all()
    return [replace(question, instructions=settings.instructions.strip()) for question in questions]


class _Questions:
    def __init__(self, collection: CollectionFolder, stored: Stored, n: int, masks: Masks | None) -> None:
        self.collection, self.clusters, self.centres, self.n = collection, stored.clusters, stored.state.centres, n
        filled = [at for at, cluster in enumerate(self.clusters.clusters) if cluster.size and not cluster.hidden]
        self.rows = {at: self._typical(np.flatnonzero(stored.state.groups == at), self.centres[at]) for at in filled}
        self.redactor: Redactor | None = None
        if masks is not None:
            speakers = {name for names in collection.rows["speakers"].to_pylist() for name in names or ()}
            drawn = collection.dialogues([*chain.from_iterable(self.rows.values())])
            texts = (turn.text for dialogue in drawn for turn in dialogue.turns)
            self.redactor = Redactor(sorted(speakers), names=masks.names, countries=masks.countries, texts=texts)

    def all(self) -> list[Question]:
        """Return the questions, clusters first. An area of one cluster has no question."""
        questions = [self._about_cluster(at) for at in self.rows]
        for area in self.clusters.areas:
            places = [at for at in self.rows if self.clusters.clusters[at].area == area.id]
            if len(places) > 1:
                largest = sorted(places, key=lambda at: -self.clusters.clusters[at].size)
                inside = self._dialogues([self.rows[at][0] for at in largest[: self.n]])
                different = [other for other in self.clusters.areas if other is not area]
                each = max(2, N_OTHERS // max(1, len(different)))
                others = [term for other in different for term in self._sent(other.terms)[:each]]
                parts = [", ".join(self._sent(self.clusters.clusters[at].terms)) for at in largest]
                text = question_text(self._sent(area.terms), inside, others=others, parts=parts)
                terms = tuple(term.text for term in area.terms)
                questions.append(Question("area", area.id, area.name, terms, area.size, len(inside), text))
        return questions

    def _about_cluster(self, place: int) -> Question:
        cluster = self.clusters.clusters[place]
        inside = self._dialogues(self.rows[place])
        near = self._closest(place)
        outside = [] if near is None else self._dialogues(self.rows[near][: max(1, self.n // 2)])
        others = [] if near is None else self._sent(self.clusters.clusters[near].terms)
        text = question_text(self._sent(cluster.terms), inside, others=others, outside=outside)
        terms = tuple(term.text for term in cluster.terms)
        return Question("cluster", cluster.id, cluster.name, terms, cluster.size, len(inside) + len(outside), text)

    def _closest(self, place: int) -> int | None:
        others = [at for at in self.rows if at != place]
        return max(others, key=lambda at: float(self.centres[at] @ self.centres[place])) if others else None

    def _typical(self, rows: NDArray[np.int64], centre: Vectors) -> list[int]:
        """Return dialogues close to the centre that differ: each one is the least like those before it."""
        rows = rows[sampled(len(rows), COMPARED, seed=1)]
        vectors = self.collection.adapted[rows]
        close = np.argsort(-(vectors @ centre), kind="stable")[: min(AMONG * self.n, max(self.n, len(rows) // 2))]
        vectors, chosen = vectors[close], [0]
        while len(chosen) < min(self.n, len(close)):
            likeness = (vectors @ vectors[chosen].T).max(axis=1)
            likeness[chosen] = np.inf
            chosen.append(int(likeness.argmin()))
        return [int(row) for row in rows[close[chosen]]]

    def _dialogues(self, rows: Sequence[int]) -> list[Dialogue]:
        dialogues = self.collection.dialogues(rows)
        return [dialogue if self.redactor is None else self.redactor.dialogue(dialogue) for dialogue in dialogues]

    def _sent(self, terms: Sequence[Term]) -> list[str]:
        """Return the first terms without those that the masks would change, such as a customer's name."""
        texts, mask = [term.text for term in terms], self.redactor
        if mask is not None:
            texts = [text for text in texts if not mask.identifies(text) and mask.text(text) == text]
        return texts[:N_TERMS]


def estimate(collection: CollectionFolder, settings: LanguageModel, questions: Sequence[Question]) -> Estimate:
    """Return what the questions without a kept answer will cost."""
    new = [question for question in questions if _kept(_place(collection, settings, question)) is None]
    tokens_in, tokens_out = sum(question.tokens for question in new), ANSWER_TOKENS * len(new)
    dialogues = sum(question.dialogues for question in new)
    return Estimate(len(new), dialogues, tokens_in, tokens_out, _cost(settings, tokens_in, tokens_out))


def _cost(settings: LanguageModel, tokens_in: int, tokens_out: int) -> float:
    return (tokens_in * settings.price_in + tokens_out * settings.price_out) / 1e6


def _place(collection: CollectionFolder, settings: LanguageModel, question: Question) -> Path:
    content = json.dumps([settings.address, settings.model, question.messages])
    return folder_of_descriptions(collection) / "answers" / f"{hashlib.sha256(content.encode()).hexdigest()}.json"


def _kept(path: Path) -> Naming | None:
    try:
        return read_naming(json.dumps(read_json(path)))
    except (ArtifactError, OSError):
        return None


def describe_groups(
    collection: CollectionFolder,
    settings: LanguageModel,
    questions: Sequence[Question],
    *,
    masked: bool,
    done: Callable[[], object] = lambda: None,
) -> Described:
    """Ask the questions, and write `descriptions.json`; groups without an answer keep their terms.

    :param questions: result of `questions_of` with the same settings.
    :param masked: True if the texts of the questions are masked; noted in the file.
    :param done: function that is called after each question.
    :raises Dial2vecError: if there are questions and not one has an answer; older descriptions then stay.
    """
    folder = folder_of_descriptions(collection)
    with folder_lock(folder, "writes descriptions into"):
        run = _Run(collection, settings, estimate(collection, settings, questions))
        answers = run.answers(questions, done)
        failures = tuple(dict.fromkeys(str(answer) for answer in answers if isinstance(answer, AnswerError)))
        wordings = [answer if isinstance(answer, Naming) else None for answer in answers]
        answered = sum(wording is not None for wording in wordings)
        if questions and not answered:
            raise Dial2vecError(failures[0])
        _tell_apart(run, questions, wordings)
        record: dict[str, Any] = {
            "format": FORMAT,
            "fingerprint": collection.manifest.fingerprint,
            "address": settings.address,
            "model": settings.model,
            "masked": masked,
            "clusters": {},
            "areas": {},
        }
        for question, wording in zip(questions, wordings, strict=True):
            words = Naming(question.name, "") if wording is None else wording
            evidence = {"by": "terms" if wording is None else "model", "terms": question.terms, "size": question.size}
            record[f"{question.level}s"][str(question.id)] = asdict(words) | evidence
        write_checked_json(folder / "descriptions.json", record)
    return Described(record, answered, run.asked, run.cost, failures)


def _tell_apart(run: _Run, questions: Sequence[Question], wordings: list[Naming | None]) -> None:
    """Ask once more about each group with an earlier one's name; terms are added to a name that is still taken."""
    named = {at: wording for at, wording in enumerate(wordings) if wording is not None}
    keys = {at: (questions[at].level, words_of(wording.name)) for at, wording in named.items()}
    firsts, taken = {key: at for at, key in reversed(keys.items())}, set(keys.values())
    again = [at for at, key in keys.items() if firsts[key] != at]
    answers = run.answers([questions[at].without(named[at].name) for at in again])
    for at, answer in zip(again, answers, strict=True):
        question, wording = questions[at], answer if isinstance(answer, Naming) else named[at]
        # A term that is not in the text was masked.
        names = [wording.name, *(f"{wording.name}, {term}" for term in question.terms if term in question.text)]
        free = (name for name in names if (question.level, words_of(name)) not in taken)
        wordings[at] = wording = replace(wording, name=next(free, f"{wording.name} ({question.id})"))
        taken.add((question.level, words_of(wording.name)))


class _Run:
    """Asks questions until nothing more is to be expected."""

    def __init__(self, collection: CollectionFolder, settings: LanguageModel, expected: Estimate) -> None:
        self.collection, self.settings, self.expected = collection, settings, expected.cost
        self.asked, self.cost = 0, 0.0
        # Nobody was told of a question, so none is sent.
        self._failed, self._ended, self._lock = 0, not expected.questions, threading.Lock()

    def answers(
        self, questions: Sequence[Question], done: Callable[[], object] = lambda: None
    ) -> list[Naming | AnswerError | None]:
        """Return the answers in the order of the questions; None where the run ended before."""
        answers = []
        with ThreadPoolExecutor(self.settings.concurrency) as pool:
            for answer in pool.map(self._answer, questions):
                answers.append(answer)
                done()
        return answers

    def _answer(self, question: Question) -> Naming | AnswerError | None:
        path = _place(self.collection, self.settings, question)
        wording = _kept(path)
        if wording is not None or self._ended:
            return wording
        try:
            wording = self._asked(question)
        except AnswerError as error:
            with self._lock:
                self._failed += 1
                self._ended |= isinstance(error, RefusedError) or self._failed >= IN_A_ROW
            return error
        self._failed = 0
        write_json(path, asdict(wording))
        return wording

    def _asked(self, question: Question) -> Naming:
        """Ask a second time if the answer is not in the expected form."""
        answer = ModelAnswer("")
        for _ in range(2):
            if self.expected and self.cost > MOST_TIMES * self.expected:
                raise RefusedError(
                    f"the answers cost {self.cost:.4f} so far, over {MOST_TIMES} times the estimate of "
                    f"{self.expected:.4f}; expected about that. Choose a model that writes less, or run the "
                    "command again."
                )
            answer = ask(self.settings, question.messages)
            tokens_in, tokens_out = answer.tokens_in or question.tokens, answer.tokens_out or ANSWER_TOKENS
            with self._lock:
                self.asked += 1
                self.cost += _cost(self.settings, tokens_in, tokens_out)
            if wording := read_naming(answer.text):
                return wording
        raise AnswerError(
            f"{self.settings.address} answered {answer.text[:60]!r} about {question.level} {question.id}; expected "
            "JSON with name and summary. Choose another model in operation.yaml if this happens often."
        )
