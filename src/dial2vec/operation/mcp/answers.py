"""Forms of the answers: every claim has ids of dialogues, numbers of turns, counts, shares and intervals.

Turns are numbered from 0, shares are in [0, 1], and intervals are those of 95 %.
"""

from __future__ import annotations

# pydantic, which describes these forms to clients, cannot read TypedDict of `typing` before Python 3.12.
from typing_extensions import TypedDict


class Answer(TypedDict):
    """What every answer has: the name of its collection."""

    collection: str


class Turn(TypedDict):
    """What somebody said; `text` stands between marks and may be cut.

    Turns are `relevant` that answer a query, or else speak for the topic of their dialogue.
    """

    turn: int
    speaker: str
    text: str
    relevant: bool


class Quote(Turn):
    """A turn of a dialogue."""

    dialogue_id: str


class Share(TypedDict):
    """A share of dialogues with its interval (Wilson's)."""

    count: int
    share: float
    low: float
    high: float


class Value(Share):
    """A value of the metadata, with dialogues that have it."""

    value: str
    dialogue_ids: list[str]


class Key(TypedDict):
    """A key of the metadata or of a lens: what it holds, and its values or its range."""

    key: str
    kind: str
    values: list[str]
    dialogues: int


class AreaShare(Share):
    """An area of topics."""

    id: int
    name: str


class Overview(Answer):
    """What there is to ask about in a collection."""

    dialogues: int
    first_date: str | None
    last_date: str | None
    areas: list[AreaShare]
    topics: int
    keys: list[Key]
    segments: bool
    collections: list[str]
    note: str


class TopicRow(Share):
    """A topic, with what stands out in its metadata in words, and means of its numbers."""

    id: int
    name: str
    area: str
    terms: list[str]
    summary: str
    stands_out: str
    means: dict[str, float]


class Topics(Answer):
    """Topics, the largest first; `next_offset` is null after the last one."""

    dialogues: int
    topics: list[TopicRow]
    next_offset: int | None


class Month(Share):
    """Share of a topic in a month; `change` is "" if it does not differ clearly from all months before."""

    month: str
    change: str


class Topic(Answer, TopicRow):
    """A topic whole: `stability` is in [0, 1], above 0.75 it is stable."""

    stability: float
    fine: list[str]
    months: list[Month]
    quotes: list[Quote]


class Hit(TypedDict):
    """A dialogue with its turns that answer best, the best first.

    Turns, the whole dialogue and words count for the place of a hit, so that cosines may not descend.
    """

    dialogue_id: str
    cosine: float
    date: str | None
    topic: str | None
    labels: list[str]
    metadata: dict[str, str]
    turns: list[Turn]


class Hits(Answer):
    """Dialogues, best first; without `close`, random questions come as near to the collection as this one."""

    way: str
    close: bool
    hits: list[Hit]
    note: str


class Span(TypedDict):
    """A segment."""

    first: int
    last: int
    topic: str


class Reading(Answer):
    """A part of a dialogue; `next_turn` is null at its end."""

    dialogue_id: str
    date: str | None
    labels: list[str]
    metadata: dict[str, str]
    topic: str | None
    segments: list[Span]
    turns: list[Turn]
    n_turns: int
    next_turn: int | None


class Difference(TypedDict):
    """A share or a mean on two sides: `difference` is after minus before, with its interval.

    `p` is adjusted for all topics and keys that were tried. Shares of topics add up to 1, so the share of a topic must
    also differ among those topics that did not change; else p is 1 whatever the interval. `change` is "grew", "shrank",
    "new", "gone", "rose" or "fell", and "" if the difference may be chance or follows from that of another topic.
    `topic` is null for all dialogues. `dialogue_ids` show the difference, on the side that has more of it.
    """

    topic: int | None
    name: str
    what: str
    n_before: int
    n_after: int
    before: float
    after: float
    difference: float
    low: float
    high: float
    p: float
    change: str
    dialogue_ids: list[str]


class Comparison(Answer):
    """Clear differences of topics, then of metadata, from the first side ("before") to the second ("after").

    `since` is the start of the second period, or "". `others` is the number of topics that do not differ clearly.
    """

    since: str
    n_before: int
    n_after: int
    differences: list[Difference]
    others: int


class SegmentTopic(TypedDict):
    """A topic of segments: `share` of the words of all dialogues, and typical segments."""

    id: int
    name: str
    segments: int
    dialogues: int
    share: float
    typical: list[Quote]


class Segments(Answer):
    """Topics of segments."""

    several: float
    topics: list[SegmentTopic]


class Facet(Answer):
    """Values of one key, or the mean of its numbers with its interval; `counted` dialogues have the key."""

    key: str
    dialogues: int
    counted: int
    values: list[Value]
    mean: float | None
    low: float | None
    high: float | None


class Noted(Answer):
    """A decision that waits for a person."""

    number: int
    note: str


class Sheet(Answer):
    """The one-page report: sentences, and what is typical of the largest areas."""

    sentences: list[str]
    quotes: list[Quote]
