"""Ask a person for the labels of dialogues: which ones, what was answered, and a page for it on this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import uvicorn
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from conversations.dialogue import Dialogue
from dial2vec.addresses import address_of, listen
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer.curating import from_this_page
from dial2vec.collection.explorer.explorer_page import script_hash
from dial2vec.collection.explorer.searching import WrongRequestError, body_json
from dial2vec.collection.explorer.server import open_browser, refuse, with_headers
from dial2vec.collection.lenses.examples import varied, write_examples
from dial2vec.collection.lenses.lens import NONE
from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec.html import rendered

# Each label has a key of its own.
MOST_LABELS = 9


class Questions:
    """Dialogues to label, and the examples, which are written after each answer.

    :param labels: names of the labels, 1 to 9, without "none".
    :param examples: label by dialogue id; these dialogues are not asked about.
    :param path: file of the examples.
    :param n: largest number of questions.
    :param seed: seed of the order in which dialogues are drawn.
    :raises CorpusError: if there are too few or too many labels.
    """

    def __init__(
        self,
        collection: CollectionFolder,
        labels: Sequence[str],
        examples: Mapping[str, str],
        path: Path,
        *,
        n: int,
        seed: int,
    ) -> None:
        if not 1 <= len(labels) <= MOST_LABELS:
            raise CorpusError(
                f"found {len(labels)} labels to ask about; expected 1 to {MOST_LABELS}. Name them with --is 'LABEL: "
                "DESCRIPTION'."
            )
        self.labels, self.examples, self.path = [*labels, NONE], dict(examples), path
        self.dialogues: list[Dialogue] = list(collection.dialogues(varied(collection, examples, n, seed)))

    def answer(self, place: int, label: str | None) -> None:
        """Keep the label of a dialogue; None takes it back."""
        dialogue_id = self.dialogues[place].dialogue_id
        self.examples.pop(dialogue_id, None)
        if label is not None:
            self.examples[dialogue_id] = label
        self.path.parent.mkdir(exist_ok=True)
        write_examples(self.path, self.examples)


def application(questions: Questions, name: str, end: Callable[[], None]) -> ASGIApp:
    """Return the ASGI application of the page that asks.

    :param name: name of the lens.
    :param end: called when the person is done.
    """
    script = files(__package__).joinpath("asking.js").read_text(encoding="utf-8")
    page = rendered(__package__, "asking.html", lens=name, script=Markup(script))
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {script_hash(script)}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )

    def show(_: Request) -> Response:
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})

    def content(_: Request) -> Response:
        dialogues = [
            {"turns": [[turn.speaker, turn.text] for turn in each.turns]}
            | {"dialogue_id": each.dialogue_id, "label": questions.examples.get(each.dialogue_id)}
            for each in questions.dialogues
        ]
        return JSONResponse({"labels": questions.labels, "dialogues": dialogues})

    async def answer(request: Request) -> Response:
        given = _given(await request.body(), request.headers, questions)
        if given is None:
            end()
        else:
            await run_in_threadpool(questions.answer, *given)
        return JSONResponse({})

    routes = [Route("/", show), Route("/questions", content), Route("/answer", answer, methods=["POST"])]
    return with_headers(Starlette(routes=routes, exception_handlers={WrongRequestError: refuse, Dial2vecError: refuse}))


def ask_on_page(questions: Questions, name: str, *, port: int, say: Callable[[str], object]) -> None:
    """Ask on a page, on a port of this machine, until the person is done or presses Ctrl-C.

    :param port: port number; 0 takes any free port.
    :param say: called with the address.
    :raises Dial2vecError: if the port is taken.
    """
    with listen("127.0.0.1", port) as listening:
        config = uvicorn.Config(
            application(questions, name, lambda: setattr(server, "should_exit", True)),
            ws="none",
            lifespan="off",
            log_level="error",
            server_header=False,
        )
        server = uvicorn.Server(config)
        say(f"Open {address_of(listening)} in a browser; Ctrl-C ends the questions.")
        open_browser(address_of(listening))
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listening])


def _given(body: bytes, headers: Mapping[str, str], questions: Questions) -> tuple[int, str | None] | None:
    """Return the place of a dialogue and its label, or None if the person is done."""
    expected = "expected a JSON object of this page with place and label"
    given = body_json(body, expected)
    if not from_this_page(headers) or not isinstance(given, dict):
        raise WrongRequestError(f"{expected}.")
    if given == {"done": True}:
        return None
    place, label = given.get("place"), given.get("label")
    if type(place) is not int or not 0 <= place < len(questions.dialogues):
        raise WrongRequestError(f"found the place {place!r}; expected 0 to {len(questions.dialogues) - 1}.")
    if label is not None and label not in questions.labels:
        raise WrongRequestError(f"found a label that is not asked about; expected {', '.join(questions.labels)}.")
    return place, label
