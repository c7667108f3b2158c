"""A help desk of about 1,000 made-up dialogues over 16 weeks, in which three facts are planted.

    .venv/bin/python -m tests.collection.planted helpdesk.jsonl [--quiet]

From 30 March on, lost cards have four times their share, mostly by phone and with low ratings, and orders of pizza
half of theirs. Orders of keyboards are new from 6 April. All other topics have as many dialogues in every week.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from conversations.dialogue import Dialogue, Turn, write_dialogues

WEEKS, START, SINCE, NEW_SINCE = 16, datetime(2026, 1, 5), "2026-03-30", "2026-04-06"
LATE, NEW_WEEK = 12, 13
MORE, LESS, NEW = "cards", "pizza", "keyboards"
# What the call is about, and how customers say so; [a|b] is a choice.
TOPICS = {
    MORE: (
        "a lost card",
        "I lost my [credit|bank] card [on the train|at the airport|last night|in a shop]",
        "My [credit|bank] card was stolen [on the train|at the airport|last night|in a shop]",
        "My card is gone, please block the [lost|stolen] card [at once|today|right now]",
    ),
    LESS: (
        "an order of pizza",
        "I would like to order a [large|small|thin] pizza with [mushrooms|ham|extra cheese|olives]",
        "Can I order [two|three|four] pizzas with [mushrooms|ham|extra cheese|olives] for [tonight|lunch]",
        "We want a pizza with [mushrooms|ham|olives] delivered [tonight|at noon|to the office]",
    ),
    NEW: (
        "an order of keyboards",
        "I want to order [two|three|five] electronic keyboards for [our band|the school|a concert]",
        "Do you have stage keyboards with [88|76|61] keys in stock",
        "How much is a keyboard with weighted keys [and a stand|and pedals|for beginners]",
    ),
    "internet": (
        "the internet connection",
        "My internet connection is [slow|down|unstable] [since yesterday|every evening|again]",
        "The [router|modem] loses the internet connection [every evening|again|all the time]",
        "There is no internet [in my flat|at home|in the office] [since yesterday|again]",
    ),
    "seats": (
        "the seat on a flight",
        "I want to change my seat to [an aisle|a window] seat on the flight to [Rome|Oslo|Lisbon]",
        "Can you check my seat assignment on the flight to [Rome|Oslo|Lisbon]",
        "Please give me a seat [at the window|near the exit|in front] on my flight",
    ),
    "insurance": (
        "a proof of insurance",
        "I need a proof of insurance for my [car|van|motorbike]",
        "Please send me the proof of car insurance [by mail|as a file|today]",
        "Where do I find the insurance certificate of my [car|van|motorbike]",
    ),
    "passwords": (
        "the password",
        "I forgot my password and cannot log in [any more|since yesterday|again]",
        "How do I reset the password of my [account|login|profile]",
        "The link to reset my password does not work [any more|again|today]",
    ),
    "bills": (
        "an error on the phone bill",
        "There is an error on my phone bill of [May|June|last month]",
        "Why is my phone bill [so high|higher than before|twice as high] this month",
        "I was charged [twice|too much|for roaming] on my last phone bill",
    ),
    "expenses": (
        "travel expenses",
        "How do I claim travel expenses for [the fair|a train ride|my trip to Rome]",
        "I need my travel expenses [reimbursed|paid back] for [the fair|a train ride|my last trip]",
        "When are the travel expenses of [the fair|last week|my last trip] reimbursed",
    ),
    "screens": (
        "a cracked screen",
        "The screen of my phone is cracked [after a fall|since yesterday|at the corner]",
        "How much does it cost to repair a cracked [phone|tablet] screen",
        "Can you fix the broken screen of my [phone|tablet] [today|this week]",
    ),
    "addresses": (
        "a change of address",
        "I moved and want to change my [postal|home] address",
        "Please update the address of my account to [Main Street|Park Road|Hill Lane]",
        "My new address is [Main Street|Park Road|Hill Lane], please change it",
    ),
    "television": (
        "cable television",
        "I want to subscribe to cable television with [sport|films|news] channels",
        "Which television channels come with the [basic|large|family] cable package",
        "Can I add [sport|film|news] channels to my cable television package",
    ),
}
CLOSINGS = ("Thank you", "Great, thanks", "That helps, thank you", "Perfect")
ANSWERS = ("One moment please, I will look it up.", "Let me see what I can do.", "I will take care of it.")
CHOICE = re.compile(r"\[([^\]]*)\]")


def planted(*, quiet: bool = False) -> list[Dialogue]:
    """Return the dialogues, labelled with their topic, in the order of their dates.

    :param quiet: True for the same help desk in which nothing changes.
    """
    random, made = Random(1), []
    for week in range(WEEKS):
        for topic in TOPICS:
            late = week >= LATE and not quiet
            count = {MORE: 8 if late else 2, LESS: 7 if late else 14, NEW: 12 * (week >= NEW_WEEK and not quiet)}
            made += [_dialogue(topic, week, late, random) for _ in range(count.get(topic, 5))]
    made.sort(key=lambda one: one.date or "")
    return [replace(one, dialogue_id=f"T-{at + 1:04}") for at, one in enumerate(made)]


def _dialogue(topic: str, week: int, late: bool, random: Random) -> Dialogue:
    hit = topic == MORE and late
    time = START + timedelta(weeks=week, days=random.randrange(7), minutes=random.randrange(8 * 60, 20 * 60))
    about, *openings = TOPICS[topic]
    asked = CHOICE.sub(lambda match: random.choice(match[1].split("|")), random.choice(openings))
    turns = (
        Turn("customer", f"{random.choice(('Hello. ', 'Hi! ', ''))}{asked}."),
        Turn("agent", f"{random.choice(ANSWERS)} So it is about {about}?"),
        Turn("customer", f"{random.choice(('Yes', 'Right', 'Exactly'))}, {about}. {random.choice(CLOSINGS)}."),
    )
    channel = random.choices(("phone", "chat", "email"), (60, 30, 10) if hit else (25, 50, 25))[0]
    csat = random.choices(range(1, 6), (5, 4, 0, 0, 0) if hit else (1, 2, 3, 3, 1))[0]
    return Dialogue("", turns, (topic,), date=time.isoformat(), metadata={"channel": channel, "CSAT": csat})


def main() -> None:
    """Write the dialogues without their labels, as an export would have them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--quiet", action="store_true", help="plant nothing")
    options = parser.parse_args()
    write_dialogues(options.file, [replace(one, labels=()) for one in planted(quiet=options.quiet)])


if __name__ == "__main__":
    main()
