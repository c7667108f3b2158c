"""The papers' tables, tasks and baselines."""
