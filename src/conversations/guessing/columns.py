"""Meanings of columns: by name first, and by content if no name is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conversations.formats.markup import are_html, is_html
from conversations.formats.plain_text import is_script
from conversations.guessing import evidence
from conversations.guessing.evidence import Values
from conversations.guessing.exchanges import CLOSING, alternate, answers_first, find_exchange
from conversations.guessing.names import all_by_name, by_name, plain
from conversations.guessing.plausibility import (
    closest,
    nested_turns,
    no_header,
    require_columns,
    require_named,
    require_one_meaning,
    require_plausible,
    unknown,
)
from conversations.guessing.speech import ALL_SAID, NotSpeech, find_not_speech
from conversations.guessing.turns import (
    ASIDE,
    branching,
    closing_turns,
    holds_texts,
    holds_turns,
    is_turn,
    nested,
    repeats_text,
    threads,
)
from conversations.guessing.voices import speaker_column, speaker_key
from conversations.options import NamedColumns, Options
from conversations.values.cells import as_labels, as_name, as_turn_list, cell_text
from conversations.vocabulary import patterns

# Value of `Columns.opening` for the record itself: an e-mail has a text of its own and a list of replies.
ITSELF = ""
IN_TURNS = ("speaker", "text", "time")
GAPS = {"nan", "NaN", "None", "null", "NULL", "<NA>", "undefined"}
ONE_DIALOGUE = "no column tells the dialogues apart: the whole file is one dialogue; if not so, name it with --id"
FINER = "each {!r} is a dialogue, as it changes inside another id; to join them, name the other one with --id"
BY_VALUES = "{!r} is taken as the dialogue's id by its values, not its name; if it is none, name another with --id"
NO_ORDER = "no order column: turns as they stand; if the newest stands first, name the time with --time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns(NamedColumns):
    """Meanings of the columns of an export.

    Without `dialogue_id` a file of turns is one dialogue, and records are numbered. Without `speaker` the turns are
    `Speaker: text` lines, or the row has an `answer`.

    :param other_id: Column used if the id is blank: a Slack message outside any thread has only a `ts`.
    :param other_speakers: Columns used if the speaker is blank; the first filled one counts.
    :param answer: Column of a bot's answer to the user's `text` in the same row.
    :param answer_first: True if the bot speaks before the user in each row.
    :param alternating: True if each row of an exchange has one side, so that rows without an id are one dialogue.
    :param date: Column of a record's start, which counts if its turns have no time.
    :param day: Column of dates if `time` holds only clock times.
    :param opening: Column of an object that is the first turn, outside `turns`; `ITSELF` means the record.
    :param closing: Column of an answer that follows the `turns`: a text, a turn or a list of turns.
    :param speaker_key: Key of the speaker's name in an object; "" takes the best known one.
    :param branch: Keys of a message's id and of the one it answers, if a chat has branches: the newest one counts.
    :param receiver: Column of the receiver, if each pair of speaker and receiver is a dialogue.
    :param versions: Columns of a message's id and version, if only the newest version of an edited message counts.
    :param not_speech: Rules for non-speech.
    :param metadata: Further columns, which say something about the whole dialogue.
    :param notes: Sentences for the summary.
    """

    other_id: str | None = None
    other_speakers: tuple[str, ...] = ()
    answer: str | None = None
    answer_first: bool = False
    alternating: bool = False
    date: str | None = None
    day: str | None = None
    opening: str | None = None
    html: bool = False
    closing: str | None = None
    speaker_key: str = ""
    branch: tuple[str, str] | None = None
    receiver: str | None = None
    versions: tuple[str, str] | None = None
    not_speech: NotSpeech = ALL_SAID
    metadata: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def meanings(self) -> dict[str, str]:
        """Meaning of each used column by its name; a column inside a record's turns is named `turns.name`."""
        inside = f"{self.turns}." if self.turns else ""
        own, parent = self.branch or (None, None)
        pairs = [(own, "id of the message"), (parent, "message that it answers")] if not self.turns else []
        pairs += [(self.dialogue_id, "dialogue id"), (self.other_id, "dialogue id, else"), (self.opening, "first turn")]
        if self.opening == ITSELF:
            pairs += [(self.speaker, "speaker of the first turn"), (self.text, "text of the first turn")]
        pairs += [(self.turns, "turns"), (self.closing, "last turn")]
        pairs += [(name and inside + name, meaning) for name, meaning in self._of_turns()]
        pairs += [(inside + name, "mark of non-speech") for name in self.not_speech.columns]
        pairs += [(self.date, "start of the dialogue")]
        pairs += [(self.receiver, "receiver: with the speaker the dialogue id")]
        named = {name: meaning for name, meaning in pairs if name} | dict.fromkeys(self.labels, "label")
        return named | dict.fromkeys(self.metadata, "metadata of the dialogue")

    def _of_turns(self) -> list[tuple[str | None, str]]:
        text = "text" if self.answer is None else "text of the user"
        others = [(name, "speaker, else") for name in self.other_speakers]
        pairs = [(self.speaker, "speaker"), *others, (self.text, text), (self.answer, "text of the bot")]
        return [*pairs, (self.day, "order of turns"), (self.time, "order of turns")]

    def speaker_of(self, values: dict[str, Any]) -> str:
        """Return the speaker of a row or a turn; "" if it names nobody."""
        value = values.get(self.speaker or "")
        if self.speaker_key and isinstance(value, dict):
            value = value.get(self.speaker_key)
        name = as_name(value)
        others = (as_name(values.get(column)) for column in self.other_speakers)
        return name or next(filter(None, others), "")


def find_columns(sample: Values, options: Options, path: Path) -> Columns:
    """Find the meanings of columns.

    :param sample: First records.
    :param options: Options; columns named there are not guessed.
    :param path: File to name in errors.
    :raises CorpusError: if a named column is missing, or speaker or text cannot be found.
    """
    names = _names(sample)
    turns = options.turns or _turns_column(sample, names, options)
    if turns:
        require_columns({"turns": (turns,)}, names, path)
        return _of_records(sample, names, turns, options, path)
    require_columns(options.named, names, path)
    columns = _of_rows(sample, names, options, path)
    if columns.speaker and not (options.speaker or options.blank_speaker is not None):
        require_named(sample, columns.speaker_of, columns.text, columns.speaker, path)
    return columns


def _names(sample: Values) -> list[str]:
    """Return the names of the columns, the most frequent first, so that a name damaged in one record is not used."""
    return [name for name, _ in Counter(name for values in sample for name in values).most_common()]


def _turns_column(sample: Values, names: Sequence[str], options: Options) -> str | None:
    """Return the column that holds whole dialogues, if one does."""
    if 2 * sum(map(is_turn, sample[:100])) > len(sample[:100]):
        lists: list[str] = []
    else:
        lists = [name for name in names if plain(name) not in ASIDE and evidence.mostly(sample, name, holds_turns)]
        lists = lists or [name for name in names if evidence.mostly(sample, name, holds_texts)]
    if lists:
        return by_name("turns", lists) or lists[0]
    if options.speaker:
        return None
    # If there is a speaker column, only a column named like turns: a message may be a form of `Name: Anna` lines.
    named = by_name("speaker", names)
    whole = [name for name in names if not named or by_name("turns", [name])]
    scripts = [name for name in whole if options.text in (None, name)]
    return next(
        (name for name in scripts if evidence.mostly(sample, name, lambda value: is_script(cell_text(value)))), None
    )


def _of_records(sample: Values, names: list[str], turns: str, options: Options, path: Path) -> Columns:
    lists = [turn_list for values in sample if (turn_list := as_turn_list(values.get(turns)))]
    inside = _names([turn for turn_list in lists for turn in turn_list])
    outside = [name for name in names if name != turns]
    require_one_meaning(options, IN_TURNS, path)
    # A time beside the turns is that of the dialogue.
    of_record = ("id", "label", "time") if not lists or options.time in set(outside) - set(inside) else ("id", "label")
    of_turns = set(IN_TURNS) - set(of_record) if lists else ()
    require_columns({k: v for k, v in options.named.items() if k in of_turns}, inside, path)
    require_columns({k: v for k, v in options.named.items() if k in of_record}, outside, path)
    columns = Columns(
        dialogue_id=options.dialogue_id
        or evidence.id_column("id", sample, outside, repeating=False)
        or evidence.id_column("own id", sample, outside, repeating=False),
        labels=options.labels or _as_tuple(_label(sample, outside)),
        turns=turns,
        date=options.time if "time" in of_record and options.time else evidence.date_column(sample, outside),
    )
    if not lists:
        return columns
    text = options.text or by_name("text", inside)
    speaker = options.speaker or speaker_column(lists, inside, text=text)
    if not text or not speaker:
        wanted = "text" if not text else "speaker"
        raise unknown(wanted, [], inside, path, f"the turns in column {turns!r}", closest(lists, inside, text))
    if not options.turns and (inner := nested([turn for turns in lists[:100] for turn in turns], text)):
        raise nested_turns(inner, turns, path)
    if not options.speaker:
        require_plausible(lists, [name for name in inside if name != text], speaker, text, path)
    closing = next((name for name in outside if _closes([v.get(name) for v in sample], name, speaker)), None)
    outside = [name for name in outside if name != closing]
    opening = next((name for name in outside if _opens([v.get(name) for v in sample], name, speaker, text)), None)
    whole = all(repeats_text(values.get(turns), cell_text(values.get(text))) for values in sample)
    if not whole and _opens(sample, ITSELF, speaker, text):
        opening = ITSELF
    more = [name for name in outside if any(_says_more(values, name, turns) for values in sample[:100])]
    notes = tuple(f"{name!r} holds turns too, which are not used; --turns {name} takes them instead" for name in more)
    columns = replace(columns, speaker=speaker, text=text, opening=opening, closing=closing, notes=notes)
    columns = replace(columns, branch=branching(sample, turns))
    return _of_turns(columns, lists, [name for name in inside if name not in (text, speaker)], options)


def _of_turns(columns: Columns, lists: list[list[dict[str, Any]]], left: list[str], options: Options) -> Columns:
    """Return the columns of records with those that depend on speaker and text: time, day and other speakers."""
    speaker, text = columns.speaker or "", columns.text or ""
    turns = [turn for turn_list in lists for turn in turn_list]
    time = evidence.time_column(lists, left) if options.time in (None, columns.date) else options.time
    html, html_notes = _markup(turns, text)
    rules = find_not_speech(lists, left, speaker=speaker, text=text)
    others = () if options.speaker else evidence.other_speakers(turns, left, speaker, text)
    notes = (*columns.notes, *_order_note(lists, time), *html_notes)
    day = None if options.time else evidence.day_column(turns, left, time)
    return replace(
        columns,
        other_speakers=others,
        speaker_key=speaker_key(lists, speaker),
        not_speech=rules,
        time=time,
        date=None if time else columns.date,
        day=day,
        html=html,
        versions=_versions(lists, left, speaker, text, options),
        notes=notes,
    )


def _says_more(values: dict[str, Any], name: str, turns: str) -> bool:
    return holds_turns(values.get(name)) and not repeats_text(values[name], cell_text(values.get(turns)))


def _opens(values: Sequence[Any], name: str, speaker: str, text: str) -> bool:
    """Return whether most values are objects like turns, and the name does not say that they are the newest ones."""
    filled = [value for value in values if value]
    like = [value for value in filled if isinstance(value, dict) and {speaker, text} <= value.keys()]
    return 2 * len(like) > len(filled) and plain(name).split("_")[0] not in ("last", "latest", "newest")


def _closes(values: Sequence[Any], name: str, speaker: str) -> bool:
    """Return whether a column is named like an answer, and most values are turns, or texts if speakers are roles."""
    filled = [value for value in values if value]
    if plain(name) not in CLOSING or not filled:
        return False
    texts = plain(speaker) == "role" and all(isinstance(value, str) for value in filled)
    return texts or 2 * sum(bool(closing_turns(value)) for value in filled) > len(filled)


def _of_rows(sample: Values, names: list[str], options: Options, path: Path) -> Columns:
    require_one_meaning(options, tuple(options.named), path)
    left = [name for name in names if name not in {used for group in options.named.values() for used in group}]

    def take(name: str | None) -> str | None:
        if name in left:
            left.remove(name)
        return name

    cells = {name: [values[name] for values in sample if values.get(name)] for name in left}
    text, answer = (None if options.text or options.speaker else find_exchange(cells)) or (options.text, None)
    left = [name for name in left if name not in (text, answer)]
    dialogue_id = options.dialogue_id or take(evidence.id_column("id", sample, left, repeating=False))
    if not dialogue_id:
        dialogue_id = take(evidence.id_column("own id", sample, left, repeating=not answer))
    time = options.time or take(evidence.time_column(evidence.groups_of(sample, dialogue_id), left))
    text = text or take(evidence.text_column(sample, left))
    named = all_by_name("speaker", left)
    if not (dialogue_id or time or text or options.speaker or named):
        raise no_header(sample, names, path, options)
    if not answer:
        text = text or take(evidence.longest(sample, left))
        dialogue_id = dialogue_id or take(evidence.repeating(sample, [name for name in left if name not in named]))
    groups = evidence.groups_of(sample, dialogue_id)
    speaker = options.speaker
    if not speaker and not answer:
        speaker = take(speaker_column(groups, left, text=text))
        dialogue_id = options.dialogue_id or take(evidence.finer_id(sample, left, dialogue_id, speaker)) or dialogue_id
        groups = evidence.groups_of(sample, dialogue_id)
        if not dialogue_id:
            dialogue_id, speaker = map(take, evidence.contacts(sample, left, speaker))
            groups = evidence.groups_of(sample, dialogue_id)
        require_plausible(groups, left, speaker, text, path)
    labels = options.labels or _as_tuple(take(_label(sample, left)))
    links = threads(sample) if dialogue_id in (None, options.dialogue_id) else None
    if links and dialogue_id in (None, links[1]):
        # Named as the id, too, the row that a row answers is none: the first row of a dialogue answers nobody.
        dialogue_id, left = None, [name for name in left if name not in links]
    else:
        links = None
    if not text or not (speaker or answer):
        wanted = "text" if not text else "speaker"
        raise unknown(wanted, sample, names, path, "the rows", closest(groups, left, text))
    day = None if options.time else evidence.day_column(sample, left, time)
    columns = Columns(
        dialogue_id=dialogue_id, speaker=speaker, text=text, time=time, day=day, labels=labels, branch=links
    )
    columns = _of_exchange(columns, sample, answer)
    return _finished(columns, sample, names, left, options)


def _of_exchange(columns: Columns, sample: Values, answer: str | None) -> Columns:
    """Return the columns of rows with that of the answers, and how rows are read that have one."""
    if not answer or not columns.text:
        return columns
    first = answers_first(list(sample[0]), columns.text, answer)
    return replace(columns, answer=answer, answer_first=first, alternating=alternate(sample, columns.text, answer))


def _finished(columns: Columns, sample: Values, names: list[str], left: list[str], options: Options) -> Columns:
    """Return the columns of rows with what depends on other columns: checked labels, substitutes for blanks, notes."""
    alone = columns.answer and not columns.dialogue_id and not columns.alternating
    groups = [[values] for values in sample] if alone else evidence.groups_of(sample, columns.dialogue_id)
    labels = columns.labels
    notes: tuple[str, ...] = ()
    if labels and not options.labels and not evidence.steady(groups, labels[0]):
        [name] = labels
        labels = ()
        notes = (f"{name!r} changes inside dialogues, so it is not taken as a label; --label {name} takes it",)
    free = not (columns.dialogue_id or columns.branch or options.speaker)
    receiver = evidence.receiver_column(sample, left, columns.speaker) if free else None
    if receiver:
        notes += (f"each pair of {columns.speaker!r} and {receiver!r} is a dialogue; if not so, name it with --id",)
    elif columns.branch:
        notes += (f"rows that answer each other by {columns.branch[1]!r} are a dialogue; if not so, name it with --id",)
    elif columns.dialogue_id is None and not alone:
        blocks = evidence.blocks(sample, left, columns.speaker, columns.text)
        notes += (f"{ONE_DIALOGUE}; {blocks!r} may tell them apart" if blocks else ONE_DIALOGUE,)
    own = () if options.dialogue_id or not columns.dialogue_id else (columns.dialogue_id,)
    if own and not (by_name("id", own) or by_name("own id", own) or by_name("turns", own)):
        notes += (BY_VALUES.format(*own),)
    elif own and evidence.id_column("id", sample, names, repeating=False) not in (None, *own):
        notes += (FINER.format(*own),)
    gaps = sorted({name for values in sample if (name := as_name(values.get(columns.speaker or ""))) in GAPS})
    if gaps:
        notes += (f"a speaker is called {gaps[0]!r}, which programs write for a gap; mend the file if it is one",)
    html, html_notes = _markup(sample, columns.text or "")
    # Slack: a message outside any thread has only a time, and Slack names threads by times.
    slack = columns.dialogue_id and plain(columns.dialogue_id) == "thread_ts"
    others: tuple[str, ...] = ()
    if columns.speaker and columns.text and not options.speaker:
        others = evidence.other_speakers(sample, left, columns.speaker, columns.text)
    return replace(
        columns,
        other_id=by_name("time", names) if slack else None,
        other_speakers=others,
        speaker_key=speaker_key(groups, columns.speaker) if columns.speaker else "",
        not_speech=find_not_speech(groups, left, speaker=columns.speaker, text=columns.text),
        labels=labels,
        html=html,
        receiver=receiver,
        versions=_versions(groups, left, columns.speaker, columns.text, options),
        notes=(*notes, *_order_note(groups, columns.time), *html_notes),
    )


def _versions(
    groups: Sequence[Values], names: Sequence[str], speaker: str | None, text: str | None, options: Options
) -> tuple[str, str] | None:
    return None if "edited" in options.keep else evidence.versions(groups, names, speaker or "", text or "")


def _label(sample: Values, names: list[str]) -> str | None:
    return by_name("label", names, lambda name: any(as_labels(values.get(name), several=False) for values in sample))


def _as_tuple(name: str | None) -> tuple[str, ...]:
    return (name,) if name else ()


def _order_note(groups: Sequence[Values], time: str | None) -> tuple[str, ...]:
    if all(len(group) < 2 for group in groups) or (time and evidence.changes(groups, time)):
        return ()
    return (f"{time!r} is the same in all turns of a dialogue: turns as they stand",) if time else (NO_ORDER,)


def _markup(sample: Values, text: str) -> tuple[bool, tuple[str, ...]]:
    """Return whether the texts are HTML, and a note for the summary."""
    texts = [cell_text(values.get(text)) for values in sample]
    if are_html(texts):
        return True, ("its texts are HTML: tags are taken out, line breaks and signs such as &amp; put in their place",)
    marked = any(is_html(value) or patterns("markup")["entity"].search(value) for value in texts)
    return False, ("some texts have HTML in them, such as <b> or &amp;; they are left as they are",) if marked else ()
