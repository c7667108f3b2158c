"""Operation outside the pipeline: schedule, serving, drift, pages."""
