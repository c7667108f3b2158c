from __future__ import annotations

import pytest
import yaml

from dial2vec.config import Schedule
from dial2vec.errors import SettingsError
from dial2vec.operation.schedule.deployment import write_deployment


def test_the_deployment_has_the_times_of_the_settings_and_the_folder_at_hand(tmp_path):
    path = write_deployment(tmp_path, Schedule(cron="30 2 * * 1-5", timezone="Europe/Berlin"))
    text = path.read_text()
    assert text.startswith("# Written by `dial2vec schedule` from operation.yaml")
    content = yaml.safe_load(text)
    [one] = content["deployments"]
    assert one["schedules"] == [{"cron": "30 2 * * 1-5", "timezone": "Europe/Berlin", "active": True}]
    assert one["entrypoint"] == "flows/retrain.py:retrain"
    assert content["pull"] == [{"prefect.deployments.steps.set_working_directory": {"directory": str(tmp_path)}}]


def test_checkouts_that_share_a_server_do_not_take_each_others_runs(tmp_path):
    found = [
        yaml.safe_load(write_deployment(fresh, Schedule(), shared=True).read_text())["deployments"][0]
        for fresh in (tmp_path / "a", tmp_path / "b")
    ]
    assert len({one["name"] for one in found}) == len({one["work_pool"]["name"] for one in found}) == 2


def test_times_that_are_none_are_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"schedule\.cron: found '61 3 \* \* \*' \(.+\); expected minute, hour"):
        write_deployment(tmp_path, Schedule(cron="61 3 * * *"))
    assert not (tmp_path / "prefect.yaml").exists()
