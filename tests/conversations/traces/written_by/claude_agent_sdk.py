"""Messages of the sessions in `claude_code.folder`, as claude-agent-sdk 0.2.189 reads them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import NAMESPACE_URL, uuid5

from claude_agent_sdk import get_session_messages

FOLDER = Path(__file__).parents[1]


def main() -> None:
    messages = []
    with TemporaryDirectory() as home:
        os.environ["CLAUDE_CONFIG_DIR"] = home
        project = Path(home) / "projects" / "-shop"
        project.mkdir(parents=True)
        for path in sorted((FOLDER / "claude_code.folder").iterdir()):
            name = str(uuid5(NAMESPACE_URL, path.stem))
            (project / f"{name}.jsonl").write_text(path.read_text().replace(f'"{path.stem}"', f'"{name}"'))
            messages += get_session_messages(name)
    (FOLDER / "claude_agent_sdk.jsonl").write_text("".join(json.dumps(asdict(message)) + "\n" for message in messages))


if __name__ == "__main__":
    main()
