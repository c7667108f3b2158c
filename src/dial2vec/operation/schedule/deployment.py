"""`prefect.yaml`, Prefect's deployment of the flow, written from `operation.yaml` for this checkout."""

from __future__ import annotations

import hashlib
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import yaml

from conversations.files import write_text
from dial2vec.config import Schedule
from dial2vec.errors import SettingsError

FLOW, NAME, POOL = "retrain", "nightly", "dial2vec"
HEAD = "# Written by `dial2vec schedule` from operation.yaml for this folder: change the block `schedule` there.\n"


def deployment_names(root: Path, *, shared: bool) -> tuple[str, str]:
    """Return the names of the deployment and its work pool.

    :param shared: True if other checkouts may use the same server; they must not take this checkout's runs.
    """
    if not shared:
        return NAME, POOL
    own = f"{platform.node()}-{root.name}-{hashlib.sha256(str(root).encode()).hexdigest()[:4]}"
    return f"{NAME}-{own}", f"{POOL}-{own}"


def write_deployment(root: Path, schedule: Schedule, *, shared: bool = False) -> Path:
    """Write `prefect.yaml`, and return its path.

    :param shared: True if other checkouts may use the same server.
    :raises SettingsError: if the cron expression is invalid.
    """
    from cronsim import CronSim, CronSimError

    try:
        CronSim(schedule.cron, datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise SettingsError(
            f"operation.yaml: schedule.cron: found {schedule.cron!r} ({error}); expected minute, hour, day, month and "
            "weekday, such as '0 3 * * *' for every night at three."
        ) from error
    name, pool = deployment_names(root, shared=shared)
    content = {
        "name": "dial2vec",
        "prefect-version": version("prefect"),
        "pull": [{"prefect.deployments.steps.set_working_directory": {"directory": str(root)}}],
        "deployments": [
            {
                "name": name,
                "description": "Takes in new dialogues, retrains what changed, and promotes what is better.",
                "entrypoint": "flows/retrain.py:retrain",
                "parameters": {},
                "work_pool": {"name": pool},
                "schedules": [{"cron": schedule.cron, "timezone": schedule.timezone, "active": True}],
            }
        ],
    }
    path = root / "prefect.yaml"
    write_text(path, HEAD + yaml.safe_dump(content, sort_keys=False))
    return path
