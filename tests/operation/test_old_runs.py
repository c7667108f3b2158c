from __future__ import annotations

from dial2vec.operation.old_runs import remove_old_runs


def test_without_a_running_server_no_run_is_touched_and_none_is_started(tmp_path, monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    said = remove_old_runs(tmp_path, 30, dry_run=False)
    assert said == "Prefect's runs are left alone: only a running schedule can remove them."
    assert list(tmp_path.iterdir()) == []
