"""Switches that turn off telemetry and update checks of libraries; the user's own environment wins."""

from __future__ import annotations

import os

# Each library reads its own variable, usually once, while it is imported.
SWITCHES = {
    # mlflow compares with the word "true"; prefect and huggingface_hub accept it as well.
    "DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    # Without this, seven job runners outlive a stopped `mlflow server`.
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # DVC's update check has no such variable: `core.check_update` in .dvc/config turns it off.
    "DVC_NO_ANALYTICS": "1",
    "ITERATIVE_DO_NOT_TRACK": "1",
    "GX_ANALYTICS_ENABLED": "false",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}


def switch_off() -> None:
    """Turn off telemetry, update checks and progress bars.

    Call it before mlflow, prefect, dvc, great_expectations or huggingface_hub is imported. Variables that the user has
    set stay. Child processes inherit all of them.
    """
    for name, value in SWITCHES.items():
        os.environ.setdefault(name, value)
