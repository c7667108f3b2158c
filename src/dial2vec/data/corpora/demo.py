"""The demo corpus: task-oriented dialogues composed from our own phrases, which need no download.

Each dialogue is a simulation: a customer with a style, small talk and a goal in one of twelve domains talks to an agent
who asks, mishears, offers and confirms. The domains are as hard to tell apart as in real calls: they share goals,
names, days, places and questions, some are close to each other, and small talk is about something else. The phrases in
`demo_domains.json` and `demo_phrases.json` have a small notation: `[a|b]` is a choice, `{date}` a value.
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

from conversations.dialogue import Dialogue, Quarantined, Turn, read_dialogues, write_dialogues
from conversations.errors import CorpusError
from dial2vec.config import Read
from dial2vec.data.corpora.corpus import Fetched, Splitting

FILE = "dialogues.jsonl.gz"
CUSTOMER, AGENT = "customer", "agent"
SAMPLE = 1000
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
# Slots that may be misheard or corrected; their values read the same from both sides.
UNSURE = {"date", "people", "city", "nights", "street", "amount", "title"}
CHOICE = re.compile(r"\[([^\[\]]*)\]")
FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class DemoCorpus:
    """Reader of the demo corpus that `write_demo` writes."""

    splitting: ClassVar[Splitting] = "hashed"
    options: Read = field(default_factory=Read)

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the dialogues of `folder/dialogues.jsonl.gz`; unusable lines go to `quarantine`.

        :raises CorpusError: if the file is missing or damaged.
        """
        return read_dialogues(folder / FILE, quarantine=quarantine)

    def fetch(self, folder: Path, *, mirror: Path | str | None = None) -> Fetched:
        """Write the corpus to `folder`; it needs no mirror."""
        write_demo(folder)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        return Fetched(folder, size, "written", [])


def write_demo(folder: Path) -> int:
    """Write the demo corpus to `folder/dialogues.jsonl.gz`, always the same, and return the number of dialogues."""
    return write_dialogues(folder / FILE, generate_demo())


def write_sample(file: Path) -> Path:
    """Write the first 1,000 dialogues of the demo corpus to a `.jsonl` file, unless it holds them; return its path.

    :raises CorpusError: if the file exists and holds anything else.
    """
    sample = list(generate_demo(n_dialogues=SAMPLE))
    if not file.exists():
        write_dialogues(file, sample)
    elif list(read_dialogues(file, quarantine=[])) != sample:
        raise CorpusError(f"{file} exists and is not the sample; expected a free name. Rename it, or work elsewhere.")
    return file


def generate_demo(*, n_dialogues: int = 2000, seed: int = 7) -> Iterator[Dialogue]:
    """Compose dialogues of a customer and an agent; four in five have one domain label, the others two.

    Dialogue i depends only on `seed` and i, so a longer corpus starts with the shorter one.
    """
    for number in range(n_dialogues):
        rng = random.Random(f"{seed}/{number}")
        mixed = rng.random() < MIXED_SHARE
        labels = rng.sample(sorted(demo_domains()), 2 if mixed else 1)
        turns = _Conversation(rng).act(labels)
        yield Dialogue(f"demo-{number:05d}", turns, tuple(sorted(labels)))


@functools.cache
def demo_domains() -> dict[str, Any]:
    """Return the twelve domains by label; every single-domain dialogue has one of its domain's "words"."""
    return _load("demo_domains.json")


@functools.cache
def _phrases() -> dict[str, Any]:
    return _load("demo_phrases.json")


def _load(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return loaded


class _Conversation:
    """One dialogue while it is composed: its facts, and its sentences so far."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.sentences: list[tuple[str, str]] = []
        self.facts: dict[str, str] = {}
        self.mentioned: set[str] = set()  # facts that the customer has mentioned
        self.styles = {CUSTOMER: rng.choice(STYLES), AGENT: rng.choice(STYLES[:3])}
        self.domain: Mapping[str, Any] = {}
        self.brief = False
        self.theme: Mapping[str, str] | None = None  # small talk still to come
        self.moment = rng.choice(("before", "after", "later"))
        self.parting = ""

    def act(self, labels: Sequence[str]) -> tuple[Turn, ...]:
        """Compose the whole dialogue, one domain after the other."""
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
                self.mentioned &= {"first", "last", "phone"}
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
        """Compose one domain: the customer's request, and the steps of the goal."""
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
            if not fields <= self.mentioned and fields & (needed | extra):
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
        """Answer the agent; sometimes the value is wrong and corrected, or misheard."""
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
        """Add the customer's small talk, if this is its moment."""
        if self.theme and self.moment == moment:
            self._say(CUSTOMER, [self.theme["say"]])
            self.moment = "now"

    def _chat(self) -> None:
        """Add the agent's reply to small talk, and sometimes a follow-up."""
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
        """Add a side question of the customer, often one that occurs in several domains."""
        if not self.brief and self._chance(probability):
            group = self.rng.choice(self.domain["groups"])
            question, answer = self.rng.choice(
                _phrases()["extras"][group] if self._chance(0.4) else self.domain["extras"]
            )
            self._say(CUSTOMER, [question])
            self._say(AGENT, [answer])

    def _find(self, date: str) -> None:
        """Let the agent find the booking and read it out, with its old date."""
        key = "code" if "last" in self.mentioned or self._chance(0.6) else "name"
        self._say(AGENT, f"ask_{key}")
        self._tell(_phrases()[f"tell_{key}"], key)
        self._say(AGENT, "found", {"date": self.facts[date]})
        if self._chance(0.6):
            self._say(CUSTOMER, "clarified", {"value": "that is it"})

    def _contact(self, probability: float) -> None:
        for key, fact in (("name", "last"), ("phone", "phone")):
            if fact not in self.mentioned and not self.brief and self._chance(probability):
                self._say(AGENT, f"ask_{key}")
                self._tell(_phrases()[f"tell_{key}"], key)

    def _part(self) -> None:
        asked = self._chance(0.3)
        if asked:
            self._say(AGENT, "anything")
        self._say(CUSTOMER, "no_more" if asked else "thanks")
        self._say(AGENT, "bye_named" if "first" in self.mentioned else "bye")
        if self.parting and self._chance(0.5):
            self._say(AGENT, [self.parting])

    def _say(self, speaker: str, phrases: str | Sequence[str], facts: Mapping[str, str] | None = None) -> None:
        """Add a sentence in the speaker's style."""
        options = sorted(_phrases()[phrases] if isinstance(phrases, str) else phrases, key=len)
        half = (len(options) + 1) // 2
        text = self.rng.choice({"terse": options[:half], "verbose": options[-half:]}.get(self.styles[speaker], options))
        while choice := CHOICE.search(text):
            text = text[: choice.start()] + self.rng.choice(choice[1].split("|")) + text[choice.end() :]
        text = text.replace("{summary}", self.domain.get("summary", ""))
        if speaker == CUSTOMER:
            self.mentioned |= set(FIELD.findall(text))
        known = self.facts | dict(facts or {})
        text = FIELD.sub(lambda match: known[match[1]], text)
        self.sentences.append((speaker, text[:1].upper() + text[1:]))

    def _turns(self) -> tuple[Turn, ...]:
        """Join consecutive sentences of one speaker into one turn, sometimes into two."""
        turns: list[Turn] = []
        for speaker, text in self.sentences:
            if turns and turns[-1].speaker == speaker and self._chance(0.92):
                turns[-1] = Turn(speaker, f"{turns[-1].text} {text}")
            else:
                turns.append(Turn(speaker, text))
        if self.styles[CUSTOMER] != "informal":
            return tuple(turns)
        return tuple(Turn(t.speaker, _casual(t.text, self.rng) if t.speaker == CUSTOMER else t.text) for t in turns)


def _casual(text: str, rng: random.Random) -> str:
    """Return a text in chat style: lower case, short forms, and sometimes a typo in a long word."""
    for formal, casual in CASUAL.items():
        text = text.replace(formal, casual)
    words = text.removesuffix(".").split()
    places = [place for place, word in enumerate(words) if word.isalpha() and word.islower() and len(word) > 5]
    if places and rng.random() < 0.15:
        place = rng.choice(places)
        word, at = words[place], rng.randrange(1, len(words[place]) - 2)
        words[place] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return " ".join(words).lower()
