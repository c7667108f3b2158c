"""Rows and turns that nobody said: notes, notices, tools, thoughts, deleted and drafted ones, by kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from conversations.guessing.names import TURN_WORDS, plain
from conversations.guessing.voices import is_side
from conversations.values.cells import as_name, cell_text

Values = Sequence[dict[str, Any]]
YES = "true 1 yes y t 1.0 ja sí si oui vrai wahr sim sì tak evet ano да истина はい 是 예 نعم כן"
NO = "false 0 no n f 0.0 nein non faux falsch não nao nie hayır ne nee nej нет ложь いいえ 否 아니오 لا לא"
TRUE, FALSE = set(YES.split()), set(NO.split())
# Flags by name: the kind, and True if the flag marks what was said ("public").
FLAGS: dict[str, tuple[str, bool]] = {
    **dict.fromkeys(("public", "is_public", "visible_to_customer", "customer_visible"), ("note", True)),
    **dict.fromkeys(("private", "is_private", "internal", "is_internal", "is_note", "note_flag"), ("note", False)),
    **dict.fromkeys(("is_internal_note", "internal_note", "private_note", "whisper", "is_whisper"), ("note", False)),
    **dict.fromkeys(("is_private_note", "internal_only", "staff_only", "agent_only", "hidden"), ("note", False)),
    **dict.fromkeys(("deleted", "is_deleted", "removed", "is_removed", "message_deleted"), ("deleted", False)),
    **dict.fromkeys(("deleted_flag", "is_unsent", "unsent", "is_revoked", "revoked", "is_hidden"), ("deleted", False)),
    **dict.fromkeys(("is_thought", "thought", "is_thinking", "is_reasoning"), ("thought", False)),
    **dict.fromkeys(("is_draft", "draft", "is_partial", "partial", "is_interim", "interim"), ("draft", False)),
    **dict.fromkeys(("is_final", "final"), ("draft", True)),
    **dict.fromkeys(("is_system", "is_system_message", "is_notification", "is_event", "is_notice"), ("notice", False)),
    **dict.fromkeys(("is_superseded", "superseded", "is_old_version", "outdated"), ("edited", False)),
    **dict.fromkeys(("is_tool", "is_tool_call", "is_tool_result"), ("tool", False)),
}
# Times at which a message was deleted or replaced.
MOMENTS = {
    **dict.fromkeys(("deleted_at", "deleted_date", "deleted_on", "deletion_date", "removed_at"), "deleted"),
    **dict.fromkeys(("superseded_at", "superseded_by", "replaced_by"), "edited"),
}
KIND_NAMES = {
    *("type", "subtype", "sub_type", "kind", "event", "visibility", "scope", "channel", "via", "t", "role", "state"),
    *("message_state", "message_status", "sender", "author", "audience", "format", "modality", "annotation", "status"),
}
KIND_ENDS = ("_type", "type_name", "_kind", "_subtype", "_visibility", "msgtype", "messagetype")
# Words of a value by kind; the first kind with a matching word counts.
KINDS = tuple(
    (kind, frozenset(words.split()))
    for kind, words in (
        ("note", "note notes private whisper agents internal notiz nota staff hidden"),
        ("deleted", "deleted removed revoked unsent retracted tombstone"),
        ("draft", "draft drafts partial interim"),
        ("thought", "thought thoughts thinking reasoning"),
        ("tool", "tool tools function observation execution toolcall code"),
        (
            "notice",
            "notice notification notifications join joined leave left service activity moment system assignment "
            "assigned unassigned transfer transferred status reaction typing member membership info log topic "
            "rename invite kick pinned call snoozed event closed reopened opened ended started rating csat uj ul "
            "change action trigger lifecycle ping sysmsg redaction form",
        ),
    )
)
# Columns in which only these kinds count: a "status" or a "channel" is not about the kind of a row.
ONLY = {
    **dict.fromkeys(("channel", "via", "visibility", "scope", "audience", "format"), frozenset({"note"})),
    **dict.fromkeys(("status", "state", "message_state", "message_status"), frozenset({"deleted", "draft"})),
    **dict.fromkeys(("sender", "author", "role"), frozenset({"tool", "thought"})),
}
BLANK = {"", "nan", "none", "null", "nat", "false", "0"}
# A text that is only the name of a file.
FILE = re.compile(r"[^\s/]+\.(?:jpe?g|png|gif|mp[34]|opus|ogg|pdf|docx?|xlsx?|webp|mov|m4a|heic)")
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
PROGRAMS = {"tool": "tool", "function": "tool", "function_call": "tool", "observation": "tool", "tool_call": "tool"}
PROGRAMS |= {"tool_result": "tool", "tool_response": "tool", "tool_use": "tool", "thought": "thought"}
PROGRAMS |= {"thinking": "thought", "reasoning": "thought", "internal_note": "note", "private_note": "note"}


@dataclass(frozen=True, slots=True)
class NotSpeech:
    """Rules for what nobody said.

    :param flags: Column, kind, and True if the flag marks what was said.
    :param kinds: Columns whose values name a kind.
    :param speakers: Speakers that are programs, with their kinds.
    :param inner: Column of texts that are objects with a type of their own; "" without such.
    :param keep: Kinds that count as speech.
    :param seen: Column, value and kind of the values in the sample that mark what nobody said.
    """

    flags: tuple[tuple[str, str, bool], ...] = ()
    kinds: tuple[str, ...] = ()
    speakers: tuple[tuple[str, str], ...] = ()
    inner: str = ""
    keep: tuple[str, ...] = ()
    seen: tuple[tuple[str, str, str], ...] = ()

    def kind(self, values: dict[str, Any], speaker: str, text: str) -> str:
        """Return the kind of a turn that nobody said; "" if somebody said it."""
        kind = ""
        if self.flags:
            kind = next((kind for name, kind, speech in self.flags if _flagged(values.get(name), speech)), "")
        if self.kinds and not kind:
            kind = next((kind for name in self.kinds if (kind := kind_of(name, as_name(values.get(name))))), "")
        if not kind and self.speakers:
            kind = next((kind for name, kind in self.speakers if name == speaker), "")
        if not kind and self.inner and isinstance(value := values.get(self.inner), dict):
            kind = kind_of("content_type", as_name(value.get("content_type") or value.get("type")))
        if not kind and len(text) <= NOTICE_LENGTH:
            kind = "notice" if NOTICE.fullmatch(text) else "media" if FILE.fullmatch(text) else ""
        return "" if kind in self.keep else kind

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the rules."""
        return (*(name for name, _, _ in self.flags), *self.kinds)


ALL_SAID = NotSpeech()


def _flagged(value: Any, speech: bool) -> bool:
    if value is None or value == "":
        return False
    text = as_name(value).lower() if not isinstance(value, bool) else str(value).lower()
    return text in (FALSE if speech else TRUE)


def _words(value: str) -> frozenset[str]:
    return frozenset(plain(value).split("_"))


def is_moment(name: str) -> bool:
    """Return whether a column tells when a message was deleted or replaced."""
    return _bare(name) in MOMENTS


@lru_cache(maxsize=4096)
def kind_of(name: str, value: str) -> str:
    """Return the kind that the value of a column names; "" if it names none, or speech."""
    bare = _bare(name)
    if bare in MOMENTS:
        return "" if value.lower() in BLANK else MOMENTS[bare]
    words = _words(value)
    only = ONLY.get(plain(name), ONLY.get(bare))
    kind = next((kind for kind, known in KINDS if words & known and (only is None or kind in only)), "")
    return kind if len(value) <= 60 else ""


def find_not_speech(
    groups: Sequence[Values], names: Sequence[str], *, speaker: str | None, text: str | None, keep: Sequence[str]
) -> NotSpeech:
    """Return the rules for what nobody said.

    A rule counts only if it leaves some turns, and, unless it is about deleted turns, if some dialogue has both.
    """
    text = text or ""
    spoken = [[turn for turn in group if cell_text(turn.get(text)).strip()] for group in groups]
    flags = [(name, *FLAGS[bare]) for name in names if (bare := _bare(name)) in FLAGS and name != text]
    moments = [name for name in names if _bare(name) in MOMENTS]
    kinds = [name for name in names if name != text and _may_be_kind(plain(name))] + moments
    kinds = [name for name in kinds if name != speaker and not _tells_sides(spoken, name)]
    flags = [rule for rule in flags if _counts(spoken, NotSpeech(flags=(rule,)), rule[1])]
    kinds = [name for name in kinds if _counts(spoken, NotSpeech(kinds=(name,)), "")]
    return NotSpeech(
        flags=tuple(flags),
        kinds=tuple(kinds),
        seen=_seen(spoken, [*(NotSpeech(flags=(rule,)) for rule in flags), *(NotSpeech(kinds=(n,)) for n in kinds)]),
        speakers=_programs(spoken, speaker),
        inner=text if any(isinstance(turn.get(text), dict) for group in groups for turn in group) else "",
        keep=tuple(keep),
    )


def _seen(groups: Sequence[Values], rules: Sequence[NotSpeech]) -> tuple[tuple[str, str, str], ...]:
    """Return column, value and kind of all values by which some rule leaves a turn out."""
    turns = [turn for group in groups for turn in group]
    seen = (
        (rule.columns[0], as_name(turn.get(rule.columns[0])), rule.kind(turn, "", ""))
        for rule in rules
        for turn in turns
    )
    return tuple(dict.fromkeys(triple for triple in seen if triple[2]))


def _bare(name: str) -> str:
    """Return a plain name without the word for a turn before it: "is_public" for "Comment Is Public"."""
    first, _, rest = plain(name).partition("_")
    return rest if first in TURN_WORDS and rest else plain(name)


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
