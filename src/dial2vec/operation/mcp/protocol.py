"""The tools over the Model Context Protocol, on standard input and output or over HTTP with a token."""

from __future__ import annotations

import functools
import inspect
import json
import re
import socket
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.resources import FunctionResource
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from dial2vec.addresses import Hosts
from dial2vec.errors import Dial2vecError
from dial2vec.operation.mcp.quoting import QUOTED, cleaned, printable_only
from dial2vec.operation.mcp.tools import CollectionTools
from dial2vec.operation.serving.tokens import AccessTokens

TOOLS = (
    *("overview", "topics", "topic", "search", "read", "similar"),
    *("compare", "stands_out", "segments", "facet", "sheet", "propose"),
)
GUIDE = """\
Answer questions about recorded conversations, with evidence. Call overview first; then search for what was said,
topics, topic and sheet for what it is about, facet for counts, and compare for what differs between periods or kinds of
conversations. Cite dialogue_id and turn for each claim about what was said, and share, interval and count for each
claim about how many. Read a dialogue before quoting it. If nothing is close, or a difference may be chance, say so."""

PROMPTS = {
    "what_changed": "What changed in the conversations since {what}? Compare the periods, name only clear differences "
    "with their intervals, and quote a turn of each from the dialogues that show it.",
    "why": "Why do customers {what}? Find the key of the metadata or the turns that tell who does, compare them with "
    "all others, read three of the dialogues, and say what the evidence supports and what it does not.",
    "examples_of": "Can you show me three conversations in which {what}? Read each, and quote the turns that show it.",
}


def protocol_server(tools: CollectionTools) -> MCPServer[Any]:
    """Return the server of these tools, with a report of each collection as a resource, and prompts."""
    server: MCPServer[Any] = MCPServer(
        "dial2vec",
        title="Conversations",
        version=version("dial2vec"),
        instructions=f"{GUIDE}\n{tools.marks.meaning}\nCollections: {', '.join(tools.names)}.",
        tools=[_tool(getattr(tools, name)) for name in TOOLS],
        log_level="ERROR",
        subscriptions=False,
    )
    for name in tools.names:
        sheet = functools.partial(_sheet, tools, name)
        about = f"The one-page report of {name}."
        server.add_resource(
            FunctionResource(uri=f"dial2vec://{name}/sheet", name=f"{name} report", description=about, fn=sheet)
        )
    for name, form in PROMPTS.items():
        about = form.partition("?")[0].format(what="...")
        server.add_prompt(Prompt.from_function(_asking(form), name=name, description=f"{about}?"))
    return server


def serve_over_http(server: MCPServer[Any], listening: socket.socket, tokens: AccessTokens) -> None:
    """Answer requests at /mcp that have a token until Ctrl-C."""
    app = server.streamable_http_app(stateless_http=True, json_response=True)
    config = uvicorn.Config(_guarded(app, tokens), ws="none", log_level="error", server_header=False)
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


def _guarded(app: ASGIApp, tokens: AccessTokens) -> ASGIApp:
    """Refuse requests without a token, and those that a page of another server sends."""
    hosts = Hosts.of()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        refusal = None
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            if refused := hosts.refusal(scope["headers"]):
                refusal = PlainTextResponse(refused.reason, refused.status)
            elif not tokens.accept(headers.get(b"authorization", b"")):
                needed = {"WWW-Authenticate": 'Bearer realm="dial2vec"'}
                refusal = PlainTextResponse("expected 'Authorization: Bearer' and the token.", 401, needed)
        await (refusal or app)(scope, receive, send)

    return answer


def _tool(work: Callable[..., Any]) -> Tool:
    """Return a tool of the protocol that refuses unknown arguments and says errors in its own words."""

    @functools.wraps(work)
    def call(*given: Any, **named: Any) -> CallToolResult:
        try:
            answer = printable_only(work(*given, **named))
        except Dial2vecError as error:
            # The sentences are those of commands, whose options have the names of these parameters.
            raise ToolError(cleaned(re.sub(r"--(?=[a-z])", "", str(error)), QUOTED)) from error
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=answer)

    hints = ToolAnnotations(read_only_hint=work.__name__ != "propose", destructive_hint=False, open_world_hint=False)
    tool = Tool.from_function(call, description=inspect.getdoc(work), annotations=hints)
    # An argument that is dropped in silence would give confident wrong figures.
    tool.fn_metadata.arg_model.model_config["extra"] = "forbid"
    tool.fn_metadata.arg_model.model_rebuild(force=True)
    tool.parameters["additionalProperties"] = False
    return tool


def _asking(form: str) -> Callable[[str], str]:
    def prompt(what: str) -> str:
        return form.format(what=what)

    return prompt


def _sheet(tools: CollectionTools, name: str) -> str:
    sheet = printable_only(tools.sheet(name))
    quotes = [f"{quote['dialogue_id']}, turn {quote['turn']}: {quote['text']}" for quote in sheet["quotes"]]
    return "\n".join([*sheet["sentences"], "", tools.marks.meaning, *quotes])
