// @ts-check
"use strict";
// The views of the panel, of which one is shown, on a phone the map, too; and the buttons of the header.

class Tabs {
  // on: {set(change)}
  constructor(on) {
    this.tabs = [...document.querySelectorAll("[role=tab]")];
    for (const tab of this.tabs) {
      tab.addEventListener("click", () => on.set({ panel: this.#panelOf(tab) }));
      tab.addEventListener("keydown", (event) => this.#key(event));
    }
    byId("filter").addEventListener("click", () => on.set({ panel: this.view.state.panel === "filters" ? "topics" : "filters" }));
    const says = (sentence) => { byId("later").textContent = sentence; };
    byId("copy").addEventListener("click", () => navigator.clipboard.writeText(location.href).then(() => says("The link is copied."), ({ message }) => says(message)));
    this.narrow = matchMedia("(max-width: 52rem)");
    this.narrow.addEventListener("change", () => this.update(this.view));
  }

  update(view) {
    this.view = view;
    // Beside the panel the map is always there.
    const shown = view.state.panel === "map" && !this.narrow.matches ? "topics" : view.state.panel;
    document.body.dataset.panel = shown;
    for (const tab of this.tabs) {
      const chosen = this.#panelOf(tab) === shown;
      tab.setAttribute("aria-selected", String(chosen));
      // The view of the filters has a tab on a phone alone.
      tab.tabIndex = chosen || (shown === "filters" && tab === this.tabs[0]) ? 0 : -1;
      if (this.#panelOf(tab) !== "map") byId(this.#panelOf(tab)).hidden = !chosen;
    }
    byId("filter").setAttribute("aria-pressed", String(shown === "filters"));
    byId("count").textContent = view.rows.length.toLocaleString("en");
  }

  #panelOf(tab) {
    return tab.id.slice("tab-".length);
  }

  // Arrow keys go to the next tab that is shown.
  #key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    const tabs = this.tabs.filter((tab) => tab.offsetParent);
    const next = tabs[(tabs.indexOf(event.currentTarget) + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
    event.preventDefault();
  }
}

// The first and the last of some dates, such as "8 Jan – 16 Mar 2024"; "" without dates.
function spanOf(dates) {
  const [first, last] = dates.reduce(([low, high], date) => (date ? [date < low ? date : low, date > high ? date : high] : [low, high]), ["~", ""]);
  const form = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
  return last && form.formatRange(Date.parse(first), Date.parse(last));
}
