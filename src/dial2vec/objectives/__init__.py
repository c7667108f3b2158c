"""Training objectives: tensors in, a scalar out. Which one trains is `train.method` of `params.yaml`."""
