"""Models in MLflow: one run per training, one registered model per corpus, who is champion, and why."""
