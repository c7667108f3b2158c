from __future__ import annotations

from click.testing import CliRunner

from tests.conversations import fuzz_import


def test_the_importer_meets_broken_files_with_no_error_but_ours():
    done = CliRunner().invoke(fuzz_import.main, ["--cases", "60", "--seed", "7"])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("60 cases, 0 failures: ")
