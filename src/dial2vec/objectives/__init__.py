"""Training objectives by their name in `params.yaml` (`train.method`): tensors in, scalar out."""

from dial2vec.objectives.dial2vec import dial2vec_loss

OBJECTIVES = {"dial2vec": dial2vec_loss}
