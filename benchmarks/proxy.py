"""Two versions on two ports, with nginx in front: count requests lost when nginx changes over under load.

    apt-get install nginx
    .venv/bin/python benchmarks/proxy.py --changes 6

As docs/serving.md describes: the next version is started on another port; when it is ready, nginx gets its port and
reloads; two seconds later the old version is ended. Half of the clients keep their connection, half connect again for
each request.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
from serve import MODEL, body, dialogues, project, tiny
from serve_clients import Server, load, served

from dial2vec import telemetry

CONFIGURATION = """pid {folder}/nginx.pid;
error_log {folder}/error.log;
daemon off;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_pass http://127.0.0.1:{upstream}; proxy_read_timeout 60s; }}
    }}
}}
"""


def main() -> None:
    """Print what the clients saw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=6, help="number of hand-overs; default: 6")
    changes = parser.parse_args().changes
    telemetry.switch_off()
    bodies = [body([dialogue]) for dialogue in dialogues(50)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool, contextlib.ExitStack() as stack:
        Path(folder).chmod(0o755)  # root's nginx has workers of another user
        root = project(Path(folder), tiny(Path(folder)))
        old = stack.enter_context(contextlib.ExitStack())
        proxy = stack.enter_context(nginx(Path(folder), old.enter_context(served(root, f"models:/{MODEL}/1")).port))
        stop = threading.Event()
        loads = [pool.submit(load, proxy, bodies, clients=4, until=stop.is_set, keep=keep) for keep in (True, False)]
        for change in range(changes):
            time.sleep(5)
            new = stack.enter_context(contextlib.ExitStack())
            wanted = str(2 - change % 2)
            configure(Path(folder), proxy.port, new.enter_context(served(root, f"models:/{MODEL}/{wanted}")).port)
            subprocess.run(["nginx", "-c", f"{folder}/nginx.conf", "-s", "reload"], check=True, capture_output=True)
            while proxy.version() != wanted:
                time.sleep(0.1)
            time.sleep(2)
            old.close()
            old = new
        stop.set()
        kept, again = (one.result() for one in loads)
    sys.stdout.write(
        "| clients | hand-overs | requests | p50 | p95 | p99, ms | dropped |\n|---|---|---|---|---|---|---|\n"
    )
    for name, done in (("4 that keep their connection", kept), ("4 that connect again", again)):
        dropped = ", ".join(f"{done.errors.count(one)} {one}" for one in sorted(set(done.errors))) or "0"
        sys.stdout.write(f"| {name} | {changes} | {len(done.latencies)} | {done.tail()} | {dropped} |\n")


@contextlib.contextmanager
def nginx(folder: Path, upstream: int) -> Iterator[Server]:
    """Run nginx in front of a port until the end of a `with`."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    configure(folder, port, upstream)
    with subprocess.Popen(["nginx", "-c", f"{folder}/nginx.conf"], stderr=subprocess.DEVNULL) as process:
        server = Server(process, port)
        for _ in range(100):
            with contextlib.suppress(OSError):
                server.version()
                break
            time.sleep(0.1)
        try:
            yield server
        finally:
            for one in [process, *psutil.Process(process.pid).children()]:
                one.terminate()


def configure(folder: Path, port: int, upstream: int) -> None:
    """Write what nginx listens to and where it sends that."""
    text = CONFIGURATION.format(folder=folder, port=port, upstream=upstream)
    part = folder / "nginx.part"
    part.write_text(text)
    part.rename(folder / "nginx.conf")


if __name__ == "__main__":
    main()
