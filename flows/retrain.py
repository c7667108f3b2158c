"""The retraining of this project as a Prefect flow: `make retrain`, or every night by `dial2vec schedule`.

New data comes in. Each corpus that is worth it goes through the eight stages of dvc.yaml, and its model is promoted if
it is better. This file is the project's own: leave out a step, or add tasks of your own. The tasks are in the package.
"""

from __future__ import annotations

# First: it sets Prefect's environment, which Prefect reads while it is imported.
from dial2vec.operation.schedule.retrain import (
    ROOT,
    bring_data,
    decide,
    embed,
    night,
    promote,
    prune_old,
    push,
    run_now,
    run_stage,
    sentence,
    update_collection,
)

# isort: split
from prefect import flow
from prefect.states import Cancelled, State

from dial2vec.errors import BusyError
from dial2vec.operation.schedule.result import CorpusResult
from dial2vec.project.dvc import STAGES
from dial2vec.registry.receipts import reconcile, registered_models


@flow(name="retrain")
def retrain(corpora: list[str] | None = None, force: bool = False) -> dict[str, str] | State[None]:
    """Retrain the listed corpora (default: those of params.yaml) and return the result of each, in words.

    Only one retraining or `dvc repro` runs at a time. A second retraining waits or is cancelled, by `schedule.overlap`.

    :param force: True trains even if there is little or no new data.
    """
    try:
        # Tells the verdict at its end, also if an error is raised.
        with night(corpora) as (names, options, done):
            done.arrived(bring_data(names, options.schedule))
            done.notes += reconcile(ROOT, names)
            if not done.stands(ROOT, names, force=force):
                for corpus in names:
                    done.corpora.append(_retrain_corpus(corpus, force=force))
            for entry in options.collection:
                done.collections.append(update_collection(entry, names))
            # Even if nothing is new: the last push may have failed.
            if options.schedule.push != "nothing":
                done.notes += push(options.schedule.push)
            if options.schedule.embed and not done.failed:
                embed(options.schedule.embed)
            if options.prune.nightly and not done.failed:
                done.notes += prune_old(names, options.prune)
    except BusyError as error:
        return Cancelled(message=str(error))
    return done.outcome()


def _retrain_corpus(corpus: str, *, force: bool) -> CorpusResult:
    """Train one corpus if it is worth it; an error does not stop the other corpora."""
    result = CorpusResult(corpus, why="it was asked for")
    try:
        if not force:
            reason = decide(corpus)
            result.why, force = reason.words, reason.train
        if force:
            # validate, prepare, sample, train, select, distil, evaluate, register
            for stage in STAGES:
                run_stage(stage, corpus)
            result.trained = True
        # The corpus's model, then its student's.
        for name in registered_models(ROOT, corpus):
            result.judged(promote(name), small=name != corpus)
    except Exception as error:
        result.failed = sentence(error)
    return result


if __name__ == "__main__":
    run_now(ROOT, retrain)
