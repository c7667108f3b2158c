"""Calls whose end one turn tells, in words that are not those of the topic."""

from __future__ import annotations

import random

from conversations.dialogue import Dialogue, Turn

TOPICS = ("a table at the harbour", "two seats in the train", "a room with a view", "a car for the weekend")
BOOKED = ("it is confirmed , you are all set", "great news , that is reserved now", "all set , it is reserved")
FAILED = ("sorry , that did not work", "unfortunately it was not possible", "sorry , it is not possible")


def calls(n: int, seed: int = 0) -> tuple[list[Dialogue], dict[str, str]]:
    """Return n calls, and the end of each by its id: booked, failed or none."""
    draw, dialogues, ends = random.Random(seed), [], {}
    for number in range(n):
        end = ("booked", "failed", "none")[number % 3]
        turns = [Turn("user", f"hello , I need {draw.choice(TOPICS)}"), Turn("system", "for which day ?")]
        turns += [Turn("user", f"on {draw.choice(('monday', 'friday', 'sunday'))} please")]
        if end != "none":
            turns.append(Turn("system", draw.choice(BOOKED if end == "booked" else FAILED)))
        turns += [Turn("user", "thank you"), Turn("system", "have a nice day")]
        name = f"call-{seed}-{number}"
        dialogues.append(Dialogue(name, tuple(turns)))
        ends[name] = end
    return dialogues, ends
