"""Domains of a MultiWOZ dialogue by five definitions, which differ for a few per cent of the dialogues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dial2vec_papers.corpora.file_corpus import expect

DOMAINS = ("attraction", "hotel", "restaurant", "taxi", "train", "hospital", "police")
BOOKING = "booking"
# Upstream's prefix of dialogues collected for a single task.
SINGLE = "SNG"
# Second label of a dialogue with one domain that was collected for several tasks.
SEVERAL = "several"
EMPTY = ("", "not mentioned")


def labels_of(upstream: str, record: dict[str, Any], *, definition: str) -> list[str]:
    """Return the domains of a dialogue.

    - "goal": domains of the user's goal. Needs no annotation of turns.
    - "acts": domains of the annotated dialogue acts, without `general` and `booking`.
    - "acts_and_booking": the same, with `booking` as a domain.
    - "slots": domains with a filled slot in any belief state.
    - "file": the first domain of the goal if the name is `SNG...`; otherwise all domains of the goal, and also
      `several` if there is only one.

    :param upstream: Key of the dialogue in `data.json`.
    :raises RecordError: if a part that the definition needs has the wrong type.
    :raises KeyError: if such a part is missing.
    """
    if definition in ("acts", "acts_and_booking"):
        booking = {BOOKING} if definition == "acts_and_booking" else set()
        return sorted(set(_acting(record)) & {*DOMAINS, *booking})
    if definition == "slots":
        return sorted(set(_filled(record)) & set(DOMAINS))
    # By name, because `goal` also has a `message` and, in the original, a `topic`.
    goal = expect(record["goal"], dict, "'goal'")
    domains = [domain for domain in DOMAINS if goal.get(domain)]
    if definition == "file":
        return domains[:1] if upstream.startswith(SINGLE) else domains + [SEVERAL] * (len(domains) == 1)
    return domains


def _acting(record: dict[str, Any]) -> Iterator[str]:
    # Some copies of 2.1 have the acts in another file.
    if not any("dialog_act" in turn for turn in record["log"]):
        raise KeyError("dialog_act")
    for turn in record["log"]:
        acts = turn.get("dialog_act") or {}
        # A turn without acts has a text instead.
        if not isinstance(acts, str):
            yield from (act.partition("-")[0].lower() for act in expect(acts, dict, "'dialog_act'"))


def _filled(record: dict[str, Any]) -> Iterator[str]:
    for turn in record["log"]:
        for domain, state in expect(turn.get("metadata") or {}, dict, "'metadata'").items():
            groups = expect(state, dict, f"'metadata' of {domain}").values()
            slots = [value for group in groups if isinstance(group, dict) for value in group.values()]
            if any(isinstance(value, str) and value not in EMPTY for value in slots):
                yield domain
