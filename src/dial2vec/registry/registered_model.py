"""The registered model as MLflow runs it ("model from code"): one vector per dialogue.

MLflow copies this file into every version and executes it there, next to a copy of the package `dial2vec`.
"""

import logging
from typing import Any

import mlflow
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INTERNAL_ERROR, INVALID_PARAMETER_VALUE
from pydantic import BaseModel

log = logging.getLogger(__name__)


class TurnRecord(BaseModel):
    """One utterance; `speaker` is any name, the same for all turns of one speaker."""

    speaker: str
    text: str


class DialogueRecord(BaseModel):
    """One whole conversation; only messages use `dialogue_id`."""

    turns: list[TurnRecord]
    dialogue_id: str | None = None


class DialogueVectors(mlflow.pyfunc.PythonModel):
    """An encoder or a student with MLflow's pyfunc interface.

    It raises `MlflowException` only: the scoring server answers any other exception with its stack trace.
    """

    def load_context(self, context: Any) -> None:
        """Load the encoder that was stored as the artifact "encoder"."""
        from dial2vec.encoder.loading import load_encoder

        self.encoder = load_encoder(context.artifacts["encoder"])

    def predict(
        self, context: Any, model_input: list[DialogueRecord], params: dict[str, Any] | None = None
    ) -> list[list[float]]:
        """Return one vector per dialogue, in input order.

        :param context: unused; `load_context` has loaded the encoder.
        :param model_input: one or more dialogues, each with at least one turn that is not blank.
        :param params: unused; the model has no parameters.
        :raises MlflowException: INVALID_PARAMETER_VALUE (status 400 of the scoring server) with the place of the
            dialogue, from 1, and its id.
        """
        from conversations.dialogue import RecordError, dialogue_from_record

        if not model_input:
            raise MlflowException("there are no dialogues; send at least one", error_code=INVALID_PARAMETER_VALUE)
        dialogues = []
        for number, record in enumerate(model_input, start=1):
            turns = [{"speaker": turn.speaker, "text": turn.text} for turn in record.turns]
            name = f"dialogue {number}" + (f" ({record.dialogue_id!r})" if record.dialogue_id else "")
            try:
                dialogues.append(dialogue_from_record({"dialogue_id": name, "turns": turns}))
            except RecordError as error:
                raise MlflowException(f"{name}: {error}", error_code=INVALID_PARAMETER_VALUE) from None
        try:
            vectors: list[list[float]] = self.encoder.encode(dialogues).tolist()
        except Exception as error:
            log.exception("encoding failed")
            raise MlflowException(f"encoding failed ({type(error).__name__})", error_code=INTERNAL_ERROR) from None
        return vectors


mlflow.models.set_model(DialogueVectors())
