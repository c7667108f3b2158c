"""What agents may ask about collections. Each method is a tool, and its docstring tells a model when to use it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from conversations.dialogue import Dialogue
from dial2vec.collection.changes.overview import overview
from dial2vec.collection.changes.periods import days_of
from dial2vec.collection.changes.sides import Span, sides_of
from dial2vec.collection.clustering.decisions import Edit
from dial2vec.collection.clustering.proposals import propose
from dial2vec.collection.search.exact import nearest_rows
from dial2vec.collection.search.filters import Filters
from dial2vec.collection.segments.segments import read_segments
from dial2vec.collection.summary.summary import summarize
from dial2vec.errors import CorpusError, did_you_mean
from dial2vec.operation.mcp import answers, figures
from dial2vec.operation.mcp.opened import OpenCollection, stamp_of
from dial2vec.operation.mcp.quoting import ANSWER, QUOTED, READ, Marks, cleaned

# Answers have at most so many hits, topics, values of a key, turns, and keys of a dialogue.
HITS, TOPICS, VALUES, TURNS, KEYS = 25, 50, 30, 60, 20
# Characters of a query.
LONGEST = 10_000
FAR = "Nothing is close: questions on other things come as near to these dialogues. Say so, or ask in other words."

WAITS = "Nothing has changed: it waits for a person, on the page of `dial2vec explore` or in `dial2vec curate`."


class CollectionTools:
    """Tools that only read, except that `propose` notes a decision for a person.

    :param folders: folders of collections, whose names differ.
    :raises ArtifactError: if a folder is no collection.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.marks = Marks()
        self._folders = {folder.resolve().name: folder for folder in folders}
        if len(self._folders) < len(folders):
            raise CorpusError("two of these folders have the same name; expected names that differ. Rename one.")
        self._open: dict[str, OpenCollection] = {}
        self._busy, self._opening = threading.Lock(), threading.Lock()
        for name in self._folders:
            self.opened(name)

    @property
    def names(self) -> list[str]:
        """Names of the collections."""
        return list(self._folders)

    def opened(self, name: str = "") -> OpenCollection:
        """Return a collection as it is now; "" is the only one."""
        if not name and len(self._folders) == 1:
            [name] = self._folders
        if name not in self._folders:
            hint = did_you_mean(name, self.names)
            raise CorpusError(f"found the collection {name!r}; expected one of {', '.join(self.names)}.{hint}")
        with self._opening:
            known = self._open.get(name)
            if known is None or known.stamp != stamp_of(known.folder):
                known = self._open[name] = OpenCollection(self._folders[name])
        return known

    def overview(self, collection: str = "") -> answers.Overview:
        """Say what a collection holds and what can be asked: dates, areas, keys. Call it first.

        :param collection: name of the collection; may be left out if there is only one.
        """
        opened = self.opened(collection)
        clusters, (first, last) = opened.grouped.clusters, days_of(opened.times) or (None, None)
        areas: list[answers.AreaShare] = [
            {"id": area.id, "name": cleaned(area.name), **figures.share(area.size, clusters.seen)}
            for area in clusters.areas
        ]
        return {
            "collection": opened.name, "dialogues": len(opened), "first_date": first, "last_date": last,
            "areas": areas, "topics": len(clusters.shown), "keys": figures.keys_of(opened),
            "segments": opened.has_segments, "collections": self.names, "note": self.marks.meaning,
        }  # fmt: skip

    def topics(
        self,
        collection: str = "",
        *,
        area: int | None = None,
        where: Sequence[str] = (),
        after: str | None = None,
        before: str | None = None,
        order: str = "size",
        limit: int = 20,
        offset: int = 0,
    ) -> answers.Topics:
        """List the topics with shares, what stands out in each, and means of numbers such as a rating.

        :param area: id of an area, for its topics only.
        :param where: conditions on the metadata that must hold, such as "channel in phone, chat" or "csat <= 2"; the
            signs are = != < <= > >= ~ (contains) !~ in, not in, is missing, is present.
        :param after: first day that counts, an ISO date.
        :param before: day before which dialogues count, an ISO date.
        :param order: "size" for the largest first, or a key with numbers, such as "csat" for the lowest mean first
            and "-csat" for the highest.
        :param limit: number of topics, at most 50.
        :param offset: number of topics to leave out, from the previous answer's `next_offset`.
        """
        opened = self.opened(collection)
        if area not in (None, *(known.id for known in opened.grouped.clusters.areas)):
            raise CorpusError(f"{opened.name} has no area {area}; expected an id of the tool overview.")
        filters = Filters(after=after, before=before, where=tuple(where))
        rows = [row for row in overview(opened, filters=filters)[0] if row["size"]]
        # Hidden topics count, as everywhere.
        passing = filters.rows(opened)
        total = len(opened) if passing is None else len(passing)
        chosen = [row for row in rows if area is None or opened.cluster(row["id"]).area == area]
        chosen = figures.ordered(chosen, order)
        offset = max(0, offset)
        end = offset + max(1, min(limit, TOPICS))
        page = [figures.topic_row(opened, row, total) for row in chosen[offset:end]]
        more = end if end < len(chosen) else None
        return {"collection": opened.name, "dialogues": total, "topics": page, "next_offset": more}

    def topic(self, topic: int, collection: str = "") -> answers.Topic:
        """Show one topic: its months, fine topics, how stable it is, and turns of its most typical dialogues.

        :param topic: id of the topic.
        """
        opened = self.opened(collection)
        cluster = opened.cluster(topic)
        table = overview(opened)[0]
        row = figures.topic_row(opened, next(row for row in table if row["id"] == topic), len(opened))
        rows = [opened.row(name) for name in cluster.typical]
        spoken = zip(opened.dialogues(rows), cluster.speaking or [(0,)] * len(rows), strict=True)
        return {
            **row,
            "collection": opened.name,
            "stability": round(cluster.stability, 3),
            "fine": [cleaned(part.name) for part in opened.grouped.clusters.fine if part.cluster == topic],
            "months": figures.months_of(opened, topic),
            "quotes": [self._quote(dialogue, turn) for dialogue, turns in spoken for turn in turns[:1]],
        }

    def search(
        self,
        query: str,
        collection: str = "",
        *,
        way: Literal["auto", "moments", "themes"] = "auto",
        k: int = 10,
        topic: int | None = None,
        where: Sequence[str] = (),
        labels: Sequence[str] = (),
        speakers: Sequence[str] = (),
        after: str | None = None,
        before: str | None = None,
        unlike: Sequence[str] = (),
    ) -> answers.Hits:
        """Find dialogues by meaning. If `close` is false, nothing in the collection answers: say so.

        :param query: words that somebody would say in such a dialogue, in its language, rather than key words.
        :param way: "moments" finds single turns, "themes" what a whole dialogue is about; "auto" weighs both.
        :param k: number of dialogues, at most 25.
        :param topic: id of the topic to search in.
        :param where: conditions on the metadata, such as "csat <= 2".
        :param labels: labels of which a dialogue has one.
        :param speakers: speakers of whom one speaks.
        :param after: first day, an ISO date.
        :param before: day before which dialogues began, an ISO date.
        :param unlike: texts whose meaning to avoid.
        """
        if not 0 < len(query.strip()) <= LONGEST:
            raise CorpusError(
                f"found a query of {len(query):,} characters; expected 1 to {LONGEST:,}. Ask in a sentence."
            )
        opened = self.opened(collection)
        filters = Filters(tuple(labels), tuple(speakers), after, before, tuple(where))
        rows = opened.rows_of(filters, topic)
        with self._busy:
            answer = opened.search.answer(query, _few(k), rows=rows, way=way, unlike=list(unlike))
        hits: list[answers.Hit] = []
        for hit in answer.hits:
            least = max(turn.contribution for turn in hit.turns) / 2
            turns = [self._turn(turn.number, turn.speaker, turn.text, turn.contribution >= least) for turn in hit.turns]
            hits.append(self._hit(opened, opened.row_of[hit.dialogue_id], hit.cosine, turns))
        close = answer.close and bool(hits)
        note = "" if close else FAR if hits else "No dialogue meets the conditions."
        return {"collection": opened.name, "way": answer.way, "close": close, "hits": hits, "note": note}

    def read(
        self, dialogue_id: str, collection: str = "", *, first_turn: int = 0, turns: int = 30, query: str | None = None
    ) -> answers.Reading:
        """Read a dialogue. Turns that speak for its topic are `relevant`, or with `query` those that answer it.

        :param dialogue_id: id of the dialogue.
        :param first_turn: number of the first turn, from 0; `next_turn` of an answer goes on.
        :param turns: number of turns, at most 60; fewer come if they are long.
        :param query: question whose answers are relevant.
        """
        opened = self.opened(collection)
        row = opened.row(dialogue_id)
        [dialogue] = opened.dialogues([row])
        [known] = opened.reading.of([row], [dialogue])
        relevant = known["reasons"]
        if query is not None:
            with self._busy:
                [hit] = opened.search.answer(query, 1, rows=np.array([row])).hits
            relevant = [turn.number for turn in hit.turns]
        first_turn = max(0, first_turn)
        texts, end, room = list[answers.Turn](), first_turn, ANSWER
        while end < min(len(dialogue.turns), first_turn + max(1, min(turns, TURNS))) and room > 0:
            spoken = dialogue.turns[end]
            texts.append(self._turn(end, spoken.speaker, spoken.text, end in relevant, min(READ, room)))
            room -= len(texts[-1]["text"])
            end += 1
        return {
            "collection": opened.name, "dialogue_id": dialogue_id, "date": dialogue.date,
            "labels": [cleaned(label) for label in dialogue.labels[:KEYS]],
            "metadata": _texts_of(dialogue), "topic": opened.topic_of(row), "turns": texts,
            "segments": [part for part in known["segments"] if part["first"] < end and part["last"] >= first_turn],
            "n_turns": len(dialogue.turns), "next_turn": end if end < len(dialogue.turns) else None,
        }  # fmt: skip

    def similar(self, dialogue_id: str, collection: str = "", *, k: int = 10, topic: int | None = None) -> answers.Hits:
        """Find the dialogues that are most like one of the collection.

        :param dialogue_id: id of the dialogue.
        :param k: number of dialogues, at most 25.
        :param topic: id of the topic to look in.
        """
        opened = self.opened(collection)
        row, rows = opened.row(dialogue_id), opened.rows_of(Filters(), topic)
        near, cosines = nearest_rows(opened.adapted, opened.adapted[row], _few(k) + 1, rows=rows)
        others = near != row
        pairs = list(zip(near[others].tolist(), cosines[others].tolist(), strict=True))[: _few(k)]
        dialogues = list(opened.dialogues([at for at, _ in pairs]))
        readings = opened.reading.of([at for at, _ in pairs], dialogues)
        hits = [
            self._hit(opened, at, cosine, [self._quote(dialogue, (own["reasons"] or [0])[0])])
            for (at, cosine), dialogue, own in zip(pairs, dialogues, readings, strict=True)
        ]
        return {"collection": opened.name, "way": "themes", "close": True, "hits": hits, "note": ""}

    def compare(
        self,
        collection: str = "",
        *,
        before: str | None = None,
        after: str | None = None,
        since: str | None = None,
        until: str | None = None,
        condition: Sequence[str] = (),
        where: Sequence[str] = (),
        topic: int | None = None,
    ) -> answers.Comparison:
        """Compare two periods, or the dialogues that meet a condition with all others: topics, and the metadata.

        For "what changed in May" give `after` 2026-05-01 and `until` 2026-06-01; for "what do those who call twice
        talk about" give the condition "calls >= 2". Without either, the latest quarter is compared with all before.

        :param before: end of the first period, exclusive; left out, it is `after`.
        :param after: start of the second period; left out, it is `before`.
        :param since: start of the first period.
        :param until: end of the second period, exclusive.
        :param condition: conditions on the metadata; those that meet all of them are the second side.
        :param where: conditions that the dialogues of both sides must meet.
        :param topic: id of a topic, for its share and its metadata, whether they differ clearly or not.
        """
        opened = self.opened(collection)
        span = Span(before, after, since, until)
        if not condition:
            return figures.comparison(opened, sides_of(opened, None, span, Filters(where=tuple(where))), topic)
        if span != Span():
            raise CorpusError("found dates and a condition; expected one of them. Leave one out.")
        both = figures.sides_where(opened, condition, where)
        return figures.comparison(opened, both, topic, condition)

    def stands_out(self, topic: int, collection: str = "") -> answers.Comparison:
        """Say by which values and numbers of the metadata the dialogues of a topic differ from all others.

        :param topic: id of the topic; its dialogues are the second side.
        """
        return figures.standing_out(self.opened(collection), topic)

    def segments(self, collection: str = "", *, limit: int = 20) -> answers.Segments:
        """List what dialogues talk about by parts, because one dialogue may have several topics.

        :param limit: number of topics, at most 50.
        """
        opened = self.opened(collection)
        parts = read_segments(opened)
        return {
            "collection": opened.name,
            "several": round(parts.several, 4),
            "topics": [
                {
                    "id": topic.id, "name": cleaned(topic.name), "share": round(topic.share, 4),
                    "segments": topic.segments, "dialogues": topic.dialogues,
                    "typical": [
                        self._quote(dialogue, place.first)
                        for place in topic.typical
                        for dialogue in opened.dialogues([opened.row(place.dialogue_id)])
                    ],
                }
                for topic in parts.topics[: max(1, min(limit, TOPICS))]
            ],
        }  # fmt: skip

    def facet(
        self,
        key: str,
        collection: str = "",
        *,
        topic: int | None = None,
        where: Sequence[str] = (),
        after: str | None = None,
        before: str | None = None,
    ) -> answers.Facet:
        """Count the values of one key of the metadata, of the labels ("label", if `overview` has it), or of a lens.

        A key with numbers also has its mean.

        :param key: key, as `overview` lists them.
        :param topic: id of the topic whose dialogues count.
        :param where: conditions on the metadata.
        :param after: first day, an ISO date.
        :param before: day before which dialogues began, an ISO date.
        """
        opened = self.opened(collection)
        rows = opened.rows_of(Filters(after=after, before=before, where=tuple(where)), topic)
        return figures.facet(opened, key, rows, most=VALUES)

    def sheet(self, collection: str = "") -> answers.Sheet:
        """Give the one-page report: the largest areas, what changed, how sure the topics are, and typical turns."""
        opened = self.opened(collection)
        if opened.grouped.clusters.seen != len(opened):
            # The report would cluster them, and these tools do not write.
            raise CorpusError(
                f"{opened.name} has new dialogues; expected clustered ones. Run `dial2vec cluster` first."
            )
        summary = summarize(opened)
        quotes: list[answers.Quote] = [
            {"dialogue_id": excerpt.dialogue_id, **self._turn(excerpt.turn, excerpt.speaker, excerpt.text)}
            for area in summary.typical
            for excerpt in area.excerpts
        ]
        return {"collection": opened.name, "sentences": figures.sentences_of(summary), "quotes": quotes}

    def propose(
        self,
        action: Literal["rename", "merge", "split", "hide", "move"],
        topic: int,
        reason: str,
        collection: str = "",
        *,
        name: str | None = None,
        other: int | None = None,
        dialogue_id: str | None = None,
    ) -> answers.Noted:
        """Propose to change a topic. Nothing changes until a person accepts it on the page of `dial2vec explore`.

        :param action: kind of change.
        :param topic: id of the topic; for merge and move the one that gets more dialogues.
        :param reason: reason, with ids of dialogues that show it.
        :param name: new name, for rename.
        :param other: id of the topic that joins it, for merge.
        :param dialogue_id: dialogue that belongs to the topic, for move.
        """
        opened = self.opened(collection)
        wish = Edit(action, topic, to=name, other=other, dialogue=dialogue_id)
        made = propose(opened, wish, reason)
        return {"collection": opened.name, "number": made.number, "note": WAITS}

    def _hit(self, opened: OpenCollection, row: int, cosine: float, turns: list[answers.Turn]) -> answers.Hit:
        [dialogue] = opened.dialogues([row])
        return {
            "dialogue_id": dialogue.dialogue_id, "cosine": round(cosine, 4), "date": dialogue.date,
            "topic": opened.topic_of(row), "labels": [cleaned(label) for label in dialogue.labels[:KEYS]],
            "metadata": _texts_of(dialogue), "turns": turns,
        }  # fmt: skip

    def _quote(self, dialogue: Dialogue, turn: int) -> answers.Quote:
        spoken = dialogue.turns[turn]
        return {"dialogue_id": dialogue.dialogue_id, **self._turn(turn, spoken.speaker, spoken.text)}

    def _turn(self, turn: int, speaker: str, text: str, relevant: bool = True, most: int = QUOTED) -> answers.Turn:
        return {"turn": turn, "speaker": cleaned(speaker), "text": self.marks(text, most), "relevant": relevant}


def _texts_of(dialogue: Dialogue) -> dict[str, str]:
    return {cleaned(key): cleaned(str(value)) for key, value in list(dialogue.metadata.items())[:KEYS]}


def _few(k: int) -> int:
    return max(1, min(k, HITS))
