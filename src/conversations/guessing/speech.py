"""Non-speech rows and turns: notes, notices, tools, thoughts, deleted and drafted ones, by kind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from conversations.guessing.names import TURN_WORDS, plain
from conversations.guessing.voices import is_side
from conversations.values.cells import as_name, cell_text
from conversations.vocabulary import by_word, word_list, word_lists, word_set

Values = Sequence[dict[str, Any]]
TRUE, FALSE = word_set("speech", "yes"), word_set("speech", "no")
# Flags by name: the kind, and True if the flag marks what was said ("public").
FLAGS = {
    frozenset(name.split("_")): (kind, way == "said")
    for kind, ways in word_lists("speech")["flags"].items()
    for way, names in ways.items()
    for name in names
}
MOMENTS = by_word("speech", "moments")
KIND_NAMES, KIND_ENDS = word_set("speech", "columns"), word_list("speech", "column_ends")
KINDS = {kind: frozenset(known) for kind, known in word_lists("speech")["kinds"].items()}
ONLY = {name: rule["kinds"] for rule in word_lists("speech")["only"] for name in rule["columns"]}
BLANK = word_set("speech", "blank")
# A text that is only the name of a file, or the character in place of an attachment.
FILE = re.compile(r"\ufffc[\ufffc\s]*|[^\s/]+\.(?:jpe?g|png|gif|mp[34]|opus|ogg|pdf|docx?|xlsx?|webp|mov|m4a|heic)")
# Whole texts that messengers write themselves.
NOTICE = re.compile(
    r"\u200e?(?:<?(?:media|image|video|audio|sticker|gif|document|contact card) omitted>?"
    r"|(?:you deleted this message|this message was deleted)\.?"
    r"|liked a message|(?:reacted|replied) .{1,12} to your message|reacted to .{1,60} with .{1,12}"
    r"|\S.{0,40} (?:sent an attachment|unsent a message|joined the (?:chat|conversation|channel|room|meeting|call)"
    r"|left the (?:chat|conversation|channel|room|meeting|call)"
    r"|has (?:joined|left) the (?:chat|conversation|channel))\.?"
    r"|null|messages and calls are end-to-end encrypted.*|\S{1,20}님(?:이|을) .{0,20}(?:나갔|들어왔|초대했)습니다\.?)",
    re.IGNORECASE,
)
# Longest text of such a notice.
NOTICE_LENGTH = 200
PROGRAMS = by_word("speakers", "programs")


@dataclass(frozen=True, slots=True)
class NotSpeech:
    """Rules for non-speech.

    :param flags: Column, kind, and True if the flag marks what was said.
    :param kinds: Columns whose values name a kind.
    :param speakers: Speakers that are programs, with their kinds.
    :param inner: Column of texts that are objects with a type of their own; "" without such.
    :param keep: Kinds that count as speech.
    """

    flags: tuple[tuple[str, str, bool], ...] = ()
    kinds: tuple[str, ...] = ()
    speakers: tuple[tuple[str, str], ...] = ()
    inner: str = ""
    keep: tuple[str, ...] = ()

    def kind(self, values: dict[str, Any], speaker: str, text: str) -> str:
        """Return the kind of a non-speech turn; "" if somebody said it."""
        kind = ""
        if self.flags:
            kind = next((kind for name, kind, speech in self.flags if _flagged(values.get(name), speech)), "")
        if self.kinds and not kind:
            kind = next((kind for name in self.kinds if (kind := kind_of(name, as_name(values.get(name))))), "")
        if not kind and self.speakers:
            kind = next((kind for name, kind in self.speakers if name == speaker), "")
        if not kind and self.inner and isinstance(value := values.get(self.inner), dict):
            kind = kind_of("content_type", as_name(value.get("content_type") or value.get("type")))
        kind = kind or (kind_of_text(text) if text else "")
        return "" if kind in self.keep else kind

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the rules."""
        return (*(name for name, _, _ in self.flags), *self.kinds)


ALL_SAID = NotSpeech()


def marks(columns: Sequence[str] = (), speakers: Mapping[str, str] | None = None, inner: str = "") -> NotSpeech:
    """Return the rules that the names of columns tell, as recipes hold them.

    :param speakers: Kinds of the speakers that are programs.
    :param inner: Column of texts that are objects with a type of their own.
    """
    flags = tuple((name, *flag) for name in columns if (flag := _flag(name)))
    kinds = tuple(name for name in columns if not _flag(name))
    return NotSpeech(flags, kinds, tuple((speakers or {}).items()), inner)


def _flagged(value: Any, speech: bool) -> bool:
    if value is None or value == "":
        return False
    text = as_name(value).lower() if not isinstance(value, bool) else str(value).lower()
    return text in (FALSE if speech else TRUE)


def kind_of_text(text: str) -> str:
    """Return "notice" or "media" for a whole text that a messenger wrote itself; "" for any other."""
    if len(text) > NOTICE_LENGTH:
        return ""
    return "notice" if NOTICE.fullmatch(text) else "media" if FILE.fullmatch(text) else ""


@lru_cache(maxsize=4096)
def kind_of(name: str, value: str) -> str:
    """Return the kind that the value of a column names; "" if it names none, or speech."""
    bare = _bare(name)
    if bare in MOMENTS:
        return "" if value.lower() in BLANK else MOMENTS[bare]
    words = frozenset(plain(value).split("_"))
    only = ONLY.get(plain(name), ONLY.get(bare))
    kind = next((kind for kind, known in KINDS.items() if words & known and (only is None or kind in only)), "")
    return kind if len(value) <= 60 else ""


def find_not_speech(
    groups: Sequence[Values], names: Sequence[str], *, speaker: str | None, text: str | None
) -> NotSpeech:
    """Return the rules for non-speech.

    A rule counts only if it leaves some turns, and, unless it is about deleted turns, if some dialogue has both.
    """
    text = text or ""
    spoken = [[turn for turn in group if cell_text(turn.get(text)).strip()] for group in groups]
    flags = [(name, *flag) for name in names if (flag := _flag(name)) and name != text]
    moments = [name for name in names if _bare(name) in MOMENTS]
    kinds = [name for name in names if name != text and _may_be_kind(plain(name))] + moments
    kinds = [name for name in kinds if name != speaker and not _tells_sides(spoken, name)]
    flags = [rule for rule in flags if _counts(spoken, NotSpeech(flags=(rule,)), rule[1])]
    kinds = [name for name in kinds if _counts(spoken, NotSpeech(kinds=(name,)), "")]
    return NotSpeech(
        flags=tuple(flags),
        kinds=tuple(kinds),
        speakers=_programs(spoken, speaker),
        inner=text if any(isinstance(turn.get(text), dict) for group in groups for turn in group) else "",
    )


def _bare(name: str) -> str:
    """Return a plain name without the word for a turn before it: "is_public" for "Comment Is Public"."""
    first, _, rest = plain(name).partition("_")
    return rest if first in TURN_WORDS and rest else plain(name)


def _flag(name: str) -> tuple[str, bool] | None:
    """Return the kind of a flag, and True if it marks what was said, by its words in any order: "Note interne"."""
    return FLAGS.get(frozenset(_bare(name).split("_"))) or FLAGS.get(frozenset(plain(name).split("_")))


def _tells_sides(groups: Sequence[Values], name: str) -> bool:
    """Return whether a column tells who speaks, as "internal" and "external" do."""
    values = {as_name(turn.get(name)) for group in groups for turn in group} - {""}
    return bool(values) and all(map(is_side, values))


def _may_be_kind(name: str) -> bool:
    return name in KIND_NAMES or name.endswith(KIND_ENDS)


def _counts(groups: Sequence[Values], rule: NotSpeech, kind: str) -> bool:
    """Return whether a rule leaves out some turns but not most, and parts turns of one dialogue."""
    marks = [[bool(rule.kind(turn, "", "")) for turn in group] for group in groups]
    total, unsaid = sum(map(len, marks)), sum(map(sum, marks))
    if not 0 < unsaid <= 0.8 * total:
        return False
    return kind == "deleted" or any(0 < sum(group) < len(group) for group in marks)


def _programs(groups: Sequence[Values], speaker: str | None) -> tuple[tuple[str, str], ...]:
    """Return the speakers that are programs, with their kinds.

    "system" is one if two others speak, or if it only opens dialogues: in some corpora it is the other side.
    """
    lists = [[as_name(turn.get(speaker or "")) for turn in group] for group in groups]
    names = {name for group in lists for name in group}
    programs = {name: kind for name in names if (kind := PROGRAMS.get(plain(name)))}
    if _may_be_kind(plain(speaker or "")):
        programs |= {n: kind for n in names if not is_side(n) and (kind := kind_of(speaker or "", n))}
    for name in names:
        if plain(name) not in ("system", "developer", "system_prompt"):
            continue
        others = max(len(set(group) - {name, ""} - programs.keys()) for group in lists)
        opens = all(name not in group[1:] for group in lists)
        if others > 1 or (opens and others):
            programs[name] = "system"
    # A tool speaks among others; in a dialogue of two it may be a name.
    several = any(len(set(group) - {""} - programs.keys()) > 1 for group in lists)
    if not several and not any(map(is_side, names - programs.keys())):
        return ()
    return tuple(sorted(programs.items())) if len(programs) < len(names - {""}) else ()
