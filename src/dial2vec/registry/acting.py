"""Topics written into MLflow, by its own functions: evaluation data sets, and tags of the traces of conversations."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dial2vec.errors import ModelError
from dial2vec.files import find_root
from dial2vec.registry.store import SERVER, opened, store_uri
from dial2vec.registry.traces import session_of

TAG = "dial2vec.topic"


@contextmanager
def _experiment(name: str) -> Iterator[str]:
    """Yield the id of an experiment, with MLflow's own functions set to the store that has it."""
    import mlflow

    server = os.environ.get(SERVER)
    root = Path.cwd() if server else find_root()
    with opened(root) as client:
        if (experiment := client.get_experiment_by_name(name)) is None:
            raise ModelError(f"MLflow has no experiment {name!r}; expected one. Name another, or set {SERVER}.")
        mlflow.set_tracking_uri(store_uri(root))
        try:
            yield experiment.experiment_id
        finally:
            mlflow.set_tracking_uri(server)


def log_evaluation_data(experiment: str, name: str, records: Iterable[dict[str, object]]) -> int:
    """Merge rows into an evaluation data set of an experiment, which is made if it is missing, and return its size."""
    from mlflow.genai.datasets import create_dataset, search_datasets

    with _experiment(experiment) as number:
        known = {dataset.name: dataset for dataset in search_datasets(experiment_ids=number)}
        dataset = known.get(name) or create_dataset(name, experiment_id=number)
        return len(dataset.merge_records(list(records)).to_df())


def tag_traces(experiment: str, topics: Mapping[str, str] | None, *, write: bool = False) -> tuple[int, int]:
    """Tag each trace of an experiment with the topic of its dialogue: that of its session, else of the trace alone.

    :param topics: name of the topic by id of the dialogue; None removes the tags.
    :param write: False to count only.
    :return: number of traces whose tag changes, and of all traces.
    """
    import mlflow

    with _experiment(experiment) as number:
        traces, changes = mlflow.search_traces(locations=[number], include_spans=False, return_type="list"), []
        for info in (trace.info for trace in traces):
            topic = (topics or {}).get(session_of(info))
            if topic != info.tags.get(TAG) and (topic or topics is None):
                changes.append((info.trace_id, topic))
        for trace_id, topic in changes if write else ():
            mlflow.set_trace_tag(trace_id, TAG, topic) if topic else mlflow.delete_trace_tag(trace_id, TAG)
    return len(changes), len(traces)
