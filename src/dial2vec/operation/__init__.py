"""What runs beside the pipeline: schedule, server, drift, pages."""
