"""Transcripts in plain text: `Speaker: text` lines, also with a date or a clock in front, as chats are exported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dial2vec.dialogue import Turn
from dial2vec.importing.encodings import Encoding, is_damaged, open_text

CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:\s?[apAP]\.?[mM]\.?)?"
DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"
# "[12.03.24, 14:05:11] ", "12/03/2024, 14:05 - ", "00:01:23 ", "(14:05) "
PREFIX = re.compile(rf"^\W{{0,3}}(?:{DATE}(?:,|T)?\s*(?:{CLOCK})?|{CLOCK})[\])]?(?:\s+[-–]\s+|\s+|\s*(?=$))")
NAMED = re.compile(r"^([^:\n]{1,60}?)(?:\s*[\[(](?:[^)\]]*\d:\d[^)\]]*)[\])])?\s*[:：](\s*)(.*)$", re.DOTALL)
# What a messenger itself notes, "12/03/2024, 14:05 - Anna left", has a date and no speaker.
NOTICE = re.compile(rf"^\W{{0,3}}{DATE},?\s+{CLOCK}(?:\]|\s+[-–]\s)")
SEPARATOR = re.compile(r"^\s*(?:-{3,}|={3,}|\*{3,}|_{3,})\s*$")
HEADING = re.compile(r"^#{1,6}\s+(\S.*)")
ROLES = {
    *("agent", "customer", "client", "caller", "user", "system", "bot", "chatbot", "assistant", "operator", "advisor"),
    *("adviser", "representative", "rep", "support", "service", "human", "ai", "speaker", "participant", "person"),
    *("host", "guest", "interviewer", "interviewee", "moderator", "teacher", "student", "doctor", "patient", "nurse"),
    *("seller", "buyer", "clerk", "visitor", "admin", "tool", "developer", "function", "gpt", "model", "team", "desk"),
    *("employee", "manager", "staff", "member", "contact", "center", "centre", "help", "unknown", "consumer", "end"),
    *("virtual", "automated", "ivr", "the", "a", "b", "c", "d", "q", "gov", "sys", "usr", "inbound", "outbound"),
    *("in", "out", "left", "right", "channel", "spk", "narrator", "all", "everyone", "other", "voice", "side", "party"),
}


def is_role(name: str) -> bool:
    """Whether a speaker's name says what somebody is, not who: "Agent", "speaker_2", "Support bot"."""
    words = re.findall(r"[^\W\d_]+", name.lower())
    return bool(words) and all(word in ROLES for word in words)


def split_speaker(line: str) -> tuple[str, str] | None:
    """Return speaker and text of a line `Name: text`; None when what stands before the colon is no name."""
    found = NAMED.match(line)
    if not found:
        return None
    name, space, said = found[1].strip().strip("*").strip(), found[2], found[3]
    if not space and said and (said.startswith("//") or not re.search(r"[^\W\d_]", name)):
        return None
    words = name.split()
    if not 1 <= len(words) <= 5 or re.search(r"[?!;,\"<>{}=]|//", name) or name.lower() in ("http", "https"):
        return None
    # A name is one word, or words with capitals: "so here is the thing: ..." is speech.
    titled = not any(word[0].islower() and word not in ("de", "la", "van", "von", "der", "al", "bin") for word in words)
    if len(words) > 1 and not titled and not is_role(name):
        return None
    return name, said.strip().removeprefix("**").strip()


def without_time(line: str) -> str:
    """Return a line without the date or clock in front of it."""
    return line[found.end() :] if (found := PREFIX.match(line)) else line


def is_script(text: str) -> bool:
    """Whether a text is a dialogue in `Speaker: text` lines: at least two, and at least two speakers."""
    found = [named[0] for line in text.splitlines() if (named := split_speaker(without_time(line.strip())))]
    return len(found) >= 2 and len(set(found)) >= 2


@dataclass
class Script:
    """A dialogue in lines of text.

    :param name: given by a heading, else empty.
    :param line: on which it begins.
    :param turns: found so far.
    :param problem: why it cannot be used; empty while it can.
    :param aside: number of lines that belong to no turn: before the first speaker, or a dated notice of the program.
    """

    name: str = ""
    line: int = 1
    turns: list[tuple[str, list[str]]] = field(default_factory=list)
    problem: str = ""
    aside: int = 0

    def add(self, line: str) -> None:
        """Read one line: a new turn, or more of the last one."""
        stripped = line.strip()
        if is_damaged(stripped):
            self.problem = self.problem or "it holds bytes of no character"
        bare = without_time(stripped)
        named = split_speaker(bare)
        if named:
            self.turns.append((named[0], [named[1]]))
        elif self.turns and not NOTICE.match(stripped):
            self.turns[-1][1].append(stripped)
        elif stripped:
            self.aside += 1

    def said(self) -> tuple[Turn, ...]:
        """Return the turns that are not blank."""
        pairs = [(name, "\n".join(lines).strip()) for name, lines in self.turns]
        return tuple(Turn(name, text) for name, text in pairs if text)


def script_of(text: str) -> Script:
    """Read a cell that holds a whole dialogue."""
    script = Script()
    for line in text.splitlines():
        script.add(line)
    return script


def read_plain_text(path: Path, encoding: Encoding) -> Iterator[Script]:
    """Yield the dialogues of a text file: one, or several parted by lines of `---`, `===` or by headings `# id`.

    A blank line parts nothing: exports put them between turns.
    """
    with open_text(path, encoding) as text:
        script = Script()
        for number, line in enumerate(text, start=1):
            line = line.removeprefix("\ufeff")
            heading = HEADING.match(line)
            if heading or SEPARATOR.match(line):
                yield from _whole(script)
                script = Script(heading[1].strip() if heading else "", number + (0 if heading else 1))
            else:
                script.add(line)
        yield from _whole(script)


def _whole(script: Script) -> list[Script]:
    """Return the script in a list if it has anything in it: two separators in a row part nothing."""
    return [script] if script.turns or script.aside or script.name or script.problem else []
