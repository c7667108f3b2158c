"""What the domains of a MultiWOZ dialogue are: five definitions, which disagree on a few dialogues in a hundred."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dial2vec.data.corpora.corpus import expect

DOMAINS = ("attraction", "hotel", "restaurant", "taxi", "train", "hospital", "police")
BOOKING = "booking"
# Upstream's name for dialogues that were collected for a single task.
SINGLE = "SNG"
# Beside the only domain of a goal whose dialogue was collected for several tasks.
SEVERAL = "several"
EMPTY = ("", "not mentioned")


def labels_of(upstream: str, record: dict[str, Any], *, definition: str) -> list[str]:
    """Return the domains of a dialogue.

    - "goal": those of the user's goal, as it was handed out. Needs no annotation of the turns.
    - "acts": those of the annotated dialogue acts, without `general` and `booking`.
    - "acts_and_booking": the same, with `booking` as a domain.
    - "slots": those with a slot filled in any belief state.
    - "file": a dialogue named `SNG...` has one domain, the first of its goal; another has those of its goal, and where
      that is only one, `several` as well.

    :param upstream: the dialogue's key in `data.json`.
    :raises RecordError: when a part that the definition looks at is not what upstream has there.
    :raises KeyError: when there is no such part.
    """
    if definition in ("acts", "acts_and_booking"):
        booking = {BOOKING} if definition == "acts_and_booking" else set()
        return sorted(set(_acting(record)) & {*DOMAINS, *booking})
    if definition == "slots":
        return sorted(set(_filled(record)) & set(DOMAINS))
    # Looked up by name: `goal` also has a `message` and, in the original, a `topic`.
    goal = expect(record["goal"], dict, "'goal'")
    domains = [domain for domain in DOMAINS if goal.get(domain)]
    if definition == "file":
        return domains[:1] if upstream.startswith(SINGLE) else domains + [SEVERAL] * (len(domains) == 1)
    return domains


def _acting(record: dict[str, Any]) -> Iterator[str]:
    # Some copies of 2.1 have the acts in a file of their own.
    if not any("dialog_act" in turn for turn in record["log"]):
        raise KeyError("dialog_act")
    for turn in record["log"]:
        acts = turn.get("dialog_act") or {}
        # A turn without acts has a remark in their place.
        if not isinstance(acts, str):
            yield from (act.partition("-")[0].lower() for act in expect(acts, dict, "'dialog_act'"))


def _filled(record: dict[str, Any]) -> Iterator[str]:
    for turn in record["log"]:
        for domain, state in expect(turn.get("metadata") or {}, dict, "'metadata'").items():
            groups = expect(state, dict, f"'metadata' of {domain}").values()
            slots = [value for group in groups if isinstance(group, dict) for value in group.values()]
            if any(isinstance(value, str) and value not in EMPTY for value in slots):
                yield domain
