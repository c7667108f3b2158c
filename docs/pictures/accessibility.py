"""What keeps people from using an open page: axe's findings, a walk by the Tab key, and a view without some colours."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from axe_core_python.base import AXE_SCRIPT

from browser import Page

# Kinds of colour blindness that Chromium simulates.
DEFICIENCIES = ("deuteranopia", "protanopia", "tritanopia", "achromatopsia")
MOST_TABS = 600
# Elements that one can use, each with whether Tab must reach it: of a group such as tabs or radio buttons, Tab reaches
# one, and arrow keys the others.
PREPARE = """window.walk = (() => {
  const roles = (names) => names.split(" ").map((name) => `[role=${name}]`).join(", ");
  const usable = `a[href], button, input, select, textarea, summary, [tabindex], ${roles("button tab option")}`;
  const groups = roles("tablist listbox toolbar radiogroup menu grid tree");
  const told = (e) => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + " “" +
    (e.ariaLabel || e.textContent.trim().replace(/\\s+/g, " ").slice(0, 40) || e.getAttribute("name") || "") + "”";
  const seen = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getClientRects().length;
  const left = (e) => e.disabled || e.closest("[inert], [aria-hidden=true]") || e.type === "hidden";
  const all = [...document.querySelectorAll(usable)].filter((e) => seen(e) && !left(e));
  const group = (e) => (e.type === "radio" ? `radio ${e.name}` : e.closest(groups));
  const own = all.filter((e) => e.tabIndex >= 0 || e.matches("a, button, input, select, textarea, summary, [role]"))
    .filter((e) => e.tabIndex >= 0 || !e.matches("section, [role=tabpanel], [role=dialog]"));
  const reached = new Set();
  return {
    told,
    step() {
      const e = document.activeElement;
      if (!e || e === document.body) return null;
      const again = reached.has(e);
      reached.add(e);
      const look = (one) => [null, "::before", "::after"].some((part) => { const s = getComputedStyle(one, part);
        return (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0) || s.boxShadow !== "none"; });
      const box = e.getBoundingClientRect(), inside = (x, y) => { const top = document.elementFromPoint(x, y);
        return top && (e.contains(top) || top.contains(e) || e.closest("label")?.contains(top)); };
      const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
      const places = [[x, y], [box.left + 3, y], [box.right - 3, y], [x, box.top + 3], [x, box.bottom - 3]];
      return { told: told(e), again, marked: look(e) || Boolean(e.closest("label") && look(e.closest("label"))),
        over: places.some(([x, y]) => inside(x, y)) ? null : told(document.elementFromPoint(x, y) ?? document.body) };
    },
    missed() {
      const groups = new Set([...reached].map(group).filter(Boolean));
      const nearby = (e) => e.tabIndex < 0 && e.closest("ul, ol, fieldset, [role=group]");
      const byArrows = (e) => (group(e) && groups.has(group(e))) ||
        (nearby(e) && [...reached].some((one) => nearby(e).contains(one)));
      return own.filter((e) => e.isConnected && !reached.has(e) && !byArrows(e)).map(told);
    },
  };
})()"""
# The next Tab goes on from the place of the element that was focused last, even of one that is gone.
TOP = """{ const first = document.createElement("button");
  document.body.prepend(first); first.focus(); first.remove(); }"""
AXE = """axe.run(document, {resultTypes: ["violations"]}).then(({violations}) => violations.flatMap(
  ({id, help, nodes}) => nodes.map(({target, failureSummary}) => [id, help, target.join(" "), failureSummary])))"""


def axe_findings(page: Page, axe: Path | None = None) -> list[str]:
    """Return what axe finds on the page: the rule, the element, and what is wrong with it.

    :param axe: file axe.min.js; None for that of axe-core-python.
    """
    if page.value("typeof axe") == "undefined":
        # Sent over the protocol, it runs whatever the page's content policy says.
        page.value(f"{axe.read_text() if axe else AXE_SCRIPT}; 0")
    found: list[list[str]] = page.value(AXE)
    return [f"{rule}: {target}: {' '.join(why.split())}" for rule, _, target, why in found]


def keyboard_findings(page: Page) -> list[str]:
    """Return what the Tab key does not reach, where its focus is not seen, and what covers the focused element.

    The walk begins at the top of the page and ends where it began.
    """
    page.value(TOP)
    page.value(PREPARE + "; 0")
    findings: list[str] = []
    for _ in range(MOST_TABS):
        page.key("Tab")
        at: dict[str, Any] | None = page.value("walk.step()")
        if at is None or at["again"]:
            break
        findings += [f"focus is not seen: {at['told']}"] * (not at["marked"])
        if at["over"]:
            findings.append(f"{at['told']} is focused and covered by {at['over']}")
    else:
        findings.append(f"Tab does not come back within {MOST_TABS} steps")
    return findings + [f"Tab does not reach: {name}" for name in page.value("walk.missed()")]


def sideways(page: Page) -> list[str]:
    """Return a finding if the page scrolls sideways."""
    width, screen = page.value("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    return [f"the page is {width} pixels wide on a screen of {screen}"] if width > screen else []


def overhang(page: Page) -> list[str]:
    """Return a finding if a page that fills the screen can be scrolled, such as by what lies unseen below a list."""
    high, screen = page.value("[document.documentElement.scrollHeight, document.documentElement.clientHeight]")
    return [f"the page is {high} pixels high on a screen of {screen}"] if high > screen else []


def see_as(page: Page, deficiency: str = "none") -> None:
    """Show the page as people with this colour blindness see it; "none" for all colours."""
    page.ask("Emulation.setEmulatedVisionDeficiency", type=deficiency)
    time.sleep(0.1)
