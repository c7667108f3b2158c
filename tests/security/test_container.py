"""The images and the services of compose.yaml: what they may do, and what they hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
# Stages whose images are run.
IMAGES = ("student", "serve", "schedule")


def stages() -> dict[str, tuple[str, str]]:
    """From the name of each stage to the one that it begins with and its instructions."""
    found = re.findall(r"^FROM (\S+) AS (\S+)\n(.*?)(?=^FROM |\Z)", DOCKERFILE, re.MULTILINE | re.DOTALL)
    return {name: (parent, text) for parent, name, text in found}


@pytest.mark.parametrize("name", IMAGES)
def test_no_image_runs_as_root(name):
    texts, users = stages(), []
    while name in texts:
        parent, text = texts[name]
        users = re.findall(r"^USER (\S+)", text, re.MULTILINE) + users
        name = parent
    assert users[-1:] == ["10001"]


def test_images_hold_no_package_without_a_hash():
    installed = [part for line in DOCKERFILE.splitlines() if line.startswith("RUN") for part in line.split("&&")]
    for part in (part for part in installed if "$INSTALL" in part or "pip install" in part):
        assert "--require-hashes" in part or part.split() == ["$INSTALL", "dist/*.whl"], part
    for name in ("build", *IMAGES):
        for line in (ROOT / "container" / f"{name}.lock").read_text().replace("\\\n", " ").splitlines():
            assert re.match(r"\S+==\S+ .*--hash=sha256:[0-9a-f]{64}", line), line[:80]


def test_the_image_of_a_student_has_no_torch():
    packages = (ROOT / "container" / "student.lock").read_text()
    assert not re.search(r"^(torch|transformers|scikit-learn|scipy|pandas|nvidia-.*)==", packages, re.MULTILINE)


def test_the_images_take_the_versions_of_the_lock():
    locked = {line.split()[0] for line in (ROOT / "requirements.lock").read_text().splitlines() if line[:1] not in " #"}
    locked |= {line.split()[0] for line in (ROOT / "requirements.torch.lock").read_text().splitlines()}
    names = {pin.partition("==")[0] for pin in locked}
    for name in ("build", *IMAGES):
        lines = (ROOT / "container" / f"{name}.lock").read_text().splitlines()
        pins = {line.split()[0] for line in lines if line[:1] not in " #"}
        assert {pin for pin in pins if pin.partition("==")[0] in names} <= locked


@pytest.mark.parametrize("name", SERVICES)
def test_services_have_no_rights_and_a_read_only_file_system(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service.get("user") != "root"
    assert "cap_add" not in service
    assert "/tmp" in service["tmpfs"]


@pytest.mark.parametrize("name", SERVICES)
def test_ports_are_open_on_this_machine_only(name):
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))


@pytest.mark.parametrize("name", [name for name in SERVICES if name not in ("schedule", "serve")])
def test_services_that_others_wait_for_tell_when_they_are_ready(name):
    assert SERVICES[name]["healthcheck"]["test"]


def test_passwords_are_neither_in_the_images_nor_in_the_repository():
    rules = (ROOT / ".dockerignore").read_text().splitlines()
    assert next(rule for rule in rules if rule and rule[0] != "#") == "*"
    assert not {"!.env", "!.prefect", "!data", "!mlruns", "!."} & set(rules)
    text = (ROOT / "compose.yaml").read_text()
    secrets = re.findall(r"(?:PASSWORD|SECRET_ACCESS_KEY|AUTH_STRING|secretKey|CONNECTION_URL|STORE_URI)\W+(.*)", text)
    assert len(secrets) >= 6
    assert all("PASSWORD:?put it into .env}" in one for one in secrets)
    assert not re.search(r"^(ENV|ARG) .*(PASSWORD|SECRET|TOKEN|KEY)", DOCKERFILE, re.MULTILINE)


def test_images_of_others_have_a_version():
    for image in (COMPOSE["x-images"]["postgres"], COMPOSE["x-images"]["store"]):
        assert re.search(r":\d+\.\d+", image)
    assert re.search(r"^ARG PYTHON=python:3\.11", DOCKERFILE, re.MULTILINE)


def test_the_images_are_built_from_every_file_of_a_new_project():
    taken = (ROOT / ".dockerignore").read_text().splitlines()
    for name in (ROOT / "src/dial2vec/project/template.txt").read_text().split():
        assert f"!{name}" in taken
