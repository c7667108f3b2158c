from __future__ import annotations

from types import SimpleNamespace

import pytest

from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec.pipeline.free_space import naming_full_disk, require_space


@pytest.fixture
def free(monkeypatch):
    """Set the free space of all disks, in bytes."""

    def set_to(number: float) -> None:
        monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=number))

    return set_to


def test_too_little_space_is_refused_with_the_folder_and_the_setting(tmp_path, free):
    (tmp_path / "artifacts").mkdir()
    free(1.26e9)
    with pytest.raises(
        Dial2vecError, match=r"disk of .*artifacts has 1\.3 GB left; expected at least 2 GB \(schedule\.min"
    ):
        require_space(tmp_path, 2)
    require_space(tmp_path, 1)


def test_an_error_of_a_library_on_a_full_disk_is_one_sentence(tmp_path, free):
    free(5e6)
    reason = r"RuntimeError: writer failed\. .* has 5 MB left, which may be why"
    with pytest.raises(Dial2vecError, match=reason), naming_full_disk(tmp_path):
        raise RuntimeError("writer failed\nat byte 7")
    with pytest.raises(CorpusError, match=r"^its own sentence$"), naming_full_disk(tmp_path):
        raise CorpusError("its own sentence")


def test_an_error_with_enough_space_stays_itself(tmp_path, free):
    free(5e9)
    with pytest.raises(RuntimeError, match=r"^writer failed$"), naming_full_disk(tmp_path):
        raise RuntimeError("writer failed")
