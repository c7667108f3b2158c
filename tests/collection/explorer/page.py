"""Scripts of the explorer's page on V8, without a browser."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from py_mini_racer import MiniRacer

from dial2vec.collection.explorer.explorer_page import PAGE, SCRIPTS

# What the scripts take from a browser besides the document, which they read only when they run.
BROWSER = """
const atob = (text) => Array.from(Uint8Array.fromBase64(text), (byte) => String.fromCharCode(byte)).join("");
"""
# The last one also starts the page.
STARTS = "explorer.js"


class Script:
    """Some scripts of the page, loaded in the page's order into one scope.

    :param names: names of scripts, such as "names" for names.js; none for all but the one that starts the page.
    :param before: JavaScript that runs first, such as a document of the test.
    """

    def __init__(self, *names: str, before: str = "") -> None:
        wanted = {f"{name}.js" for name in names} or set(SCRIPTS) - {STARTS}
        assert wanted <= set(SCRIPTS), f"no such script: {sorted(wanted - set(SCRIPTS))}; there are {SCRIPTS}"
        self._v8 = MiniRacer()
        for source in [BROWSER, before, *(_source(name) for name in SCRIPTS if name in wanted)]:
            self._v8.eval(source)

    def value(self, expression: str, **given: Any) -> Any:
        """Return the value of an expression, after its promise, through JSON: None for undefined.

        :param given: values that the expression uses by these names.
        """
        values = ", ".join(f"JSON.parse({json.dumps(json.dumps(value))})" for value in given.values())
        call = f"(async ({', '.join(given)}) => JSON.stringify(await ({expression})))({values})"
        found = self._v8.eval(call).get(timeout=30)
        return json.loads(found) if isinstance(found, str) else None

    def run(self, statements: str) -> None:
        """Run statements in the scope of the scripts."""
        self._v8.eval(statements)


def _source(name: str) -> str:
    return files(PAGE).joinpath(name).read_text(encoding="utf-8")
