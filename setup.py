"""Copies the files from which `dial2vec new` makes a project into the wheel; pyproject.toml has everything else."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class WithTemplates(build_py):
    """A build with this repository's own project files as `dial2vec/project/template`."""

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        if self.editable_mode:
            return
        for line in Path("src/dial2vec/project/template.txt").read_text(encoding="utf-8").split():
            target = Path(self.build_lib, "dial2vec", "project", "template", line)
            self.mkpath(str(target.parent))
            self.copy_file(line, str(target))


setup(cmdclass={"build_py": WithTemplates})
