"""A hub on this machine: what the library asks of it to take a folder, and to give it back."""

from __future__ import annotations

import base64
import hashlib
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SHA = "1" * 40


class Hub(ThreadingHTTPServer):
    """Holds one repository, and remembers what was asked with which token."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.files: dict[str, bytes] = {}
        self.created: dict[str, Any] = {}
        self.message, self.token, self.refuses = "", "", False


class _Answers(BaseHTTPRequestHandler):
    server: Hub

    def do_POST(self) -> None:
        hub, body = self.server, self.rfile.read(int(self.headers["Content-Length"]))
        hub.token = self.headers.get("Authorization", "")
        if hub.refuses:
            self._give(b'{"error": "Forbidden: read only"}', status=403)
        elif self.path == "/api/repos/create":
            hub.created = json.loads(body)
            self._json({"url": f"{hub.address}/team/calls"})
        elif self.path.endswith("/preupload/main"):
            paths = [file["path"] for file in json.loads(body)["files"]]
            self._json({"files": [{"path": path, "uploadMode": "regular", "shouldIgnore": False} for path in paths]})
        elif self.path.endswith("/commit/main"):
            header, *files = [json.loads(line)["value"] for line in body.splitlines()]
            hub.message = header["summary"]
            hub.files = {file["path"]: base64.b64decode(file["content"]) for file in files}
            address = f"{hub.address}/team/calls/commit/{SHA}"
            self._json({"success": True, "commitOid": SHA, "commitUrl": address})
        else:
            self._json({"errors": [], "warnings": []})

    def do_GET(self) -> None:
        hub = self.server
        if "/tree/" in self.path:
            self._json([{"type": "file", "path": name, "size": len(hub.files[name]), "oid": ""} for name in hub.files])
        elif self.path.startswith("/api/models/team/calls"):
            self._json({"id": "team/calls", "sha": SHA})
        elif (name := self.path.partition(f"/resolve/{SHA}/")[2]) in hub.files:
            self._give(hub.files[name], etag=hashlib.sha256(hub.files[name]).hexdigest())
        else:
            self._give(b"{}", status=404)

    def do_HEAD(self) -> None:
        self.do_GET()

    def _json(self, content: object) -> None:
        self._give(json.dumps(content).encode())

    def _give(self, content: bytes, *, status: int = 200, etag: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if etag:
            self.send_header("ETag", f'"{etag}"')
            self.send_header("X-Repo-Commit", SHA)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass
