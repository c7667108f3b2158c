"""Stage validate: raw files to usable dialogues; what cannot be used is written down, and the suites must hold."""

from __future__ import annotations

from dial2vec.artifacts import Artifacts
from dial2vec.config import Settings
from dial2vec.corpora import get_corpus
from dial2vec.dialogue import SetAside, write_dialogues, write_set_aside
from dial2vec.files import write_json
from dial2vec.stages import stage
from dial2vec.validation import check, require, to_records


def validate(artifacts: Artifacts, settings: Settings) -> str:
    """Read the raw corpus, set aside what is no dialogue, and hold the rest against the suites."""
    corpus = get_corpus(artifacts.corpus, data=artifacts.data.parent)
    set_aside: list[SetAside] = []
    dialogues = list(corpus.read(artifacts.data, set_aside=set_aside))
    write_dialogues(artifacts.dialogues, dialogues)
    write_set_aside(artifacts.set_aside, set_aside)
    outcomes = check(dialogues, set_aside, limits=settings.validate)
    report = {
        "corpus": artifacts.corpus,
        "dialogues": len(dialogues),
        "turns": sum(len(dialogue.turns) for dialogue in dialogues),
        "one_speaker": sum(dialogue.n_speakers < 2 for dialogue in dialogues),
        "set_aside": len(set_aside),
        "expectations": to_records(outcomes),
    }
    write_json(artifacts.validation, report)
    require(outcomes, corpus=artifacts.corpus)
    aside = f", {len(set_aside)} set aside (see {artifacts.set_aside.relative_to(artifacts.root)})" if set_aside else ""
    return f"{len(dialogues)} dialogues, {report['turns']} turns, {len(outcomes)} expectations hold{aside}"


if __name__ == "__main__":
    stage.main(validate)
