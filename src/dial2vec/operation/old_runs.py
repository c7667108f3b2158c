"""Old runs on Prefect's page: retrainings that ended long ago are removed from its database."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dial2vec import telemetry
from dial2vec.operation.pages import PREFECT_SERVER, scheduled_server, use_prefect

# Prefect answers with at most 200 runs at once.
AT_ONCE = 200


def remove_old_runs(root: Path, days: float, *, dry_run: bool) -> str:
    """Remove the runs that ended more than `days` ago with their logs, and return a sentence.

    Only the server of a running schedule, or the one in PREFECT_API_URL, is asked: starting one takes a minute.

    :param dry_run: True to count the runs only.
    """
    if not (scheduled_server(root) or os.environ.get(PREFECT_SERVER)):
        return "Prefect's runs are left alone: only a running schedule can remove them."
    # Prefect reads its environment while it is imported.
    telemetry.switch_off()
    use_prefect(root)
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterEndTime

    before = datetime.now(UTC) - timedelta(days=days)
    ended, count = FlowRunFilter(end_time=FlowRunFilterEndTime(before_=before)), 0
    with get_client(sync_client=True) as client:
        while runs := client.read_flow_runs(flow_run_filter=ended, limit=AT_ONCE, offset=count if dry_run else 0):
            for run in () if dry_run else runs:
                client.delete_flow_run(run.id)
            count += len(runs)
    return f"Prefect: {count} runs that ended more than {days:g} days ago"
