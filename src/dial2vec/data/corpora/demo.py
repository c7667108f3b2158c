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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from dial2vec.config import Read
from dial2vec.data.corpora.corpus import Splitting
from dial2vec.dialogue import Dialogue, Quarantined, Turn, read_dialogues, write_dialogues

FILE = "dialogues.jsonl.gz"
CUSTOMER, AGENT = "customer", "agent"
MIXED_SHARE = 0.2
SMALL_TALK = 0.5
GOALS = {"book": 5, "change": 3, "cancel": 3, "problem": 3}
STYLES = ("plain", "terse", "polite", "verbose", "informal")
LEADS = {
    "polite": ("Thank you.", "Of course.", "Let me see."),
    "verbose": ("Well, let me think.", "Now, what did we say.", "Hm, good question.", "Right, let me see."),
    "informal": ("Um...", "Ok so...", "Yeah.", "Hmm.", "Let me think..."),
}
CASUAL = {"please": "pls", "Thank you": "Thanks", "I am": "I'm", "It is": "It's", "do not": "don't", "We are": "We're"}
# Slots that are misheard or corrected: what a customer gets wrong in life, and what reads the same from both sides.
UNSURE = {"date", "people", "city", "nights", "street", "amount", "title"}
CHOICE = re.compile(r"\[([^\[\]]*)\]")
FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class DemoCorpus:
    """The demo corpus in a folder, as `write_demo` leaves it."""

    url: ClassVar[str | None] = None
    splitting: ClassVar[Splitting] = "hashed"
    options: Read = field(default_factory=Read)

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the dialogues of `folder/dialogues.jsonl.gz`; what cannot be used goes to `quarantine`.

        :raises CorpusError: when the file is missing or damaged.
        """
        return read_dialogues(folder / FILE, quarantine=quarantine)

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
        self.told: set[str] = set()  # names of the facts that the customer has mentioned
        self.styles = {CUSTOMER: rng.choice(STYLES), AGENT: rng.choice(STYLES[:3])}
        self.domain: Mapping[str, Any] = {}
        self.brief = False
        self.theme: Mapping[str, str] | None = None  # small talk that is still to come
        self.moment = rng.choice(("before", "after", "later"))
        self.parting = ""

    def act(self, labels: Sequence[str]) -> tuple[Turn, ...]:
        """Play the whole dialogue, one domain after the other."""
        self.brief = len(labels) > 1
        self._draw(_phrases()["banks"])
        if self._chance(SMALL_TALK):
            self.theme = self.rng.choice([theme for theme in _phrases()["themes"] if theme["about"] not in labels])
        if self._chance(0.3):
            desk = demo_domains()[labels[0]]["desk"]
            self._say(AGENT, self.rng.choice(("agent_hello", "agent_desk")), {"desk": desk})
        if self._chance(0.6):
            self._say(CUSTOMER, "hello")
        for number, label in enumerate(labels):
            if number:
                self._say(CUSTOMER, "bridge")
                self.told &= {"first", "last", "phone"}
            self._pursue(label)
        self._part()
        return self._turns()

    def _chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def _draw(self, banks: Mapping[str, Sequence[str]]) -> None:
        self.facts |= {name: self.rng.choice(values) for name, values in banks.items()}
        self.facts["old_date"] = self._other("date")
        # What is "my son" to the customer is "your son" to the agent.
        for name in banks:
            value = self.facts[name]
            self.facts[f"your_{name}"] = "you" if value == "me" else re.sub(r"^my ", "your ", value)

    def _bank(self, slot: str) -> Sequence[str]:
        shared = _phrases()["banks"]
        bank: Sequence[str] = (
            shared[self.domain["times"]] if slot == "time" else self.domain["banks"].get(slot) or shared[slot]
        )
        return bank

    def _other(self, slot: str) -> str:
        bank = _phrases()["banks"]["date"] if slot == "date" else self._bank(slot)
        return self.rng.choice([value for value in bank if value != self.facts[slot]])

    def _pursue(self, label: str) -> None:
        """Play one domain: the customer's request, and what the goal takes."""
        self.domain = demo_domains()[label]
        banks = {"time": self._bank("time"), "code": self._bank("code"), "thing": self.domain["things"]}
        self._draw(self.domain["banks"] | banks)
        goal = self.rng.choices(list(GOALS), weights=list(GOALS.values()))[0]
        self._small_talk("before")
        if goal == "problem" and self._chance(0.6):
            self._say(CUSTOMER, "complaint")
        self._say(CUSTOMER, self.domain.get(goal, goal))
        self._small_talk("after")
        self._chat()
        self._say(AGENT, "sorry" if goal == "problem" else "ack")
        {"book": self._book, "change": self._change, "cancel": self._cancel, "problem": self._complain}[goal]()

    def _book(self) -> None:
        needed = set(FIELD.findall(self.domain["summary"].replace("your_", "")))
        extra = set() if self.brief else {self.rng.choice(self.domain["asks"])}
        for slot in self.domain["asks"]:
            fields = {"origin", "city"} if slot == "route" else {slot}
            if not fields <= self.told and fields & (needed | extra):
                self._ask(slot)
        self._offer()
        self._settle("done_book", question=0.5)

    def _change(self) -> None:
        self._find("old_date")
        self._say(AGENT, "new_date")
        self._tell(_phrases()["slots"]["date"]["tell"], "date")
        if self.domain["offer_slot"] == "time" and self._chance(0.7):
            self._offer()
        self._settle("done_change", question=0.7)

    def _settle(self, done: str, *, question: float) -> None:
        self._wonder(question)
        self._contact(0.3)
        self._say(AGENT, done)
        self._say(AGENT, self.domain["remark"])

    def _cancel(self) -> None:
        self._find("date")
        if not self.brief or self._chance(0.5):
            self._say(AGENT, "ask_reason")
            self._tell(_phrases()["reason_money" if "money" in self.domain["groups"] else "reason"], "reason")
        self._contact(0.5)
        self._say(AGENT, "policy")
        self._say(AGENT, "done_cancel")

    def _complain(self) -> None:
        self._find("date")
        if not self.brief:
            self._say(CUSTOMER, "want")
        self._say(AGENT, self.domain["fix"])
        if not self.brief and self._chance(0.5):
            self._say(CUSTOMER, "accept")
            self._contact(0.6)

    def _ask(self, slot: str) -> None:
        phrases = self.domain["slots"].get(slot) or _phrases()["slots"][slot]
        self._say(AGENT, phrases["ask"])
        self._tell(phrases["tell"], slot)

    def _tell(self, tell: str | Sequence[str], slot: str) -> None:
        """Answer the agent; now and then with a wrong value that is mended, or one that is misheard."""
        if self.styles[CUSTOMER] in LEADS and self._chance(0.25):
            self._say(CUSTOMER, LEADS[self.styles[CUSTOMER]])
        chance = self.rng.random() if slot in UNSURE and not self.brief else 1.0
        value = {"value": self.facts.get(slot, "")}
        if chance < 0.12:
            wrong = self._other(slot)
            self._say(CUSTOMER, tell, {slot: wrong})
            self._say(CUSTOMER, "wrong", value | {"wrong": wrong})
            self._say(AGENT, "righted", value)
        else:
            self._say(CUSTOMER, tell)
            if chance < 0.22:
                self._say(AGENT, "clarify", value)
                self._say(CUSTOMER, "clarified", value)
        self._small_talk("later")
        self._chat()

    def _small_talk(self, moment: str) -> None:
        """The customer says what is on the mind, if this is the moment."""
        if self.theme and self.moment == moment:
            self._say(CUSTOMER, [self.theme["say"]])
            self.moment = "now"

    def _chat(self) -> None:
        """The agent takes it up, and sometimes there is more to it."""
        if self.theme is None or self.moment != "now":
            return
        more = self._chance(0.1 if self.brief else 0.4)
        if more or "?" not in self.theme["reply"]:
            self._say(AGENT, [self.theme["reply"]])
        if more:
            self._say(CUSTOMER, [self.theme["more"]])
            self._say(AGENT, [self.theme["answer"]])
        self.parting, self.theme = self.theme["bye"], None

    def _offer(self) -> None:
        slot = self.domain["offer_slot"]
        if not self.brief and self._chance(0.3):
            self._say(AGENT, self.domain["offer"], {"offer": self._other(slot)})
            self._say(CUSTOMER, "reject")
            self._say(AGENT, "instead")
        self._say(AGENT, self.domain["offer"], {"offer": self.facts[slot]})
        self._say(CUSTOMER, "accept")

    def _wonder(self, probability: float) -> None:
        """The customer asks something on the side: half of the time what is asked in several domains."""
        if not self.brief and self._chance(probability):
            group = self.rng.choice(self.domain["groups"])
            question, answer = self.rng.choice(
                _phrases()["extras"][group] if self._chance(0.4) else self.domain["extras"]
            )
            self._say(CUSTOMER, [question])
            self._say(AGENT, [answer])

    def _find(self, date: str) -> None:
        """The agent finds the booking and reads it out, with the date as it stood."""
        what = "code" if "last" in self.told or self._chance(0.6) else "name"
        self._say(AGENT, f"ask_{what}")
        self._tell(_phrases()[f"tell_{what}"], what)
        self._say(AGENT, "found", {"date": self.facts[date]})
        if self._chance(0.6):
            self._say(CUSTOMER, "clarified", {"value": "that is it"})

    def _contact(self, probability: float) -> None:
        for what, fact in (("name", "last"), ("phone", "phone")):
            if fact not in self.told and not self.brief and self._chance(probability):
                self._say(AGENT, f"ask_{what}")
                self._tell(_phrases()[f"tell_{what}"], what)

    def _part(self) -> None:
        asked = self._chance(0.3)
        if asked:
            self._say(AGENT, "anything")
        self._say(CUSTOMER, "no_more" if asked else "thanks")
        self._say(AGENT, "bye_named" if "first" in self.told else "bye")
        if self.parting and self._chance(0.5):
            self._say(AGENT, [self.parting])

    def _say(self, speaker: str, phrases: str | Sequence[str], facts: Mapping[str, str] | None = None) -> None:
        """Add a sentence, chosen and filled in the speaker's style."""
        options = sorted(_phrases()[phrases] if isinstance(phrases, str) else phrases, key=len)
        half = (len(options) + 1) // 2
        text = self.rng.choice({"terse": options[:half], "verbose": options[-half:]}.get(self.styles[speaker], options))
        while found := CHOICE.search(text):
            text = text[: found.start()] + self.rng.choice(found[1].split("|")) + text[found.end() :]
        text = text.replace("{summary}", self.domain.get("summary", ""))
        if speaker == CUSTOMER:
            self.told |= set(FIELD.findall(text))
        known = self.facts | dict(facts or {})
        text = FIELD.sub(lambda match: known[match[1]], text)
        self.said.append((speaker, text[:1].upper() + text[1:]))

    def _turns(self) -> tuple[Turn, ...]:
        """Join what one speaker says in a row into one turn, now and then into two."""
        turns: list[Turn] = []
        for speaker, text in self.said:
            if turns and turns[-1].speaker == speaker and self._chance(0.92):
                turns[-1] = Turn(speaker, f"{turns[-1].text} {text}")
            else:
                turns.append(Turn(speaker, text))
        if self.styles[CUSTOMER] != "informal":
            return tuple(turns)
        return tuple(Turn(t.speaker, _casual(t.text, self.rng) if t.speaker == CUSTOMER else t.text) for t in turns)


def _casual(text: str, rng: random.Random) -> str:
    """Write as in a chat: small letters, short forms, and in one turn of seven a long word with two letters swapped."""
    for formal, casual in CASUAL.items():
        text = text.replace(formal, casual)
    words = text.removesuffix(".").split()
    places = [place for place, word in enumerate(words) if word.isalpha() and word.islower() and len(word) > 5]
    if places and rng.random() < 0.15:
        place = rng.choice(places)
        word, at = words[place], rng.randrange(1, len(words[place]) - 2)
        words[place] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return " ".join(words).lower()
