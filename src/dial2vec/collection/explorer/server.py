"""The explorer's server, for this machine only: the page and the answers to its requests."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dial2vec.addresses import Hosts, address_of, listen
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer.content import SIMILAR, content, quoted, to_json
from dial2vec.collection.explorer.curating import can_write, decide, from_this_page, waiting_proposals
from dial2vec.collection.explorer.explorer_page import render_explorer, title_of
from dial2vec.collection.explorer.later import Later
from dial2vec.collection.explorer.maps import Maps
from dial2vec.collection.explorer.reading import ReaderContent
from dial2vec.collection.explorer.searching import Searching, WrongRequestError, body_json
from dial2vec.collection.formulas import FORMS
from dial2vec.collection.search.exact import nearest_rows
from dial2vec.collection.summary.summary import summarize
from dial2vec.collection.summary.summary_page import render_summary
from dial2vec.errors import Dial2vecError

MOST_TURNS = 200
# Seconds after which work begins that the first page did not wait for, even if nobody has opened the page.
UNSEEN_S = 5.0
MEDIA = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


class Explorer:
    """Answers the requests of the page; dialogues that are added later do not show.

    :param later: steps for which the first page does not wait, in their order.
    """

    def __init__(self, collection: CollectionFolder, maps: Maps, later: Sequence[Later] = ()) -> None:
        self.collection, self.maps, self._later = collection, maps, later
        self._page = render_explorer(title_of(collection.folder))
        self._version, self._doing, self._opened = 0, later[0].doing if later else "", threading.Event()
        self.search_again()
        self.refresh()

    def refresh(self) -> None:
        """Read the groups again."""
        data = content(self.collection, self.maps, np.arange(len(self.collection)))
        self._reading = ReaderContent(self.collection)
        can = {"writable": can_write(self.collection), "proposals": waiting_proposals(self.collection)}
        self._content = to_json(data | can | {"version": self._version})

    def show(self, collection: CollectionFolder, maps: Maps) -> None:
        """Show other vectors, groups and places of the same dialogues; an open page takes them over by itself."""
        self.collection, self.maps = collection, maps
        self.search_again()
        self._version += 1
        self.refresh()

    def search_again(self) -> None:
        """Open the files of the search again."""
        self.searching = Searching(self.collection)

    def work(self) -> None:
        """Work on what comes later, once somebody sees the page; a step that fails says why."""
        # Without a browser the work begins all the same.
        self._opened.wait(UNSEEN_S)
        for step in self._later:
            self._doing = step.doing
            try:
                step.work(self)
            except Dial2vecError as error:
                sys.stderr.write(f"There is no {step.doing}: {error}\n")
        self._doing = ""

    def state(self, _: Request) -> Response:
        """Return what is being made, "" if nothing, and a number that changes with what the page shows."""
        return JSONResponse({"doing": self._doing, "version": self._version})

    def page(self, _: Request) -> Response:
        """Return the page."""
        return HTMLResponse(self._page)

    def report(self, _: Request) -> Response:
        """Return the page that `dial2vec report` writes."""
        return HTMLResponse(render_summary(summarize(self.collection)))

    def content(self, _: Request) -> Response:
        """Return the data of the map and the legend."""
        self._opened.set()
        return Response(self._content, media_type="application/json")

    def dialogue(self, request: Request) -> Response:
        """Return a dialogue, what the reader shows beside it, and the rows and cosines of the most similar ones."""
        [row] = self._checked([request.path_params["row"]])
        [dialogue] = self.collection.dialogues([row])
        # One more than needed, because the dialogue itself is among the nearest, though not always first.
        rows, cosines = nearest_rows(self.collection.adapted, self.collection.adapted[row], SIMILAR + 1)
        others = [[r, round(c, 4)] for r, c in zip(rows.tolist(), cosines.tolist(), strict=True) if r != row]
        [reading] = self._reading.of([row], [dialogue])
        return JSONResponse({"record": dialogue.to_record(), "similar": others[:SIMILAR]} | reading)

    def curate(self, body: bytes) -> Response:
        """Carry out a decision of the page, and return what was done."""
        done = decide(self.collection, body)
        if done["made"] >= 0:
            self.refresh()
        return JSONResponse(done)

    def turns(self, body: bytes) -> Response:
        """Return single turns: the body lists a row and the number of a turn, from 0, for each."""
        pairs = body_json(body, "expected a list of pairs")
        if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise WrongRequestError("expected a list of pairs in the body: a row, and the number of a turn.")
        dialogues = self.collection.dialogues(self._few([row for row, _ in pairs]))
        return JSONResponse([quoted(dialogue, turn) for dialogue, (_, turn) in zip(dialogues, pairs, strict=True)])

    def speaking(self, body: bytes) -> Response:
        """Return the turn that speaks most for its topic, or the first, of the dialogues whose rows the body lists."""
        rows = self._few(_rows_in(body))
        dialogues = list(self.collection.dialogues(rows))
        readings = self._reading.of(rows, dialogues)
        turns = [(reading["reasons"] or [0])[0] for reading in readings]
        return JSONResponse([quoted(dialogue, turn) for dialogue, turn in zip(dialogues, turns, strict=True)])

    def export(self, body: bytes, form: str) -> Response:
        """Return the dialogues whose rows the body lists as a file."""
        if form not in FORMS:
            raise WrongRequestError(f"found the form {form[:40]!r}; expected one of {', '.join(FORMS)}.")
        lines = FORMS[form](self.collection.dialogues(self._checked(_rows_in(body))))
        return StreamingResponse(_blocks(lines), media_type=MEDIA[form])

    def _few(self, rows: object) -> list[int]:
        checked = self._checked(rows)
        if len(checked) > MOST_TURNS:
            raise WrongRequestError(f"found {len(checked)} rows; expected at most {MOST_TURNS} at a time.")
        return checked

    def _checked(self, rows: object) -> list[int]:
        last = len(self.collection) - 1
        if not isinstance(rows, list) or not all(type(row) is int and 0 <= row <= last for row in rows):
            raise WrongRequestError(f"expected rows of the collection, whole numbers from 0 to {last}.")
        return rows


def _rows_in(body: bytes) -> object:
    return body_json(body, "expected a list of rows")


def application(collection: CollectionFolder, maps: Maps, later: Sequence[Later] = ()) -> ASGIApp:
    """Return the ASGI application of the explorer of a collection; `later` is worked on meanwhile."""
    explorer = Explorer(collection, maps, later)
    if later:
        # Ctrl-C does not wait for it: what is made so far is kept, and the next command goes on.
        threading.Thread(target=explorer.work, daemon=True).start()

    def posted(path: str, answer: Callable[..., Response]) -> Route:
        async def called(request: Request) -> Response:
            if path == "/curate" and not from_this_page(request.headers):
                return PlainTextResponse("other pages may not decide", status_code=403)
            return await run_in_threadpool(answer, await request.body(), **request.path_params)

        return Route(path, called, methods=["POST"])

    routes = [
        Route("/", explorer.page),
        Route("/report", explorer.report),
        Route("/content", explorer.content),
        Route("/state", explorer.state),
        Route("/dialogue/{row:int}", explorer.dialogue),
        posted("/search", lambda body: explorer.searching.answer(body)),
        posted("/speaking", explorer.speaking),
        posted("/turns", explorer.turns),
        posted("/export/{form}", explorer.export),
        posted("/curate", explorer.curate),
    ]
    refused = {WrongRequestError: refuse, Dial2vecError: refuse}
    return with_headers(Starlette(routes=routes, exception_handlers=refused))


def with_headers(app: ASGIApp) -> ASGIApp:
    """Add headers that keep answers from other pages, and refuse their requests except for the page itself."""
    hosts = Hosts.of()
    added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        # Another page could not read the answers, but would keep the machine busy.
        if refused := hosts.refusal(scope["headers"], page=scope["path"] == "/"):
            await PlainTextResponse(refused.reason, refused.status)(scope, receive, send_more)
        else:
            await app(scope, receive, send_more)

    return answer


def serve_page(
    collection: CollectionFolder,
    maps: Maps,
    *,
    port: int,
    say: Callable[[str], object],
    browser: bool = False,
    later: Sequence[Later] = (),
) -> None:
    """Serve the explorer on a port of this machine until Ctrl-C.

    :param port: port number; 0 takes any free port.
    :param say: called with the address.
    :param browser: True to open the page in the user's browser, if this is a terminal of a desktop.
    :raises Dial2vecError: if the port is taken.
    """
    with listen("127.0.0.1", port) as listening:
        app = application(collection, maps, later)
        say(f"Open {address_of(listening)} in a browser; Ctrl-C ends it.")
        if browser:
            open_browser(address_of(listening))
        config = uvicorn.Config(app, ws="none", lifespan="off", log_level="error", server_header=False)
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


def open_browser(address: str) -> None:
    """Open a page in the user's browser, if this is a terminal of a desktop."""
    # Elsewhere a browser of the terminal might start, which cannot draw the map.
    desktop = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if desktop and sys.stdout.isatty():
        webbrowser.open(address)


def _blocks(lines: Iterator[str]) -> Iterator[str]:
    """Join lines, because the server sends each item in its own chunk."""
    while block := "".join(islice(lines, 500)):
        yield block


def refuse(_: Request, error: Exception) -> Response:
    """Answer a request that cannot be met with what was wrong."""
    return JSONResponse({"message": str(error)}, status_code=400)
