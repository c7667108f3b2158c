"""The demo corpus: task-oriented dialogues composed from our own phrases, so that everything runs without a download.

A dialogue is acted, not filled in: a customer with a style, something on the mind and a goal in one of twelve domains
talks to an agent who asks, mishears, offers and confirms. What makes its domain hard to tell is what makes it hard in
life: the same goals, names, days, places and questions in every domain, domains that lie close together, and small
talk about something else. The phrases live in `demo_domains.json` and `demo_phrases.json`, in a small notation:
`[a|b]` is a choice, `{date}` a value of this dialogue.
"""

from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dial2vec.corpora.corpus import Splitting
from dial2vec.dialogue import Dialogue, SetAside, Turn, read_dialogues, write_dialogues

FILE = "dialogues.jsonl.gz"
CUSTOMER, AGENT = "customer", "agent"
MIXED_SHARE = 0.2
GOALS = {"book": 5, "change": 3, "cancel": 3, "problem": 3}
STYLES = ("plain", "terse", "polite", "verbose", "informal")
LEADS = {
    "polite": ("If you would be so kind.", "Thank you for asking.", "Excuse me."),
    "verbose": (
        "Well, let me think.",
        "To be honest with you, I am not very good at this.",
        "Now, where was I.",
        "You see.",
    ),
    "informal": ("Um...", "Ok so...", "Yeah.", "Hmm.", "Haha."),
}
CASUAL = {"please": "pls", "Thank you": "Thanks", "I am": "I'm", "It is": "It's", "do not": "don't", "We are": "We're"}
# Slots that are misheard or corrected: what a customer gets wrong in life, and what reads the same from both sides.
UNSURE = {"date", "people", "city", "nights", "street", "amount", "title"}
CHOICE = re.compile(r"\[([^\[\]]*)\]")
FIELD = re.compile(r"\{(\w+)\}")


class DemoCorpus:
    """The demo corpus in a folder, as `write_demo` leaves it."""

    url: str | None = None
    splitting: Splitting = "hashed"

    def read(self, folder: Path, *, set_aside: list[SetAside]) -> Iterator[Dialogue]:
        """Stream the dialogues of `folder/dialogues.jsonl.gz`; what cannot be used goes to `set_aside`.

        :raises CorpusError: when the file is missing or damaged.
        """
        return read_dialogues(folder / FILE, set_aside=set_aside)

    def missing(self, folder: Path) -> list[str]:
        """Return `["dialogues.jsonl.gz"]` until `write_demo` has written it, then an empty list."""
        return [] if (folder / FILE).is_file() else [FILE]


def write_demo(folder: Path) -> int:
    """Write the demo corpus to `folder/dialogues.jsonl.gz`, the same dialogues every time, and return how many."""
    return write_dialogues(folder / FILE, generate_demo())


def generate_demo(*, n_dialogues: int = 2000, seed: int = 7) -> Iterator[Dialogue]:
    """Compose dialogues of a customer and an agent; four in five have one domain label, the others two.

    Dialogue i depends on `seed` and i only, so a longer corpus begins with the shorter one.

    :param n_dialogues: how many.
    :param seed: any whole number; another seed gives other dialogues in the same domains.
    """
    for number in range(n_dialogues):
        rng = random.Random(f"{seed}/{number}")
        mixed = rng.random() < MIXED_SHARE
        labels = rng.sample(sorted(demo_domains()), 2 if mixed else 1)
        turns = _Conversation(rng).act(labels)
        yield Dialogue(f"demo-{number:05d}", turns, tuple(sorted(labels)))


@functools.cache
def demo_domains() -> dict[str, Any]:
    """Return the twelve domains by label; "words" of each are those of which a single-domain dialogue has one."""
    return _load("demo_domains.json")


@functools.cache
def _phrases() -> dict[str, Any]:
    return _load("demo_phrases.json")


def _load(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return loaded


class _Conversation:
    """One dialogue while it is being acted: the facts it agrees on, and the sentences said so far."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.said: list[tuple[str, str]] = []
        self.facts: dict[str, str] = {}
        self.styles = {CUSTOMER: rng.choice(STYLES), AGENT: rng.choice(STYLES[:3])}
        self.domain: Mapping[str, Any] = {}
        self.theme: dict[str, Any] | None = None
        self.gossip = False

    def act(self, labels: Sequence[str]) -> tuple[Turn, ...]:
        """Play the whole dialogue, one domain after the other."""
        rng = self.rng
        self._draw(_phrases()["banks"])
        if rng.random() < 0.9:
            self.theme = rng.choice([theme for theme in _phrases()["themes"] if theme["about"] not in labels])
            self.gossip = rng.random() < 0.75
        if rng.random() < 0.25:
            self._say(AGENT, "agent_hello")
        if rng.random() < 0.7:
            self._say(CUSTOMER, "hello")
        for number, label in enumerate(labels):
            if number:
                self._say(CUSTOMER, "bridge")
            self._pursue(label, brief=len(labels) > 1, small_talk=not number)
        self._part()
        return self._turns()

    def _draw(self, banks: Mapping[str, Sequence[str]]) -> None:
        self.facts |= {name: self.rng.choice(values) for name, values in banks.items()}
        self.facts["old_date"] = self._other("date")
        # What is "my son" to the customer is "your son" to the agent.
        for name, value in list(self.facts.items()):
            self.facts[f"your_{name}"] = "you" if value == "me" else re.sub(r"^my ", "your ", value)

    def _other(self, slot: str) -> str:
        bank = self.domain.get("banks", {}).get(slot) or _phrases()["banks"].get(slot)
        bank = bank or _phrases()["banks"][self.domain["times"]]
        return self.rng.choice([value for value in bank if value != self.facts[slot]])

    def _pursue(self, label: str, *, brief: bool, small_talk: bool) -> None:
        self.domain = demo_domains()[label]
        shared = _phrases()["banks"]
        self._draw(self.domain["banks"] | {"time": shared[self.domain["times"]], "thing": self.domain["things"]})
        goal = self.rng.choices(list(GOALS), weights=list(GOALS.values()))[0]
        theme = self.theme if small_talk else None
        theme_first = self.rng.random() < 0.5
        if theme and theme_first:
            self._say(CUSTOMER, [theme["say"]])
        if goal == "problem" and self.rng.random() < 0.7:
            self._say(CUSTOMER, "complaint")
        known = self._say(CUSTOMER, self.domain[goal] if goal in self.domain else goal)
        if theme and not theme_first:
            self._say(CUSTOMER, [theme["say"]])
        if theme:
            self._say(AGENT, [theme["reply"]])
        {"book": self._book, "change": self._change, "cancel": self._cancel, "problem": self._complain}[goal](
            known, brief
        )

    def _book(self, known: set[str], brief: bool) -> None:
        rng = self.rng
        self._say(AGENT, "ack")
        asks = [
            slot for slot in self.domain["asks"] if slot not in known and not (slot == "route" and "origin" in known)
        ]
        wanted = set(rng.sample(asks, min(len(asks), 2 if brief else rng.choice((2, 3)))))
        for slot in asks:
            if slot in wanted:
                self._ask(slot)
        self._offer()
        if not brief:
            self._wonder(0.6)
        self._contact(0.2 if brief else 0.45)
        self._say(AGENT, "done_book")

    def _change(self, known: set[str], brief: bool) -> None:
        self._say(AGENT, "ack")
        self._find(old=True)
        self._swap("new_date")
        if self.domain["offer_slot"] == "time" and self.rng.random() < 0.7:
            self._offer()
        if not brief:
            self._wonder(0.7)
            self._contact(0.4)
        self._say(AGENT, "done_change")

    def _cancel(self, known: set[str], brief: bool) -> None:
        self._say(AGENT, "ack")
        self._find(old=False)
        if not brief or self.rng.random() < 0.5:
            self._swap("ask_reason", answer="reason")
        if not brief:
            self._wonder(0.4)
            self._contact(0.5)
        self._say(AGENT, "policy")
        self._say(AGENT, "done_cancel")

    def _complain(self, known: set[str], brief: bool) -> None:
        self._say(AGENT, "sorry")
        self._find(old=False)
        if not brief:
            self._say(CUSTOMER, "want")
        self._say(AGENT, self.domain["fix"])
        if not brief and self.rng.random() < 0.5:
            self._say(CUSTOMER, "accept")
            self._contact(0.7)

    def _ask(self, slot: str) -> None:
        """The agent asks for one value; the customer tells it, sometimes wrongly, and is sometimes misheard."""
        phrases = self.domain["slots"].get(slot) or _phrases()["slots"][slot]
        self._say(AGENT, phrases["ask"])
        self._tell(phrases["tell"], slot)

    def _swap(self, question: str, *, answer: str = "") -> None:
        self._say(AGENT, question)
        if answer:
            self._say(CUSTOMER, answer)
            self._gossip()
        else:
            self._tell(_phrases()["slots"]["date"]["tell"], "date")

    def _tell(self, tell: Sequence[str], slot: str) -> None:
        chance = self.rng.random() if slot in UNSURE else 1.0
        value = {"value": self.facts.get(slot, "")}
        if chance < 0.12:
            wrong = self._other(slot)
            self._say(CUSTOMER, tell, {slot: wrong})
            self._say(CUSTOMER, "wrong", value | {"wrong": wrong})
            self._say(AGENT, "righted", value)
        else:
            self._say(CUSTOMER, tell)
            if chance < 0.24:
                self._say(AGENT, "clarify", value)
                self._say(CUSTOMER, "clarified", value)
        self._gossip()

    def _gossip(self) -> None:
        """Come back to the small talk, once."""
        if self.theme and self.gossip and self.rng.random() < 0.6:
            self.gossip = False
            self._say(CUSTOMER, [self.theme["more"]])
            self._say(AGENT, [self.theme["answer"]])

    def _offer(self) -> None:
        slot = self.domain["offer_slot"]
        if self.rng.random() < 0.35:
            self._say(AGENT, self.domain["offer"], {"offer": self._other(slot)})
            self._say(CUSTOMER, "reject")
            self._say(AGENT, "instead")
        self._say(AGENT, self.domain["offer"], {"offer": self.facts[slot]})
        self._say(CUSTOMER, "accept")

    def _wonder(self, chance: float) -> None:
        """The customer asks something on the side: half of the time what is asked in several domains."""
        if self.rng.random() < chance:
            group = self.rng.choice(self.domain["groups"])
            shared = _phrases()["extras"][group]
            question, answer = self.rng.choice(shared if self.rng.random() < 0.5 else self.domain["extras"])
            self._say(CUSTOMER, [question])
            self._say(AGENT, [answer])

    def _find(self, *, old: bool) -> None:
        what = "code" if self.rng.random() < 0.6 else "name"
        self._say(AGENT, f"ask_{what}")
        self._say(CUSTOMER, f"tell_{what}")
        self._gossip()
        date = self.facts["old_date" if old else "date"]
        self._say(AGENT, "found", {"date": date})
        self._say(CUSTOMER, "clarified", {"value": "that is it"})

    def _contact(self, chance: float) -> None:
        for what in ("name", "phone"):
            if self.rng.random() < chance:
                self._say(AGENT, f"ask_{what}")
                self._say(CUSTOMER, f"tell_{what}")
                self._gossip()

    def _part(self) -> None:
        if self.rng.random() < 0.4:
            self._say(AGENT, "anything")
        self._say(CUSTOMER, "thanks")
        self._say(AGENT, "bye")
        if self.theme and self.rng.random() < 0.6:
            self._say(AGENT, [self.theme["bye"]])

    def _say(self, speaker: str, templates: str | Sequence[str], facts: Mapping[str, str] | None = None) -> set[str]:
        """Add a sentence in the speaker's style; return the names of the values that it mentions."""
        options = sorted(_phrases()[templates] if isinstance(templates, str) else templates, key=len)
        style = self.styles[speaker]
        half = (len(options) + 1) // 2
        options = {"terse": options[:half], "verbose": options[-half:]}.get(style, options)
        text = self.rng.choice(options)
        while found := CHOICE.search(text):
            text = text[: found.start()] + self.rng.choice(found[1].split("|")) + text[found.end() :]
        known = self.facts | dict(facts or {})
        fields = set(FIELD.findall(text))
        while FIELD.search(text):  # a value may name others: the summary is one
            text = FIELD.sub(lambda match: known[match[1]] if match[1] != "summary" else self.domain["summary"], text)
        text = text[:1].upper() + text[1:]
        self.said.append((speaker, self._styled(text, speaker)))
        return fields

    def _styled(self, text: str, speaker: str) -> str:
        style, rng = self.styles[speaker], self.rng
        if speaker == AGENT:
            return text
        if style in LEADS and rng.random() < 0.2:
            text = f"{rng.choice(LEADS[style])} {text}"
        if style != "informal":
            return text
        for formal, casual in CASUAL.items():
            text = text.replace(formal, casual)
        return _mistyped(text.lower().rstrip("."), rng)

    def _turns(self) -> tuple[Turn, ...]:
        """Join what one speaker says in a row into a turn, now and then into two."""
        turns: list[Turn] = []
        for speaker, text in self.said:
            if turns and turns[-1].speaker == speaker and self.rng.random() < 0.9:
                turns[-1] = Turn(speaker, f"{turns[-1].text} {text}")
            else:
                turns.append(Turn(speaker, text))
        return tuple(turns)


def _mistyped(text: str, rng: random.Random) -> str:
    """Swap two letters inside one long word, in one sentence of ten."""
    words = text.split()
    places = [place for place, word in enumerate(words) if word.isalpha() and len(word) > 5]
    if places and rng.random() < 0.1:
        place = rng.choice(places)
        word, at = words[place], rng.randrange(1, len(words[place]) - 2)
        words[place] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return " ".join(words)
