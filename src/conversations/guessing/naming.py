"""Speakers' names that only their repetition tells: in one line, in small letters, in scripts without letter case."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from conversations.guessing.names import DIALOGUE_WORDS, is_role, plain
from conversations.vocabulary import word_set

Pair = tuple[str, str]
# Up to three words before a colon, at the start of a sentence in a transcript on one line.
INSIDE = re.compile(r"(?:^|(?<=[\s.?!…\"”)]))((?:[^\W_][\w'’-]*)(?: [^\W_][\w'’-]*){0,2})\s?[:：]\s")
IN_BRACKETS = re.compile(r"\[([^\W_][\w'’ -]{0,30})\]\s?[:：]")
SMALL = re.compile(r"^([^\W\d_][\w.'’-]*(?: [\w.'’-]+){1,2})\s?[:：]\s+(.*)$", re.DOTALL)
# "Lee, Kim: Hello"
INVERTED = re.compile(r"^([^\W\d_][\w'’ -]{0,30}, [^\W\d_][^:,;?!\n]{0,40}):\s*(.*)$", re.DOTALL)
# Lines that begin with a name but have no colon: "[Anna] hello", "Anna> hello", "Anna - hello", "花子「こんにちは」".
LABELLED = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\[([^\[\]\n]{1,40})\]\s+(\S.*)$",
        r"^([^\s<>\[\]][^<>\[\]\n]{0,40}?)>\s+(\S.*)$",
        r"^([^\s\-–—][^\n]{0,40}?)(?:\s+[\[(]?\d{1,2}:\d\d(?::\d\d)?[\])]?)?\s+[-–—]\s+(\S.*)$",
        r"^<([^<>\n]{1,40})>\s+(\S.*)$",
        r"^([^\s「」]{1,20})「(.*)」$",
    )
)
# Items of a list: "- **Colour:** brown", "2. Open: the door".
LISTED = re.compile(r"\s*(?:[-•*]|\d{1,2}[.)])\s")
COVERED = 0.8
FIELD_WORDS = word_set("texts", "fields")
FIELD_COMPANY = {*DIALOGUE_WORDS, *word_set("texts", "field_company")}
SPEECH = word_set("texts", "speech")
FIELDS = word_set("texts", "heads")
REMARKS = word_set("texts", "remarks")
REMARK = re.compile(r"(?:step|option|point|item|schritt|punkt|paso|opción|étape|opção|passo)\s\d+", re.IGNORECASE)
# Marks that programs put between the turns of a transcript on one line: "<br>", "<EOT>", "[SEP]", "||", ";", "\\n".
BETWEEN = re.compile(
    r"(?:<[/\w]{1,10}\s?/?>|\[[A-Z_]{2,8}\]|\|{1,3}|/{1,3}|[>»→]{1,3}|[-=]>|;|#{1,3}|~|•|\\n|\s[-–—]{1,3})$"
)
# Length of the longest mark.
MARK = 16


def without_separators(texts: Sequence[str]) -> list[str]:
    """Return the turns of a transcript on one line without the mark between them, if all but the last end with it."""
    ends = [match[0] if (match := BETWEEN.search(text[-MARK:])) else "" for text in texts]
    kinds = [end.strip(" </>") or end for end in ends]
    if len(texts) < 2 or not kinds[0] or any(kind != kinds[0] for kind in kinds[:-1]):
        return list(texts)
    pairs = zip(texts, ends, kinds, strict=True)
    return [text.removesuffix(end).rstrip() if kind == kinds[0] else text for text, end, kind in pairs]


def split_line(line: str, known: Callable[[str], bool]) -> list[str]:
    """Return a transcript on one line as lines, one per turn.

    The line begins with a name, at least two names speak, each is a role or comes twice, and one is a role; otherwise
    it stays one.

    :param known: Test for a role.
    """
    line = IN_BRACKETS.sub(r"\1:", line)
    counts = Counter(match[1] for match in INSIDE.finditer(line))
    names = {_shortest(name, counts, known) for name in counts}
    names = {name for name in names if name.lower() not in FIELDS and (known(name) or counts[name] > 1)}
    first = INSIDE.match(line.lstrip())
    if len(names) < 2 or not first or first[1] not in names or not any(map(known, names)):
        return [line]
    choices = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    at = [match.start(1) for match in re.finditer(rf"(?:^|(?<=[\s.?!…\"”)]))({choices})\s?[:：]\s", line)]
    return without_separators([line[start:end].strip() for start, end in pairwise([*at, len(line)])])


def _shortest(name: str, counts: Counter[str], known: Callable[[str], bool]) -> str:
    """Return a name without the words of speech before it: "Customer" for "now Customer"."""
    words = name.split()
    ends = (" ".join(words[at:]) for at in range(len(words)))
    return next((end for end in ends if known(end) or counts[end] > 1), name)


def repeated_names(lines: Sequence[str], pairs: list[Pair | None]) -> list[Pair | None]:
    """Return speaker and text of each line, once names are weighed by their repetition; fields have the speaker "".

    Full names in small letters count if they come twice with another speaker between. In scripts without letter case
    any word before a colon looks like a name: there a name counts if it comes twice or is a role. "Note" and "Option 2"
    begin remarks if two others speak.
    """
    pairs = [pair or small for pair, small in zip(pairs, _small_names(lines, pairs), strict=True)]
    pairs = _inverted_names(lines, pairs) or pairs
    remarks = {pair[0] for pair in pairs if pair and (pair[0].lower() in REMARKS or REMARK.fullmatch(pair[0]))}
    if len({pair[0] for pair in pairs if pair} - remarks) > 1:
        pairs = [pair if pair and pair[0] not in remarks else None for pair in pairs]
    counts = Counter(pair[0] for pair in pairs if pair)
    fields = {name for name, times in counts.items() if times == 1 and is_field(name)}
    items = {at for at, pair in enumerate(pairs) if pair and LISTED.match(lines[at])}
    plainly = {pair[0] for at, pair in enumerate(pairs) if pair and at not in items}
    # A list in a message is no speech of its own: "- **Colour:** brown".
    kept = [pair if pair and not (at in items and len(plainly) > 1) else None for at, pair in enumerate(pairs)]
    if len({pair[0] for pair in kept if pair} - fields) > 1:
        pairs = _without_fields(kept, fields)
        counts = Counter(pair[0] for pair in pairs if pair and pair[0])
    uncased = {name for name in counts if name.lower() == name.upper() and not is_role(name)}
    doubtful = {name for name in uncased if counts[name] == 1}
    # A short dialogue, in which each speaks once, is left as it is.
    if not doubtful or len(counts) - len(doubtful) < 2:
        return pairs
    return [pair if pair and pair[0] not in doubtful else None for pair in pairs]


def _without_fields(pairs: list[Pair | None], fields: set[str]) -> list[Pair | None]:
    """Return the pairs with the speaker "" for the fields above and below the turns; other fields are no names."""
    spoken = [at for at, pair in enumerate(pairs) if pair and pair[0] not in fields]
    around = [("", pair[1]) if pair and not spoken[0] < at < spoken[-1] else None for at, pair in enumerate(pairs)]
    return [around[at] if pair and pair[0] in fields else pair for at, pair in enumerate(pairs)]


def is_field(name: str) -> bool:
    """Return whether a name is that of a field around a transcript, such as "Call ID"."""
    words = set(plain(name).split("_"))
    return name[:1].isalpha() and bool(words & FIELD_WORDS) and words <= FIELD_WORDS | FIELD_COMPANY


def _small_names(lines: Sequence[str], pairs: Sequence[Pair | None]) -> list[Pair | None]:
    matches = [None if pair else SMALL.match(line) for line, pair in zip(lines, pairs, strict=True)]
    named = [match[1] if match else pair[0] if pair else "" for match, pair in zip(matches, pairs, strict=True)]
    spoken = [name for name in named if name]
    names = {
        name
        for name, times in Counter(match[1] for match in matches if match).items()
        if times > 1 and not SPEECH & set(name.lower().split())
    }
    together = {before for before, after in pairwise(spoken) if before == after}
    names = {name for name in names if name not in together and len(set(spoken)) > 1}
    return [(match[1], match[2]) if match and match[1] in names else None for match in matches]


def _inverted_names(lines: Sequence[str], pairs: Sequence[Pair | None]) -> list[Pair | None] | None:
    """Return the pairs with those of names such as "Lee, Kim", if most lines have one and some come back."""
    matches = [None if pair else INVERTED.match(line) for line, pair in zip(lines, pairs, strict=True)]
    matches = [m if m and all(it[:1].isupper() or " " in it for it in m[1].split(", ")) else None for m in matches]
    counts = Counter(match[1] for match in matches if match)
    if len(counts) < 2 or len(counts) == counts.total() or counts.total() <= sum(map(bool, pairs)):
        return None
    return [(match[1], match[2]) if match else pair for match, pair in zip(matches, pairs, strict=True)]


def labelled_lines(lines: Sequence[str], is_name: Callable[[str], bool]) -> list[Pair | None] | None:
    """Return speaker and text of lines that begin with a name but have no colon; None unless nearly all lines do."""
    filled = sum(map(bool, lines))
    for pattern in LABELLED:
        matches = [pattern.match(line) for line in lines]
        names = [match[1] for match in matches if match]
        if len(names) >= max(2 if all(map(is_role, names)) else 3, COVERED * filled) and _come_back(names, is_name):
            return [(match[1], match[2]) if match else None for match in matches]
    return None


def named_blocks(lines: Sequence[str], is_name: Callable[[str], bool]) -> list[Pair | None] | None:
    """Return the first lines of blocks between blank lines as speakers; None unless nearly all blocks begin so."""
    first = [at for at, line in enumerate(lines) if line and not (at and lines[at - 1])]
    heads = {at: lines[at].strip("*#: ") for at in first if at + 1 < len(lines) and lines[at + 1]}
    if len(heads) < max(4, COVERED * len(first)) or not _come_back(list(heads.values()), is_name):
        return None
    return [(heads[at], "") if at in heads else None for at in range(len(lines))]


def _come_back(names: Sequence[str], is_name: Callable[[str], bool]) -> bool:
    """Return whether words are names of at least 2 people who nearly all speak again, such as roles."""
    counts = Counter(names)
    again = sum(count for name, count in counts.items() if count > 1 or is_role(name))
    good = all(is_name(name) and re.search(r"[^\W\d_]", name) for name in counts)
    return good and 1 < len(counts) <= max(2, len(names) / 2) and again >= COVERED * len(names)
